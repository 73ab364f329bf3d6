"""The lexicographic search for the best plan, level by level."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import (
    Conflict,
    LevelResult,
    ObjectiveLevel,
    PlanMismatchError,
    Result,
    Status,
    StoppedBy,
)
from edgeplace.solver.backend import Answer, Backend, Outcome
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.evaluate import report
from edgeplace.solver.formulation import Formulation, SubtasksCountedError, formulate
from edgeplace.solver.groups import Groups
from edgeplace.solver.joint import JointFormulation, NotDealtError
from edgeplace.solver.linear_model import Affine, LinearModel, Row
from edgeplace.solver.problem import Problem
from edgeplace.solver.sites import decide
from edgeplace.solver.tidy import tidy
from edgeplace.solver.verdict import Verdict, judge

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
_JOINT_SHARE = 0.75
"""Share of the time left for a search over groups; what it finds is to be dealt out yet."""
_MENDING_S = 10.0
_MENDING_GAP = 1e-3
Readable = Formulation | JointFormulation
OPTIMAL_GAP = 1e-6
NEGLIGIBLE = 1e-6
"""A millionth of a byte per second, ms, core or utilisation: below what solvers resolve."""
RATED = {"link bandwidth", "node cpu", "subtask busy", "credit window"}
"""Kinds of limits that grow with the rates; soft where `throughput` comes first."""


def _seconds_for(n_entries: int) -> float:
    """Return what HiGHS may take to look at the clock again (measured, with room to spare)."""
    return float(3.0 * (n_entries / 1e6) ** 1.5)


class Search:
    """The lexicographic search: the best plan so far is kept here, outside the solvers."""

    def __init__(
        self,
        problem: Problem,
        levels: Sequence[ObjectiveLevel],
        soft: bool,
        began: float,
        time_limit_s: float | None,
        gap: float,
        tell: Callable[[str], None],
    ) -> None:
        self._problem = problem
        self._levels = levels
        self._soft = soft
        self._began = began
        self._limit = time_limit_s
        self._gap = gap
        self._tell = tell
        self._bounds: list[float] = []
        self._caps: list[float] = []
        self._floor = 0.0
        self._site_by_site = False
        self._led: tuple[Readable, Backend] | None = None
        self.best: Verdict | None = None
        self.infeasible = False
        self._stopped_by = StoppedBy.PROOF

    def seconds_left(self) -> float | None:
        """Return the wall time that is left, None without a limit."""
        if self._limit is None:
            return None
        return max(0.0, self._limit - (time.monotonic() - self._began))

    def offer_current(self) -> None:
        """Start from the current placement."""
        p = self._problem
        if p.m and p.current is not None and (p.current >= 0).all():
            self._offer(p.current)

    def _offer_baselines(self) -> None:
        """Start from what others would do."""
        for baseline in BASELINES.values():
            self._offer(baseline(self._problem))

    def tidy(self) -> None:
        """Break the ties that are left in favour of neighbours on one TaskManager."""
        if self.best is not None and self._stopped_by is not StoppedBy.TIME_LIMIT:
            assignment = tidy(self._problem, self.best.assignment)
            self.best = judge(self._problem, assignment)

    def _offer(self, assignment: Ints) -> Verdict:
        """Keep an assignment if it holds and is better, level by level."""
        found = judge(self._problem, assignment)
        holds = found.fixed_hold and (self._soft or found.rated_hold)
        if holds and (self.best is None or self._better(found, self.best)):
            self.best = found
        return found

    def _better(self, new: Verdict, old: Verdict) -> bool:
        for i, level in enumerate(self._levels):
            a, b = new.value(level.name), old.value(level.name)
            # Levels that are done bind up to their tolerance; beyond that they do not count.
            if i < len(self._caps):
                a, b = max(a, self._caps[i]), max(b, self._caps[i])
            if abs(a - b) > OPTIMAL_GAP * max(abs(a), abs(b)):
                return a < b
        return False

    def run(self, load: Callable[[LinearModel], Backend]) -> None:
        """Minimise level by level; each level's value limits the later ones.

        Parameters
        ----------
        load
            Gives a model to the back end.
        """
        self._load = load
        try:
            if not self._decided():
                self._offer_baselines()
                # The first level alone needs a far smaller model than all of them.
                self._lead()
            if self._caps and len(self._levels) > 1:
                self._rest()
        except KeyboardInterrupt:
            self._stopped_by = StoppedBy.INTERRUPT
        except TimeoutError:
            self._stopped_by = StoppedBy.TIME_LIMIT

    def _decided(self) -> bool:
        """Return whether `wan`, if it comes first, is decided site by site."""
        level = self._levels[0]
        if level.name != "wan" or self.seconds_left() == 0.0:
            return False
        found = decide(self._problem, self._problem.keeps_up)
        if found is None:
            return False
        self._floor = found.bound
        self._site_by_site = True
        self._offer(found.assignment)
        if self.best is None or self._short(self.best.value("wan"), found.bound):
            return False
        return self._settle(level, Answer(Outcome.OPTIMAL, None, found.bound))

    def _lead(self) -> None:
        """Minimise the first level, with what is alike taken together as long as that will do."""
        level = self._levels[0]
        try:
            if level.name not in ("moves", "throughput") and self._problem.rules.max_moves is None:
                apart = np.zeros(self._problem.m, bool)
                while (groups := Groups.alike(self._problem, apart)) is not None:
                    joint = JointFormulation.of(
                        groups, level.name, self._load, self.seconds_left, self._building_ends()
                    )
                    try:
                        self._descend(joint, self._load(joint.model), level)
                        return
                    except NotDealtError as e:
                        apart |= e.full
                        self._mend(e.near)
            form = self._formulate(self._levels[:1], counted=True)
            self._descend(form, self._load(form.model), level)
        except SubtasksCountedError:
            form = self._formulate(self._levels[:1])
            self._descend(form, self._load(form.model), level)

    def _mend(self, near: Bools) -> None:
        """Look for a plan of the first level near one that could not be dealt out."""
        level = self._levels[0]
        form = self._formulate([level], counted=True, may=near)
        left = self.seconds_left()
        answer = self._load(form.model).minimise(
            form.model.objectives[level.name],
            seconds=_MENDING_S if left is None else min(left / 2, _MENDING_S),
            gap=max(self._gap, _MENDING_GAP),
            start=form.start(self.best.assignment) if self.best else None,
        )
        if answer.values is not None:
            self._offer(form.assignment(answer.values))

    def _rest(self) -> None:
        form = self._formulate(self._levels, may=self._within_cap())
        backend = self._load(form.model)
        self._cap(form, backend, self._levels[0], self._caps[0])
        for level in self._levels[1:]:
            if not self._descend(form, backend, level):
                return
            self._cap(form, backend, level, self._caps[-1])

    def _within_cap(self) -> Bools | None:
        """Return where subtasks may run without making the first level worse than its cap.

        None if that is not known.
        """
        p, cap, name = self._problem, self._caps[0], self._levels[0].name
        if self._site_by_site:
            found = decide(p, p.keeps_up, max(cap - self._floor, 0.0) + NEGLIGIBLE)
            return None if found is None else found.within(cap + NEGLIGIBLE)
        if self._led is None:
            return None
        form, backend = self._led
        left = self.seconds_left()
        relaxed = backend.relax(
            form.model.objectives[name], seconds=None if left is None else left / 4
        )
        if relaxed is None:
            return None
        least, growth = relaxed
        return form.within(growth, cap - least + OPTIMAL_GAP * abs(cap) + NEGLIGIBLE)

    def _formulate(
        self, levels: Sequence[ObjectiveLevel], counted: bool = False, may: Bools | None = None
    ) -> Formulation:
        return formulate(
            self._problem,
            [v.name for v in levels],
            soft_rates=self._soft,
            counted=counted,
            may=may,
            known=self.best,
            deadline=self._building_ends(),
        )

    def _building_ends(self) -> float | None:
        """Return when a model must be built: half of the time is to search in it."""
        left = self.seconds_left()
        return None if left is None else time.monotonic() + left / 2

    def _descend(self, form: Readable, backend: Backend, level: ObjectiveLevel) -> bool:
        """Minimise one level; return whether its value is proved or near enough to go on.

        Raises
        ------
        TimeoutError
            If the model is too large for the time left: a solver looks at the clock too seldom.
        """
        left = self.seconds_left()
        if left is not None and _seconds_for(form.model.n_entries) > left:
            raise TimeoutError
        if not self._bounds:
            self._led = form, backend
        answer = self._minimise(form, backend, level, form.model.objectives[level.name])
        return answer is not None and self._settle(level, answer)

    def _settle(self, level: ObjectiveLevel, answer: Answer) -> bool:
        """Note what is known of a level; return whether it is enough to go on."""
        if self.best is None:
            return False
        value = self.best.value(level.name)
        floor = 0.0 if self._bounds else self._floor
        bound = min(max(answer.bound, floor), value)
        self._bounds.append(bound)
        self._tell(f"{level.name}: {value:.6g}, bound {bound:.6g}")
        if self._short(value, bound):
            if value - bound <= self._gap * abs(value):
                self._stopped_by = StoppedBy.GAP
            elif answer.outcome is Outcome.OPTIMAL:
                self._stopped_by = StoppedBy.ROUNDING
            else:
                self._stopped_by = StoppedBy.TIME_LIMIT
                return False
        self._caps.append(value * (1 + level.tolerance))
        return True

    @staticmethod
    def _short(value: float, bound: float) -> bool:
        return value - bound > OPTIMAL_GAP * abs(value) + NEGLIGIBLE

    def _cap(self, form: Formulation, backend: Backend, level: ObjectiveLevel, cap: float) -> None:
        """Keep a level that is done at its value."""
        # Divided by the cap, so that the solver's absolute tolerance is a relative one.
        unit = 1 / cap if cap > 1 else 1.0
        limit = Affine().add(form.model.objectives[level.name], unit)
        slack = cap * unit + 1e-9 - limit.constant
        backend.add_rows([Row(limit.terms, slack)] if limit.terms else [])

    def _minimise(
        self, form: Readable, backend: Backend, level: ObjectiveLevel, objective: Affine
    ) -> Answer | None:
        """Minimise one level until the evaluator agrees; None: nothing more can be learnt."""
        while True:
            left = self.seconds_left()
            if left == 0.0:
                self._stopped_by = StoppedBy.TIME_LIMIT
                return None
            start = form.start(self.best.assignment) if self.best else None
            if isinstance(form, JointFormulation) and left is not None:
                left *= _JOINT_SHARE
            answer = backend.minimise(objective, seconds=left, gap=self._gap, start=start)
            if not self._bounds and np.isfinite(answer.bound):
                self._floor = max(self._floor, answer.bound)
            if answer.outcome is Outcome.INFEASIBLE:
                if self.best is not None:
                    raise PlanMismatchError(
                        f"{backend.name} says that no plan exists, but the evaluator knows one",
                        "please report this with the input files",
                    )
                self.infeasible = True
                return None
            if answer.values is None:
                self._stopped_by = StoppedBy.TIME_LIMIT
                return answer
            assignment = form.assignment(answer.values)
            found = self._offer(assignment)
            rows = self._missed(form, answer.values, assignment, found)
            if not rows:
                self._agree(backend, level, objective, answer, found)
                return answer
            backend.add_rows(rows)
            if answer.outcome is Outcome.STOPPED and self.best is not None:
                return answer

    def _missed(
        self, form: Readable, values: Floats, assignment: Ints, found: Verdict
    ) -> list[Row]:
        """Return rows for what the model leaves out; see `Formulation.missed`."""
        if form.rho is None and found.fixed_hold and (self._soft or found.rated_hold):
            return []
        said = report(found)
        kept = tuple(v for v in said.violations if not (self._soft and v.kind in RATED))
        return form.missed(values, assignment, said.model_copy(update={"violations": kept}))

    def _agree(
        self,
        backend: Backend,
        level: ObjectiveLevel,
        objective: Affine,
        answer: Answer,
        found: Verdict,
    ) -> None:
        """Raise if the back end's figures and the evaluator's contradict each other."""
        known = self.best.value(level.name) if self.best else float("inf")
        if answer.bound > known + 1e-5 * abs(known) + 1e-6:
            raise PlanMismatchError(
                f"{backend.name} says {level.name} cannot be below {answer.bound:.9g}, the "
                f"evaluator knows a plan with {known:.9g}",
                "try the other back end, and please report this with the input files",
            )
        if answer.outcome is not Outcome.OPTIMAL or answer.values is None or backend.coarse:
            return
        claimed = objective.constant + sum(v * answer.values[c] for c, v in objective.terms.items())
        actual = found.value(level.name)
        if actual > claimed + 1e-5 * abs(actual) + 1e-6:
            raise PlanMismatchError(
                f"{backend.name} says {level.name} = {claimed:.9g}, the evaluator {actual:.9g}",
                "please report this with the input files",
            )

    def result(self, backend: str, conflict: Conflict | None) -> Result:
        """Return the answer."""
        runtime = time.monotonic() - self._began
        notes = self._problem.notes
        if self.best is None:
            status = Status.INFEASIBLE if self.infeasible else Status.UNKNOWN
            return Result(
                status=status,
                stopped_by=self._stopped_by,
                runtime_s=runtime,
                backend=backend,
                conflict=conflict,
                notes=notes,
            )
        found = report(self.best)
        results = []
        for i, level in enumerate(self._levels):
            bound = self._floor if i == 0 else 0.0
            if i < len(self._bounds):
                bound = self._bounds[i]
            results.append(
                LevelResult(
                    name=level.name,
                    value=found.value(level.name),
                    bound=bound,
                    tolerance=level.tolerance,
                )
            )
        proved = len(self._bounds) == len(self._levels) and all(
            r.value * (1 - OPTIMAL_GAP) <= b * (1 + r.tolerance) + NEGLIGIBLE
            for r, b in zip(results, self._bounds, strict=True)
        )
        return Result(
            status=Status.OPTIMAL if proved else Status.FEASIBLE,
            stopped_by=StoppedBy.PROOF if proved else self._stopped_by,
            plan=self._problem.plan(self.best.assignment),
            evaluation=found,
            levels=tuple(results),
            runtime_s=runtime,
            backend=backend,
            notes=notes,
        )
