"""Rates along the job graphs, and the channels between subtasks.

Notation (docs/formulation.md): subtask k, channel (k, l), records per second r, bytes per second w.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from edgeplace.model import InvalidInputError, JobGraph, ShipStrategy, Stream
from edgeplace.model.laws.by_rate import bytes_per_record_at, selectivity_at
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import look


@dataclass(frozen=True)
class Traffic:
    """Steady-state rates; subtasks are numbered job by job and operator by operator.

    Attributes
    ----------
    rate_per_s
        Records in (out, for sources) of each subtask, shape (n_subtasks,).
    source, target
        Subtasks at the ends of each channel, shape (n_channels,).
    records_per_s, bytes_per_s
        Flow on each channel, shape (n_channels,).
    held_back
        Share of its records that each channel still carries where full links delay the timers of
        flush laws, shape (n_channels,); 1 without such a law.
    record_bytes
        Mean size of a record on each channel, shape (n_channels,).
    fan_in
        Channels with traffic into the channel's input gate, shape (n_channels,).
    timeout_ms
        Buffer timeout of each channel, shape (n_channels,).
    watermarks_per_s
        Of each channel, shape (n_channels,).
    flushes_per_s
        How often each channel has something to send, at most, shape (n_channels,); infinite where
        the stream does not say it.
    stream
        Index of the stream of each channel in its job, shape (n_channels,).
    notes
        What was assumed.
    """

    rate_per_s: Floats
    source: Ints
    target: Ints
    records_per_s: Floats
    bytes_per_s: Floats
    held_back: Floats
    record_bytes: Floats
    fan_in: Floats
    timeout_ms: Floats
    watermarks_per_s: Floats
    flushes_per_s: Floats
    stream: Ints
    notes: tuple[str, ...]

    @classmethod
    def of(cls, jobs: Sequence[JobGraph]) -> "Traffic":
        """Return the steady-state traffic of some jobs from their sources' demand.

        Raises
        ------
        InvalidInputError
            If a rate, selectivity or record size is not known; all that is missing is listed.
        """
        each = [_traffic(j) for j in jobs]
        first = np.cumsum([0, *[len(t.rate_per_s) for t in each]])
        joined = {
            name: np.concatenate([getattr(t, name) for t in each])
            for name in (
                "rate_per_s",
                "records_per_s",
                "bytes_per_s",
                "held_back",
                "record_bytes",
                "fan_in",
                "timeout_ms",
                "watermarks_per_s",
                "flushes_per_s",
                "stream",
            )
        }
        return cls(
            source=np.concatenate([t.source + o for t, o in zip(each, first, strict=False)]),
            target=np.concatenate([t.target + o for t, o in zip(each, first, strict=False)]),
            notes=tuple(n for t in each for n in t.notes),
            **joined,
        )


def key_group_shares(parallelism: int, max_parallelism: int) -> Floats:
    """Return the share of key groups that each subtask of a keyed operator owns.

    Key group g goes to subtask ``g * parallelism // max_parallelism``, as in Flink's
    `KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup`.
    """
    owner = np.arange(max_parallelism) * parallelism // max_parallelism
    return np.bincount(owner, minlength=parallelism) / max_parallelism


def _pointwise(p: int, q: int) -> tuple[Ints, Ints]:
    """Return the channels of a RESCALE stream from p to q subtasks.

    As in Flink's `VertexInputInfoComputationUtils.computeVertexInputInfoForPointwise`: contiguous
    ranges, of producers if these are more, of consumers otherwise.
    """
    if p >= q:
        start = np.arange(q + 1) * p // q
        return np.arange(p), np.repeat(np.arange(q), np.diff(start))
    start = (np.arange(p + 1) * q + p - 1) // p
    return np.repeat(np.arange(p), np.diff(start)), np.arange(q)


def _channels(stream: Stream, p: int, q: int, key_groups: int) -> tuple[Ints, Ints, Floats]:
    """Return producers, consumers and the share of the producer's records on each channel."""
    strategy = stream.ship_strategy
    if strategy is ShipStrategy.FORWARD:
        i = np.arange(p)
        return i, i, np.ones(p)
    if strategy is ShipStrategy.RESCALE:
        a, b = _pointwise(p, q)
        return a, b, 1.0 / np.bincount(a, minlength=p)[a]
    a, b = np.repeat(np.arange(p), q), np.tile(np.arange(q), p)
    measured = stream.cost.shares if stream.cost else None
    if stream.cost and stream.cost.shares_by_producer is not None:
        rows = np.array(stream.cost.shares_by_producer)
        return a, b, (rows / rows.sum(axis=1, keepdims=True)).ravel()
    if strategy is ShipStrategy.BROADCAST:
        per_consumer = np.ones(q)
    elif strategy is ShipStrategy.GLOBAL:
        per_consumer = (np.arange(q) == 0).astype(float)
    elif measured is not None:
        per_consumer = np.array(measured) / sum(measured)
    elif strategy is ShipStrategy.HASH:
        per_consumer = key_group_shares(q, key_groups)
    else:
        per_consumer = np.full(q, 1.0 / q)
    return a, b, np.tile(per_consumer, p)


def _known(job: JobGraph) -> list[tuple[float, float]]:
    """Return (selectivity, bytes per record) of each stream, or say all that is missing."""
    outputs: dict[str, int] = {}
    for s in job.streams:
        outputs[s.source] = outputs.get(s.source, 0) + 1
    sources = {op.id for op in job.sources()}
    missing: list[str] = []
    for op in job.sources():
        if not (op.cost and op.cost.demand):
            missing.append(f"records per second of source {op.name!r} (--set rate:{op.name}=N)")
    found = []
    operators = {op.id: op for op in job.operators}
    for s in job.streams:
        a, b = operators[s.source], operators[s.target]
        selectivity = s.cost.selectivity if s.cost else None
        size = s.cost.bytes_per_record if s.cost else None
        if s.cost and s.cost.by_rate:
            selectivity, size = s.cost.by_rate[0].selectivity, s.cost.by_rate[0].bytes_per_record
        if selectivity is None and outputs[s.source] == 1:
            if s.source in sources:
                selectivity = 1.0
            elif a.cost:
                selectivity = a.cost.selectivity
        if selectivity is None:
            missing.append(f"selectivity of stream {a.name!r} -> {b.name!r}")
        if size is None:
            missing.append(f"bytes per record of stream {a.name!r} -> {b.name!r}")
        found.append((selectivity or 0.0, size or 0.0))
    if missing:
        raise InvalidInputError(
            f"job {job.name!r} cannot be placed, its costs are incomplete:\n  "
            + "\n  ".join(missing),
            "measure them (edgeplace costs LOGS) and pass --costs, or state them in the job file "
            "(docs/job.md)",
        )
    return found


def _at(
    stream: Stream, rate_per_s: Floats, known: tuple[float, float], delayed: bool
) -> tuple[Floats, Floats]:
    """Return selectivity and bytes per record at the rates of the producers, (n_producers,) each.

    Parameters
    ----------
    known
        Both, where the stream was not seen at several rates.
    delayed
        Whether full links delay the timers of flush laws.
    """
    if not (stream.cost and stream.cost.by_rate):
        return np.full(len(rate_per_s), known[0]), np.full(len(rate_per_s), known[1])
    seen, law = stream.cost.by_rate, stream.cost.flush_law
    different, which = np.unique(rate_per_s, return_inverse=True)
    selectivity = np.array([selectivity_at(rate, seen, law) for rate in different.tolist()])
    size = np.array([bytes_per_record_at(rate, seen) for rate in different.tolist()])
    if delayed and law:
        selectivity *= [law.held_back_share(rate) for rate in different.tolist()]
    return selectivity[which], size[which]


def _traffic(job: JobGraph) -> Traffic:
    """Return the steady-state traffic of one job."""
    found = _propagate(job)
    if not any(s.cost and s.cost.flush_law for s in job.streams):
        return found
    # What is held back upstream reaches no one downstream.
    left = _propagate(job, delayed=True).records_per_s
    live = found.records_per_s > 0
    share = np.divide(left, found.records_per_s, out=np.ones(len(live)), where=live)
    return replace(found, held_back=np.minimum(share, 1.0))


def _propagate(job: JobGraph, delayed: bool = False) -> Traffic:
    """Return the traffic of one job, also where full links delay the timers of flush laws."""
    known = _known(job)
    index = {op.id: i for i, op in enumerate(job.operators)}
    parallelism = np.array([op.parallelism for op in job.operators])
    first = np.concatenate([[0], np.cumsum(parallelism)])
    rate = np.zeros(first[-1])
    notes: list[str] = []
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_nodes_from(index)
    for i, s in enumerate(job.streams):
        graph.add_edge(s.source, s.target, key=i)
    parts: list[tuple[NDArray[Any], ...]] = []
    fed = {s.target for s in job.streams}
    for op_id in nx.topological_sort(graph):
        look()
        op = job.operators[index[op_id]]
        own = slice(first[index[op_id]], first[index[op_id] + 1])
        if op_id not in fed:
            assert op.cost is not None and op.cost.demand is not None  # noqa: S101 - see _known
            demand = op.cost.demand
            rate[own] = demand.rates_per_s
            if demand.throttled:
                notes.append(
                    f"source {op.name!r} was throttled by back pressure: its measured rate is a "
                    "lower bound of demand; state the real one with --set rate:"
                    f"{op.name}=N"
                )
        for _, target, i in graph.out_edges(op_id, keys=True):
            s = job.streams[i]
            if s.ship_strategy is ShipStrategy.CUSTOM and not (
                s.cost and (s.cost.shares or s.cost.shares_by_producer)
            ):
                notes.append(
                    f"stream {op.name!r} -> {job.operator(target).name!r} has a custom "
                    "partitioner: even shares are assumed"
                )
            consumer = job.operators[index[target]]
            a, b, share = _channels(
                s, op.parallelism, consumer.parallelism, consumer.max_parallelism
            )
            selectivity, size = _at(s, rate[own], known[i], delayed)
            flow = (rate[own] * selectivity)[a] * share
            live = np.bincount(b, weights=(flow > 0), minlength=consumer.parallelism)
            of_each = size[a]
            a, b = a + first[index[op_id]], b + first[index[target]]
            np.add.at(rate, b, flow)
            parts.append(
                (
                    a,
                    b,
                    flow,
                    of_each,
                    live[b - first[index[target]]],
                    np.full(len(a), i),
                )
            )
    source, target_, flow, size_, fan_in, stream = (
        np.concatenate([np.zeros(0), *(p[i] for p in parts)]) for i in range(6)
    )
    # Time goes on with records, so a source has no more watermarks than these.
    born = np.concatenate(
        [np.zeros(1), *(rate[first[index[s.id]] :][: s.parallelism] for s in job.sources())]
    )
    stated = [s.cost.flushes_per_s if s.cost else None for s in job.streams]
    flushes = np.array([np.inf if f is None else f for f in stated])
    watermarks = min(1000 / (job.watermark_interval_ms or np.inf), float(born.max()))
    return Traffic(
        rate,
        source.astype(np.intp),
        target_.astype(np.intp),
        flow,
        flow * size_,
        np.ones(len(flow)),
        size_,
        fan_in,
        np.full(len(flow), job.buffer_timeout_ms),
        np.full(len(flow), watermarks),
        flushes[stream.astype(np.intp)],
        stream.astype(np.intp),
        tuple(notes),
    )
