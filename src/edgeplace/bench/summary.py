"""Summaries of the runs of each back end."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from edgeplace.bench.record import FAILED, Run, RunOutcome

SHORTEST_S = 0.01
"""Shorter times count as this one, because their ratios are noise."""


@dataclass(frozen=True)
class Summary:
    """The runs of one back end.

    Attributes
    ----------
    solved
        Runs with a proof that nothing contradicts: optimal or infeasible.
    feasible
        Runs with a valid plan, and no proof.
    wrong
        Runs that something contradicts.
    without
        Runs with neither plan nor proof; `failed` of them were ended by the guard or crashed.
    mean_1_s, mean_10_s
        Shifted geometric means of the time to proof, shifts of 1 and 10 s, over the solved
        instances only: back ends that solve other instances are not compared by them.
    par_2_s
        Mean time over all runs, with twice the limit for those not solved.
    to_virtual_best
        Geometric mean of the time to proof over that of the fastest back end, over the solved
        instances only.
    to_best_value
        Geometric mean of `wan` over the best value known, both plus 1 byte/s, over runs with a
        plan that holds.
    primal_integral_s
        Mean over the instances on which any plan is known.
    memory_bytes
        The largest of any run.
    """

    backend: str
    runs: int
    solved: int
    feasible: int
    wrong: int
    without: int
    failed: int
    mean_1_s: float | None
    mean_10_s: float | None
    par_2_s: float
    to_virtual_best: float | None
    to_best_value: float | None
    primal_integral_s: float | None
    memory_bytes: int | None

    def as_json(self) -> dict[str, object]:
        """Return the figures as plain data."""
        return asdict(self)


def summarise(runs: Sequence[Run], time_limit_s: float) -> list[Summary]:
    """Return a summary of each back end, in the order of their first runs."""
    fastest = fastest_proofs(runs)
    return [
        _summary(name, [r for r in runs if r.backend == name], fastest, time_limit_s)
        for name in dict.fromkeys(r.backend for r in runs)
    ]


def fastest_proofs(runs: Iterable[Run]) -> dict[str, float]:
    """Return the time of the virtual best: the fastest proof of each instance that has one."""
    fastest: dict[str, float] = {}
    for r in runs:
        if r.solved:
            fastest[r.instance] = min(fastest.get(r.instance, math.inf), _countable(r.run_s))
    return fastest


def ratios(runs: Iterable[Run], fastest: Mapping[str, float]) -> list[float]:
    """Return the time of each solved run over that of the virtual best, in order of size."""
    return sorted(_countable(r.run_s) / fastest[r.instance] for r in runs if r.solved)


def shifted_geometric_mean(values: Sequence[float], shift: float) -> float | None:
    """Return exp(mean log(value + shift)) - shift, None without values."""
    if not values:
        return None
    return math.exp(math.fsum(math.log(v + shift) for v in values) / len(values)) - shift


def _summary(
    name: str, runs: Sequence[Run], fastest: Mapping[str, float], time_limit_s: float
) -> Summary:
    times = [r.run_s for r in runs if r.solved]
    values = [
        (r.wan + 1) / (r.best_known_wan + 1)
        for r in runs
        if r.wan is not None and r.best_known_wan is not None
    ]
    integrals = [r.primal_integral_s for r in runs if r.primal_integral_s is not None]
    fine = [r for r in runs if not r.wrong]
    feasible = sum(r.status is RunOutcome.FEASIBLE for r in fine)
    return Summary(
        backend=name,
        runs=len(runs),
        solved=len(times),
        feasible=feasible,
        wrong=len(runs) - len(fine),
        without=len(fine) - len(times) - feasible,
        failed=sum(r.status in FAILED for r in fine),
        mean_1_s=shifted_geometric_mean(times, 1.0),
        mean_10_s=shifted_geometric_mean(times, 10.0),
        par_2_s=math.fsum(r.run_s if r.solved else 2 * time_limit_s for r in runs) / len(runs),
        to_virtual_best=shifted_geometric_mean(ratios(runs, fastest), 0.0),
        to_best_value=shifted_geometric_mean(values, 0.0),
        primal_integral_s=math.fsum(integrals) / len(integrals) if integrals else None,
        memory_bytes=max((r.memory_bytes or 0 for r in runs), default=0) or None,
    )


def _countable(seconds: float) -> float:
    return max(seconds, SHORTEST_S)
