"""Costs in a measurement, by the names of the recorded operators."""

from edgeplace.model import OperatorCost, StreamCost
from edgeplace.spark_stats import Measurement

START = 1_795_225_900_000
"""Milliseconds: the time of the first poll."""


def operator(measurement: Measurement, name: str) -> OperatorCost:
    return next(o for o in measurement.costs.operators if o.operator == f"id-{name}")


def stream(measurement: Measurement, source: str, target: str) -> StreamCost:
    return next(
        s
        for s in measurement.costs.streams
        if (s.source, s.target) == (f"id-{source}", f"id-{target}")
    )


def counted(recording, polls=9, **per_poll):
    """Record polls whose counters grow by the same numbers each time."""
    for poll in range(polls):
        recording.metrics(START + 5000 * poll, "map", **{k: v * poll for k, v in per_poll.items()})
