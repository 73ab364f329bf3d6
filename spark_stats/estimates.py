"""Costs of operators on node classes on which they never ran: estimates, with intervals."""

import math
from collections.abc import Callable, Iterator, Sequence

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import ClassCost, OperatorCost
from edgeplace.spark_stats.laws import WIN
from edgeplace.spark_stats.pooling import Estimate, MeasuredCost, Pool

_UNKNOWN_SPREAD = 0.5
"""Relative spread of a cost whose samples do not show it."""


def with_estimates(
    operators: Sequence[OperatorCost], cluster: Cluster | None
) -> tuple[OperatorCost, ...]:
    """Return costs with an estimate for each node class of the cluster where an operator lacks it.

    An estimate needs other operators that ran on both classes. Where the cluster gives the speeds
    of the classes, it is made only if estimates of costs that are known, each left out once, are
    nearer than the ratio of speeds.
    """
    if cluster is None:
        return tuple(operators)
    with_cpu = {c.node_class for op in operators for c in op.classes if c.cpu_ms_per_record}

    def core_seconds(c: ClassCost) -> float | None:
        # Of two figures in one class, one effect of the class would fit neither.
        if c.node_class in with_cpu:
            return c.cpu_ms_per_record and c.cpu_ms_per_record / 1000
        return _busy_seconds(c)

    cores = list(_measured(operators, core_seconds))
    speeds = {c.id: c.speed for c in cluster.node_classes}
    if not _wins(cores, speeds):
        return tuple(operators)
    cpu, busy = Pool(cores), Pool(list(_measured(operators, _busy_seconds)))
    classes = sorted({n.node_class for n in cluster.nodes})
    return tuple(_completed(op, classes, cpu, busy) for op in operators)


def _completed(op: OperatorCost, classes: Sequence[str], cpu: Pool, busy: Pool) -> OperatorCost:
    found = list(op.classes)
    # Sources run where their data is born.
    for name in classes if op.classes and op.demand is None else ():
        if op.on(name) is None:
            seconds = busy.estimate(op.operator, name)
            if seconds:
                cores = cpu.estimate(op.operator, name)
                found.append(_estimated(name, cores or seconds, seconds))
    return op.model_copy(update={"classes": tuple(found)})


def _estimated(node_class: str, cores: Estimate, seconds: Estimate) -> ClassCost:
    return ClassCost(
        node_class=node_class,
        true_rate_per_s=1 / seconds.cost,
        cpu_ms_per_record=1000 * cores.cost,
        cpu_interval_ms_per_record=(1000 * cores.low, 1000 * cores.high),
        origin="estimated",
    )


def _measured(
    operators: Sequence[OperatorCost], figure: Callable[[ClassCost], float | None]
) -> Iterator[MeasuredCost]:
    for op in operators:
        for c in op.classes:
            cost = figure(c)
            if cost:
                spread = _UNKNOWN_SPREAD if c.relative_spread is None else c.relative_spread
                yield MeasuredCost.of_samples(
                    op.operator, c.node_class, cost, spread, c.samples, c.busy_s
                )


def _busy_seconds(c: ClassCost) -> float:
    return 1 / c.true_rate_per_s


def _wins(measured: Sequence[MeasuredCost], speeds: dict[str, float]) -> bool:
    """Return whether estimates of left-out costs are nearer than those by the ratio of speeds."""
    pooled, by_speed = 0.0, 0.0
    tried = 0
    for m in measured:
        others = [x for x in measured if x is not m]
        elsewhere = [x for x in others if x.operator == m.operator]
        said = Pool(others).estimate(m.operator, m.node_class) if elsewhere else None
        if said is None:
            continue
        best = max(elsewhere, key=lambda x: x.busy_s)
        if not {m.node_class, best.node_class} <= speeds.keys():
            return True  # Without an estimate there is no cost at all.
        factor = speeds[best.node_class] / speeds[m.node_class]
        pooled += abs(math.log(said.cost / m.cost))
        by_speed += abs(math.log(factor * best.cost / m.cost))
        tried += 1
    return tried > 0 and pooled < WIN * by_speed
