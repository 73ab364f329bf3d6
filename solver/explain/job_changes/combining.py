"""The bytes that a partial aggregate before a HASH stream would send instead of the records."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from edgeplace.model import (
    Cluster,
    JobGraph,
    Operator,
    Plan,
    ShipStrategy,
    Stream,
    with_weights,
)
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.evaluation.usage import bytes_on_links
from edgeplace.solver.explain.job_changes.levers import Lever, LeverKind, lever_of
from edgeplace.solver.problem import Problem, build_as_placed
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.traffic import Traffic, key_group_shares

WORTH = 0.01
"""Share of the stream's bytes below which a saving is not worth a change."""


class CombiningVerdict(StrEnum):
    """What to do with a HASH stream that crosses sites."""

    COMBINE = "combine"
    RAW = "leave it raw"
    COMBINED = "combined already"
    WHOLE = "keep it whole"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Combining:
    """A HASH stream that crosses sites, and what a partial aggregate would send instead.

    Bytes are those on links, each link that is crossed once; the placement is the plan's. The
    processor time of the partial aggregate is not known, and not counted.
    """

    job: str
    source: str
    """Name of the operator."""
    target: str
    wan_bytes_per_s: float
    partial_wan_bytes_per_s: float | None
    """None: a figure is missing, or the operator cannot be split."""
    every_s: float | None
    """Time between two flushes."""
    known_from: str
    """Where keys and skew are known from; empty: they are not."""
    missing: tuple[str, ...]
    """Figures that the costs do not have."""
    verdict: CombiningVerdict
    lever: Lever


def combining(
    job_graph: JobGraph | Sequence[JobGraph], cluster: Cluster, plan: Plan
) -> tuple[Combining, ...]:
    """Return what partial aggregates would send, for each HASH stream that crosses sites.

    A partial aggregate is chained to the operator that sends. By the flush law it sends one record
    for each distinct key among what it gathered (`model/laws/flush.py`). Its law is stated
    (`partial` of the stream), or follows from that of the keyed window which the stream feeds.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or do not fit together.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    jobs = list(with_weights(jobs, cluster, plan))
    problem, traffic = build_as_placed(jobs, cluster, plan), Traffic.of(jobs)
    site = problem.tms.site[problem.assignment(plan)]
    job_of = np.searchsorted([0, *np.cumsum([_subtasks(j) for j in jobs])], traffic.source, "right")
    found = []
    for j, job in enumerate(jobs):
        for i, stream in enumerate(job.streams):
            if stream.ship_strategy is not ShipStrategy.HASH:
                continue
            own = np.flatnonzero((job_of == j + 1) & (traffic.stream == i))
            now = _wan(problem, cluster, _part(traffic, own), site)
            if now > 0:
                found.append(_said(problem, cluster, job, stream, _part(traffic, own), site, now))
    return tuple(found)


def _said(
    problem: Problem,
    cluster: Cluster,
    job: JobGraph,
    stream: Stream,
    raw: Traffic,
    site: Ints,
    now: float,
) -> Combining:
    source, target = job.operator(stream.source), job.operator(stream.target)
    laws, size, known_from, missing = _partial(job, stream, target)
    every = laws[0][1].gathering.interval_s if laws else None
    lever = lever_of(source, target, sum(s.target == target.id for s in job.streams), every)
    then = None
    if lever.kind is LeverKind.NONE_NEEDED:
        verdict, missing = CombiningVerdict.COMBINED, ()
    elif lever.kind is LeverKind.NONE:
        verdict, missing = CombiningVerdict.WHOLE, ()
    elif missing:
        verdict = CombiningVerdict.UNKNOWN
    else:
        then = _wan(problem, cluster, _combined(raw, laws, size), site)
        verdict = CombiningVerdict.COMBINE if then < now * (1 - WORTH) else CombiningVerdict.RAW
    return Combining(
        job=job.name,
        source=source.name,
        target=target.name,
        wan_bytes_per_s=now,
        partial_wan_bytes_per_s=then,
        every_s=every,
        known_from=known_from if then is not None else "",
        missing=missing,
        verdict=verdict,
        lever=lever,
    )


_Laws = list[tuple[float, FlushLaw]]
"""Share of the records, and the law of those records; the keys of two of them differ."""


def _partial(
    job: JobGraph, stream: Stream, target: Operator
) -> tuple[_Laws, float, str, tuple[str, ...]]:
    """Return the laws of a partial aggregate, its bytes a record, their origin, what is missing."""
    cost, every_ms = stream.cost, job.checkpoint_interval_ms
    # A partial aggregate keeps nothing over a barrier, so a checkpoint makes it flush.
    checkpoint_s = every_ms / 1000 if every_ms else None
    if cost and cost.partial:
        stated = cost.partial.law
        known = {"checkpoint_s": stated.gathering.checkpoint_s or checkpoint_s}
        gathering = stated.gathering.model_copy(update=known)
        with_checkpoints = stated.model_copy(update={"gathering": gathering})
        return [(1.0, with_checkpoints)], cost.partial.bytes_per_record, "stated", ()
    for out in job.streams:
        seen = out.cost if out.source == target.id else None
        law = seen.flush_law if seen else None
        if seen is None or law is None or law.gathering.interval_s is None:
            continue
        gathering = Gathering(
            interval_s=law.gathering.interval_s,
            checkpoint_s=checkpoint_s,
            keys_per_record=law.gathering.keys_per_record,
        )
        shares = cost.shares if cost and cost.shares else None
        each = shares or key_group_shares(target.parallelism, target.max_parallelism).tolist()
        each_law = law.model_copy(update={"gathering": gathering})
        size = max(at.bytes_per_record for at in seen.by_rate)
        known_from = f"what {target.name!r} puts out; a partial is taken to be as large"
        return [(share, each_law) for share in each if share > 0], size, known_from, ()
    where = f"`partial` of stream {stream.source} -> {stream.target}"
    return (
        [],
        0.0,
        "",
        (
            f"how many keys {target.name!r} has, and how unevenly they come ({where}: law)",
            f"bytes of one accumulator with its key ({where}: bytes_per_record)",
        ),
    )


def _combined(raw: Traffic, laws: _Laws, size: float) -> Traffic:
    """Return the traffic of a stream whose producers combine what they send."""
    sent = np.bincount(raw.source, weights=raw.records_per_s)
    kept = np.ones(len(sent))
    for k in np.flatnonzero(sent).tolist():
        rate = float(sent[k])
        kept[k] = sum(share * law.selectivity(rate * share) for share, law in laws)
    records = raw.records_per_s * kept[raw.source]
    return dataclasses.replace(
        raw,
        records_per_s=records,
        bytes_per_s=records * size,
        record_bytes=np.full(len(records), size),
        # What comes in bursts now says nothing of what partial aggregates send.
        flushes_per_s=np.full(len(records), np.inf),
    )


def _part(traffic: Traffic, own: Ints) -> Traffic:
    """Return the traffic of some channels."""
    arrays = {
        f.name: getattr(traffic, f.name)[own]
        for f in dataclasses.fields(traffic)
        if f.name not in ("rate_per_s", "notes")
    }
    return dataclasses.replace(traffic, **arrays)


def _wan(problem: Problem, cluster: Cluster, traffic: Traffic, site: Ints) -> float:
    """Return the bytes/s of some traffic on all links."""
    alone = dataclasses.replace(problem, channels=Channels.of(traffic, cluster), storage_site=None)
    on_links: Floats = bytes_on_links(alone, site)[0]
    return float(on_links.sum())


def _subtasks(job: JobGraph) -> int:
    return sum(op.parallelism for op in job.operators)
