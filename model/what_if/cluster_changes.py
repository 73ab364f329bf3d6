"""Changed clusters, for prices and for what-if questions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from edgeplace.model.base import LEAST
from edgeplace.model.cluster import Cluster, Link, TaskManager
from edgeplace.model.document import parse
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job_use import JobUse
from edgeplace.model.limits import AMOUNTS
from edgeplace.model.objective import MONTH_S

_FULL = 1 - 1e-9
"""Share of a link's capacity at which background traffic leaves almost nothing."""


def with_slots(cluster: Cluster, task_manager: str, more: int) -> Cluster:
    """Return the cluster with more slots on one TaskManager."""
    return _revised(
        cluster,
        task_managers=tuple(
            t.model_copy(update={"slots": t.slots + more}) if t.id == task_manager else t
            for t in cluster.task_managers
        ),
    )


def with_cores(cluster: Cluster, node: str, more: float) -> Cluster:
    """Return the cluster with more cores on one node."""
    return _revised(
        cluster,
        nodes=tuple(
            n.model_copy(update={"cores": n.cores + more}) if n.id == node else n
            for n in cluster.nodes
        ),
    )


def with_bandwidth(
    cluster: Cluster, source: str, target: str, change: Callable[[float], float]
) -> Cluster:
    """Return the cluster with another bandwidth, in bytes/s, from one site to another.

    Raises
    ------
    InvalidInputError
        If no link leads there, its bandwidth is not limited, or nothing of it would be left.
    """
    links, found = [], False
    for link in cluster.directed_links():
        if (link.source, link.target) == (source, target):
            if link.bandwidth_bytes_per_s is None:
                raise InvalidInputError(
                    f"the bandwidth of link {source!r} -> {target!r} is not limited",
                    "state its bandwidth_bytes_per_s in the cluster file",
                )
            found = True
            bandwidth = change(link.bandwidth_bytes_per_s)
            link = link.model_copy(update={"bandwidth_bytes_per_s": bandwidth})
        links.append(link)
    if not found:
        raise InvalidInputError(
            f"the cluster has no link {source!r} -> {target!r}",
            f"its links are {[f'{a.source} -> {a.target}' for a in cluster.directed_links()][:8]}",
        )
    return _revised(cluster, links=tuple(links))


def without_site(cluster: Cluster, site: str) -> Cluster:
    """Return the cluster with a failed site.

    Its TaskManagers keep their names, but have no slots. No route leads through the site.

    Raises
    ------
    InvalidInputError
        If there is no such site, or checkpoints are stored there.
    """
    if site not in {s.id for s in cluster.sites}:
        raise InvalidInputError(
            f"the cluster has no site {site!r}", f"its sites are {[s.id for s in cluster.sites]}"
        )
    if site == cluster.checkpoint_storage:
        raise InvalidInputError(
            f"site {site!r} holds the checkpoint storage: without it no job of this cluster can "
            "take a checkpoint",
            "name another checkpoint_storage in the cluster file to ask what the loss of the "
            "machines alone would mean",
        )
    there = {n.id for n in cluster.nodes if n.site == site}
    beside = {
        b
        for a in cluster.links
        for b in (a.source, a.target)
        if site in (a.source, a.target) and b != site
    }
    # No route leads through a site at the end of the network, and the links to it carry nothing.
    links: tuple[Link, ...] = cluster.links
    if len(beside) > 1:
        links = tuple(a for a in links if site not in (a.source, a.target))
    return _revised(
        cluster,
        task_managers=tuple(
            t.model_copy(update={"slots": 0}) if t.node in there else t
            for t in cluster.task_managers
        ),
        links=links,
    )


def with_node_like(cluster: Cluster, node_class: str, site: str) -> Cluster:
    """Return the cluster with one more node at a site, like the first of its class.

    A node of the class at this site is preferred as the model.

    Raises
    ------
    InvalidInputError
        If there is no such site, or no node of the class anywhere.
    """
    if site not in {s.id for s in cluster.sites}:
        raise InvalidInputError(
            f"the cluster has no site {site!r}", f"its sites are {[s.id for s in cluster.sites]}"
        )
    alike = [n for n in cluster.nodes if n.node_class == node_class]
    if not alike:
        raise InvalidInputError(
            f"the cluster has no node of class {node_class!r}",
            f"its classes are {sorted({n.node_class for n in cluster.nodes})}",
        )
    model = next((n for n in alike if n.site == site), alike[0])
    taken = {n.id for n in cluster.nodes} | {t.id for t in cluster.task_managers}
    i = 1
    while any(name.startswith(f"{site}-more-{i}") for name in taken):
        i += 1
    node = model.model_copy(update={"id": f"{site}-more-{i}", "site": site})
    own = [t for t in cluster.task_managers if t.node == model.id]
    tms: list[TaskManager] = [
        t.model_copy(
            update={
                "id": node.id if len(own) == 1 else f"{node.id}-{j}",
                "node": node.id,
                "host": "",
            }
        )
        for j, t in enumerate(own, start=1)
    ]
    return _revised(
        cluster,
        nodes=(*cluster.nodes, node),
        task_managers=(*cluster.task_managers, *tms),
    )


def without_use(cluster: Cluster, uses: Iterable[JobUse]) -> Cluster:
    """Return the cluster with the resources that some jobs leave.

    If they use more than the capacity, almost nothing is left.
    """
    slots: Counter[str] = Counter()
    cores = defaultdict[str, float](float)
    held = defaultdict[tuple[str, str], float](float)
    sent = defaultdict[tuple[str, str], float](float)
    for use in uses:
        slots.update(use.slots)
        for node, amount in use.cores.items():
            cores[node] += amount
        for field, own in use.amounts.items():
            for tm, amount in own.items():
                held[field, tm] += amount
        for a, ends in use.bytes_per_s.items():
            for b, amount in ends.items():
                sent[a, b] += amount
    nodes = tuple(
        n.model_copy(update={"cores": max(n.cores - cores[n.id] / cluster.cpu_target, LEAST)})
        for n in cluster.nodes
    )
    task_managers = tuple(
        t.model_copy(
            update={
                "slots": max(t.slots - slots[t.id], 0),
                **{f: _less(getattr(t, f), held[f, t.id]) for f in (k.facts.has for k in AMOUNTS)},
            }
        )
        for t in cluster.task_managers
    )
    links = []
    volumes = {(a.source, a.target) for a in cluster.directed_links() if a.included_bytes}
    for link in cluster.directed_links():
        room = (link.bandwidth_bytes_per_s or float("inf")) * cluster.link_target
        ways = {(link.source, link.target), (link.target, link.source)}
        taken = link.background_bytes_per_s + sent[link.source, link.target]
        # Of a volume that both ways share, both ways have taken.
        volume = MONTH_S * sum(sent[way] for way in ways & volumes)
        update = {
            "background_bytes_per_s": min(taken, room * _FULL),
            "included_bytes": max(link.included_bytes - volume, 0.0),
        }
        links.append(link.model_copy(update=update))
    return _revised(cluster, nodes=nodes, task_managers=task_managers, links=tuple(links))


def _less(room: float | None, used: float) -> float | None:
    return None if room is None else max(room - used, 0.0)


def _revised(cluster: Cluster, **changes: object) -> Cluster:
    """Return a validated copy with some fields replaced."""
    return parse({**dict(cluster), **changes}, Cluster, "the changed cluster")
