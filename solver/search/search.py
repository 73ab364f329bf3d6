"""The lexicographic search for the best plan, level by level."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from edgeplace.model import (
    RATED,
    Conflict,
    LevelResult,
    ObjectiveLevel,
    ObjectiveName,
    PlanMismatchError,
    Result,
    Status,
    StoppedBy,
)
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import Clock, overrun_s, prolonged
from edgeplace.solver.evaluation.evaluate import report
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.formulation import Formulation, SubtasksCountedError, formulate
from edgeplace.solver.linear.backend import Answer, Backend, Outcome, SolverInterrupt
from edgeplace.solver.linear.model import LARGE, Affine, Kind, LinearModel, Row
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem
from edgeplace.solver.search.aggregated import AggregatedFormulation, DisaggregationError
from edgeplace.solver.search.agreement import check_agreement
from edgeplace.solver.search.groups import Groups
from edgeplace.solver.search.incumbent import BestPlan
from edgeplace.solver.search.marginals import Marginals
from edgeplace.solver.search.primal_heuristics import Build, PrimalHeuristics, Readable, offer_found
from edgeplace.solver.search.tie_break import break_ties
from edgeplace.solver.sites import decide, shared_plan
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE

_LATE_S = 0.5
"""Time beyond the limit for a first plan, where none is known."""
_BUILDING_SHARE = 0.5
"""Share of the time left for building a model; the rest is to search in it."""
_PROVING_SHARE = 0.75
"""Share of the time left for the proof of the first level; the rest is to look for plans."""
_COARSE = 1e3
"""How many times what the best plan costs a coefficient may be, so that solvers can tell."""
_MOST_EXCLUDED = 100
"""How many plans are cut off, one by one, of which a model says too little."""


class _WideRangeError(Exception):
    """A far better plan is known now than when the range of a model's column was chosen."""


class Search:
    """The lexicographic search: the best plan so far is kept outside the solvers.

    Parameters
    ----------
    soft
        Whether limits that grow with the rates may be broken.
    gap
        Relative gap at which a level is near enough to go on.
    tell
        Called with what is found or proved.
    load
        Gives a model to the back end.
    """

    def __init__(
        self,
        problem: Problem,
        levels: Sequence[ObjectiveLevel],
        soft: bool,
        clock: Clock,
        gap: float,
        seed: int,
        tell: Callable[[str], None],
        load: Callable[[LinearModel], Backend],
    ) -> None:
        self._problem = problem
        self._levels = levels
        self._soft = soft
        self._clock = clock
        self._gap = gap
        self._tell = tell
        self._load = load
        self._bounds: list[float] = []
        self._floor = 0.0
        self._relaxed: float | None = None
        """The bound that `decide` gave; the solvers may raise `_floor` above it."""
        self._led: tuple[Readable, Backend] | None = None
        self._marginals: Marginals | None = None
        self._excluded: list[Ints] = []
        """Plans that were cut off since the model says too little of them."""
        self._priced: tuple[Readable, float, Floats] | None = None
        """A model of the first level, its relaxed optimum and the reduced costs of its columns."""
        self._best = BestPlan(problem, levels, soft, clock.began)
        self._heuristics = PrimalHeuristics(
            problem,
            levels[0],
            self._best,
            clock,
            partial(self._by_itself, True),
            load,
            gap,
            seed,
        )
        self.infeasible = False
        self._stopped_by = StoppedBy.PROOF

    def offer_current(self) -> None:
        """Start from the current placement."""
        p = self._problem
        if p.m and p.current is not None and (p.current >= 0).all():
            self._best.offer(p.current)

    def break_ties(self) -> None:
        """Break the ties that are left in favour of neighbours on one TaskManager."""
        if self.best is not None and self._stopped_by is not StoppedBy.TIME_LIMIT:
            with suppress(OutOfTimeError):
                assignment = break_ties(self._problem, self.best.assignment)
                self._best.verdict = measure_usage(self._problem, assignment)

    @property
    def best(self) -> Usage | None:
        """What the evaluator says of the best plan so far."""
        return self._best.verdict

    def run(self) -> None:
        """Minimise level by level; each level's value limits the later ones."""
        try:
            if not self._decided():
                self._heuristics.baselines()
                # The first level alone needs a far smaller model than all of them.
                try:
                    self._lead()
                except OutOfTimeError:
                    self._stopped_by = StoppedBy.TIME_LIMIT
                if self._stopped_by is StoppedBy.TIME_LIMIT:
                    if self.best is None:
                        self._heuristics.local_search()
                    self._heuristics.polish()
            if self._best.caps and len(self._levels) > 1:
                self._rest()
        except KeyboardInterrupt:
            self._stopped_by = StoppedBy.INTERRUPT
        except OutOfTimeError:
            self._stopped_by = StoppedBy.TIME_LIMIT
            if self.best is None:
                with suppress(OutOfTimeError), prolonged(_LATE_S):
                    self._heuristics.baselines()
                    if self.best is None:
                        self._heuristics.local_search()

    def _decided(self) -> bool:
        """Return whether `wan`, if it comes first, is decided site by site."""
        level = self._levels[0]
        if level.name != "wan" or self._clock.left() == 0.0:
            return False
        try:
            found = decide(self._problem, self._problem.keeps_up)
        except OutOfTimeError:
            # Rules of thumb take less.
            return False
        if found is None:
            return False
        self._floor = self._relaxed = found.bound
        self._best.offer(found.assignment)
        if not self._reached(found.bound):
            plan = shared_plan(self._problem, self._clock.end_of(1 / 4))
            if plan is not None:
                self._best.offer(plan)
        return self._reached(found.bound) and self._settle(
            level, Answer(Outcome.OPTIMAL, None, found.bound)
        )

    def _reached(self, bound: float) -> bool:
        """Return whether a plan is known that is as good as a bound of the first level."""
        known = self.best
        return known is not None and not self._short(known.value(self._levels[0].name), bound)

    def _lead(self) -> None:
        """Minimise the first level, with what is alike taken together as long as that will do."""
        level = self._levels[0]
        try:
            if self._close_in(level):
                return
            if level.name not in ("moves", "throughput") and self._problem.rules.max_moves is None:
                apart = np.zeros(self._problem.m, bool)
                # It ends: each time more TaskManagers are told apart.
                while (groups := Groups.alike(self._problem, apart)) is not None:
                    build = partial(self._joint, groups)
                    try:
                        self._descend_from_near(build, level)
                        return
                    except DisaggregationError as e:
                        self._heuristics.mend(e.near)
                        if apart[e.full].all():
                            break
                        apart |= e.full
            self._descend_from_near(partial(self._by_itself, True), level)
        except SubtasksCountedError:
            self._descend_from_near(partial(self._by_itself, False), level)

    def _joint(
        self, groups: Groups, may: Bools | None = None, room: Floats | None = None
    ) -> AggregatedFormulation:
        return AggregatedFormulation.of(
            groups,
            self._levels[0].name,
            self._load,
            self._clock.left,
            self._clock.end_of(_BUILDING_SHARE),
            may,
            room,
            self._most(self._levels[:1]),
        )

    def _by_itself(
        self, counted: bool, may: Bools | None = None, room: Floats | None = None
    ) -> Formulation:
        return self._formulate(self._levels[:1], counted, may)

    def _descend_from_near(self, build: Build, level: ObjectiveLevel) -> None:
        """Minimise the first level, first where the relaxation points to, then everywhere."""
        # It ends: each time the range of the objective's column is at least 64 times smaller.
        while True:
            try:
                self._descend_in(build, level)
                return
            except _WideRangeError:
                continue

    def _descend_in(self, build: Build, level: ObjectiveLevel) -> None:
        form = build()
        backend = self._load(form.model)
        if len(form.model.upper) >= LARGE:
            if self._priced is None:
                left = self._clock.left()
                bundles = form.bundles() if level.name == "wan" else None
                relaxed = backend.relax(
                    form.model.objectives[level.name],
                    seconds=None if left is None else left / 4,
                    tighten=bundles.broken if bundles else None,
                )
                self._priced = relaxed and (form, *relaxed)
            if self._priced is not None:
                least = self._priced[1]
                self._raise_floor(least - OPTIMAL_GAP * abs(least))
                self._heuristics.near_relaxation(build, *self._priced)
        self._descend(form, backend, level)

    def _close_in(self, level: ObjectiveLevel) -> bool:
        """Minimise `wan` on a general network among ever more sites, until no other can matter.

        Returns
        -------
        bool
            False if this is not the way to do it.
        """
        p = self._problem
        if level.name != "wan" or p.network.tree is not None:
            return False
        self._marginals = found = Marginals.of(p)
        if found is None:
            return False
        self._raise_floor(found.bound)
        self._best.offer(found.plan(p))
        beyond = found.bound
        # It ends: each time either all that is better than the best plan was looked at, or `beyond`
        # grows to a higher one of finitely many marginals.
        while True:
            known = self.best.value("wan") if self.best else np.inf
            beyond = min(found.wider(beyond), known)
            form = self._formulate([level], counted=True, may=self._no_worse_than(beyond))
            self._clock.check(form.model)
            answer = self._minimise(form, self._load(form.model), level, beyond)
            if answer is None:
                break
            known = self.best.value("wan") if self.best else np.inf
            if answer.outcome is Outcome.STOPPED or beyond >= known or self._reached(answer.bound):
                self._settle(level, answer)
                break
        return True

    def _no_worse_than(self, wan: float) -> Bools | None:
        """Return where subtasks may run in plans with at most so much `wan`, None if not known."""
        if self._marginals is None:
            return None
        near = self._marginals.near(wan * (1 + OPTIMAL_GAP))
        return near[:, self._problem.tms.site]

    def _rest(self) -> None:
        if self._led is not None:
            # The model of all levels is larger still.
            self._clock.check(self._led[0].model)
        may = self._within_cap()
        form, backend = self._capped(may)
        for level in self._levels[1:]:
            # It ends as in `_descend_from_near`.
            while True:
                try:
                    go_on = self._descend(form, backend, level)
                    break
                except _WideRangeError:
                    form, backend = self._capped(may)
            if not go_on:
                return
            self._cap(form, backend, level, self._best.caps[-1])

    def _capped(self, may: Bools | None) -> tuple[Formulation, Backend]:
        """Return a model of all levels in which those that are done are kept."""
        form = self._formulate(self._levels, may=may)
        backend = self._load(form.model)
        for level, cap in zip(self._levels, self._best.caps, strict=False):
            self._cap(form, backend, level, cap)
        return form, backend

    def _within_cap(self) -> Bools | None:
        """Return where subtasks run in plans that keep the cap of the first level, maybe elsewhere.

        All such plans are kept, so none is lost that is best in the later levels. None if nothing
        is known of that.
        """
        p, cap, name = self._problem, self._best.caps[0] * (1 + TIE), self._levels[0].name
        if self._relaxed is not None:
            found = decide(p, p.keeps_up, max(cap - self._relaxed, 0.0) + TIE * cap)
            return None if found is None else found.within(cap)
        if self._led is None:
            return self._no_worse_than(cap)
        form, backend = self._led
        left = self._clock.left()
        relaxed = backend.relax(
            form.model.objectives[name], seconds=None if left is None else left / 4
        )
        if relaxed is None:
            return None
        least, growth = relaxed
        return form.within(growth, cap - least + OPTIMAL_GAP * abs(cap))

    def _formulate(
        self, levels: Sequence[ObjectiveLevel], counted: bool = False, may: Bools | None = None
    ) -> Formulation:
        """Return the model of some levels, the first one among them."""
        return formulate(
            self._problem,
            [v.name for v in levels],
            soft_rates=self._soft,
            counted=counted,
            may=may,
            most=self._most(levels),
            deadline=self._clock.end_of(_BUILDING_SHARE),
        )

    def _most(self, levels: Sequence[ObjectiveLevel]) -> dict[ObjectiveName, float]:
        """Return what levels come to at most in all plans that are looked for."""
        most: dict[ObjectiveName, float] = {}
        if self.best is not None:
            # The best plan keeps the caps so far, so the next level comes to no more than it has.
            caps = len(self._best.caps)
            for i, level in enumerate(levels[: caps + 1]):
                value = self._best.caps[i] if i < caps else self._allowed(level)
                most[level.name] = value * (1 + OPTIMAL_GAP)
        return most

    def _allowed(self, level: ObjectiveLevel) -> float:
        """Return what a plan may come to in a level if nothing better is found, inf without one."""
        return self.best.value(level.name) * (1 + level.tolerance) if self.best else np.inf

    def _descend(self, form: Readable, backend: Backend, level: ObjectiveLevel) -> bool:
        """Minimise one level; return whether its value is proved or near enough to go on.

        Raises
        ------
        OutOfTimeError
            If the model is too large for the time left: a solver looks at the clock too seldom.
        """
        self._clock.check(form.model)
        if not self._bounds:
            self._led = form, backend
        answer = self._minimise(form, backend, level)
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
                self._stopped_by = self._gave_up()
                return False
        self._best.caps.append(value * (1 + level.tolerance))
        return True

    def _gave_up(self) -> StoppedBy:
        """Return why a solver stopped before it was done: without a limit, by itself."""
        return StoppedBy.ROUNDING if not self._clock.limited else StoppedBy.TIME_LIMIT

    @staticmethod
    def _short(value: float, bound: float) -> bool:
        return value - bound > OPTIMAL_GAP * abs(value)

    def _cap(self, form: Formulation, backend: Backend, level: ObjectiveLevel, cap: float) -> None:
        """Keep a level that is done at its value.

        The evaluator has the last word on that; see `BestPlan.keeps_caps`.
        """
        limit = self._without_dear(form, backend, form.model.objectives[level.name], cap)
        # Divided by its size, so that the solver's absolute tolerance is a relative one.
        size = max(cap, abs(limit.constant))
        unit = 1 / size if size > 0 else 1.0
        # What rounding may do to a sum of which the constant is a part.
        rounding = TIE * size
        terms = {c: v * unit for c, v in limit.terms.items()}
        if terms:
            backend.add_rows([Row(terms, (cap - limit.constant + rounding) * unit)])

    def _without_dear(
        self, form: Readable, backend: Backend, objective: Affine, most: float
    ) -> Affine:
        """Rule out columns that alone cost more than all may; return the objective without them.

        Beside the others, their coefficients are too large for a solver's arithmetic.
        """
        out = _dear(form, objective, most)
        backend.add_rows([Row({c: 1.0}, 0.0) for c in out])
        kept = {c: v for c, v in objective.terms.items() if c not in out}
        return Affine(kept, objective.constant)

    def _minimise(
        self, form: Readable, backend: Backend, level: ObjectiveLevel, beyond: float = np.inf
    ) -> Answer | None:
        """Minimise one level until the evaluator agrees; None: nothing more can be learnt.

        Parameters
        ----------
        beyond
            What no plan that the model leaves out has less than.
        """
        for assignment in self._excluded:
            self._best.offer(assignment)
        objective = form.model.objectives[level.name]
        met: set[bytes] = set()
        # It ends: each round meets a plan that was not met before, or cuts one off, or rules out a
        # column.
        while True:
            left = self._clock.left()
            if left == 0.0:
                self._stopped_by = StoppedBy.TIME_LIMIT
                return None
            if self._too_coarse(form, objective, level):
                objective = self._without_dear(form, backend, objective, self._allowed(level))
            start = form.start(self.best.assignment) if self.best else None
            if not self._bounds and left is not None:
                left = min(
                    left * _PROVING_SHARE, max(left - overrun_s(form.model.n_entries), left / 2)
                )
            try:
                answer = backend.minimise(
                    objective,
                    seconds=left,
                    gap=self._gap,
                    start=start,
                    found=partial(offer_found, self._best, form),
                )
            except SolverInterrupt as e:
                self._raise_floor(min(e.answer.bound, beyond))
                with suppress(DisaggregationError):
                    if e.answer.values is not None:
                        self._best.offer(form.assignment(e.answer.values))
                raise
            # No term is ever below 0, and of plans that were cut off the best is known.
            known = self.best.value(level.name) if self.best and self._excluded else np.inf
            answer = replace(answer, bound=max(min(answer.bound, beyond, known), 0.0))
            self._raise_floor(answer.bound)
            if answer.outcome is Outcome.INFEASIBLE:
                return self._without_plan(backend, level, answer, beyond)
            if answer.values is None:
                self._stopped_by = self._gave_up()
                return answer
            assignment = form.assignment(answer.values)
            found = self._best.offer(assignment)
            rows: list[Row] = []
            again = assignment.tobytes() in met
            met.add(assignment.tobytes())
            if not again:
                rows = self._missed(form, answer.values, assignment, found)
            elif not self._best.holds(found):
                rows = self._excluding(form, assignment)
                if not rows:
                    raise SubtasksCountedError
            if answer.outcome is Outcome.OPTIMAL and not rows and self.best is not None:
                value = self.best.value(level.name)
                near = max(self._gap, OPTIMAL_GAP) * abs(value)
                if abs(value - answer.bound) > near and self._too_coarse(form, objective, level):
                    continue
                if value - answer.bound > near:
                    if _horizon(form, objective) > 64 * self._allowed(level) > 0:
                        raise _WideRangeError
                    rows = self._excluding(form, assignment)
            if not rows:
                check_agreement(backend, level.name, answer, self.best)
                return answer
            backend.add_rows(rows)
            if answer.outcome is Outcome.STOPPED and self.best is not None:
                return answer

    def _without_plan(
        self, backend: Backend, level: ObjectiveLevel, answer: Answer, beyond: float
    ) -> Answer | None:
        """Return what follows where a model has no plan."""
        if beyond < np.inf:
            return answer
        if self.best is None:
            self.infeasible = True
            return None
        if self._excluded:
            return answer
        raise PlanMismatchError(
            f"{backend.name} says that no plan exists, but the evaluator knows one",
            "please report this with the input files",
        )

    def _too_coarse(self, form: Readable, objective: Affine, level: ObjectiveLevel) -> bool:
        """Return whether the best plan costs so little that solvers do not tell it from nothing.

        That is, beside what columns cost that can be ruled out.
        """
        out = _dear(form, objective, _COARSE * self._allowed(level))
        return bool(out)

    def _excluding(self, form: Readable, assignment: Ints) -> list[Row]:
        """Return a row that cuts off a plan of which the model says too little.

        A solver's rounding is to blame; the plan was offered, and is so again in later levels.
        Empty where that has been done too often, or subtasks are not told apart.
        """
        if len(self._excluded) >= _MOST_EXCLUDED or not isinstance(form, Formulation):
            return []
        row = form.excluding(assignment)
        if row is None:
            return []
        self._excluded.append(assignment)
        return [row]

    def _raise_floor(self, bound: float) -> None:
        """Note a bound of the first level."""
        if not self._bounds and np.isfinite(bound):
            self._floor = max(self._floor, bound)

    def _missed(self, form: Readable, values: Floats, assignment: Ints, found: Usage) -> list[Row]:
        """Return rows for what the model leaves out; see `Formulation.missed`."""
        if form.rho is None and self._best.holds(found):
            return []
        said = report(found)
        kept = tuple(v for v in said.violations if not (self._soft and v.kind in RATED))
        return form.missed(values, assignment, said.model_copy(update={"violations": kept}))

    def result(self, backend: str, conflict: Conflict | None) -> Result:
        """Return the answer."""
        runtime = time.monotonic() - self._clock.began
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
            value = found.value(level.name)
            bound = self._floor if i == 0 else 0.0
            if i < len(self._bounds):
                bound = self._bounds[i]
            results.append(
                LevelResult(
                    name=level.name,
                    value=value,
                    bound=min(bound, value),
                    tolerance=level.tolerance,
                )
            )
        proved = len(self._bounds) == len(self._levels) and all(
            r.value * (1 - OPTIMAL_GAP) <= b * (1 + r.tolerance)
            for r, b in zip(results, self._bounds, strict=True)
        )
        return Result(
            status=Status.OPTIMAL if proved else Status.FEASIBLE,
            stopped_by=StoppedBy.PROOF if proved else self._stopped_by,
            plan=self._problem.plan(self.best.assignment),
            evaluation=found,
            levels=tuple(results),
            incumbents=tuple(self._best.incumbents),
            runtime_s=runtime,
            backend=backend,
            notes=notes,
        )


def _dear(form: Readable, objective: Affine, most: float) -> set[int]:
    """Return the columns of an objective that are 0 in all plans that come to no more than this."""
    if min(objective.terms.values(), default=0.0) < 0 or not np.isfinite(most):
        return set()
    room = most - objective.constant + TIE * max(most, abs(objective.constant))
    kinds = form.model.kinds
    return {c for c, v in objective.terms.items() if v > room and kinds[c] is not Kind.REAL}


def _horizon(form: Readable, objective: Affine) -> float:
    """Return what the column that `latency` or `throughput` is may come to, 0 for other terms."""
    upper, kinds = form.model.upper, form.model.kinds
    return max(
        (v * upper[c] for c, v in objective.terms.items() if kinds[c] is Kind.REAL), default=0.0
    )
