"""Ship strategies that force WAN traffic, and what a local one would save.

A change of ship strategy is a change to the job, not to the placement: it is named, never made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import Cluster, JobGraph, Plan, Result, Rules, ShipStrategy, Stream
from edgeplace.solver.solve import solve

_EVEN = (ShipStrategy.REBALANCE, ShipStrategy.SHUFFLE)
_WORTH = 0.01
"""Share of the WAN traffic below which a saving is not worth a word."""
_SECONDS = 10.0


@dataclass(frozen=True)
class Advice:
    """A local ship strategy in place of one that spreads evenly over all consumers."""

    source: str
    """Name of the operator."""
    target: str
    now: ShipStrategy
    local: ShipStrategy
    wan_bytes_per_s: float
    """WAN traffic with the strategy as it is."""
    local_wan_bytes_per_s: float
    """WAN traffic of the best plan found with the local one."""


def advice(
    job: JobGraph,
    cluster: Cluster,
    result: Result,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> tuple[Advice, ...]:
    """Return the streams whose even spreading costs WAN traffic, from plans made without it.

    HASH is left alone: it gives the result its meaning. REBALANCE and SHUFFLE only spread load.
    """
    if result.evaluation is None or result.evaluation.wan_cost == 0:
        return ()
    found = []
    for i, stream in enumerate(job.streams):
        if stream.ship_strategy not in _EVEN:
            continue
        source, target = job.operator(stream.source), job.operator(stream.target)
        equal = source.parallelism == target.parallelism
        local = ShipStrategy.FORWARD if equal else ShipStrategy.RESCALE
        changed = job.revised(streams=_with(job.streams, i, local))
        other = solve(
            changed, cluster, rules, objective=("wan",), current=current, time_limit_s=_SECONDS
        )
        if other.evaluation is None:
            continue
        before, after = result.evaluation, other.evaluation
        if after.wan_cost < before.wan_cost * (1 - _WORTH):
            found.append(
                Advice(
                    source.name,
                    target.name,
                    stream.ship_strategy,
                    local,
                    before.wan_bytes_per_s,
                    after.wan_bytes_per_s,
                )
            )
    return tuple(found)


def _with(streams: Sequence[Stream], i: int, strategy: ShipStrategy) -> tuple[Stream, ...]:
    changed = streams[i].model_copy(update={"ship_strategy": strategy})
    return (*streams[:i], changed, *streams[i + 1 :])
