"""From the checkpoints of a log to the state law of each operator.

A log in which rates change has the state at several rates: that of a checkpoint belongs to the rate
of its minute. Checkpoints at about the same rate are put together, and `laws.state_law` fits the
law to them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from edgeplace.model.cost import OperatorCost
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.combiners import FEWEST_MINUTES, SAME_RATE, by_rate
from edgeplace.spark_stats.laws import FEWEST_RATES, state_law
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.operators import LAST_IS_TAKEN
from edgeplace.spark_stats.sums_table import BIN_MS

_STILL = 1.1
"""Largest factor by which the state of a rate differs between its earlier and later minutes, the
median of all rates, if it is a function of the rate."""


@dataclass(frozen=True)
class HeldState:
    """The state of one vertex in one checkpoint.

    Attributes
    ----------
    at_ms
        When its last subtask was done, ms since the epoch.
    written_bytes
        What the checkpoint wrote of it; None: Flink did not tell.
    """

    job: str | None
    vertex: str
    at_ms: float
    state_bytes: float
    written_bytes: float | None


@dataclass(frozen=True)
class _Point:
    """State at a rate into all subtasks together."""

    minute: int
    rate_per_s: float
    state_bytes: float


def held_states(parts: Iterable[tuple[Any, Iterable[Any]]]) -> list[HeldState]:
    """Return the states of all checkpoints with a time.

    Parameters
    ----------
    parts
        Rows with the keys of a subtask, each with sums that have `sums_table.OF_CHECKPOINT`.
    """
    return [
        HeldState(
            key.job,
            key.vertex,
            part.acknowledged_ms,
            part.held_bytes,
            # A table has a number that is none for what it does not tell.
            None if part.written_bytes != part.written_bytes else part.written_bytes,
        )
        for key, sums in parts
        if key.kind == r.CHECKPOINT
        for part in sums
        # Flink says -1 before it is acknowledged.
        if (part.held_bytes or 0) > 0 and (part.acknowledged_ms or 0) > 0
    ]


def with_state_laws(
    operators: Sequence[OperatorCost],
    states: Sequence[HeldState],
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    sources: Collection[str],
) -> tuple[OperatorCost, ...]:
    """Return the operators, those whose state follows their rate with its law.

    With a law, `checkpointed_bytes` is what checkpoints write of a state of `state_bytes`: the same
    share as all of them wrote of theirs.

    Parameters
    ----------
    states, minutes
        What `held_states` and `minutes_of` return.
    job
        Id of the job in the log.
    ids
        Vertex in the log -> id of the operator.
    sources
        Operators whose records out count.
    """
    of_operator: dict[str, list[HeldState]] = {}
    for state in states:
        if state.job == job and state.vertex in ids:
            of_operator.setdefault(ids[state.vertex], []).append(state)

    return tuple(
        _with_law(op, own, _rates(op.operator, minutes, job, ids, op.operator in sources))
        if (own := of_operator.get(op.operator))
        else op
        for op in operators
    )


def _with_law(
    op: OperatorCost, states: Sequence[HeldState], rates: Mapping[int, float]
) -> OperatorCost:
    points = _points(states, rates)
    groups = [g for g in by_rate(points) if len({p.minute for p in g}) >= FEWEST_MINUTES]
    seen = [
        (fmean(p.rate_per_s for p in group), fmean(p.state_bytes for p in group))
        for group in groups
    ]
    # What grows with time is no function of the rate, though rates may have grown with time, too.
    still = median(map(_growth, groups)) <= _STILL if groups else False
    law = state_law(seen) if still and len(seen) >= FEWEST_RATES else None
    if law is None:
        return op
    notes = [note for note in op.notes if LAST_IS_TAKEN not in note]
    notes.append(f"its state follows its rate: by a law of {len(seen)} rates")
    update = {"state_law": law, "notes": tuple(notes)}
    told = [s for s in states if s.written_bytes is not None]
    if told and op.state_bytes is not None:
        share = fmean(s.written_bytes or 0.0 for s in told) / fmean(s.state_bytes for s in told)
        update["checkpointed_bytes"] = share * op.state_bytes
    return op.model_copy(update=update)


def _growth(group: Sequence[_Point]) -> float:
    """Return by which factor the state of a rate differs between its earlier and later minutes."""
    minutes = sorted({p.minute for p in group})
    middle = minutes[len(minutes) // 2]
    early = fmean(p.state_bytes for p in group if p.minute < middle)
    late = fmean(p.state_bytes for p in group if p.minute >= middle)
    return max(early / late, late / early)


def _points(states: Sequence[HeldState], rates: Mapping[int, float]) -> Iterator[_Point]:
    """Yield the states in minutes whose rate is known, and is about that of the minute before."""
    for state in states:
        minute = int(state.at_ms // BIN_MS * BIN_MS)
        now, before = rates.get(minute, 0.0), rates.get(minute - BIN_MS, 0.0)
        if min(now, before) > 0 and max(now, before) <= SAME_RATE * min(now, before):
            yield _Point(minute, (now + before) / 2, state.state_bytes)


def _rates(
    operator: str,
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    source: bool,
) -> dict[int, float]:
    """Return the records/s of all subtasks together in each minute in which all were observed."""
    counted = "records_out" if source else "records_in"
    found: dict[int, dict[int, float]] = {}
    subtasks = set()
    for task in minutes:
        if task.kind != r.TASK or task.job != job or ids[task.vertex] != operator:
            continue
        subtasks.add(task.subtask)
        used = task.only((task.dt_ms > 0) & (task.resets == 0) & task.knows(counted))
        per_s = 1000 * used.sums[counted] / used.dt_ms
        for minute, rate in zip(used.at_ms.tolist(), per_s.tolist(), strict=True):
            found.setdefault(minute, {})[task.subtask] = rate
    return {m: sum(each.values()) for m, each in found.items() if each.keys() == subtasks}
