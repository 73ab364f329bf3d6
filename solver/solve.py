"""`solve`: index, find a start, build, minimise level by level, check, answer."""

import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    Conflict,
    Evaluation,
    InvalidInputError,
    JobGraph,
    LevelResult,
    ObjectiveLevel,
    Plan,
    PlanMismatchError,
    Result,
    Rules,
    Status,
    StoppedBy,
)
from edgeplace.solver.backend import Answer, Backend, Outcome
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.conflict import find_conflict
from edgeplace.solver.evaluate import report
from edgeplace.solver.formulation import Formulation, formulate
from edgeplace.solver.linear_model import Affine, Row
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.tidy import tidy
from edgeplace.solver.verdict import Verdict, judge

Ints = NDArray[np.intp]
BackendName = Literal["milp", "cp-sat"]
OPTIMAL_GAP = 1e-6
NEGLIGIBLE = 1e-6
"""A millionth of a byte per second, ms, core or utilisation: below what solvers resolve."""
RATED = {"link bandwidth", "node cpu", "subtask busy", "credit window"}
"""Kinds of limits that grow with the rates; soft where `throughput` comes first."""


def solve(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
    current: Plan | None = None,
    time_limit_s: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    workers: int | None = None,
    backend: BackendName = "milp",
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Place every subtask of one or more jobs, and prove how good the placement is.

    Parameters
    ----------
    job_graph
        The job, with its costs, or several that share the cluster.
    objective
        Terms to minimise in this order, each subject to the ones before: `wan` (bytes/s over
        links, weighted by price), `latency` (worst path, ms), `server_cores`, `moves`,
        `throughput` (largest utilisation of a limit that grows with the rates). `wan:5%` lets
        later terms worsen `wan` by 5 %. With `throughput` first, such limits may be exceeded: the
        plan then sustains the share `headroom` of the demand.
    current
        Where the subtasks run now: the answer is never worse.
    time_limit_s
        Wall time of the whole call; None: until proved.
    gap
        Relative gap of a level at which its search may stop.
    workers
        Threads of the back end; None: one, which is deterministic.
    backend
        `milp` (HiGHS) or `cp-sat` (OR-Tools).
    progress
        Called with a line of text when something is found or proved.

    Returns
    -------
    Result
        Infeasible is an answer, with a conflict that says why, never an exception.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or contradict one another.
    PlanMismatchError
        If the evaluator does not confirm a back end's answer: a bug of edgeplace.
    """
    began = time.monotonic()
    tell = progress or (lambda text: None)
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    levels = [
        level if isinstance(level, ObjectiveLevel) else ObjectiveLevel.parse(level)
        for level in objective
    ]
    if not levels or len({v.name for v in levels}) < len(levels):
        raise InvalidInputError(
            f"the objective {[v.name for v in levels]} names no level, or one twice",
            "name each term once",
        )
    # Written so that nan is refused too.
    if not gap >= 0 or not (time_limit_s is None or time_limit_s >= 0):
        raise InvalidInputError(
            f"gap {gap} and time limit {time_limit_s} must not be negative", "use 0 or more"
        )
    problem = build(jobs, cluster, rules, current)
    soft = levels[0].name == "throughput"
    search = _Search(problem, levels, soft, began, time_limit_s, gap, tell)
    search.offer_baselines()
    if problem.m and problem.allowed().any(axis=1).all():
        known = search.best
        # Half of the time is for building: without the rest to search in, it would be wasted.
        deadline = None if time_limit_s is None else began + time_limit_s / 2
        names = [v.name for v in levels]
        try:
            form = formulate(problem, names, soft_rates=soft, known=known, deadline=deadline)
        except TimeoutError:
            search.out_of_time()
        else:
            search.run(form, _load(backend, form, seed, workers))
    else:
        search.infeasible = True
    search.tidy()
    conflict = None
    if search.infeasible and search.best is None:
        conflict = find_conflict(problem, soft, search.seconds_left())
    return search.result(backend, conflict)


def _load(name: BackendName, form: Formulation, seed: int, workers: int | None) -> Backend:
    # A solver library is loaded only when it is asked for.
    if name == "milp":
        from edgeplace.solver.milp import Milp

        return Milp(form.model, seed, workers)
    if name == "cp-sat":
        from edgeplace.solver.cpsat import CpSat

        return CpSat(form.model, seed, workers)
    raise InvalidInputError(f"there is no back end {name!r}", "use 'milp' or 'cp-sat'")


class _Search:
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
        self.best: Verdict | None = None
        self.infeasible = False
        self._stopped_by = StoppedBy.PROOF

    def seconds_left(self) -> float | None:
        """Return the wall time that is left, None without a limit."""
        if self._limit is None:
            return None
        return max(0.0, self._limit - (time.monotonic() - self._began))

    def out_of_time(self) -> None:
        """Note that the clock ended the search before it began."""
        self._stopped_by = StoppedBy.TIME_LIMIT

    def offer_baselines(self) -> None:
        """Start from the current placement and from what others would do."""
        p = self._problem
        if not p.m:
            return
        if p.current is not None and (p.current >= 0).all():
            self._offer(p.current)
        for baseline in BASELINES.values():
            self._offer(baseline(p))

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

    def run(self, form: Formulation, backend: Backend) -> None:
        """Minimise level by level; each level's value limits the later ones."""
        for level in self._levels:
            objective = form.model.objectives[level.name]
            try:
                answer = self._minimise(form, backend, level, objective)
            except KeyboardInterrupt:
                self._stopped_by = StoppedBy.INTERRUPT
                return
            if answer is None:
                return
            if self.best is None:
                return
            value = self.best.value(level.name)
            bound = min(max(answer.bound, 0.0), value)
            self._bounds.append(bound)
            short = value - bound > OPTIMAL_GAP * abs(value) + NEGLIGIBLE
            self._tell(f"{level.name}: {value:.6g}, bound {bound:.6g}")
            if short:
                if value - bound <= self._gap * abs(value):
                    self._stopped_by = StoppedBy.GAP
                elif answer.outcome is Outcome.OPTIMAL:
                    self._stopped_by = StoppedBy.ROUNDING
                else:
                    self._stopped_by = StoppedBy.TIME_LIMIT
                    return
            cap = value * (1 + level.tolerance)
            self._caps.append(cap)
            # Divided by the cap, so that the solver's absolute tolerance is a relative one.
            unit = 1 / cap if cap > 1 else 1.0
            limit = Affine().add(objective, unit)
            slack = cap * unit + 1e-9 - limit.constant
            backend.add_rows([Row(limit.terms, slack)] if limit.terms else [])

    def _minimise(
        self, form: Formulation, backend: Backend, level: ObjectiveLevel, objective: Affine
    ) -> Answer | None:
        """Minimise one level until the evaluator agrees; None: nothing more can be learnt."""
        while True:
            left = self.seconds_left()
            if left == 0.0:
                self._stopped_by = StoppedBy.TIME_LIMIT
                return None
            start = form.start(self.best.assignment) if self.best else None
            answer = backend.minimise(objective, seconds=left, gap=self._gap, start=start)
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
            rows = form.missed(answer.values, assignment, self._strict(report(found)))
            if not rows:
                self._agree(backend, level, objective, answer, found)
                return answer
            backend.add_rows(rows)
            if answer.outcome is Outcome.STOPPED and self.best is not None:
                return answer

    def _strict(self, found: Evaluation) -> Evaluation:
        """Return the evaluation without the violations that are allowed here."""
        kept = tuple(v for v in found.violations if not (self._soft and v.kind in RATED))
        return found.model_copy(update={"violations": kept})

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
            bound = self._bounds[i] if i < len(self._bounds) else 0.0
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
