"""A model over groups of TaskManagers, and plans read from it; see `solver/search/groups.py`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from edgeplace.model import AMOUNTS, Evaluation, LimitKind, ObjectiveName
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.formulation import Formulation, formulate
from edgeplace.solver.formulation.bundle_cuts import Bundles
from edgeplace.solver.linear.backend import Answer, Backend, Outcome
from edgeplace.solver.linear.model import Affine, Limited, LinearModel, Row
from edgeplace.solver.search.groups import Groups
from edgeplace.solver.search.reduced_model import Undealt
from edgeplace.solver.search.state import Task

_MACHINES = (LimitKind.SLOTS, LimitKind.NODE_CPU, *AMOUNTS)


@dataclass(frozen=True)
class AggregatedFormulation:
    """A linear model of a problem with TaskManagers that are alike taken as one.

    It is read as a `Formulation` is.
    """

    groups: Groups
    form: Formulation
    load: Callable[[LinearModel], Backend]
    seconds_left: Callable[[], float | None]

    @classmethod
    def of(
        cls,
        groups: Groups,
        task: Task,
        may: Bools | None = None,
        room: Floats | None = None,
        most: Mapping[ObjectiveName, float] | None = None,
    ) -> "AggregatedFormulation":
        """Build the model for the first level.

        Parameters
        ----------
        may
            Where each subtask may run, shape (n_subtasks, n_tms); None: wherever it keeps up.
        room
            Share of the cores of each TaskManager that its group may give out, shape (n_tms,):
            the model then relaxes nothing, but its plans are dealt more easily.
        most
            See `formulate`.

        Raises
        ------
        OutOfTimeError
            If the deadline passes.
        """
        joined = None if may is None else groups.joined(may)
        aggregated = groups.aggregated if room is None else groups.with_room(room)
        parameters = task.parameters
        form = formulate(
            aggregated,
            [task.levels[0].name],
            counted=True,
            may=joined,
            most=most,
            deadline=task.clock.end_of(parameters.building_share),
        )
        if len(form.model.upper) >= parameters.large_model:
            _pack(groups, form, parameters.packing_steps)
        return cls(groups, form, task.load, task.clock.left)

    @property
    def model(self) -> LinearModel:
        """The linear model."""
        return self.form.model

    @property
    def rho(self) -> None:
        """Throughput is not minimised over groups."""

    def bundles(self) -> Bundles | None:
        """Return what finds rows that tighten the model, as `Formulation.bundles` does."""
        return self.form.bundles()

    def start(self, assignment: Ints) -> dict[int, float] | None:
        """Return the columns of a plan."""
        return self.form.start(self.groups.of[assignment])

    def assignment(self, values: Floats) -> Ints | Undealt:
        """Return a plan that deals out to TaskManagers what their groups get, if there is one."""
        groups = self.groups
        may = groups.places(self.form.assignment(values))
        dealt = formulate(groups.problem, (), may=may)
        answer = self._any(dealt.model)
        if answer.values is not None:
            return dealt.assignment(answer.values)
        full = self._full(dealt.model)
        near = may | (groups.problem.keeps_up & (may @ full)[:, None])
        return Undealt(full, near)

    def within(self, growth: Floats, slack: float) -> Bools:
        """Return where subtasks may run, as `Formulation.within` does."""
        return self.form.within(growth, slack)[:, self.groups.of]

    def _any(self, model: LinearModel) -> Answer:
        """Return any solution."""
        left = self.seconds_left()
        return self.load(model).minimise(Affine(), seconds=left, gap=1.0, start=None)

    def _full(self, model: LinearModel) -> Bools:
        """Return the TaskManagers of groups that by themselves cannot be dealt what they get."""
        p, of = self.groups.problem, self.groups.of
        limits = {r.limit for r in model.rows if r.limit and r.limit[0] in _MACHINES}

        def group(limit: Limited) -> int:
            kind, i = limit
            return int(of[p.tms.node == i][0] if kind == LimitKind.NODE_CPU else of[i])

        full = np.zeros(p.m, bool)
        for g in sorted({group(limit) for limit in limits}):
            others = [limit for limit in limits if group(limit) != g]
            if self._any(model.without(others)).outcome is Outcome.INFEASIBLE:
                full |= of == g
        # Where each group could be by itself, rules tie them to one another.
        return full if full.any() else np.ones(p.m, bool)

    def missed(self, values: Floats, assignment: Ints, found: Evaluation) -> list[Row] | None:
        """Return rows for what the model leaves out, as `Formulation.missed` does.

        None if only a model without groups can state it.
        """
        windows = tuple(v for v in found.violations if v.kind is LimitKind.CREDIT_WINDOW)
        if not windows:
            return None
        met = found.model_copy(update={"violations": windows})
        return self.form.missed(values, self.groups.of[assignment], met) or None


def _pack(groups: Groups, form: Formulation, steps: int) -> None:
    """State what the machines of a group take, whoever is dealt to which; see `Groups.packed`."""
    c = form.choices
    k = c.units.first[c.unit]
    nodes = groups.nodes()
    for g, share in groups.packed(steps):
        own = np.flatnonzero((c.tm == g) & (share[k] > 0))
        if (share[k] * c.size)[own].sum() > nodes[g]:
            row = np.zeros(len(own), np.intp)
            room = np.array([float(nodes[g])])
            form.model.all_at_most(
                row, c.column[own], share[k[own]], room, "packing", np.array([g])
            )
