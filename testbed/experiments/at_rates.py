"""Traffic and state at several rates, because the output of combiners is not proportional to
their input, and state does not always grow with it. If records are few, most of a stream is
watermarks.
"""

from collections.abc import Sequence

import numpy as np

from edgeplace import JobGraph
from edgeplace.model import AtRate, Stream
from edgeplace.model.laws.flush import Gathering
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.spark_stats.laws import learn, state_law

_BY_COUNT = Gathering(interval_s=1, records=20_000, checkpoint_s=5)
GATHERS = {
    ("WordCount", "combine"): _BY_COUNT.model_copy(update={"keys_per_record": 10.0}),
    ("TDigest", "combine"): _BY_COUNT,
    ("SqlTwoPhase", "DataStreamToTable"): _BY_COUNT,
    ("NexmarkQ5", "combine"): Gathering(interval_s=1, checkpoint_s=5),
    ("NexmarkQ11", "sessions"): Gathering(interval_s=10),
    ("SplitReadings", "combine"): Gathering(interval_s=1, checkpoint_s=5),
}
"""Job and first word of the operator -> when it flushes, by the settings of testbed/jobs."""


def at_all_rates(own: JobGraph, measured: Sequence[JobGraph]) -> JobGraph:
    """Return a job whose streams have their measured traffic at all rates.

    Parameters
    ----------
    measured
        The job with costs, once for each rate.
    """
    found: dict[tuple[str, str], dict[float, AtRate]] = {}
    states: dict[str, dict[float, float]] = {}
    for job in measured:
        ends = np.cumsum([op.parallelism for op in job.operators])
        of_each = np.split(Traffic.of([job]).rate_per_s, ends[:-1])
        rates = {op.id: float(r.mean()) for op, r in zip(job.operators, of_each, strict=True)}
        for op in job.operators:
            if op.cost and op.cost.state_bytes and rates[op.id] > 0:
                total = op.parallelism * rates[op.id]
                states.setdefault(op.id, {})[total] = op.cost.state_bytes
        for stream in job.streams:
            points = found.setdefault((stream.source, stream.target), {})
            for seen in _points(stream, rates[stream.source]):
                points[seen.rate_per_s] = seen
    streams = []
    for stream in own.streams:
        if stream.cost:
            points = found.get((stream.source, stream.target), {})
            by_rate = tuple(points[rate] for rate in sorted(points))
            gathering = gathers(own, stream.source)
            flush = learn(gathering, by_rate).law if gathering else None
            cost = stream.cost.model_copy(update={"by_rate": by_rate, "flush_law": flush})
            stream = stream.model_copy(update={"cost": cost})
        streams.append(stream)
    operators = []
    for op in own.operators:
        law = state_law(sorted(states.get(op.id, {}).items()))
        if op.cost and op.cost.state_bytes and law:
            rate_of = {state: rate for rate, state in states[op.id].items()}
            law = law.through(rate_of[op.cost.state_bytes], op.cost.state_bytes)
            op = op.model_copy(update={"cost": op.cost.model_copy(update={"state_law": law})})
        operators.append(op)
    return own.revised(operators=tuple(operators), streams=tuple(streams), notes=own.notes)


def gathers(job: JobGraph, operator: str) -> Gathering | None:
    """Return when an operator of one of the testbed's jobs flushes; None: it gathers nothing."""
    return GATHERS.get((job.name, job.operator(operator).name.split("[")[0].split()[0]))


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
