"""What a task or a location means in a schedulercfg, to us and to the forks that read one."""

import re
from collections.abc import Iterator, Mapping

from edgeplace.model import Cluster, JobGraph, Operator, TaskManager

INDEXED = re.compile(r"(.*) \(([0-9]{1,9})/([0-9]{1,9})\)", re.DOTALL)
"""`name (i/n)`"""


def tasks_by_key(job: JobGraph, ids: bool = True) -> dict[str, list[Operator]]:
    """Return the operators that each name, and each id if `ids`, means."""
    found: dict[str, list[Operator]] = {}
    for op in job.operators:
        for key in {op.name, op.id} if ids else {op.name}:
            found.setdefault(key, []).append(op)
    return found


def task_key(op: Operator, tasks: Mapping[str, list[Operator]]) -> str | None:
    """Return the name or else the id of an operator, whichever can stand in a line for it alone."""
    for key in (op.name, op.id):
        if is_plain(key) and not INDEXED.fullmatch(key) and tasks[key] == [op]:
            return key
    return None


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
