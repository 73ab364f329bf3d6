"""The subtasks that move between two placements of a job, and the slots that they need."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from edgeplace.model import JobGraph

NEW = "(new)"
GONE = "(gone)"


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
