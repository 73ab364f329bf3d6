"""From the minutes of TaskManagers and subtasks to the rows of the regressions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.arrays import Bools, Floats, Ints
from edgeplace.spark_stats.cpu.slices import Slices
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.sums_table import BIN_MS
from edgeplace.spark_stats.totals import QuarterTotals

SAME_TIME = 0.25
"""Share by which the time of a subtask may differ from its TaskManager's in a minute. Otherwise the
one was observed where the other was not."""


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
            busy = np.maximum(task.known("busy_ms"), 0.0)
            for minute, busy_ms in zip(task.at_ms.tolist(), busy.tolist(), strict=True):
                found[place, minute] = found.get((place, minute), 0.0) + busy_ms
    return found


def _of_other_jobs(minutes: Sequence[SubtaskMinutes], job: str) -> list[SubtaskMinutes]:
    """Return the subtasks of other jobs; series that name no job are passed over."""
    return [m for m in minutes if m.kind == r.TASK and m.job not in (job, None)]


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
    others: dict[str | None, list[SubtaskMinutes]] = {}
    for m in _of_other_jobs(minutes, job):
        others.setdefault(m.location, []).append(m)
    tasks = [m for m in minutes if m.kind == r.TASK and m.job == job]
    at_home = located(tasks)
    observed: dict[tuple[str, int], list[Ints]] = {}
    for t in tasks:
        observed.setdefault((t.vertex, t.subtask), []).append(t.at_ms)
    found: dict[str, list[tuple[SubtaskMinutes, _Work]]] = {}
    for manager in sorted((m for m in minutes if m.kind == r.TASK_MANAGER), key=lambda m: m.vertex):
        place = manager.vertex
        own_class = class_of.get(place)
        if own_class is None:
            continue
        at_ms, dt_ms = manager.at_ms, manager.dt_ms
        usable = manager.knows("cpu_ns") & (dt_ms > 0) & (manager.resets == 0)
        # A piece of a minute is as likely to be off as a whole one, and would count as much.
        if (dt_ms > 0).any():
            usable &= dt_ms >= np.median(dt_ms[dt_ms > 0]) / 2
        for other in others.get(place, ()):
            usable &= (at_ms < other.at_ms[0]) | (other.at_ms[-1] < at_ms)
        here = [t for t in tasks if at_home(t) == place]
        for t in here:
            # It was here before and after, and was not observed anywhere.
            between = (t.at_ms[0] < at_ms) & (at_ms < t.at_ms[-1])
            seen = np.concatenate(observed[t.vertex, t.subtask])
            usable &= ~between | np.isin(at_ms, seen)
        work = _work(here, manager, ids, sources, usable)
        if work.rows.any():
            found.setdefault(own_class, []).append((manager, work))
    return {name: _slices(of_class, full) for name, of_class in sorted(found.items())}


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
    return bool(task.knows("busy_ms").any())


@dataclass(frozen=True)
class _Work:
    """The work of the subtasks on a TaskManager in its n minutes.

    Attributes
    ----------
    rows
        Minutes that can be used, shape (n,).
    ran
        Operator -> whether it ran, shape (n,).
    per_s, busy
        Operator -> records/s, busy share, shape (n,).
    """

    rows: Bools
    ran: Mapping[str, Bools]
    per_s: Mapping[str, Floats]
    busy: Mapping[str, Floats]


def _work(
    here: Sequence[SubtaskMinutes],
    manager: SubtaskMinutes,
    ids: Mapping[str, str],
    sources: Collection[str],
    usable: Bools,
) -> _Work:
    count = len(usable)
    operators = {ids[t.vertex] for t in here}
    usable = usable.copy()
    ran = {op: np.zeros(count, dtype=np.bool_) for op in operators}
    per_s, busy = ({op: np.zeros(count) for op in operators} for _ in range(2))
    for task in here:
        operator = ids[task.vertex]
        counted = "records_out" if operator in sources else "records_in"
        _, at, own = np.intersect1d(
            manager.at_ms, task.at_ms, assume_unique=True, return_indices=True
        )
        whole_ms, dt_ms = manager.dt_ms[at], task.dt_ms[own]
        good = (task.resets[own] == 0) & (np.abs(dt_ms - whole_ms) <= SAME_TIME * whole_ms)
        good &= task.knows(counted)[own]
        if counts_busy(task):
            good &= task.knows("busy_ms")[own]
        usable[at[~good]] = False
        # All times are more than 0 where the TaskManager's is.
        good &= usable[at]
        at, own = at[good], own[good]
        ran[operator][at] = True
        per_s[operator][at] += 1000.0 * task.known(counted)[own] / task.dt_ms[own]
        busy[operator][at] += np.maximum(task.known("busy_ms")[own], 0.0) / task.dt_ms[own]
    return _Work(usable, ran, per_s, busy)


def _slices(
    of_class: Sequence[tuple[SubtaskMinutes, _Work]], full: Mapping[str, Collection[int]]
) -> Slices:
    operators = tuple(
        sorted({op for _, work in of_class for op, ran in work.ran.items() if ran[work.rows].any()})
    )

    def table(of_each: Mapping[str, Floats], rows: Bools) -> Floats:
        none = np.zeros(len(rows))
        columns = [of_each.get(op, none)[rows] for op in operators]
        return np.stack(columns, axis=1) if columns else np.zeros((int(rows.sum()), 0))

    places = np.unique([m.vertex for m, _ in of_class], return_inverse=True)[1]
    at_ms = [manager.at_ms[work.rows] for manager, work in of_class]
    cores = [(m.known("cpu_ns") / 1e6)[w.rows] / m.dt_ms[w.rows] for m, w in of_class]
    is_full = [
        np.isin(at, [*full.get(manager.vertex, ())])
        for at, (manager, _) in zip(at_ms, of_class, strict=True)
    ]
    return Slices(
        operators,
        np.repeat(places, [len(at) for at in at_ms]),
        np.concatenate(at_ms) // BIN_MS,
        np.concatenate(cores),
        np.concatenate([table(work.per_s, work.rows) for _, work in of_class]),
        np.concatenate([table(work.busy, work.rows) for _, work in of_class]),
        np.concatenate(is_full),
    )
