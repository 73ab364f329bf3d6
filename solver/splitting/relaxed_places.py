"""A bound of `wan` over all places and all weights.

With limits aside, `wan` is linear in the weights of a site, so sending all of the site's records to
one worker is best. The relaxed job has one such worker for each source site. It takes no slots,
cores or memory, and links have no bandwidth. It puts out the least that workers may put out for a
record. So a plan of the relaxed job costs no more than any plan of the job with any weights, and
the proof of `solve` is a bound. Headers (`mtu_bytes`) do not count: what they add falls with the
rate of a channel. With `max_latency_ms`, or where workers do not fit at the edge, it may be far
below what is possible.
"""

from collections.abc import Sequence

import numpy as np

from edgeplace.model import (
    AnyRule,
    Cluster,
    InvalidInputError,
    JobGraph,
    Match,
    NeverMove,
    Operator,
    OperatorCost,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
)
from edgeplace.solver.arrays import Floats
from edgeplace.solver.splitting.operators import SplitOperator, made_linear

_BY_CONSUMER = {
    ShipStrategy.HASH,
    ShipStrategy.REBALANCE,
    ShipStrategy.SHUFFLE,
    ShipStrategy.BROADCAST,
    ShipStrategy.GLOBAL,
}
"""Ship strategies by which each worker sends to the same consumers in the same proportion."""
_WINDOWS = 10**6
"""Buffers of a channel: as many that credit never binds."""


def source_sites(job: JobGraph, op: SplitOperator, cluster: Cluster) -> list[list[str]]:
    """Return the site of each producer subtask, for each stream of the router.

    Raises
    ------
    InvalidInputError
        If a producer is no source that is held at a site.
    """
    site = {s.id: s.id for s in cluster.sites}
    site |= {n.id: n.site for n in cluster.nodes}
    site |= {t.id: site[t.node] for t in cluster.task_managers}
    for s in job.streams:
        if s.source == op.id and s.ship_strategy not in _BY_CONSUMER:
            raise InvalidInputError(
                f"the places of {op.name!r} cannot be chosen together with its weights: it sends "
                f"by {s.ship_strategy.value}, so where a record goes on depends on its worker",
                "send by HASH to what merges",
            )
    found = []
    for i in op.streams:
        producer = job.operator(job.streams[i].source)
        born = producer.born_at * (producer.parallelism if len(producer.born_at) == 1 else 1)
        if len(born) < producer.parallelism or any(place not in site for place in born):
            raise InvalidInputError(
                f"the places of {op.name!r} cannot be chosen together with its weights: where "
                f"{producer.name!r}, which sends to it, runs is not known beforehand",
                "give born_at of a source that sends to the router itself; or solve without the "
                "split, and ask edgeplace explain --split for the weights of that plan",
            )
        found.append([site[place] for place in born])
    return found


def relaxed_case(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    ops: Sequence[SplitOperator],
    most_per_s: dict[SplitOperator, float],
) -> tuple[list[JobGraph], Cluster, Rules | None]:
    """Return the relaxed jobs, cluster and rules.

    Parameters
    ----------
    most_per_s
        Records/s that one worker may get at most.
    """
    relaxed = list(made_linear(jobs, ops, most_per_s))
    more = 0
    for o, op in enumerate(ops):
        job = relaxed[op.job]
        at = source_sites(job, op, cluster)
        sites = sorted({s for each in at for s in each})
        more += len(sites)
        worker = job.operator(op.id)
        free = Operator(
            id=worker.id,
            name=worker.name,
            parallelism=len(sites),
            slot_sharing_group=f"relaxed {o}",
            cost=OperatorCost(
                operator=worker.id, selectivity=worker.cost.selectivity if worker.cost else None
            ),
        )
        job = job.model_copy(
            update={"operators": tuple(free if x.id == op.id else x for x in job.operators)}
        )
        streams = list(job.streams)
        for i, each in zip(op.streams, at, strict=True):
            rows: Floats = np.array([[float(s == t) for t in sites] for s in each])
            cost = streams[i].cost
            assert cost is not None  # noqa: S101 - its records have a size, or nothing is solved
            streams[i] = streams[i].model_copy(
                update={
                    "cost": cost.model_copy(
                        update={"shares_by_producer": tuple(map(tuple, rows.tolist()))}
                    )
                }
            )
        relaxed[op.job] = job.model_copy(update={"streams": tuple(streams)})
    names = {name for op in ops for name in (op.id, op.name)}
    wide = cluster.model_copy(
        update={
            "links": tuple(
                e.model_copy(update={"bandwidth_bytes_per_s": None}) for e in cluster.links
            ),
            "task_managers": tuple(
                t.model_copy(update={"slots": t.slots + more if t.slots else 0})
                for t in cluster.task_managers
            ),
            "buffers_per_channel": _WINDOWS,
            "mtu_bytes": None,
        }
    )
    fewer = rules and rules.model_copy(
        update={
            "rules": tuple(kept for r in rules.rules for kept in _without(r, names)),
            "wishes": (),
            "max_latency_ms": None,
            "max_moves": None,
            "jobs": (),
        }
    )
    return relaxed, wide, fewer


def _without(rule: AnyRule, names: set[str]) -> list[AnyRule]:
    """Return what is left of a rule without some operators; nothing if it joins them to others."""
    left = tuple(ref for ref in rule.operators if ref not in names)
    if len(left) == len(rule.operators):
        return [rule]
    each = isinstance(rule, Pin | Match | NeverMove)
    return [rule.model_copy(update={"operators": left})] if each and left else []


def without_operators(plan: Plan, jobs: Sequence[JobGraph], ops: Sequence[SplitOperator]) -> Plan:
    """Return the places of all other operators."""
    gone = {(jobs[op.job].name, op.id) for op in ops}
    places = {
        job: {op: each for op, each in operators.items() if (job, op) not in gone}
        for job, operators in plan.jobs.items()
    }
    return plan.model_copy(update={"jobs": places, "weights": {}})
