"""Names of tasks and locations in a schedulercfg, for the agent and for forks of Flink."""

import re
from collections.abc import Iterator

from edgeplace.model import Cluster, JobGraph, Operator, TaskManager

INDEXED = re.compile(r"(.*) \(([0-9]{1,9})/([0-9]{1,9})\)", re.DOTALL)
"""`name (i/n)`"""
_COUNTER = re.compile(r"\[[0-9]+\]")


def without_counters(name: str) -> str:
    """Return an operator's name without what Flink's SQL planner counts in it.

    It counts on from one submission to the next: `Calc[3]`, then `Calc[8]`.
    """
    return _COUNTER.sub("", name)


class TaskNames:
    """What the keys of lines mean in a job.

    Parameters
    ----------
    modern
        A task goes by its id too, and by its name without counters. Otherwise tasks go by their
        exact names.
    """

    def __init__(self, job: JobGraph, modern: bool = True) -> None:
        self._modern = modern
        self._by_name: dict[str, list[Operator]] = {}
        self._by_id = {op.id: op for op in job.operators} if modern else {}
        for op in job.operators:
            self._by_name.setdefault(self._stem(op.name), []).append(op)
        self.known = tuple(dict.fromkeys([*(op.name for op in job.operators), *self._by_id]))
        """Every name and id, for suggestions."""

    def meant_by(self, key: str) -> list[Operator]:
        """Return the operators that a key means; a line is good if that is one."""
        named = self._by_name.get(self._stem(key), [])
        by_id = self._by_id.get(key)
        return named if by_id is None or by_id in named else [*named, by_id]

    def key_of(self, op: Operator) -> str | None:
        """Return the name or else the id of an operator, whichever can mean it alone in a line."""
        for key in (op.name, op.id):
            if is_plain(key) and not INDEXED.fullmatch(key) and self.meant_by(key) == [op]:
                return key
        return None

    def _stem(self, name: str) -> str:
        return without_counters(name) if self._modern else name


def task_managers_by_key(cluster: Cluster) -> dict[str, list[TaskManager]]:
    """Return the TaskManagers that each resource id and each host means."""
    found: dict[str, list[TaskManager]] = {}
    for tm in cluster.task_managers:
        for key in {tm.id, tm.host or tm.id}:
            found.setdefault(key, []).append(tm)
    return found


def address(tm: TaskManager) -> str:
    """Return the host that a TaskManager's own resource id starts with, if that is known."""
    return tm.host or (tm.id if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", tm.id) else "")


def containing(location: str, cluster: Cluster) -> list[TaskManager]:
    """Return the TaskManagers whose resource id contains a location, as the forks search it.

    Unless one is configured, a resource id starts with the host and a colon.
    """
    return [
        t
        for t in cluster.task_managers
        if location in t.id or (address(t) and location in f"{address(t)}:")
    ]


def full_names(op: Operator) -> Iterator[str]:
    """Yield what Flink calls each subtask."""
    for i in range(1, op.parallelism + 1):
        yield f"{op.name} ({i}/{op.parallelism})"


def is_plain(key: str) -> bool:
    """Tell whether a key can stand in a line: visible, unambiguous for every reader."""
    return (
        key.isprintable()
        and key == key.strip()
        and not key.endswith(";")
        and "; " not in key
        and not key.startswith("#")
    )
