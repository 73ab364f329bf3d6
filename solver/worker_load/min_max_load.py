"""`balance`: minimise the load of the fullest worker, with the loads of CAPS, and prove it."""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from ortools.sat.python import cp_model

from edgeplace.model import (
    Cluster,
    Evaluation,
    InvalidInputError,
    JobGraph,
    LimitKind,
    Plan,
    PlanMismatchError,
    Rules,
    refuse_demand,
)
from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.caps import caps
from edgeplace.solver.baselines.caps_load import Reading, largest_load
from edgeplace.solver.baselines.flink_spread import flink_spread
from edgeplace.solver.baselines.found import Budget
from edgeplace.solver.clock import Clock, limited, prolonged
from edgeplace.solver.evaluation.evaluate import with_headroom
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.tolerances import OPTIMAL_GAP, ZERO
from edgeplace.solver.worker_load.annealing import exchanged, spread
from edgeplace.solver.worker_load.cpsat_model import LoadModel
from edgeplace.solver.worker_load.loads import Loads
from edgeplace.solver.worker_load.pattern_bound import bound_by_patterns
from edgeplace.solver.worker_load.restricted_master import corrected, covered_by_patterns
from edgeplace.solver.worker_load.symmetry import Kinds

_CAPS_SHARE = 0.1
"""Of the time, for CAPS's own search where nothing is proved by then."""
_START_SHARE, _EXCHANGE_SHARE, _BOUND_SHARE = 0.3, 0.5, 0.8
"""Of the time that is left: for a first plan, for exchanges, for the bound of alike workers."""
_LOOSER = (1.0, 1.001, 1.003, 1.01)
"""How far above what the bound can reach the patterns of each mix may be."""
_CUTS = 3
_LATE_S = 0.5
"""Time beyond the limit for a first plan."""
_CAPS_PAIR_S = 2e-7
"""Time to number what CAPS places, for each subtask and TaskManager, measured."""


@dataclass(frozen=True)
class Decided:
    """The plan found, and the bound of the largest load.

    Attributes
    ----------
    assignment
        TaskManager of each subtask, shape (n_subtasks,); None: none is known.
    value
        Its largest normalised load of a worker; infinite without one.
    bound
        No plan has a lower one; infinite if none exists.
    """

    assignment: Ints | None
    value: float
    bound: float

    @property
    def proved(self) -> bool:
        """True if no plan is better by more than a millionth, or no plan exists."""
        return self.bound >= self.value - _tolerance(self.value)


@dataclass(frozen=True)
class Balance:
    """The plan that minimises the load of the fullest worker.

    Attributes
    ----------
    plan
        None if there is none (`bound` is infinite then) or none was found in the time.
    evaluation
        What the evaluator says of the plan: balancing looks at slots and at places only, so other
        limits may be exceeded.
    largest_load
        The largest normalised compute, state or network load of a worker.
    bound
        No plan has a lower one.
    proved
        Whether the two agree to a millionth.
    """

    plan: Plan | None
    evaluation: Evaluation | None
    largest_load: float
    bound: float
    proved: bool


def balance(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    time_limit_s: float | None = None,
    seed: int = 0,
    reading: Reading = "flink",
) -> Balance:
    """Minimise the largest load of any TaskManager.

    Loads are those of CAPS (EuroSys 2025): of each TaskManager its share of the node's cores, the
    bytes/s that it checkpoints and the bytes/s that it sends to others, each as a share of the way
    from an even share to the slots of one filled with the most expensive subtasks. Slots, and where
    rules let subtasks run, are kept to; links, memory, CPU and latency are not looked at.

    Parameters
    ----------
    time_limit_s
        Wall time of the whole call; None: until proved.
    reading
        What subtasks weigh: `flink`, as Flink runs them; `caps`, as CAPS has it (`caps_load` says
        where the two differ).

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or contradict one another, or are more than CAPS's own weights
        can say.
    PlanMismatchError
        If the evaluator does not confirm the plan: a bug of edgeplace.
    """
    refuse_demand(rules, "the load of workers is balanced")
    if not (time_limit_s is None or time_limit_s >= 0):
        raise InvalidInputError(f"time limit {time_limit_s} must not be negative", "use 0 or more")
    with limited(time_limit_s) as clock:
        try:
            with prolonged(_LATE_S):
                problem = build(job_graph, cluster, rules)
        except OutOfTimeError:
            return Balance(None, None, math.inf, 0.0, False)
        found = decide(problem, clock.left(), seed, reading)
    if found.assignment is None:
        return Balance(None, None, found.value, found.bound, found.proved)
    evaluation = with_headroom(measure_usage(problem, found.assignment))
    if any(v.kind is LimitKind.SLOTS for v in evaluation.violations):
        raise PlanMismatchError("the balanced plan takes more slots than there are")
    return Balance(
        problem.plan(found.assignment), evaluation, found.value, found.bound, found.proved
    )


def decide(
    problem: Problem,
    time_limit_s: float | None = None,
    seed: int = 0,
    reading: Reading = "flink",
) -> Decided:
    """Return the assignment with the least largest load by a reading, and a bound.

    Raises
    ------
    PlanMismatchError
        If `largest_load` does not confirm it: a bug of edgeplace.
    """
    with limited(time_limit_s) as clock:
        return _decide(problem, clock, seed, reading)


def _decide(problem: Problem, clock: Clock, seed: int, reading: Reading) -> Decided:
    if not problem.m or not problem.allowed().any(axis=1).all():
        return Decided(None, math.inf, math.inf)
    try:
        loads = Loads.of(Kinds.find(problem, reading))
    except OutOfTimeError:
        return _at_once(problem, reading)
    search = _Search(loads, seed, clock.end_of(1 - _CAPS_SHARE))
    with suppress(OutOfTimeError):
        search.run()
    if search.count is None:
        return Decided(None, math.inf, search.bound) if search.bound else _at_once(problem, reading)
    assignment = search.loads.kinds.dealt(search.count)
    value = largest_load(problem, assignment, reading)
    # Sums of floats in another order; what is taken off them may be a million times what is left.
    if abs(value - search.value) > OPTIMAL_GAP * max(1.0, value):
        raise PlanMismatchError(
            f"the balanced plan's largest load is {value}, and was taken for {search.value}"
        )
    found = Decided(assignment, value, min(search.bound, value))
    if not found.proved:
        found = _with_caps(problem, found, clock, reading)
    if not problem.allowed()[np.arange(problem.n), found.assignment].all():
        raise PlanMismatchError("the balanced plan has a subtask where it may not run")
    return found


def _at_once(problem: Problem, reading: Reading) -> Decided:
    """Return how Flink spreads slots, if they suffice, where there was no time for a search."""
    nothing = Decided(None, math.inf, 0.0)
    with prolonged(_LATE_S):
        try:
            assignment = flink_spread(problem)
        except OutOfTimeError:
            return nothing
    verdict = measure_usage(problem, assignment)
    allowed = problem.allowed()[np.arange(problem.n), assignment]
    if not allowed.all() or (verdict.slots > problem.tms.slots).any():
        return nothing
    return Decided(assignment, largest_load(problem, assignment, reading), 0.0)


def _with_caps(problem: Problem, known: Decided, clock: Clock, reading: Reading) -> Decided:
    """Return CAPS's plan in place of one that is not proved, if it is better."""
    theirs = None
    with suppress(OutOfTimeError):
        clock.afford(_CAPS_PAIR_S * problem.n * problem.m)
        theirs = caps(problem, Budget(clock.left()), reading).assignment
    if theirs is None:
        return known
    value = largest_load(problem, theirs, reading)
    return Decided(theirs, value, known.bound) if value < known.value else known


def _tolerance(value: float) -> float:
    return OPTIMAL_GAP * value + ZERO if value < math.inf else 0.0


class _Search:
    """The best counts so far, and the best bound."""

    def __init__(self, loads: Loads, seed: int, deadline: float) -> None:
        self.loads = loads
        self.count: Ints | None = None
        self.value = math.inf
        self.bound = 0.0
        self._seed = seed
        self._deadline = deadline
        self._weights: Ints = np.zeros((0, len(loads.kinds.members)), np.intp)

    def run(self) -> None:
        """Look for plans and bounds until they meet or the time is over."""
        start = spread(self.loads, self._end_of(_START_SHARE))
        if start is None:
            start = self._packed()
        if start is None:
            return
        self._offer(start)
        ends = self._end_of(_EXCHANGE_SHARE)
        better, patterns = exchanged(self.loads, start, self._seed, ends)
        self._offer(better)
        if not self._open():
            return
        if len(np.unique(self.loads.kinds.worker)) == 1:
            self._bound_by_patterns(patterns)
        if self._open():
            self._search_all_workers()

    def _end_of(self, share: float) -> float:
        """Return when a share of the time that is left will be over."""
        now = time.monotonic()
        return now + share * (self._deadline - now)

    def _open(self) -> bool:
        """Return whether there is something left to prove, and time to do it."""
        proved = self.bound >= self.value - _tolerance(self.value)
        return not proved and time.monotonic() < self._deadline

    def _offer(self, count: Ints) -> None:
        value = float(self.loads.of_all(count).max())
        if value < self.value:
            self.count, self.value = count, value

    def _packed(self) -> Ints | None:
        """Return any counts that fit the slots; prove it if there are none."""
        full = self._full_model()
        solver, status = full.solve(self._seed, self._deadline)
        if status == cp_model.INFEASIBLE:
            self.bound = math.inf
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return full.values(solver)
        return None

    def _bound_by_patterns(self, patterns: Ints) -> None:
        """Bound the largest load of alike workers; make plans of the patterns met on the way."""
        until = self._end_of(_BOUND_SHARE)
        found = bound_by_patterns(
            self.loads, self.value, patterns, _tolerance(self.value), self._seed, until
        )
        self.bound, self._weights = found.bound, found.weights[:_CUTS]
        for i, looser in enumerate(_LOOSER):
            if not self._open():
                return
            within = found.reach * looser
            near = covered_by_patterns(
                self.loads, found.patterns, within, self._seed, self._deadline
            )
            rough = None if near is None else corrected(self.loads, near, self._deadline)
            if rough is not None:
                self._offer(rough)
                self._offer(exchanged(self.loads, rough, self._seed + i, self._deadline)[0])

    def _full_model(self) -> LoadModel:
        """Return the model of all workers, alike ones in one order."""
        kinds = self.loads.kinds
        full = LoadModel(self.loads, range(kinds.problem.m))
        largest = int(np.argmax(kinds.size))
        for own, size in zip(full.count, kinds.size.tolist(), strict=True):
            full.model.add(cp_model.LinearExpr.sum(own) == size)
        for alike in self._alike():
            for a, b in pairwise(alike):
                full.model.add(full.count[largest][a] >= full.count[largest][b])
        return full

    def _alike(self) -> list[list[int]]:
        worker = self.loads.kinds.worker
        return [np.flatnonzero(worker == w).tolist() for w in range(int(worker.max()) + 1)]

    def _search_all_workers(self) -> None:
        """Let CP-SAT look for anything better, all workers at once."""
        assert self.count is not None  # noqa: S101 - there is a plan to improve
        full = self._full_model()
        target = self.value - _tolerance(self.value) / 2
        full.at_most(target)
        for weights in self._weights:
            self._cut(full, weights, target)
        count = self._in_order(self.count)
        for columns, values in zip(full.count, count.tolist(), strict=True):
            for column, value in zip(columns, values, strict=True):
                full.model.add_hint(column, value)
        full.model.minimize(full.limit)
        solver, status = full.solve(self._seed, self._deadline)
        if status == cp_model.INFEASIBLE:
            self.bound = max(self.bound, target)
            return
        self.bound = max(self.bound, full.load(solver.best_objective_bound))
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self._offer(full.values(solver))

    def _cut(self, full: LoadModel, weights: Ints, target: float) -> None:
        """Limit what any of alike workers has, by weight, to what fits one within a load."""
        one = LoadModel(self.loads, [0])
        one.at_most(target)
        one.model.maximize(one.weighted(weights, 0))
        solver, status = one.solve(self._seed, self._deadline)
        if status == cp_model.OPTIMAL:
            most = math.floor(solver.best_objective_bound + 0.5)
            for w in range(self.loads.kinds.problem.m):
                full.model.add(full.weighted(weights, w) <= most)

    def _in_order(self, count: Ints) -> Ints:
        """Return counts with alike workers in the order of the model."""
        largest = int(np.argmax(self.loads.kinds.size))
        ordered = count.copy()
        for alike in self._alike():
            order = np.argsort(-count[largest, alike], kind="stable")
            ordered[:, alike] = count[:, np.array(alike)[order]]
        return ordered
