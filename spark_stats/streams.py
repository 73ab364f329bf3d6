"""From totals to the cost of a stream."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from edgeplace.model.cost import StreamCost
from edgeplace.spark_stats.job_facts import LogFacts, LoggedEdge
from edgeplace.spark_stats.operators import is_source
from edgeplace.spark_stats.totals import (
    QuarterTotals,
    Total,
    rate_per_s,
    rates_per_s,
    subtasks_seen,
)

ENOUGH_RECORDS = 100
"""Least records for each consumer subtask for which the shares count as measured."""
BUFFER_BYTES = 32_768
"""Of a buffer, Flink's default: a log does not say it, a cluster may."""
TICKS_PER_S = 10.0
"""Of Flink's default buffer timeout. Another one makes no stream look like one of bursts that is
none, but for a longer one, at whose ticks more does not go either."""
SELDOM = 0.75
"""Records come in bursts if they are at less than this share of the ticks at which as many records
would be that come independently of each other (a Poisson process)."""
_BUFFERS = ("buffers_in_local", "buffers_in_remote")
_BYTES = ("bytes_in_local", "bytes_in_remote")
_ONE_TO_ONE = ("FORWARD", "RESCALE")
SAME_WITHIN = 0.1
"""Share by which the records that leave and those that arrive may differ in one log."""
ONE_END_IS_OLDER = "Flink's metrics of one end are older"
NOT_IDENTIFIABLE = (
    "not identifiable: Flink counts records a task, not a stream, and the source has further "
    "outputs, the target further inputs"
)


def stream_costs(
    facts: LogFacts,
    measured: Mapping[str, Sequence[QuarterTotals]],
    current: Mapping[str, Sequence[QuarterTotals]],
    subtasks: Mapping[str, int],
    buffer_bytes: int = BUFFER_BYTES,
) -> tuple[StreamCost, ...]:
    """Return the cost of every stream of the job; none if the log has no plan.

    Parameters
    ----------
    facts
        With the streams of the job, and the parallelism of the time of `current`.
    measured
        Operator id -> what its subtasks did.
    current
        The same, of a time with one parallelism, for the rates.
    subtasks
        Parallelism in the job: shares of another one are not known.
    buffer_bytes
        Size of a network buffer.
    """
    order = {operator: i for i, operator in enumerate(facts.names)}
    edges = sorted(facts.edges or (), key=lambda e: (order[e.source], order[e.target]))
    inputs = Counter(e.target for e in edges)
    outputs = Counter(e.source for e in edges)
    return tuple(
        _stream_cost(
            *(e, facts, measured, current),
            *(inputs[e.target] == 1, outputs[e.source] == 1, subtasks[e.target], buffer_bytes),
        )
        for e in dict.fromkeys(edges)
    )


def copies_of(edge: LoggedEdge, facts: LogFacts) -> int:
    """Return the number of subtasks that get each record of a stream.

    Each consumer subtask gets every record of a broadcast: Flink counts each copy where it arrives,
    and where it leaves all copies' bytes but the record only once.
    """
    return facts.parallelism[edge.target] if edge.ship_strategy == "BROADCAST" else 1


def _stream_cost(
    edge: LoggedEdge,
    facts: LogFacts,
    measured: Mapping[str, Sequence[QuarterTotals]],
    current: Mapping[str, Sequence[QuarterTotals]],
    only_input: bool,
    only_output: bool,
    subtasks: int,
    buffer_bytes: int,
) -> StreamCost:
    sends = measured.get(edge.source, ())
    sent, got = Total(sends), Total(measured.get(edge.target, ()))
    producer, consumer = current.get(edge.source, ()), current.get(edge.target, ())
    copies = copies_of(edge, facts)
    records = bytes_per_record = None
    notes: list[str] = []
    if only_input and "records_in" in got:
        arrived = rate_per_s(consumer, "records_in")
        records = None if arrived is None else arrived / copies
        bytes_per_record = got.ratio("bytes_in", "records_in")
    elif only_output and "records_out" in sent:
        records = rate_per_s(producer, "records_out")
        per_record = Total(_later(sends)).ratio("bytes_out", "records_out")
        bytes_per_record = None if per_record is None else per_record / copies
        notes.append("measured where it leaves: the target has further inputs")
    elif not only_input and not only_output:
        notes.append(NOT_IDENTIFIABLE)
    base = "records_out" if is_source(edge.source, sent, facts) else "records_in"
    per = rate_per_s(producer, base)
    complete = True
    for end, ts, counter in ((edge.source, producer, base), (edge.target, consumer, "records_in")):
        seen, count = subtasks_seen(ts), facts.parallelism[end]
        if len(seen) < count:
            complete = False
            notes.append(f"{count - len(seen)} of {count} subtasks of {end} are not in this log")
        with_counter = {t.subtask for t in ts if counter in t.sums}
        if with_counter < seen and with_counter:
            complete = False
            lacking = len(seen - with_counter)
            notes.append(f"{lacking} of {count} subtasks of {end} have no counter of records")
    if only_input and only_output and complete:
        notes += _disagreement(rate_per_s(producer, "records_out"), records)
    if not only_input:
        notes.append("local and remote bytes are not identifiable: the target has further inputs")
    return StreamCost(
        source=edge.source,
        target=edge.target,
        selectivity=records / per if complete and records is not None and per else None,
        bytes_per_record=bytes_per_record,
        flushes_per_s=(_flushes_per_s(edge, facts, consumer, buffer_bytes) if only_input else None),
        shares=_shares(edge, facts, consumer, subtasks) if only_input else None,
        local_bytes_per_s=rate_per_s(consumer, "bytes_in_local") if only_input else None,
        remote_bytes_per_s=rate_per_s(consumer, "bytes_in_remote") if only_input else None,
        notes=tuple(notes),
    )


def _flushes_per_s(
    edge: LoggedEdge, facts: LogFacts, consumer: Sequence[QuarterTotals], buffer_bytes: int
) -> float | None:
    """Return how often a channel sent a buffer that was not full, None if that is not seldom.

    Records that are spread evenly over time are there at most ticks of the buffer timeout; those
    of a window, which come all at once, at few.
    """
    seen = [t for t in consumer if t.sums.get("dt_ms", 0.0) > 0]
    # A log may be older, in part, than the counts.
    if not all(name in t.sums for t in seen for name in _BUFFERS):
        return None
    senders, readers = facts.parallelism[edge.source], facts.parallelism[edge.target]
    of_each = max(senders // readers, 1) if edge.ship_strategy in _ONE_TO_ONE else senders
    records = {i: rate / of_each for i, rate in rates_per_s(seen, "records_in").items()}
    live = [i for i, rate in records.items() if rate > 0]
    if not live:
        return None
    even = sum(TICKS_PER_S * -math.expm1(-records[i] / TICKS_PER_S) for i in live) / len(live)
    # Counts that began within a quarter are too few there. The most can only be too many.
    by_quarter = (
        _flushes_of([t for t in seen if t.quarter == q], buffer_bytes)
        for q in {t.quarter for t in seen}
    )
    sent = max(sum(own.get(i, 0.0) for i in live) for own in by_quarter) / (of_each * len(live))
    return sent if 0 < sent < SELDOM * even else None


def _flushes_of(measured: Sequence[QuarterTotals], buffer_bytes: int) -> dict[int, float]:
    """Return reader -> the buffers per second that it got and that were not full."""
    found: dict[int, float] = {}
    for names, of_each in ((_BUFFERS, 1.0), (_BYTES, -1.0 / buffer_bytes)):
        for name in names:
            for reader, rate in rates_per_s(measured, name).items():
                found[reader] = found.get(reader, 0.0) + of_each * rate
    return {reader: max(flushes, 0.0) for reader, flushes in found.items()}


def _disagreement(left_per_s: float | None, arrived_per_s: float | None) -> Iterator[str]:
    """Yield a note if two counts of the same records differ: the metrics of one end are older."""
    if left_per_s is None or arrived_per_s is None:
        return
    if abs(left_per_s - arrived_per_s) > SAME_WITHIN * max(left_per_s, arrived_per_s):
        yield (
            f"{left_per_s:,.1f} records/s were sent and {arrived_per_s:,.1f} arrived: "
            f"{ONE_END_IS_OLDER}. Measure longer, and at a steady rate"
        )


def _later(measured: Sequence[QuarterTotals]) -> Sequence[QuarterTotals]:
    """Return the totals without the first of each subtask, if records came after it.

    Flink counts the bytes that a task sends when a buffer is full or a checkpoint passes. So the
    first difference may contain up to one buffer per channel from before the log. At a low rate,
    this is the traffic of a minute.
    """
    first: dict[int, int] = {}
    for t in measured:
        first[t.subtask] = min(t.quarter, first.get(t.subtask, t.quarter))
    later = [t for t in measured if t.quarter > first[t.subtask]]
    return later if Total(later)["records_out"] > 0 else measured


def _shares(
    edge: LoggedEdge, facts: LogFacts, consumer: Sequence[QuarterTotals], subtasks: int
) -> tuple[float, ...] | None:
    """Return the share of each consumer subtask, None if keys do not determine it, samples are few,
    or the job has another number of subtasks.
    """
    count = facts.parallelism[edge.target]
    if edge.ship_strategy not in ("HASH", "CUSTOM") or count != subtasks:
        return None
    if Total(consumer)["records_in"] < ENOUGH_RECORDS * count:
        return None
    rates = rates_per_s(consumer, "records_in")
    if not rates.keys() >= set(range(count)):
        return None
    whole = sum(rates[i] for i in range(count))
    return tuple(rates[i] / whole for i in range(count))
