"""What a stream carries at a rate of its producer, for the oracle.

Written from docs/formulation.md and docs/costs.md; of `edgeplace.model.laws` only parameters are
read. The other oracle has a reading of its own (`tests/conformance/document_flows.py`).
"""

import math
from itertools import pairwise


def carried(stream, op, is_source, rate, full=False):
    """(records on the stream per record of the producer, bytes per record)

    `full`: a full link keeps the timer of a flush law from firing.
    """
    cost = stream.cost
    if cost and cost.by_rate:
        size = power(rate, [(at.rate_per_s, at.bytes_per_record) for at in cost.by_rate])
        if cost.flush_law is None:
            return power(rate, [(at.rate_per_s, at.selectivity) for at in cost.by_rate]), size
        levels = [
            (at.rate_per_s, at.selectivity / by_law(cost.flush_law, at.rate_per_s))
            for at in cost.by_rate
        ]
        law = by_law(cost.flush_law, rate)
        if full:
            law = min(law, by_law(cost.flush_law, rate, timer=False))
        return power(rate, levels) * law, size
    selectivity = cost.selectivity if cost else None
    if selectivity is None:
        selectivity = 1.0 if is_source else op.cost.selectivity
    return selectivity, cost.bytes_per_record


def power(rate, points):
    """A figure at a rate, as a power of the rate between two points, and constant beyond."""
    if rate <= points[0][0]:
        return points[0][1]
    for (r0, f0), (r1, f1) in pairwise(points):
        if r0 < rate <= r1:
            return f0 * (rate / r0) ** (math.log(f1 / f0) / math.log(r1 / r0))
    return points[-1][1]


def by_law(law, r, timer=True):
    """Records out per record in."""
    when = law.gathering
    m, count = when.keys_per_record, when.records
    # An operator that flushes by its timer alone is not delayed.
    delayed = not timer and (count or when.checkpoint_s)
    clocks = sorted(x for x in (None if delayed else when.interval_s, when.checkpoint_s) if x)
    if r == 0 or (not clocks and not count):
        return m
    if not clocks:
        return distinct(law, m * count) / count

    def flushed(n):
        batches = math.floor(n / count) if count else 0
        rest = n - batches * (count or 0)
        return batches * distinct(law, m * (count or 0)) + distinct(law, m * rest)

    t = clocks[0]
    f = t / clocks[1] if len(clocks) > 1 else 0.0
    return ((1 - f) * flushed(r * t) + f * 2 * flushed(r * t / 2)) / t / r


def distinct(law, n):
    """Distinct keys among n, of at most 32 keys if they are Zipf's."""
    if law.form == "hot and cold":
        cold = law.shape
        return cold * n + law.keys * (1 - math.exp(-(1 - cold) * n / law.keys))
    weights = [min(1.0, law.keys - i) * (i + 1) ** -law.shape for i in range(math.ceil(law.keys))]
    assert len(weights) <= 32
    total = 0.0
    for i, weight in enumerate(weights):
        keys = min(1.0, law.keys - i)
        total += keys * (1 - math.exp(-n * weight / keys / sum(weights)))
    return total
