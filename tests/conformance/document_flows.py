"""What docs/formulation.md and docs/costs.md say of one stream: shares, selectivity, record size.

Nothing here comes from `edgeplace.solver`, and of `edgeplace.model.laws` only the parameters of a
law.
"""

import math
from collections.abc import Sequence

import numpy as np

from edgeplace.model.job import Operator, ShipStrategy, Stream
from edgeplace.model.laws.flush import FlushLaw


def shares(stream: Stream, i: int, a: Operator, b: Operator) -> list[tuple[int, float]]:
    """Return (consumer, share of producer i's records)."""
    p, q = a.parallelism, b.parallelism
    given = stream.cost.shares if stream.cost else None
    match stream.ship_strategy:
        case ShipStrategy.FORWARD:
            return [(i, 1.0)]
        case ShipStrategy.RESCALE:
            if p >= q:
                return [(j, 1.0) for j in range(q) if j * p // q <= i < (j + 1) * p // q]
            mine = range(-(-i * q // p), -(-(i + 1) * q // p))
            return [(j, 1 / len(mine)) for j in mine]
        case ShipStrategy.BROADCAST:
            return [(j, 1.0) for j in range(q)]
        case ShipStrategy.GLOBAL:
            return [(j, 1.0 if j == 0 else 0.0) for j in range(q)]
    if stream.cost and stream.cost.shares_by_producer is not None:
        own = stream.cost.shares_by_producer[i]
        return [(j, share / sum(own)) for j, share in enumerate(own)]
    if given is not None:
        return [(j, share / sum(given)) for j, share in enumerate(given)]
    if stream.ship_strategy is ShipStrategy.HASH:
        groups = [g * q // b.max_parallelism for g in range(b.max_parallelism)]
        return [(j, groups.count(j) / b.max_parallelism) for j in range(q)]
    return [(j, 1 / q) for j in range(q)]


def flow(stream: Stream, a: Operator, rate: float, delayed: bool = False) -> tuple[float, float]:
    """Return records out per record in, and bytes per record, at a rate of the producer.

    `delayed`: full links delay the timer of a flush law.
    """
    cost = stream.cost
    assert cost is not None
    if cost.by_rate:
        rates = [s.rate_per_s for s in cost.by_rate]
        size = _between(rate, rates, [s.bytes_per_record for s in cost.by_rate])
        figures = [s.selectivity for s in cost.by_rate]
        law = cost.flush_law
        if law is None:
            return _between(rate, rates, figures), size
        level = [x / _output(law, r) * r for x, r in zip(figures, rates, strict=True)]
        out = _output(law, rate) / rate if rate > 0 else law.gathering.keys_per_record
        if delayed and rate > 0:
            out = min(out, _output(law, rate, delayed) / rate)
        return _between(rate, rates, level) * out, size
    selectivity = cost.selectivity
    if selectivity is None:
        selectivity = a.cost.selectivity if a.cost else None
    return (1.0 if selectivity is None else selectivity), cost.bytes_per_record or 0.0


def _between(rate: float, rates: Sequence[float], figures: Sequence[float]) -> float:
    """Return the figure at a rate: a power of it between two rates, constant beyond the ends."""
    at = math.log(rate) if rate > 0 else -math.inf
    return math.exp(float(np.interp(at, np.log(rates), np.log(figures))))


def _output(law: FlushLaw, r: float, delayed: bool = False) -> float:
    """Return the records/s that a subtask puts out at r records/s."""
    m, n = law.gathering.keys_per_record, law.gathering.records
    t, c = law.gathering.interval_s, law.gathering.checkpoint_s
    if delayed and not (n is None and c is None):
        t = None
    if t is None:
        t, c = c, None
    if t is None:
        return r / n * _distinct(law, m * n) if n is not None else m * r
    f = 0.0
    if c is not None:
        t, c = min(t, c), max(t, c)
        f = t / c
    return ((1 - f) * _flushed(law, r * t) + f * 2 * _flushed(law, r * t / 2)) / t


def _flushed(law: FlushLaw, n: float) -> float:
    """Return B(n): the records that leave in a period in which n come."""
    m, batch = law.gathering.keys_per_record, law.gathering.records
    if batch is None:
        return _distinct(law, m * n)
    k = math.floor(n / batch)
    return k * _distinct(law, m * batch) + _distinct(law, m * (n - k * batch))


def _distinct(law: FlushLaw, n: float) -> float:
    """Return D(n). Of Zipf with at most 32 keys: ranges of ranks are not counted here."""
    a = s = law.shape
    if law.form == "hot and cold":
        return a * n + law.keys * (1 - math.exp(-(1 - a) * n / law.keys))
    assert law.keys <= 32
    ranks = range(1, math.ceil(law.keys) + 1)
    counts = [min(1.0, law.keys - (i - 1)) for i in ranks]
    whole = sum(count * i**-s for count, i in zip(counts, ranks, strict=True))
    return sum(
        count * (1 - math.exp(-n * i**-s / whole)) for count, i in zip(counts, ranks, strict=True)
    )
