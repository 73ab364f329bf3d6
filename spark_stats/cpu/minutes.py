"""From the sums of each minute to the rows of the regressions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import compress
from operator import attrgetter
from statistics import median
from typing import Any

import numpy as np

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.cpu.slices import Slices
from edgeplace.spark_stats.sums_table import BIN_MS, OF_PART, is_of_subtask
from edgeplace.spark_stats.totals import QuarterTotals

SAME_TIME = 0.25
"""Share by which the time of a subtask may differ from its TaskManager's in a minute. Otherwise the
one was observed where the other was not."""

_values = attrgetter(*OF_PART)


@dataclass(slots=True)
class MinuteTotals:
    """The sums of one subtask, or of one TaskManager, in one minute.

    What is known for a part of it is taken at its mean rate; what is not known of it is 0.
    """

    dt_ms: float
    cpu_ns: float
    records_in: float
    records_out: float
    emitted: float
    bytes_out: float
    bytes_in_local: float
    bytes_in_remote: float
    buffers_in_local: float
    buffers_in_remote: float
    busy_ms: float
    back_pressured_ms: float
    resets: int = field(kw_only=True)
    unknown: frozenset[str] = field(kw_only=True)
    """Sums of which nothing is known."""

    def knows(self, *names: str) -> bool:
        """Return whether some sums are known."""
        return self.unknown.isdisjoint(names)

    def emitting(self) -> "MinuteTotals":
        """Return it with the records that the source emits as those out."""
        unknown = self.unknown - {"records_out"}
        if "emitted" in unknown:
            unknown |= {"records_out"}
        return replace(self, records_out=self.emitted, unknown=unknown)


def _together(parts: Sequence[Any]) -> MinuteTotals:
    """Return the sums of a minute that comes in parts, with a field for each of `OF_MINUTE`."""
    whole_ms = sum([part.dt_ms or 0.0 for part in parts])
    # Almost all minutes come in one part, of which everything is known or nothing.
    if len(parts) == 1 and parts[0].missing is None:
        values = _values(parts[0])
    else:
        values = tuple(_of_parts(parts, name, whole_ms) for name in OF_PART)
    return MinuteTotals(
        whole_ms,
        *[0.0 if value is None else value for value in values],
        resets=sum([part.resets or 0 for part in parts]),
        unknown=_unknown(tuple([value is None for value in values])),
    )


def _of_parts(parts: Sequence[Any], name: str, whole_ms: float) -> float | None:
    """Return a sum of all parts of a minute, None if it is known in none."""
    known = [part for part in parts if getattr(part, name) is not None]
    if not known:
        return None
    missing = [part.missing and part.missing[name] for part in known]
    known_ms = sum(part.dt_ms or 0.0 for part in known) - sum(ms or 0.0 for ms in missing)
    value: float = sum(getattr(part, name) for part in known)
    return value * (whole_ms / known_ms) if known_ms > 0 else value


@lru_cache
def _unknown(absent: tuple[bool, ...]) -> frozenset[str]:
    return frozenset(compress(OF_PART, absent))


@dataclass(frozen=True)
class SubtaskMinutes:
    """The minutes of one subtask on one TaskManager, or of a TaskManager.

    Attributes
    ----------
    kind, job, vertex
        As in the long table.
    subtask
        -1 for a TaskManager.
    location
        TaskManager as the log names it; None: not known.
    minutes
        Start of the minute, ms since the epoch -> its sums.
    """

    kind: str
    job: str | None
    vertex: str
    subtask: int
    location: str | None
    minutes: Mapping[int, MinuteTotals]


def minutes_of(parts: Iterable[tuple[Any, Iterable[Any]]]) -> list[SubtaskMinutes]:
    """Return the minutes of each subtask and TaskManager.

    Parameters
    ----------
    parts
        Rows with the keys of a subtask, each with sums that have `bin_ms` and `OF_MINUTE`. A minute
        may come in several parts.
    """
    found: dict[tuple[str, str | None, str, int, str | None], dict[int, list[Any]]] = {}
    for key, sums in parts:
        if not (key.kind == r.TASK_MANAGER or is_of_subtask(key)):
            continue
        subtask = -1 if key.subtask is None else int(key.subtask)
        own = found.setdefault((key.kind, key.job, key.vertex, subtask, key.task_manager), {})
        for part in sums:
            own.setdefault(int(part.bin_ms), []).append(part)
    return [
        SubtaskMinutes(*key, {minute: _together(parts) for minute, parts in own.items()})
        for key, own in found.items()
    ]


def busy_of_others(minutes: Sequence[SubtaskMinutes], job: str) -> dict[tuple[str, int], float]:
    """Return TaskManager as the log names it, start of the minute -> busy ms of other jobs there.

    Parameters
    ----------
    minutes
        What `minutes_of` returns.
    job
        Id of the job in the log.
    """
    others = _of_other_jobs(minutes, job)
    at_home = located(others)
    found: dict[tuple[str, int], float] = {}
    for task in others:
        place = at_home(task)
        if place is not None:
            for minute, sums in task.minutes.items():
                busy_ms = found.get((place, minute), 0.0) + max(sums.busy_ms, 0.0)
                found[place, minute] = busy_ms
    return found


def _of_other_jobs(minutes: Sequence[SubtaskMinutes], job: str) -> list[SubtaskMinutes]:
    """Return the subtasks of other jobs; series that name no job are passed over."""
    return [m for m in minutes if m.kind == r.TASK and m.job not in (job, None) and m.minutes]


def slices_by_class(
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    measured: Mapping[str, Sequence[QuarterTotals]],
    sources: Collection[str],
    full: Mapping[str, Collection[int]],
) -> dict[str, Slices]:
    """Return the rows of each node class whose TaskManagers have their CPU time in the log.

    A minute of a TaskManager is left out if a subtask there restarted, moved, lacks a metric, or
    was not observed for as long as the TaskManager, if it was itself observed for less than half of
    its usual time in a minute, or if it ran another job then.

    Parameters
    ----------
    minutes
        What `minutes_of` returns.
    job
        Id of the job in the log.
    ids
        Vertex in the log -> id of the operator.
    measured
        Totals with their node class, by operator.
    sources
        Operators whose records out count.
    full
        TaskManager as the log names it -> start of each minute in which its node had no free core.
    """
    class_of = {t.location: t.node_class for ts in measured.values() for t in ts if t.node_class}
    others: dict[str | None, list[tuple[int, int]]] = {}
    for m in _of_other_jobs(minutes, job):
        others.setdefault(m.location, []).append((min(m.minutes), max(m.minutes)))
    tasks = [m for m in minutes if m.kind == r.TASK and m.job == job and m.minutes]
    at_home = located(tasks)
    observed: dict[tuple[str, int], set[int]] = {}
    for t in tasks:
        observed.setdefault((t.vertex, t.subtask), set()).update(t.minutes)
    found: dict[str, list[tuple[str, int, float, dict[str, tuple[float, float]]]]] = {}
    for manager in sorted((m for m in minutes if m.kind == r.TASK_MANAGER), key=lambda m: m.vertex):
        place = manager.vertex
        own_class = class_of.get(place)
        if own_class is None:
            continue
        usual_ms = median([s.dt_ms for s in manager.minutes.values() if s.dt_ms > 0] or [0.0])
        here = [(t, counts_busy(t)) for t in tasks if at_home(t) == place]
        # Minutes in which a subtask that was here before and after was not observed anywhere.
        gaps = {
            minute
            for t, _ in here
            for first, last in [(min(t.minutes), max(t.minutes))]
            for minute in manager.minutes
            if first < minute < last and minute not in observed[t.vertex, t.subtask]
        }
        for minute, sums in sorted(manager.minutes.items()):
            if not sums.knows("cpu_ns") or sums.dt_ms <= 0 or sums.resets or minute in gaps:
                continue
            # A piece of a minute is as likely to be off as a whole one, and would count as much.
            if sums.dt_ms < usual_ms / 2:
                continue
            if any(first <= minute <= last for first, last in others.get(place, ())):
                continue
            work = _work(here, minute, sums.dt_ms, ids, sources)
            if work is not None:
                cores = sums.cpu_ns / 1e6 / sums.dt_ms
                found.setdefault(own_class, []).append((place, minute, cores, work))
    return {name: _slices(rows, full) for name, rows in sorted(found.items())}


def located(tasks: Sequence[SubtaskMinutes]) -> Callable[[SubtaskMinutes], str | None]:
    """Return a function from a subtask's minutes to their TaskManager, also before the log tells
    it; None where it is not known.
    """
    known: dict[tuple[str | None, str, int], set[str]] = {}
    for t in tasks:
        if t.location is not None:
            known.setdefault((t.job, t.vertex, t.subtask), set()).add(t.location)

    def at_home(t: SubtaskMinutes) -> str | None:
        if t.location is not None:
            return t.location
        seen = known.get((t.job, t.vertex, t.subtask), set())
        return next(iter(seen)) if len(seen) == 1 else None

    return at_home


def counts_busy(task: SubtaskMinutes) -> bool:
    """Return whether the log has the busy time of a subtask; legacy sources have none."""
    return any(sums.knows("busy_ms") for sums in task.minutes.values())


def _work(
    here: Sequence[tuple[SubtaskMinutes, bool]],
    minute: int,
    dt_ms: float,
    ids: Mapping[str, str],
    sources: Collection[str],
) -> dict[str, tuple[float, float]] | None:
    """Return operator -> (records/s, busy share) in a minute; None if it cannot be used."""
    work: dict[str, tuple[float, float]] = {}
    for task, counts_busy in here:
        sums = task.minutes.get(minute)
        if sums is None:
            continue
        if sums.resets or abs(sums.dt_ms - dt_ms) > SAME_TIME * dt_ms:
            return None
        operator = ids[task.vertex]
        counted = "records_out" if operator in sources else "records_in"
        if not sums.knows(counted) or (counts_busy and not sums.knows("busy_ms")):
            return None
        records = getattr(sums, counted)
        rate, busy = work.get(operator, (0.0, 0.0))
        work[operator] = (
            rate + 1000.0 * records / sums.dt_ms,
            busy + max(sums.busy_ms, 0.0) / sums.dt_ms,
        )
    return work


def _slices(
    rows: Sequence[tuple[str, int, float, dict[str, tuple[float, float]]]],
    full: Mapping[str, Collection[int]],
) -> Slices:
    operators = tuple(sorted({op for *_, work in rows for op in work}))
    places = sorted({place for place, *_ in rows})
    none = (0.0, 0.0)
    return Slices(
        operators,
        np.array([places.index(place) for place, *_ in rows]),
        np.array([minute // BIN_MS for _, minute, *_ in rows]),
        np.array([cores for _, _, cores, _ in rows]),
        np.array([[work.get(op, none)[0] for op in operators] for *_, work in rows]),
        np.array([[work.get(op, none)[1] for op in operators] for *_, work in rows]),
        np.array([minute in full.get(place, ()) for place, minute, *_ in rows]),
    )
