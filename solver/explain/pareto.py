"""The Pareto front of WAN bytes, latency and server cores.

Three corners by lexicographic search, and between them plans with a limit on one term: the
epsilon-constraint method (Haimes, Lasdon and Wismer, IEEE Trans. SMC 1, 1971).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgeplace.model import (
    Chosen,
    Cluster,
    Evaluation,
    InvalidInputError,
    JobGraph,
    ObjectiveLevel,
    ObjectiveName,
    Plan,
    Result,
    Rules,
    Status,
)
from edgeplace.solver.parallelism import Asked
from edgeplace.solver.solve import solve
from edgeplace.solver.tolerances import NEGLIGIBLE, SAME_VALUE

TERMS: tuple[ObjectiveName, ...] = ("wan", "latency", "server_cores")
_STEPS = 4
"""Plans looked for between two corners."""


@dataclass(frozen=True)
class Point:
    """A plan of the front."""

    plan: Plan
    evaluation: Evaluation
    asked: str
    """The question that it answers best."""
    proved: bool
    """Whether no plan is as good in all three terms and better in one."""
    chosen: Chosen | None = None
    """The parallelism of the plan, where there was one to choose."""


@dataclass(frozen=True)
class Front:
    """Plans of which none found is better than another in all terms."""

    points: tuple[Point, ...]
    """By WAN bytes, the fewest first."""
    unasked: int
    """Questions for which no time was left."""
    infeasible: Result | None
    """Why there is no plan at all."""


def pareto(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    current: Plan | None = None,
    time_limit_s: float = 60.0,
    backend: str = "milp",
    progress: Callable[[str], None] | None = None,
    parallelism: Asked | str | None = None,
) -> Front:
    """Return plans that trade WAN bytes, latency and server cores for one another.

    Parameters
    ----------
    time_limit_s
        Wall time of all searches together; each is given an equal share of what is left.
    parallelism
        Numbers of subtasks to choose from, as for `solve`. Plans of any of them may dominate
        one another: the front is that over all combinations.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the time limit is not above 0.
    """
    if not time_limit_s > 0:
        raise InvalidInputError(
            f"the time limit {time_limit_s} leaves no time for a front", "use more than 0 seconds"
        )
    ends = time.monotonic() + time_limit_s
    rules = rules or Rules()
    found: list[Point] = []
    left = len(TERMS) + 2 * _STEPS

    def ask(
        asked: str, objective: Sequence[ObjectiveLevel], limited: Rules, efficient: bool = True
    ) -> Result | None:
        nonlocal left
        seconds = (ends - time.monotonic()) / left
        if seconds <= 0:
            return None
        left -= 1
        result = solve(
            job_graph,
            cluster,
            limited,
            objective,
            current,
            time_limit_s=seconds,
            backend=backend,
            progress=progress,
            parallelism=parallelism,
        )
        if result.plan and result.evaluation:
            proved = efficient and result.status is Status.OPTIMAL
            found.append(Point(result.plan, result.evaluation, asked, proved, result.chosen))
        return result

    for name in TERMS:
        result = ask(f"least {_WORDS[name]}", _all_levels(name), rules)
        if result and result.status is Status.INFEASIBLE:
            return Front((), 0, result)
    corners = {p.asked: p.evaluation for p in found}
    fewest, fastest, leanest = (corners.get(f"least {_WORDS[name]}") for name in TERMS)
    latencies = _between(fastest.latency_ms, fewest.latency_ms) if fastest and fewest else []
    wans = _between(fewest.wan_cost, leanest.wan_cost) if fewest and leanest else []
    left = len(latencies) + len(wans)
    for limit in latencies:
        limited = rules.model_copy(update={"max_latency_ms": limit})
        ask(f"least WAN within {limit:.4g} ms", _all_levels("wan"), limited)
    for wan in wans:
        # A tolerance is relative: none leads away from 0.
        more = wan / fewest.wan_cost - 1 if fewest and fewest.wan_cost else 0.0
        asked = f"least server cores with {100 * more:.3g} % more WAN"
        terms = [ObjectiveLevel(name="wan", tolerance=more), *_levels("server_cores", "latency")]
        # Later levels do not give back what they need not of the tolerance.
        ask(asked, terms, rules, efficient=False)
    points = sorted(_undominated(found), key=_values)
    return Front(tuple(points), left, None)


_WORDS: dict[ObjectiveName, str] = {
    "wan": "WAN",
    "latency": "latency",
    "server_cores": "server cores",
}


def _all_levels(first: ObjectiveName) -> list[ObjectiveLevel]:
    return _levels(first, *(name for name in TERMS if name != first))


def _levels(*names: ObjectiveName) -> list[ObjectiveLevel]:
    return [ObjectiveLevel(name=name) for name in names]


def _between(low: float, high: float) -> list[float]:
    """Return values between two, at equal distances."""
    if high - low <= SAME_VALUE * abs(high):
        return []
    return [low + (high - low) * i / (_STEPS + 1) for i in range(1, _STEPS + 1)]


def _values(point: Point) -> tuple[float, ...]:
    return tuple(point.evaluation.value(name) for name in TERMS)


def _undominated(found: Sequence[Point]) -> list[Point]:
    """Return the points that no other one dominates; of equal ones a proved one."""
    kept: list[Point] = []
    for p in sorted(found, key=lambda p: (not p.proved, _values(p))):
        if not any(_as_good(other, p) for other in kept):
            kept = [other for other in kept if not _as_good(p, other)]
            kept.append(p)
    return kept


def _as_good(a: Point, b: Point) -> bool:
    return all(
        x <= y + SAME_VALUE * max(NEGLIGIBLE, abs(y))
        for x, y in zip(_values(a), _values(b), strict=True)
    )
