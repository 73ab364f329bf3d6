"""Changed clusters, for prices and for what-if questions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase

from edgeplace.model.base import LEAST
from edgeplace.model.cluster import Cluster, Link, Node, TaskManager, one_currency
from edgeplace.model.document import parse
from edgeplace.model.errors import InvalidInputError, MisplacedError
from edgeplace.model.job_use import JobUse
from edgeplace.model.limits import AMOUNTS
from edgeplace.model.objective import MONTH_S
from edgeplace.model.text import did_you_mean, first_few

_FULL = 1 - 1e-9
"""Share of a link's capacity at which background traffic leaves almost nothing."""


MOST = 100_000
"""Cores of a node and slots of a TaskManager that are supposed at most: no machine has more."""


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
            # Written so that nan is refused too.
            if not 0 < bandwidth < float("inf"):
                raise InvalidInputError(
                    f"link {source!r} -> {target!r} cannot carry {bandwidth:g} bytes/s",
                    "give a link more than 0; link:A-B=lost takes it away",
                )
            link = link.model_copy(update={"bandwidth_bytes_per_s": bandwidth})
        links.append(link)
    if not found:
        raise InvalidInputError(
            f"the cluster has no link {source!r} -> {target!r}",
            f"its links are {[f'{a.source} -> {a.target}' for a in cluster.directed_links()][:8]}",
        )
    return _revised(cluster, links=tuple(links))


def with_slots_of(cluster: Cluster, place: str, change: Callable[[float], float]) -> Cluster:
    """Return the cluster with other slots on all TaskManagers of a place, see `task_managers_of`.

    Raises
    ------
    InvalidInputError
        If there is no such place, or the slots are no whole number from 0 to `MOST`.
    """
    changed = task_managers_of(cluster, place)
    tms = []
    for t in cluster.task_managers:
        if t.id in changed:
            slots = change(t.slots)
            # Written so that nan is refused too.
            if not 0 <= slots <= MOST or slots != int(slots):
                raise InvalidInputError(
                    f"{t.id!r} cannot have {slots:g} slots", f"give whole slots, at most {MOST:,}"
                )
            t = t.model_copy(update={"slots": int(slots)})
        tms.append(t)
    return _revised(cluster, task_managers=tuple(tms))


def with_cores_of(cluster: Cluster, place: str, change: Callable[[float], float]) -> Cluster:
    """Return the cluster with other cores on all nodes of a place, see `task_managers_of`.

    Raises
    ------
    InvalidInputError
        If there is no such place, or a node would have no cores, or more than `MOST`.
    """
    on = {t.id: t.node for t in cluster.task_managers}
    changed = {on[t] for t in task_managers_of(cluster, place)}
    nodes = []
    for n in cluster.nodes:
        if n.id in changed:
            cores = change(n.cores)
            if not 0 < cores <= MOST:
                raise InvalidInputError(
                    f"{n.id!r} cannot have {cores:g} cores",
                    f"give more than 0 and at most {MOST:,}, or node:ID=lost",
                )
            n = n.model_copy(update={"cores": cores})
        nodes.append(n)
    return _revised(cluster, nodes=tuple(nodes))


def with_price(cluster: Cluster, ways: Collection[tuple[str, str]], price: str) -> Cluster:
    """Return the cluster with another price of a byte on some links, given as (source, target).

    Parameters
    ----------
    price
        As in a cluster file (`2 EUR/GB`), or what the price is multiplied by (`x0.5`).

    Raises
    ------
    InvalidInputError
        If it is no price, or in another currency than the cluster's.
    """
    try:
        factor = float(price[1:]) if price[:1] == "x" else None
        link = {
            "source": "a",
            "target": "b",
            "price_per_byte": 0.0 if factor is not None else price,
        }
        one_currency({"currency": cluster.currency, "links": [link]})
        stated = parse(link, Link, "the price").price_per_byte
    except (InvalidInputError, MisplacedError, ValueError) as e:
        raise InvalidInputError(
            f"{price!r} is no price in {cluster.currency or 'plain numbers'}",
            "write a price as in the cluster file, such as 2 EUR/GB, or x0.5",
        ) from e
    links = tuple(
        a.model_copy(
            update={"price_per_byte": a.price_per_byte * factor if factor is not None else stated}
        )
        if (a.source, a.target) in ways
        else a
        for a in cluster.directed_links()
    )
    return _revised(cluster, links=links)


def without_links(cluster: Cluster, ways: Collection[tuple[str, str]]) -> Cluster:
    """Return the cluster without some links, given as (source, target)."""
    links = tuple(a for a in cluster.directed_links() if (a.source, a.target) not in ways)
    return _revised(cluster, links=links)


def without_node(cluster: Cluster, node: str) -> Cluster:
    """Return the cluster with a failed node: its TaskManagers have no slots.

    Raises
    ------
    InvalidInputError
        If there is no such node.
    """
    if all(n.id != node for n in cluster.nodes):
        raise InvalidInputError(
            f"the cluster has no node {node!r}",
            did_you_mean(
                node,
                (n.id for n in cluster.nodes),
                f"its nodes are {[n.id for n in cluster.nodes][:12]}",
            ),
        )
    tms = tuple(
        t.model_copy(update={"slots": 0}) if t.node == node else t for t in cluster.task_managers
    )
    return _revised(cluster, task_managers=tms)


def with_site_like(cluster: Cluster, site: str, model: str) -> Cluster:
    """Return the cluster with one more site, with machines and links like those of another one.

    Raises
    ------
    InvalidInputError
        If there is no site to copy, or one of the new name.
    """
    ids = [s.id for s in cluster.sites]
    name_both = f"name a new site, and one that it is like: its sites are {ids[:12]}"
    if site in ids:
        raise InvalidInputError(f"there is a site {site!r} already", name_both)
    if model not in ids:
        raise InvalidInputError(f"there is no site {model!r}", did_you_mean(model, ids, name_both))
    (kind,) = (s for s in cluster.sites if s.id == model)
    new = {n.id: f"{site}-{i}" for i, n in enumerate(_at(cluster, model), start=1)}
    nodes = [n.model_copy(update={"id": new[n.id], "site": site}) for n in _at(cluster, model)]
    tms = []
    for node, name in new.items():
        own = [t for t in cluster.task_managers if t.node == node]
        for j, t in enumerate(own, start=1):
            update = {"id": name if len(own) == 1 else f"{name}-{j}", "node": name, "host": ""}
            tms.append(t.model_copy(update=update))
    ends = {model: site}
    links = [
        a.model_copy(
            update={"source": ends.get(a.source, a.source), "target": ends.get(a.target, a.target)}
        )
        for a in cluster.links
        if model in (a.source, a.target)
    ]
    return _revised(
        cluster,
        sites=(*cluster.sites, kind.model_copy(update={"id": site, "lat": None, "lon": None})),
        nodes=(*cluster.nodes, *nodes),
        task_managers=(*cluster.task_managers, *tms),
        links=(*cluster.links, *links),
    )


def task_managers_of(cluster: Cluster, place: str) -> frozenset[str]:
    """Return the TaskManagers of a site, a node, a TaskManager or a node class.

    Parameters
    ----------
    place
        Its id, or a pattern of ids such as `vm-*`.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    nodes = {n.id: n for n in cluster.nodes}
    found = frozenset(
        t.id
        for t in cluster.task_managers
        for n in (nodes[t.node],)
        if any(fnmatchcase(name, place) for name in (t.id, n.id, n.site, n.node_class))
    )
    if not found:
        raise InvalidInputError(
            f"no site, node, TaskManager or class of nodes is named {place!r}",
            did_you_mean(
                place,
                (
                    name
                    for t in cluster.task_managers
                    for n in (nodes[t.node],)
                    for name in (n.site, n.node_class, n.id, t.id)
                ),
                f"the sites are {[s.id for s in cluster.sites][:8]}, the classes "
                f"{sorted({n.node_class for n in cluster.nodes})}",
            ),
        )
    return found


def _at(cluster: Cluster, site: str) -> list[Node]:
    return [n for n in cluster.nodes if n.site == site]


def without_site(cluster: Cluster, site: str) -> Cluster:
    """Return the cluster with a failed site.

    Its TaskManagers keep their names, but have no slots. No route leads through the site.

    Raises
    ------
    InvalidInputError
        If there is no such site, or checkpoints are stored there.
    """
    if site not in {s.id for s in cluster.sites}:
        raise _unknown_site(cluster, site)
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


def hanging_on(
    cluster: Cluster, site: str | None = None, ways: Collection[tuple[str, str]] = ()
) -> tuple[tuple[str, ...], ...]:
    """Return the parts of a cluster that only a site, or some links, join to the main part.

    Each part is given as its sites. The main part has the checkpoint storage, or else the cloud
    site with the most cores; without either, no part is the main one, and none hangs on another.
    """
    clouds = {s.id: 0.0 for s in cluster.sites if s.tier == "cloud" and s.id != site}
    for n in cluster.nodes:
        if n.site in clouds:
            clouds[n.site] += n.cores
    main = cluster.checkpoint_storage or max(clouds, key=clouds.__getitem__, default=None)
    if main in (None, site):
        return ()
    before, after = _parts(cluster), _parts(without_links(cluster, ways), without=site)
    joined = next(part for part in before if main in part)
    cut_off = [part for part in after if main not in part and joined.issuperset(part)]
    return tuple(tuple(s.id for s in cluster.sites if s.id in part) for part in cut_off)


def _parts(cluster: Cluster, without: str | None = None) -> list[set[str]]:
    """Return the parts of a cluster that links join, whatever their direction."""
    beside: dict[str, set[str]] = {s.id: set() for s in cluster.sites if s.id != without}
    for link in cluster.links:
        if without not in (link.source, link.target):
            beside[link.source].add(link.target)
            beside[link.target].add(link.source)
    parts = []
    while beside:
        part, ends = set[str](), {next(iter(beside))}
        while ends:
            part |= ends
            ends = {b for a in ends for b in beside.pop(a)} - part
        parts.append(part)
    return parts


def with_node_like(cluster: Cluster, node_class: str, site: str) -> Cluster:
    """Return the cluster with one more node at a site, like the first of its class.

    A node of the class at this site is preferred as the model.

    Raises
    ------
    InvalidInputError
        If there is no such site, or no node of the class anywhere.
    """
    if site not in {s.id for s in cluster.sites}:
        raise _unknown_site(cluster, site)
    alike = [n for n in cluster.nodes if n.node_class == node_class]
    if not alike:
        classes = sorted({n.node_class for n in cluster.nodes})
        raise InvalidInputError(
            f"the cluster has no node of class {node_class!r}",
            did_you_mean(node_class, classes, f"its classes are {classes}"),
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


def _unknown_site(cluster: Cluster, site: str) -> InvalidInputError:
    names = [s.id for s in cluster.sites]
    return InvalidInputError(
        f"the cluster has no site {site!r}",
        did_you_mean(site, names, f"its sites are {first_few(names, 6)}"),
    )
