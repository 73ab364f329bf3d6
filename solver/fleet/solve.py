"""`solve_fleet`: the same jobs at very many sites, by prices on what the sites share.

Every copy is placed by trying all patterns; prices on shared links, cores, slots, memory and disk
tie the copies together. See docs/formulation.md.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import InvalidInputError, Plan, PlanMismatchError, Status
from edgeplace.solver.best_plan import OPTIMAL_GAP
from edgeplace.solver.fleet.dual import Cut, Dual, highest
from edgeplace.solver.fleet.executor import Executor, Spread, Threads
from edgeplace.solver.fleet.finish import Columns, choose, columns
from edgeplace.solver.fleet.fleet import Fleet
from edgeplace.solver.fleet.layout import Layout
from edgeplace.solver.fleet.part import Part
from edgeplace.solver.fleet.parts import Homeless, Parts
from edgeplace.solver.fleet.tiled import tiled
from edgeplace.solver.verdict import Verdict, judge

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_Asked = Callable[[Floats], tuple[float, Floats]]
"""Returns what copies cost at least at some prices, and what they take of each limit."""

_SAMPLES = (2_000, 40_000)
"""Copies of which prices are found first, from nothing and then from those of fewer."""
_SAMPLE_GAP = 1e-4
_POOLS = (100, 1_000, 10_000)
"""Copies whose patterns are chosen together with those that the prices leave open."""
_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, less whole numbers, fall evenly into shares of 1."""
_CLOSING = 50_000
"""Patterns up to which all that can be in a better plan are tried together."""


@dataclass(frozen=True)
class FleetResult:
    """An answer about a fleet.

    Attributes
    ----------
    status
        As in `Result`.
    places
        Site -> where each subtask of each copy runs, as an index of `Cluster.task_managers`, shape
        (count, n_subtasks); empty without a plan. Subtasks are numbered as by `subtasks`.
    subtasks
        Site -> (job, operator's id) of each of them; those of one operator follow each other.
    wan, bound
        Bytes/s over links, weighted by price, and what no plan has less of.
    prices
        What one more unit of each shared limit would save of `wan` at the margin, in the
        relaxation; only of limits that bind.
    verdict
        The evaluator's, of the whole fleet.
    conflict
        Why there is no plan.
    runtime_s
        Wall time of the whole call, and of its parts.
    """

    status: Status
    places: Mapping[str, NDArray[np.integer]]
    subtasks: Mapping[str, tuple[tuple[str, str], ...]]
    task_managers: tuple[str, ...]
    wan: float
    bound: float
    prices: Mapping[str, float]
    verdict: Verdict | None
    conflict: str | None
    runtime_s: Mapping[str, float]

    @property
    def gap(self) -> float:
        """Relative distance between value and bound, NaN without a plan."""
        return (self.wan - self.bound) / self.wan if self.wan else 0.0

    def plan(self, site: str, copy: int) -> Plan:
        """Return the plan of one copy, in the names that the fleet's cluster has.

        Raises
        ------
        InvalidInputError
            If there is no plan, or no such copy.
        """
        count = len(self.places.get(site, ()))
        if not 0 <= copy < count:
            known = ", ".join(f"{len(own)} copies of {s!r}" for s, own in self.places.items())
            raise InvalidInputError(
                f"there is no plan of copy {copy} of site {site!r}",
                f"there is one of {known}, counted from 0" if known else "see status and conflict",
            )
        jobs: dict[str, dict[str, tuple[str, ...]]] = {}
        for (job, operator), t in zip(
            self.subtasks[site], self.places[site][copy].tolist(), strict=True
        ):
            own = jobs.setdefault(job, {})
            own[operator] = (*own.get(operator, ()), self.task_managers[t])
        return Plan(jobs=jobs)


def solve_fleet(
    fleet: Fleet,
    gap: float = OPTIMAL_GAP,
    time_limit_s: float | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> FleetResult:
    """Place every subtask of every copy with the least `wan`, and say how near that is.

    Parameters
    ----------
    gap
        Relative gap that is near enough.
    time_limit_s
        Wall time after which what is known is answered; reading the fleet in and checking the plan
        are not cut short.
    workers
        Threads that price copies.
    executor
        Where copies are priced instead, such as `edgeplace.spark_executor.SparkExecutor`.
    seed
        Of the copies that prices are found on first.
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
    clock = _Clock(time_limit_s, progress or (lambda text: None))
    layout = Layout.of(fleet)
    try:
        parts = Parts.of(layout)
    except Homeless as e:
        return _none(Status.INFEASIBLE, str(e), clock)
    clock.passed(
        "patterns", f"{parts.n_copies:,} copies, {', '.join(map(str, parts.n_patterns))} patterns"
    )
    with closing((executor or Threads(workers)).spread(parts.parts)) as spread:
        dual = _prices(parts, spread, seed, clock, gap)
        clock.passed("prices", f"wan is at least {dual.best.bound:.9g}")
        if dual.exceeds:
            return _none(Status.INFEASIBLE, parts.shortage(dual.best.prices), clock)
        chosen, bound = _plan(parts, spread, dual, gap, clock)
    clock.passed("plan", f"bound {bound:.9g}")
    if chosen is None:
        if bound == np.inf:
            return _none(Status.INFEASIBLE, parts.shortage(), clock)
        return _none(Status.UNKNOWN, None, clock, bound)
    whole = tiled(layout, parts.loads)
    places = parts.places(chosen)
    verdict = judge(whole.problem, whole.assignment(places))
    wan = verdict.value("wan")
    promised = sum(part.taken(own)[0] for part, own in zip(parts.parts, chosen, strict=True))
    if not (verdict.fixed_hold and verdict.rated_hold) or abs(wan - promised) > 1e-9 * wan:
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
                for i in layout.pattern.subtasks.operator_of[k.subtasks].tolist()
                for job, op in [layout.pattern.subtasks.operators[i]]
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


class _Clock:
    """What took how long."""

    def __init__(self, limit: float | None, tell: Callable[[str], None]) -> None:
        self._began = self._last = time.monotonic()
        self._limit, self._tell = limit, tell
        self._parts: dict[str, float] = {}

    def seconds_left(self) -> float:
        """Return the seconds until the limit."""
        return np.inf if self._limit is None else self._began + self._limit - time.monotonic()

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
    status: Status, conflict: str | None, clock: _Clock, bound: float = float("nan")
) -> FleetResult:
    return FleetResult(status, {}, {}, (), float("nan"), bound, {}, None, conflict, clock.parts())


def _prices(parts: Parts, spread: Spread, seed: int, clock: _Clock, gap: float) -> Dual:
    """Return the prices of the highest bound, in units of each limit."""
    unit = parts.unit

    def found(ask: _Asked, share: float, start: Floats, gap: float) -> Dual:
        """Return the prices for a share of the copies, scaled so that 1 is much."""
        room = parts.room * share

        def at(scaled: Floats) -> Cut:
            prices = scaled * unit
            value, used = ask(prices)
            return Cut(scaled, value - float(prices @ room), (used - room) * unit)

        return highest(at, start, parts.most * share, gap, clock.seconds_left)

    start = np.zeros(len(unit))
    rng = np.random.default_rng(seed)
    for size in _SAMPLES:
        share = size / parts.n_copies
        if share > 0.5 or not len(unit):
            break
        some = [part.of(_sample(rng, len(part.fits), share)) for part in parts.parts]
        sampled = found(
            partial(_asked, some),
            sum(len(part.fits) for part in some) / parts.n_copies,
            start,
            _SAMPLE_GAP,
        )
        if not sampled.exceeds:
            start = sampled.best.prices
    whole = found(
        lambda prices: _total(spread.map(lambda part: part.bound(prices))), 1.0, start, gap / 10
    )
    best = replace(whole.best, prices=whole.best.prices * unit)
    return replace(whole, best=best)


def _sample(rng: np.random.Generator, n: int, share: float) -> Ints:
    return np.sort(rng.choice(n, max(round(n * share), 1), replace=False))


def _asked(parts: Sequence[Part], prices: Floats) -> tuple[float, Floats]:
    return _total([part.bound(prices) for part in parts])


def _total(bounds: Sequence[tuple[float, Floats]]) -> tuple[float, Floats]:
    used: Floats = np.sum([u for _, u in bounds], axis=0)
    return sum(v for v, _ in bounds), used


def _plan(
    parts: Parts, spread: Spread, dual: Dual, gap: float, clock: _Clock
) -> tuple[list[NDArray[np.integer]] | None, float]:
    """Return patterns of all copies that hold together, and what no others have less `wan` than.

    An infinite bound proves that there are none.
    """
    prices, bound = dual.best.prices, dual.best.bound
    priced = spread.map(lambda part: part.at(prices))
    used = np.sum([p.used for p in priced], axis=0)
    cost = sum(p.cost for p in priced)
    known: list[NDArray[np.integer]] | None = None
    value = np.inf
    if (used <= parts.room).all():
        known, value = [p.chosen for p in priced], cost
    margin = np.concatenate([p.margin for p in priced])
    nearest = np.argsort(margin, kind="stable")[: _POOLS[-1] + 1]
    for size in _POOLS:
        near = known is not None and value - bound <= gap * value
        if near or clock.seconds_left() <= 0:
            break
        # All that can be in a better plan, if that is little enough.
        extra = value - bound
        among = nearest[margin[nearest] <= extra]
        complete = len(among) <= size
        if not complete:
            among = nearest[:size]
            extra = float(margin[among[-1]])
        own = columns(parts.parts, parts.by_part(np.sort(among)), prices, extra)
        if len(own.cost) > _CLOSING:
            break
        base: list[NDArray[np.integer]] = [p.chosen for p in priced]
        if not complete and size == _POOLS[-1]:
            # Where more are in two minds than can be chosen exactly, they are divided first.
            base = _divided(parts, spread, dual) or base
        chosen, least = _choose(parts, own, base, among, gap, clock)
        if chosen is not None:
            new = sum(p.taken(c)[0] for p, c in zip(parts.parts, chosen, strict=True))
            if new < value:
                known, value = chosen, new
        if complete:
            bound = max(bound, min(least, value))
            break
    return known, bound


def _divided(parts: Parts, spread: Spread, dual: Dual) -> list[NDArray[np.integer]] | None:
    """Return choices of which some are as at one cut, some as at another; None without shares."""
    shares = dual.mixture()
    if shares is None:
        return None
    some = np.flatnonzero(shares > 0)
    ends = np.cumsum(shares[some]) / shares[some].sum()
    ends[-1] = 1.0
    divided: list[NDArray[np.integer]] = [np.zeros(len(p.fits), np.int16) for p in parts.parts]
    for k, first, last in zip(some.tolist(), [0.0, *ends[:-1]], ends, strict=True):
        priced = spread.map(partial(Part.at, prices=dual.cuts[k].prices * parts.unit))
        for own, new in zip(divided, priced, strict=True):
            turn = np.arange(len(own)) * _GOLDEN % 1
            mine = (first <= turn) & (turn < last)
            own[mine] = new.chosen[mine]
    return divided


def _choose(
    parts: Parts,
    own: Columns,
    base: list[NDArray[np.integer]],
    among: Ints,
    gap: float,
    clock: _Clock,
) -> tuple[list[NDArray[np.integer]] | None, float]:
    """Choose among some copies' patterns, all others as they are in a base."""
    room, cost = parts.room, 0.0
    near = np.zeros(parts.n_copies, bool)
    near[among] = True
    others = np.flatnonzero(~near)
    for part, rest, c in zip(parts.parts, parts.by_part(others), base, strict=True):
        own_cost, used = part.of(rest).taken(c[rest])
        room, cost = room - used, cost + own_cost
    left = clock.seconds_left()
    seconds = None if left == np.inf else max(left, 0.0)
    taken, least = choose(own, room, cost, seconds, gap / 10)
    return None if taken is None else _replaced(base, own, taken), least


def _replaced(
    base: list[NDArray[np.integer]], own: Columns, taken: Ints
) -> list[NDArray[np.integer]]:
    chosen = [c.copy() for c in base]
    for i, c in enumerate(chosen):
        here = taken[own.part[taken] == i]
        c[own.copy[here]] = own.pattern[here]
    return chosen
