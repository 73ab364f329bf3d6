"""The price of a move: the state that changes its place, the state read back, and the pause."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from edgeplace.adapters.flink.apply.moves import SubtaskMove
from edgeplace.adapters.flink.checks.routes import LeastDelayRoutes
from edgeplace.adapters.flink.plans.plan_file import Places
from edgeplace.adapters.flink.rest.live import Checkpoint, LiveFlink
from edgeplace.model import Cluster, InvalidInputError, JobGraph

REDEPLOY_MS = 2000.0
"""Cancelling and deploying again took about this in our measurements, beside what state needs."""


@dataclass(frozen=True)
class MovePrice:
    """What moves cost, as far as the last checkpoint tells."""

    state_bytes: int | None
    """State that changes its TaskManager; None: no checkpoint tells."""
    read_bytes: Mapping[str, int] | None
    """TaskManager -> state that it reads back from the checkpoint storage; None: unknown."""
    read_s: float | None
    """How long the slowest link takes for that; None: links or state are not known."""
    pause_ms: float | None
    """An estimate: the last checkpoint's duration, a redeployment, and `read_s` if it is known;
    None: no checkpoint yet."""


def price(
    live: LiveFlink,
    job_id: str,
    graph: JobGraph,
    before: Places,
    after: Places,
    moved: tuple[SubtaskMove, ...],
    last: Checkpoint | None,
    *,
    keeps_state: bool,
    cluster: Cluster | None,
) -> MovePrice:
    """Return what moves cost.

    Parameters
    ----------
    last
        The last checkpoint, None: none has completed.
    keeps_state
        Whether a subtask that stays where it is finds its state there; else it reads it back.
    cluster
        Has the links and the site of the checkpoint storage; None: how long they take is unknown.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    if last is None:
        return MovePrice(None, None, None, None)
    sizes = {op.id: live.state_bytes(job_id, last.id, op.id) for op in graph.operators}
    read = state_read(before, after, sizes, keeps_state=keeps_state)
    read_s = None
    if read is not None and cluster is not None:
        read_s = read_seconds(read, live, cluster)
    return MovePrice(
        _state_moved(before, after, moved, sizes),
        read,
        read_s,
        last.duration_ms + REDEPLOY_MS + 1000 * (read_s or 0.0),
    )


def state_read(
    before: Places,
    after: Places,
    sizes: Mapping[str, Mapping[int, int]],
    *,
    keeps_state: bool,
) -> dict[str, int] | None:
    """Return TaskManager -> state that it reads back from the checkpoint storage, None: unknown.

    The state of an operator whose parallelism changes is dealt anew in equal parts.

    Parameters
    ----------
    sizes
        Operator id -> subtask, from 0 -> bytes.
    """
    read: Counter[str] = Counter()
    for operator, places in after.items():
        known, former = sizes.get(operator, {}), before[operator]
        if len(known) != len(former):
            return None
        rescaled = len(former) != len(places)
        for i, place in enumerate(places):
            if rescaled:
                read[place] += round(sum(known.values()) / len(places))
            elif not keeps_state or place != former[i]:
                read[place] += known[i]
    return {place: count for place, count in read.items() if count}


def read_seconds(read: Mapping[str, int], live: LiveFlink, cluster: Cluster) -> float | None:
    """Return how long the slowest link takes for state that is read back, None: not known.

    Parameters
    ----------
    read
        Resource id of the TaskManager -> bytes.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    if cluster.checkpoint_storage is None:
        return None
    try:
        registered, names = live.users_cluster(cluster)
    except InvalidInputError:
        return None
    if not read.keys() <= names.keys():
        return None  # A TaskManager was lost a moment ago.
    node_of = {tm.id: tm.node for tm in registered.task_managers}
    routes = LeastDelayRoutes(registered)
    on_link: Counter[tuple[str, str]] = Counter()
    for task_manager, count in read.items():
        site = registered.node(node_of[names[task_manager]]).site
        route = routes.links(cluster.checkpoint_storage, site)
        if route is None:
            return None
        for link in route:
            on_link[link] += count
    times = [_seconds(count, routes.free_bytes_per_s(link)) for link, count in on_link.items()]
    return max(times, default=0.0)


def _seconds(count: int, bytes_per_s: float) -> float:
    return count / bytes_per_s if bytes_per_s else float("inf")


def _state_moved(
    before: Places,
    after: Places,
    moved: tuple[SubtaskMove, ...],
    sizes: Mapping[str, Mapping[int, int]],
) -> int | None:
    """Return the state that changes its TaskManager, None: unknown."""
    total = 0
    for operator in dict.fromkeys(m.operator for m in moved):
        known = sizes[operator]
        if len(before[operator]) != len(after[operator]):
            if not known:
                return None
            total += sum(known.values())
            continue
        for i in (m.subtask for m in moved if m.operator == operator):
            if i not in known:
                return None
            total += known[i]
    return total
