"""`solve_fleet`: the same jobs at very many sites, by prices of shared resources.

Every replica is placed by trying all patterns. Prices on shared links, cores, slots, memory and
disk join the replicas. See docs/formulation.md.
"""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from edgeplace.model import InvalidInputError, PlanMismatchError, Status
from edgeplace.solver.clock import limited, look
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.fleet.executor import Executor, Threads
from edgeplace.solver.fleet.fleet import Fleet
from edgeplace.solver.fleet.layout import Layout
from edgeplace.solver.fleet.parts import NoPlaceError, Parts
from edgeplace.solver.fleet.price_search import find_prices
from edgeplace.solver.fleet.result import FleetResult
from edgeplace.solver.fleet.rounding import find_plan
from edgeplace.solver.fleet.tiled import tiled
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE


def solve_fleet(
    fleet: Fleet,
    gap: float = OPTIMAL_GAP,
    time_limit_s: float | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> FleetResult:
    """Place every subtask of every replica with the least `wan`, and say how near that is.

    Parameters
    ----------
    gap
        Relative gap that is near enough.
    time_limit_s
        Wall time of the whole call; None: until proved. Of this, as much is kept for checking the
        plan as was needed for reading the fleet in.
    workers
        Threads that price replicas.
    executor
        Where replicas are priced instead, such as `edgeplace.spark_executor.SparkExecutor`.
    seed
        Of the replicas that prices are found on first.
    progress
        Called with a line of text when something is found or proved.

    Raises
    ------
    InvalidInputError
        If the fleet is not what `Fleet` says.
    PlanMismatchError
        If the evaluator does not confirm the plan: a bug of edgeplace.
    """
    if not gap >= 0 or not (time_limit_s is None or time_limit_s >= 0):
        raise InvalidInputError(
            f"gap {gap} and time limit {time_limit_s} must not be negative", "use 0 or more"
        )
    if workers < 1 or seed < 0:
        raise InvalidInputError(
            f"there are {workers} workers, and the seed is {seed}",
            "use 1 worker or more, and a seed of 0 or more",
        )
    clock = _Stopwatch(time_limit_s, progress or (lambda text: None))
    known = _Known()
    try:
        with limited(time_limit_s):
            return _solved(fleet, gap, executor or Threads(workers), seed, clock, known)
    except OutOfTimeError:
        return _none(Status.UNKNOWN, None, clock, known.bound)


@dataclass
class _Known:
    """The best bound so far."""

    bound: float = 0.0


def _solved(
    fleet: Fleet, gap: float, executor: Executor, seed: int, clock: "_Stopwatch", known: _Known
) -> FleetResult:
    layout = Layout.of(fleet)
    look()
    try:
        parts = Parts.of(layout)
    except NoPlaceError as e:
        return _none(Status.INFEASIBLE, str(e), clock)
    clock.keep_for_check()
    clock.passed(
        "patterns",
        f"{parts.n_replicas:,} replicas, {', '.join(map(str, parts.n_patterns))} patterns",
    )
    with limited(clock.searching_s()), closing(executor.spread(parts.parts)) as spread:
        dual = find_prices(parts, spread, seed, gap, clock.seconds_left)
        clock.passed("prices", f"wan is at least {dual.best.bound:.9g}")
        known.bound = dual.best.bound
        if dual.exceeds:
            return _none(Status.INFEASIBLE, parts.shortage(dual.best.prices), clock)
        chosen, bound = find_plan(parts, spread, dual, gap, clock.seconds_left)
    clock.passed("plan", f"bound {bound:.9g}")
    if chosen is None:
        if bound == np.inf:
            return _none(Status.INFEASIBLE, parts.shortage(), clock)
        return _none(Status.UNKNOWN, None, clock, bound)
    whole = tiled(layout, parts.loads)
    places = parts.places(chosen)
    verdict = measure_usage(whole.problem, whole.assignment(places))
    wan = verdict.value("wan")
    promised = sum(part.taken(own)[0] for part, own in zip(parts.parts, chosen, strict=True))
    if not (verdict.fixed_hold and verdict.rated_hold) or abs(wan - promised) > TIE * wan:
        raise PlanMismatchError(
            f"the evaluator says {wan:.12g} of a plan for {promised:.12g}, or that a limit is "
            "exceeded",
            "please report this with the fleet",
        )
    clock.passed("check", f"the evaluator confirms {wan:.9g}")
    bound = min(bound, wan)
    return FleetResult(
        status=Status.OPTIMAL if wan - bound <= OPTIMAL_GAP * wan else Status.FEASIBLE,
        places={k.name: k.places[own] for k, own in zip(layout.kinds, places, strict=True)},
        subtasks={
            k.name: tuple(
                (job, op.id)
                for i in layout.template.subtasks.operator_of[k.subtasks].tolist()
                for job, op in [layout.template.subtasks.operators[i]]
            )
            for k in layout.kinds
        },
        task_managers=tuple(t.id for t in fleet.cluster.task_managers),
        wan=wan,
        bound=bound,
        prices=parts.named(dual.best.prices),
        verdict=verdict,
        conflict=None,
        runtime_s=clock.parts(),
    )


class _Stopwatch:
    """The time of each step."""

    def __init__(self, limit: float | None, tell: Callable[[str], None]) -> None:
        self._began = self._last = time.monotonic()
        self._limit, self._tell = limit, tell
        self._parts: dict[str, float] = {}
        self._kept = 0.0

    def keep_for_check(self) -> None:
        """Keep as much time for checking the plan as has passed."""
        self._kept = time.monotonic() - self._began

    def seconds_left(self) -> float:
        """Return the seconds until the search must end."""
        if self._limit is None:
            return np.inf
        return self._began + self._limit - self._kept - time.monotonic()

    def searching_s(self) -> float | None:
        """Return the seconds until the search must end, None without a limit."""
        return None if self._limit is None else max(self.seconds_left(), 0.0)

    def passed(self, part: str, text: str) -> None:
        """Note the end of a part."""
        now = time.monotonic()
        self._parts[part] = now - self._last
        self._last = now
        self._tell(f"{part}: {text}")

    def parts(self) -> dict[str, float]:
        """Return the seconds of each part, and of all."""
        return {**self._parts, "all": time.monotonic() - self._began}


def _none(
    status: Status, conflict: str | None, clock: _Stopwatch, bound: float = float("nan")
) -> FleetResult:
    return FleetResult(status, {}, {}, (), float("nan"), bound, {}, None, conflict, clock.parts())
