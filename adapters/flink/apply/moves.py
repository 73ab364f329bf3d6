"""What changes between two placements of a job, what it costs, and which slots it needs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from edgeplace.adapters.flink.rest.live import Checkpoint, LiveFlink
from edgeplace.model import JobGraph

NEW = "(new)"
GONE = "(gone)"
_REDEPLOY_MS = 2000.0
"""Cancelling and deploying again took about this in our measurements, beside what state needs."""


@dataclass(frozen=True)
class SubtaskMove:
    """A subtask that goes from one TaskManager to another, begins or ends."""

    operator: str
    """Its id."""
    name: str
    subtask: int
    """From 0."""
    source: str
    """`NEW` if the operator has not had this subtask."""
    target: str
    """`GONE` if the operator will not have it."""


@dataclass(frozen=True)
class MovePrice:
    """What moves cost, as far as the last checkpoint tells."""

    state_bytes: int | None
    """State that changes its TaskManager; None: no checkpoint tells."""
    pause_ms: float | None
    """An estimate: the last checkpoint's duration and a redeployment; None: no checkpoint yet."""


def moves(
    job: JobGraph, before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]
) -> tuple[SubtaskMove, ...]:
    """Return the subtasks that change their TaskManager, begin or end."""
    return tuple(
        SubtaskMove(op.id, op.name, i, a or NEW, b or GONE)
        for op in job.operators
        for i, (a, b) in enumerate(zip_longest(before[op.id], after[op.id]))
        if a != b
    )


def slots_needed(job: JobGraph, places: Mapping[str, tuple[str, ...]]) -> Counter[str]:
    """Return TaskManager -> slots that a placement takes there.

    In each slot sharing group, subtasks of different operators share a slot.
    """
    groups: dict[tuple[str, str], int] = {}
    for op in job.operators:
        for tm, count in Counter(places[op.id]).items():
            key = (op.slot_sharing_group, tm)
            groups[key] = max(groups.get(key, 0), count)
    needed: Counter[str] = Counter()
    for (_, tm), count in groups.items():
        needed[tm] += count
    return needed


def rescaled_operators(
    before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]
) -> frozenset[str]:
    """Return the ids of the operators whose parallelism changes."""
    return frozenset(op for op in before if len(before[op]) != len(after[op]))


def free_slots_after(
    free: Mapping[str, int],
    job: JobGraph,
    before: Mapping[str, tuple[str, ...]],
    after: Mapping[str, tuple[str, ...]],
) -> dict[str, int]:
    """Return TaskManager -> slots free once a job has moved; those it leaves count as held."""
    more = slots_needed(job, after)
    more.subtract(slots_needed(job, before))
    return {tm: count - max(0, more[tm]) for tm, count in free.items()}


def price(
    live: LiveFlink,
    job_id: str,
    moved: tuple[SubtaskMove, ...],
    rescaled: frozenset[str],
    last: Checkpoint | None,
) -> MovePrice:
    """Return what moves cost.

    Parameters
    ----------
    rescaled
        Operators whose parallelism changes: all their state is dealt anew.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    if last is None:
        return MovePrice(None, None)
    total: int | None = 0
    for operator in dict.fromkeys(m.operator for m in moved):
        sizes = live.state_bytes(job_id, last.id, operator)
        known: list[int | None] = (
            [*sizes.values()] or [None]
            if operator in rescaled
            else [sizes.get(m.subtask) for m in moved if m.operator == operator]
        )
        if total is None or None in known:
            total = None
        else:
            total += sum(size for size in known if size is not None)
    return MovePrice(total, last.duration_ms + _REDEPLOY_MS)
