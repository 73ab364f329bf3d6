"""Reductions: the first level of the objective on a smaller problem.

A reduction is used in three steps, as in cvxpy: does it fit the problem (`fitting`); apply it,
which gives a model (`apply`); map a solution of that model back to a plan (`ReducedModel`). Each
relaxes or restates the problem, so the bounds of its model hold. A solution that no plan stands for
is told as such, and the stage that asked takes a weaker reduction. docs/formulation.md argues that
no best plan is lost.
"""

from collections.abc import Sequence
from typing import Protocol, Self

from edgeplace.model import ObjectiveLevel
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.formulation import Formulation, formulate
from edgeplace.solver.search.aggregated_formulation import AggregatedFormulation
from edgeplace.solver.search.groups import Groups
from edgeplace.solver.search.marginals import Marginals
from edgeplace.solver.search.reduced_model import ReducedModel
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.tolerances import OPTIMAL_GAP


class Reduction(Protocol):
    """States the first level on a smaller problem."""

    @classmethod
    def fitting(cls, state: SearchState) -> Self | None:
        """Return the reduction, None where it does not fit the problem."""

    def apply(self, may: Bools | None = None, room: Floats | None = None) -> ReducedModel:
        """Return the model.

        Parameters
        ----------
        may
            Where each subtask may run, shape (n_subtasks, n_tms); None: wherever it keeps up.
        room
            Share of the cores of each TaskManager that its group may give out, shape (n_tms,);
            None: all. Reductions without groups take no notice of it.

        Raises
        ------
        OutOfTimeError
            If the model is not built in its share of the time.
        """


class SubtasksCounted:
    """Subtasks that are alike are counted; docs/formulation.md, "Counted units"."""

    def __init__(self, state: SearchState) -> None:
        self._state = state

    @classmethod
    def fitting(cls, state: SearchState) -> Self | None:
        """Return it unless a model that counts subtasks has said too little."""
        return None if state.first.subtasks_apart else cls(state)

    def apply(self, may: Bools | None = None, room: Floats | None = None) -> Formulation:
        """Return the model; see `Reduction`."""
        return stated(self._state, self._state.task.levels[:1], counted=True, may=may)


class SubtasksApart:
    """The problem itself: no reduction, for where all others say too little."""

    def __init__(self, state: SearchState) -> None:
        self._state = state

    @classmethod
    def fitting(cls, state: SearchState) -> Self:
        """Return it: it always fits."""
        return cls(state)

    def apply(self, may: Bools | None = None, room: Floats | None = None) -> Formulation:
        """Return the model; see `Reduction`."""
        return stated(self._state, self._state.task.levels[:1], may=may)


class MachinesAlike:
    """TaskManagers that are alike are taken as one; docs/formulation.md, "Groups"."""

    def __init__(self, state: SearchState, groups: Groups) -> None:
        self._state = state
        self._groups = groups

    @classmethod
    def fitting(cls, state: SearchState) -> Self | None:
        """Return it for the TaskManagers that need not be told apart; None if no two are alike."""
        task, name = state.task, state.task.levels[0].name
        if name in ("moves", "throughput") or task.problem.rules.limit_moves:
            return None
        if name == "cost" and task.problem.tms.node_price.any():
            return None  # What machines cost depends on how many of them are in use.
        groups = Groups.alike(task.problem, state.first.tms_apart)
        return None if groups is None else cls(state, groups)

    def apply(self, may: Bools | None = None, room: Floats | None = None) -> AggregatedFormulation:
        """Return the model; see `Reduction`."""
        task = self._state.task
        return AggregatedFormulation.of(
            self._groups, task, may, room, self._state.most(task.levels[:1])
        )


class SitesNear:
    """Only sites where subtasks may run in plans with little `wan`; docs/formulation.md.

    Attributes
    ----------
    beyond
        No plan that the model leaves out has less `wan`.
    """

    def __init__(self, state: SearchState, marginals: Marginals) -> None:
        self._state = state
        self._marginals = marginals
        self.beyond = marginals.bound

    @classmethod
    def fitting(cls, state: SearchState) -> Self | None:
        """Return it for `wan` on networks that are no trees, if its tables are small enough."""
        problem = state.task.problem
        if state.task.levels[0].name != "wan" or problem.network.tree is not None:
            return None
        state.first.marginals = Marginals.of(problem)
        return None if state.first.marginals is None else cls(state, state.first.marginals)

    def plan(self) -> Ints:
        """Return the plan that would be best if only what bounds `wan` counted."""
        return self._marginals.plan(self._state.task.problem)

    def widen(self, known: float) -> None:
        """Go on to about twice as many places, but no farther than the best plan."""
        self.beyond = min(self._marginals.wider(self.beyond), known)

    def apply(self, may: Bools | None = None, room: Floats | None = None) -> Formulation:
        """Return the model; see `Reduction`."""
        near = no_worse_than(self._state, self.beyond)
        if near is not None and may is not None:
            near &= may
        return stated(self._state, self._state.task.levels[:1], counted=True, may=near)


def no_worse_than(state: SearchState, wan: float) -> Bools | None:
    """Return where subtasks may run in plans with at most so much `wan`, None if not known."""
    marginals = state.first.marginals
    if marginals is None:
        return None
    near = marginals.near(wan * (1 + OPTIMAL_GAP), state.task.parameters.fewest_sites)
    may: Bools = near[:, state.task.problem.tms.site]
    return may


def stated(
    state: SearchState,
    levels: Sequence[ObjectiveLevel],
    *,
    counted: bool = False,
    may: Bools | None = None,
) -> Formulation:
    """Return the model of some levels, the first one among them."""
    task = state.task
    return formulate(
        task.problem,
        [v.name for v in levels],
        soft_rates=task.soft,
        counted=counted,
        may=may,
        most=state.most(levels),
        deadline=task.clock.end_of(task.parameters.building_share),
    )
