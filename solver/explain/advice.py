"""Ship strategies that cause WAN traffic, and the saving by a local one.

A change of ship strategy is a change to the job, not to the placement: it is named, never made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import (
    Cluster,
    Evaluation,
    JobGraph,
    LevelResult,
    ObjectiveLevel,
    Plan,
    Result,
    Rules,
    ShipStrategy,
    Stream,
)
from edgeplace.solver.clock import running
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.explain.differences import sites_of
from edgeplace.solver.explain.moves import newly
from edgeplace.solver.solve import solve
from edgeplace.solver.tolerances import SAME_VALUE

_EVEN = (ShipStrategy.REBALANCE, ShipStrategy.SHUFFLE)
_WORTH = 0.01
"""Share of the WAN traffic below which a saving is not worth a word."""
_SECONDS = 10.0


@dataclass(frozen=True)
class Advice:
    """A local ship strategy in place of one that spreads evenly over all consumers."""

    job: str
    source: str
    """Name of the operator."""
    target: str
    now: ShipStrategy
    local: ShipStrategy
    wan_bytes_per_s: float
    """WAN traffic with the strategy as it is."""
    local_wan_bytes_per_s: float
    """WAN traffic with the local one, of the same placement or of the best found."""


def advice(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    result: Result,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> tuple[Advice, ...]:
    """Return the streams whose ship strategy causes WAN traffic on the links they cross.

    HASH is left alone: it gives the result its meaning. REBALANCE and SHUFFLE only spread load.
    What is said to be saved is owed to the strategy alone: the same placement sends less with the
    local one, or `wan` comes first, and a plan for the changed job sends less than any for the job
    as it is. Streams for which no time is left are not looked at.
    """
    if result.plan is None or result.evaluation is None or result.evaluation.wan_cost == 0:
        return ()
    site = sites_of(cluster)
    plan, before = result.plan, result.evaluation
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    found = []
    for job, i, stream in [(j, i, s) for j in jobs for i, s in enumerate(j.streams)]:
        if running().left() == 0.0:
            break
        if stream.ship_strategy not in _EVEN:
            continue
        source, target = job.operator(stream.source), job.operator(stream.target)
        places = plan.of(job.name)
        if len({site[tm] for op in (source, target) for tm in places[op.id]}) == 1:
            continue
        equal = source.parallelism == target.parallelism
        local = ShipStrategy.FORWARD if equal else ShipStrategy.RESCALE
        revised = job.revised(streams=_with(job.streams, i, local))
        changed = [revised if j is job else j for j in jobs]
        there = evaluate(changed, cluster, plan, rules, current)
        after = [there] if _no_worse(there, before, result.levels) else []
        if result.levels and result.levels[0].name == "wan":
            after += _better(changed, cluster, result.levels, rules, current)
        after = [e for e in after if e.wan_cost < before.wan_cost * (1 - _WORTH)]
        if after:
            found.append(
                Advice(
                    job.name,
                    source.name,
                    target.name,
                    stream.ship_strategy,
                    local,
                    before.wan_bytes_per_s,
                    min(after, key=lambda e: e.wan_cost).wan_bytes_per_s,
                )
            )
    return tuple(found)


def _no_worse(after: Evaluation, before: Evaluation, levels: Sequence[LevelResult]) -> bool:
    """Return whether nothing is newly broken, and no term that was asked for is worse."""
    return not newly(after.violations, before.violations) and all(
        after.value(v.name) <= before.value(v.name) * (1 + SAME_VALUE) for v in levels
    )


def _better(
    changed: Sequence[JobGraph],
    cluster: Cluster,
    levels: Sequence[LevelResult],
    rules: Rules | None,
    current: Plan | None,
) -> list[Evaluation]:
    """Return the best plan of the changed jobs, if no plan of the unchanged ones comes near."""
    objective = [ObjectiveLevel(name=v.name, tolerance=v.tolerance) for v in levels]
    found = solve(changed, cluster, rules, objective, current, time_limit_s=_SECONDS).evaluation
    return [found] if found and found.wan_cost < levels[0].bound * (1 - _WORTH) else []


def _with(streams: Sequence[Stream], i: int, strategy: ShipStrategy) -> tuple[Stream, ...]:
    changed = streams[i].model_copy(update={"ship_strategy": strategy})
    return (*streams[:i], changed, *streams[i + 1 :])
