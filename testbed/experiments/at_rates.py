"""Traffic of streams at several rates, because the output of combiners is not proportional to
their input. If records are few, most of a stream is watermarks.
"""

from collections.abc import Sequence

import numpy as np

from edgeplace import JobGraph
from edgeplace.model import AtRate, Stream
from edgeplace.solver.problem.traffic import Traffic


def at_all_rates(own: JobGraph, measured: Sequence[JobGraph]) -> JobGraph:
    """Return a job whose streams have their measured traffic at all rates.

    Parameters
    ----------
    measured
        The job with costs, once for each rate.
    """
    found: dict[tuple[str, str], dict[float, AtRate]] = {}
    for job in measured:
        ends = np.cumsum([op.parallelism for op in job.operators])
        of_each = np.split(Traffic.of([job]).rate_per_s, ends[:-1])
        rates = {op.id: float(r.mean()) for op, r in zip(job.operators, of_each, strict=True)}
        for stream in job.streams:
            points = found.setdefault((stream.source, stream.target), {})
            for seen in _points(stream, rates[stream.source]):
                points[seen.rate_per_s] = seen
    streams = []
    for stream in own.streams:
        if stream.cost:
            points = found.get((stream.source, stream.target), {})
            by_rate = tuple(points[rate] for rate in sorted(points))
            cost = stream.cost.model_copy(update={"by_rate": by_rate})
            stream = stream.model_copy(update={"cost": cost})
        streams.append(stream)
    return own.revised(streams=tuple(streams), notes=own.notes)


def _points(stream: Stream, rate_per_s: float) -> tuple[AtRate, ...]:
    cost = stream.cost
    if cost is None or cost.by_rate:
        return cost.by_rate if cost else ()
    if not (cost.selectivity and cost.bytes_per_record and rate_per_s > 0):
        return ()
    return (
        AtRate(
            rate_per_s=rate_per_s,
            selectivity=cost.selectivity,
            bytes_per_record=cost.bytes_per_record,
        ),
    )
