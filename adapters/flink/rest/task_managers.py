"""The user's cluster, joined with the TaskManagers that Flink has registered."""

import re
from collections.abc import Mapping
from typing import Any

from edgeplace.adapters.flink.rest.answer import RestAnswer, need
from edgeplace.model import Cluster, InvalidInputError, parse

_GENERATED_ID = re.compile(r".+:[0-9]{1,5}-[0-9a-f]{6}")
_HOST_IN_PATH = re.compile(r"@(\[[^\]]+\]|[^:/@]+):[0-9]+/")


def cluster(taskmanagers: RestAnswer, user: Cluster | Mapping[str, Any]) -> Cluster:
    """Return the user's cluster with the TaskManagers that are registered now.

    Ids, hosts, slots and memory come from REST. Cores, node classes, sites and links come from the
    user. A TaskManager keeps the id that the user gave it.

    Parameters
    ----------
    taskmanagers
        Answer to `GET /taskmanagers`.
    user
        The user's cluster; each of its TaskManagers is found by resource id or by host.

    Raises
    ------
    InvalidInputError
        If TaskManagers are registered that the user's cluster does not have, or that it cannot
        tell apart; all are named.
    """
    if not isinstance(user, Cluster):
        user = parse(dict(user), Cluster, "the cluster")
    registered = _registered(taskmanagers, user)
    where = "the answer to /taskmanagers"
    notes: list[str] = []
    merged = []
    for mine in user.task_managers:
        if mine.id not in registered:
            notes.append(f"TaskManager {mine.id!r} is not registered with Flink: not used")
            continue
        tm = registered[mine.id]
        memory = need(tm, "memoryConfiguration", Mapping, f"{where}, {tm['id']}")
        seen = {
            "host": host_of(tm) or mine.host,
            "slots": need(tm, "slotsNumber", int, f"{where}, {tm['id']}"),
            "memory_bytes": need(memory, "taskHeap", int, f"{where}, {tm['id']}")
            + need(memory, "managedMemory", int, f"{where}, {tm['id']}"),
        }
        for field, value in seen.items():
            stated = getattr(mine, field)
            if stated not in (None, "", value):
                notes.append(
                    f"TaskManager {mine.id!r}: {field} is {value} in Flink and {stated} in the "
                    "cluster file; Flink's is used"
                )
        merged.append({**dict(mine), **seen})
    return parse(
        {**dict(user), "task_managers": merged, "notes": (*user.notes, *notes)},
        Cluster,
        "the cluster",
    )


def is_generated(resource_id: str) -> bool:
    """Return whether Flink generated a TaskManager's id.

    It will have another one after a restart.
    """
    return _GENERATED_ID.fullmatch(resource_id) is not None


def names_of(taskmanagers: RestAnswer, user: Cluster) -> dict[str, str]:
    """Return resource id -> id in the user's cluster, for each registered TaskManager.

    Raises
    ------
    InvalidInputError
        As for `cluster`.
    """
    return {tm["id"]: mine for mine, tm in _registered(taskmanagers, user).items()}


def _registered(taskmanagers: RestAnswer, user: Cluster) -> dict[str, RestAnswer]:
    where = "the answer to /taskmanagers"
    registered: dict[str, RestAnswer] = {}
    problems = []
    for tm in need(taskmanagers, "taskmanagers", list, where):
        rid = need(tm, "id", str, where)
        try:
            known = user.resolve_task_manager(rid) or user.resolve_task_manager(host_of(tm) or rid)
        except InvalidInputError as e:
            problems.append(f"{e.what} ({e.cure})")
            continue
        if known is None:
            problems.append(f"{rid} is registered, but the cluster file does not have it")
        elif known in registered:
            problems.append(f"{rid} and {registered[known]['id']} both match {known!r}")
        else:
            registered[known] = tm
    if problems:
        raise InvalidInputError(
            "TaskManagers do not fit the cluster file:\n  " + "\n  ".join(problems),
            "list each under `task_managers` (or give its node `slots` and `host`) with its "
            "resource id as `id` or its own `host`; one that was restarted a moment ago is gone "
            "after heartbeat.timeout",
        )
    if not registered:
        raise InvalidInputError(f"{where} lists no TaskManagers", "start them, then save it again")
    return registered


def host_of(tm: RestAnswer) -> str:
    """Return the host in the path of a registered TaskManager; empty if it has none."""
    found = _HOST_IN_PATH.search(str(tm.get("path", "")))
    return found[1] if found else ""
