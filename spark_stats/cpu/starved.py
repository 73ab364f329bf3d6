"""Minutes in which a node had no free core.

A thread waits for one then, and Flink counts a thread that waits for a processor as busy.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model.cluster import Cluster
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.cpu.slicing import busy_of_others, counts_busy, located
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.totals import QuarterTotals

STARVED_SHARE = 0.9
"""Share of a node's cores in use from which its threads count as waiting for a processor."""


@dataclass(frozen=True)
class FullMinutes:
    """When the node of one TaskManager had no free core.

    Attributes
    ----------
    full
        Start of each such minute, ms since the epoch.
    observed
        Number of minutes in which its CPU time is known.
    """

    full: frozenset[int]
    observed: int


@dataclass(frozen=True)
class StarvedMinute:
    """What the subtasks of one operator on one TaskManager did in a minute without a free core."""

    records: float
    """Out of them for sources, into them for others."""
    busy_ms: float
    dealt_ms: float
    """CPU time of the TaskManager, divided by busy time."""


def full_minutes(
    minutes: Sequence[SubtaskMinutes], tasks: Sequence[QuarterTotals], cluster: Cluster | None
) -> dict[str, FullMinutes]:
    """Return TaskManager as the log names it -> when its node had no free core.

    Parameters
    ----------
    minutes
        What `minutes_of` returns.
    tasks
        Totals of the job's subtasks: they tell the node of each TaskManager.
    cluster
        Gives the cores of each node; None: no node counts as full.
    """
    if cluster is None:
        return {}
    node_of = {tm.id: tm.node for tm in cluster.task_managers}
    cores = {n.id: n.cores for n in cluster.nodes}
    home = {
        t.location: node_of[t.task_manager]
        for t in tasks
        if t.location is not None and t.task_manager is not None
    }
    used: dict[tuple[str, int], float] = {}
    seen: dict[str, set[int]] = {}
    for manager in minutes:
        if manager.kind != r.TASK_MANAGER or manager.vertex not in home:
            continue
        known = manager.only(manager.knows("cpu_ns") & (manager.dt_ms > 0))
        in_use = known.sums["cpu_ns"] / 1e6 / known.dt_ms
        for minute, cores_in_use in zip(known.at_ms.tolist(), in_use.tolist(), strict=True):
            there = home[manager.vertex], minute
            used[there] = used.get(there, 0.0) + cores_in_use
            seen.setdefault(manager.vertex, set()).add(minute)
    full = {(node, m) for (node, m), c in used.items() if c >= STARVED_SHARE * cores[node]}
    return {
        place: FullMinutes(frozenset(m for m in known if (home[place], m) in full), len(known))
        for place, known in sorted(seen.items())
    }


def starved_minutes(
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    sources: Collection[str],
    full: Mapping[str, FullMinutes],
) -> dict[tuple[str, str], list[StarvedMinute]]:
    """Return operator, TaskManager as the log names it -> its minutes without a free core.

    Parameters
    ----------
    minutes, job, ids, sources
        As in `slices_by_class`.
    full
        What `full_minutes` returns.
    """
    cpu_ms: dict[tuple[str, int], float] = {}
    for m in minutes:
        if m.kind == r.TASK_MANAGER and m.vertex in full:
            own = m.only(np.isin(m.at_ms, [*full[m.vertex].full]))
            used_ms = own.known("cpu_ns") / 1e6
            for minute, ms in zip(own.at_ms.tolist(), used_ms.tolist(), strict=True):
                cpu_ms[m.vertex, minute] = ms
    tasks = [m for m in minutes if m.kind == r.TASK and m.job == job]
    at_home = located(tasks)
    unknown = set()
    work: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
    for task in tasks:
        place = at_home(task)
        if place is None or place not in full:
            continue
        operator = ids[task.vertex]
        own = task.only(np.isin(task.at_ms, [*full[place].full]))
        if counts_busy(task):
            unknown |= {(place, minute) for minute in own.at_ms[~own.knows("busy_ms")].tolist()}
        counted = own.known("records_out" if operator in sources else "records_in")
        busy = np.maximum(own.known("busy_ms"), 0.0)
        for minute, more, busier in zip(
            own.at_ms.tolist(), counted.tolist(), busy.tolist(), strict=True
        ):
            of_each = work.setdefault((place, minute), {})
            records, busy_ms = of_each.get(operator, (0.0, 0.0))
            of_each[operator] = records + more, busy_ms + busier
    others = busy_of_others(minutes, job)
    found: dict[tuple[str, str], list[StarvedMinute]] = {}
    for (place, minute), of_each in sorted(work.items()):
        if (place, minute) in unknown:
            continue
        whole = sum(busy_ms for _, busy_ms in of_each.values()) + others.get((place, minute), 0.0)
        for operator, (records, busy_ms) in of_each.items():
            if whole > 0:
                dealt = cpu_ms[place, minute] * busy_ms / whole
                own_minutes = found.setdefault((operator, place), [])
                own_minutes.append(StarvedMinute(records, busy_ms, dealt))
    return found
