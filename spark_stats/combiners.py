"""From the minutes of a log to the flush law of each stream behind a combiner or a window.

A log in which rates change has an operator at several rates. Its minutes are put together by the
rate into a subtask, and `laws.learn` fits the law to them, if it is known when the operator
flushes: from what the user says, or from the window in the job's plan.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from edgeplace.model import AtRate
from edgeplace.model.cost import StreamCost
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.laws import learn
from edgeplace.spark_stats.matching import find_operator
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.operators import THROTTLED_SHARE
from edgeplace.spark_stats.streams import copies_of

MOST_RATES = 6
"""Largest number of rates to which a law is fitted."""
SAME_RATE = 1.3
"""Ratio up to which rates count as the same."""
FEWEST_MINUTES = 2
"""A rate in one minute only may be two rates, of which each had a part of it."""


class OfMinute(Protocol):
    """Something seen in a minute at a rate."""

    @property
    def minute(self) -> int:
        """Its start, ms since the epoch."""

    @property
    def rate_per_s(self) -> float:
        """More than 0."""


P = TypeVar("P", bound=OfMinute)


_OF_POINT = ("records_in", "records_out", "bytes_out")


@dataclass(frozen=True)
class _Point:
    """One minute of one subtask."""

    minute: int
    dt_ms: float
    records_in: float
    records_out: float
    bytes_out: float

    @property
    def rate_per_s(self) -> float:
        return 1000 * self.records_in / self.dt_ms


@dataclass(frozen=True)
class Flushing:
    """When an operator flushes."""

    gathering: Gathering
    stated: bool
    """Whether the user says so; else the plan does."""


def gatherings(
    stated: Mapping[str, Gathering], facts: LogFacts, sources: Collection[str]
) -> dict[str, Flushing]:
    """Return when each operator flushes, by id, where it is known.

    Parameters
    ----------
    stated
        Operator id or name -> what the user says. It flushes before the checkpoints of the log,
        too, unless the user gives their interval.
    facts
        With the windows of the plan.
    sources
        Operators without inputs.

    Raises
    ------
    InvalidInputError
        If the log has no such operator, if two names stand for one, or if it is a source: what goes
        into it is not in a log.
    """
    found = {
        op: Flushing(Gathering(interval_s=each), stated=False)
        for op, each in facts.window_s.items()
    }
    checkpoint_ms = facts.checkpoint_interval_ms
    for ref, gathering in stated.items():
        operator = find_operator(ref, facts, "a time between flushes")
        if operator in sources:
            raise InvalidInputError(
                f"a time between flushes is given for {facts.names[operator]!r}, which is a source",
                "a log does not say what goes into an operator that is chained to its source; "
                "disable the chaining while you record, or leave it out",
            )
        if operator in found and found[operator].stated:
            raise InvalidInputError(
                f"a time between flushes is given twice for {facts.names[operator]!r}",
                "give it by the name or by the id, not by both",
            )
        if checkpoint_ms and gathering.checkpoint_s is None:
            gathering = gathering.model_copy(update={"checkpoint_s": checkpoint_ms / 1000})
        found[operator] = Flushing(gathering, stated=True)
    return {op: flushing for op, flushing in found.items() if op not in sources}


def with_laws(
    streams: Sequence[StreamCost],
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    known: Mapping[str, Flushing],
    facts: LogFacts,
) -> tuple[StreamCost, ...]:
    """Return the streams, those behind a combiner or a window with their law or why there is none.

    Parameters
    ----------
    minutes
        What `minutes_of` returns.
    job
        Id of the job in the log.
    ids
        Vertex in the log -> id of the operator.
    known
        What `gatherings` returns.
    facts
        With the streams.
    """
    outputs = Counter(s.source for s in streams)
    copies = {(e.source, e.target): copies_of(e, facts) for e in facts.edges or ()}

    def with_law(s: StreamCost) -> StreamCost:
        if s.source not in known:
            return s
        seen = at_rates(_points(s.source, minutes, job, ids), copies[s.source, s.target])
        return _with_law(s, known[s.source], seen, outputs[s.source])

    return tuple(map(with_law, streams))


def _with_law(
    stream: StreamCost, flushing: Flushing, seen: tuple[AtRate, ...], outputs: int
) -> StreamCost:
    if len(seen) < 2 and not flushing.stated:
        # An ordinary log with a window: nobody expects a law.
        return stream
    if outputs > 1:
        return _refused(stream, "the operator has several outputs, and a log counts their sum")
    if stream.selectivity is None:
        return _refused(stream, "this log does not have all that the stream carries")
    choice = learn(flushing.gathering, seen)
    if choice.law is None:
        return _refused(stream, choice.reason)
    return stream.model_copy(update={"by_rate": seen, "flush_law": choice.law})


def _refused(stream: StreamCost, reason: str) -> StreamCost:
    return stream.model_copy(update={"notes": (*stream.notes, f"no flush law: {reason}")})


def _points(
    operator: str, minutes: Sequence[SubtaskMinutes], job: str, ids: Mapping[str, str]
) -> Iterator[_Point]:
    """Yield the minutes in which nothing held the subtasks of an operator back.

    A full link delays flushes, so they are not those of the law.
    """
    for task in minutes:
        if task.kind != r.TASK or task.job != job or ids[task.vertex] != operator:
            continue
        free = task.known("back_pressured_ms") <= THROTTLED_SHARE * task.dt_ms
        known = task.knows("records_out") & task.knows("bytes_out")
        fed = (task.dt_ms > 0) & (task.known("records_in") > 0)
        used = task.only(fed & free & known & (task.resets == 0))
        columns = used.at_ms, used.dt_ms, *(used.sums[name] for name in _OF_POINT)
        yield from map(_Point, *(column.tolist() for column in columns))


def at_rates(points: Iterable[_Point], copies: int = 1) -> tuple[AtRate, ...]:
    """Return the traffic at each rate, ascending, with minutes of about the same rate as one.

    Parameters
    ----------
    copies
        Number of subtasks that get each record.
    """
    return tuple(at for group in by_rate(points) if (at := _together(group, copies)))


def by_rate(points: Iterable[P]) -> list[list[P]]:
    """Return points of about the same rate together, by ascending rate: at most `MOST_RATES`."""
    ordered = sorted(points, key=lambda p: (p.rate_per_s, p.minute))
    if not ordered:
        return []
    range_of_rates = ordered[-1].rate_per_s / ordered[0].rate_per_s
    width = max(SAME_RATE, range_of_rates ** (1 / MOST_RATES))
    groups: list[list[P]] = []
    for point in ordered:
        if not groups or point.rate_per_s > width * groups[-1][0].rate_per_s:
            groups.append([])
        groups[-1].append(point)
    return groups


def _together(group: Sequence[_Point], copies: int) -> AtRate | None:
    """Return the traffic of minutes together; None if they are too few or nothing was put out."""

    def total(name: str) -> float:
        return math.fsum(getattr(p, name) for p in group)

    few = len({p.minute for p in group}) < FEWEST_MINUTES
    if few or not (total("records_out") > 0 and total("bytes_out") > 0):
        return None
    return AtRate(
        rate_per_s=1000 * total("records_in") / total("dt_ms"),
        selectivity=total("records_out") / total("records_in"),
        bytes_per_record=total("bytes_out") / total("records_out") / copies,
    )
