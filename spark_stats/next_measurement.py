"""The measurement that would narrow the doubt of plans most."""

from collections.abc import Iterator
from dataclasses import dataclass

from edgeplace.model.cost import Costs
from edgeplace.model.what_if.confidence import interval_ms


@dataclass(frozen=True)
class Doubt:
    """How little is known of the cost of an operator on a node class.

    Attributes
    ----------
    low_ms, high_ms
        Where its CPU time a record lies with a probability of 90 %.
    cores
        By how much the cores that it needs may differ: all its records of the log, if they came to
        this class.
    better_log
        How long to record, and at which rate.
    """

    operator: str
    node_class: str
    low_ms: float
    high_ms: float
    cores: float
    better_log: str


def largest_doubt(costs: Costs) -> Doubt | None:
    """Return the cost whose interval stands for most cores; None if no interval is known."""
    return max(_doubts(costs), key=lambda doubt: doubt.cores, default=None)


def _doubts(costs: Costs) -> Iterator[Doubt]:
    if costs.from_ms is None or costs.to_ms is None or costs.to_ms <= costs.from_ms:
        return
    seconds = (costs.to_ms - costs.from_ms) / 1000
    for op in costs.operators:
        per_s = sum(c.true_rate_per_s * c.busy_s for c in op.classes) / seconds
        for c in op.classes:
            ends = interval_ms(c)
            if ends:
                cores = per_s * (ends[1] - ends[0]) / 1000
                yield Doubt(op.name or op.operator, c.node_class, *ends, cores, c.better_log)
