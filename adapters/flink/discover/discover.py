"""Make a cluster of the registered TaskManagers, with its default values marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeplace.adapters.flink.discover.sites import Sites
from edgeplace.adapters.flink.doctor.credit_window import buffers
from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.adapters.flink.rest.answer import RestAnswer, need
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.adapters.flink.rest.task_managers import cluster as joined
from edgeplace.adapters.flink.rest.task_managers import host_of, is_generated, names_of
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Site, first_few, parse

_SITE = "site-1"
_SAID = (
    "links",
    "node_classes",
    "checkpoint_storage",
    "mtu_bytes",
    "currency",
    "rates_in",
)
"""Fields that a cluster file copies from the sites."""
_WHERE = "the answer to /taskmanagers"


@dataclass(frozen=True)
class Discovered:
    """A cluster made of Flink's answers and the user's description of the sites."""

    release: str
    """Release of Flink."""
    cluster: Cluster
    """The cluster; its notes name the default values."""
    registered: RestAnswer
    """The answer to `/taskmanagers`."""


def discover_in(client: FlinkClient, inventory: Cluster) -> Discovered:
    """Return the user's cluster with the TaskManagers that are registered.

    Slots, memory, hosts and buffers are Flink's, all else is the user's. The notes name what the
    two say differently, and TaskManagers of the user's that are not registered.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If TaskManagers are registered that the user's cluster does not have, or cannot tell apart.
    """
    live = LiveFlink(client)
    release = live.version()
    registered = client.get("/taskmanagers")
    merged = joined(registered, inventory)
    names, node_of = names_of(registered, merged), {t.id: t.node for t in merged.task_managers}
    seen = {node_of[names[tm["id"]]]: _cores(tm) for tm in registered["taskmanagers"]}
    notes = [
        f"node {n.id!r} has {n.cores:g} cores in the inventory, and its JVM sees {seen[n.id]}: the "
        "inventory's are used"
        for n in merged.nodes
        if n.cores > seen.get(n.id, n.cores)
    ]
    without = {n.id for n in merged.nodes} - {t.node for t in merged.task_managers}
    if without:
        listed = [n.id for n in merged.nodes if n.id in without]
        notes.append(f"nodes without a registered TaskManager: {first_few(listed, 6)}")
    data = {**dict(merged), **_network(live, release, notes)}
    found = parse({**data, "notes": (*merged.notes, *notes)}, Cluster, "the discovered cluster")
    return Discovered(release, found, registered)


def discover(client: FlinkClient, sites: Sites | None) -> Discovered:
    """Return the cluster of the registered TaskManagers.

    A host is a node. A node with one TaskManager has the name of its resource id, if the id is
    configured and so survives a restart, else the name of the host.

    Parameters
    ----------
    sites
        The user's description of the sites; None: one site.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If no TaskManager is registered, an answer is incomplete, or `sites` does not fit.
    """
    live = LiveFlink(client)
    release = live.version()
    registered = client.get("/taskmanagers")
    by_host: dict[str, list[RestAnswer]] = {}
    for tm in need(registered, "taskmanagers", list, _WHERE):
        by_host.setdefault(host_of(tm) or need(tm, "id", str, _WHERE), []).append(tm)
    if not by_host:
        raise InvalidInputError(f"{live.url}: no TaskManager is registered", "start them first")
    notes = [] if sites else _without_sites()
    machines = [_machine(host, tms, sites, notes) for host, tms in sorted(by_host.items())]
    data = {
        "sites": _sites(sites),
        "nodes": [node for node, _ in machines],
        "task_managers": [tm for _, tms in machines for tm in tms],
        **_network(live, release, notes),
    }
    if sites:
        said = sites.model_dump(exclude_defaults=True)
        data |= {k: said[k] for k in _SAID if k in said}
        notes += _with_sites(sites)
    notes.append(
        "cores are the processors that the JVMs of the TaskManagers see: the quota of a container "
        "is rounded up to whole ones"
    )
    cluster = parse({**data, "notes": notes}, Cluster, "the discovered cluster")
    return Discovered(release, cluster, registered)


def born_where_it_runs(
    job: JobGraph, places: Mapping[str, Sequence[str | None]], cluster: Cluster
) -> JobGraph:
    """Return a job in which the data of a source is produced on the nodes where the source runs,
    marked as a default.

    Parameters
    ----------
    places
        Operator id -> TaskManager of each subtask, None: nowhere. A source with such a subtask is
        not changed.
    """
    node_of = {t.id: t.node for t in cluster.task_managers}
    sources = {s.id for s in job.sources()}
    operators, notes = [], []
    for op in job.operators:
        nodes = [node_of[tm] for tm in places.get(op.id, ()) if tm in node_of]
        if op.id in sources and len(nodes) == op.parallelism:
            op = op.model_copy(update={"born_at": tuple(nodes)})
            notes.append(
                f"default: Flink does not know where the data of {op.name!r} are born; born_at is "
                "where its subtasks run now: change it to the sites where they are, in the job file"
            )
        operators.append(op)
    return job.revised(operators=tuple(operators), notes=(*job.notes, *notes))


def _sites(sites: Sites | None) -> list[dict[str, Any]]:
    if sites is None:
        return [{"id": _SITE}]
    of_a_site = set(Site.model_fields)
    return [s.model_dump(include=of_a_site, exclude_none=True) for s in sites.sites]


def _machine(
    host: str, tms: Sequence[RestAnswer], sites: Sites | None, notes: list[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the node of a host, and its TaskManagers."""
    ids = tuple(sorted(need(tm, "id", str, _WHERE) for tm in tms))
    generated = [i for i in ids if is_generated(i)]
    site = sites.site_of(host, ids) if sites else None
    node = {
        "id": ids[0] if len(ids) == 1 and not generated else host,
        "site": site.id if site else _SITE,
        "node_class": site.node_class if site else "default",
        "cores": max(_cores(tm) for tm in tms),
    }
    if len(ids) > 1 and generated:
        notes.append(
            f"{len(ids)} TaskManagers share host {host}, and {', '.join(generated)} have ids that "
            "change when they restart: set taskmanager.resource-id on each"
        )
    found = [
        {
            "id": tm["id"] if len(ids) > 1 else node["id"],
            "node": node["id"],
            "slots": need(tm, "slotsNumber", int, f"{_WHERE}, {tm['id']}"),
            "host": host,
            "memory_bytes": _memory_bytes(tm),
        }
        for tm in sorted(tms, key=lambda tm: str(tm["id"]))
    ]
    return node, found


def _cores(tm: RestAnswer) -> int:
    where = f"{_WHERE}, {tm['id']}"
    return int(need(need(tm, "hardware", Mapping, where), "cpuCores", int, where))


def _memory_bytes(tm: RestAnswer) -> int:
    where = f"{_WHERE}, {tm['id']}"
    memory = need(tm, "memoryConfiguration", Mapping, where)
    return int(need(memory, "taskHeap", int, where) + need(memory, "managedMemory", int, where))


def _network(live: LiveFlink, release: str, notes: list[str]) -> dict[str, int]:
    try:
        configuration = live.configuration()
    except FlinkNotFoundError:
        notes.append(
            "default: Flink does not show its configuration, so buffers are Flink's defaults"
        )
        return {}
    network = buffers(release, configuration)
    return {
        "buffers_per_channel": network.exclusive,
        "floating_buffers_per_gate": network.floating,
        "buffer_bytes": network.segment_bytes,
    }


def _without_sites() -> list[str]:
    return [
        f"default: Flink does not know sites; all nodes are at one, {_SITE}",
        "default: Flink does not know links; with one site there are none",
        "default: Flink does not know classes of machines; all nodes are of one class",
        "default: Flink does not know where checkpoints are stored; their traffic is not counted",
    ]


def _with_sites(sites: Sites) -> list[str]:
    notes = []
    classes = {s.node_class for s in sites.sites}
    if len(sites.sites) > 1 and not sites.links:
        notes.append("default: there are no links between the sites, so nothing can cross them")
    if classes == {"default"}:
        notes.append("default: all nodes are of one class")
    missing = classes - {c.id for c in sites.node_classes}
    if len(classes) > 1 and missing:
        notes.append(
            f"default: no speed is stated for the classes {', '.join(sorted(missing))}, so costs "
            "not measured on a class cannot be estimated for it"
        )
    if sites.checkpoint_storage is None:
        notes.append(
            "default: where checkpoints are stored is not stated; their traffic is not counted"
        )
    if sites.links and sites.mtu_bytes is None:
        notes.append(
            "default: no mtu_bytes is stated, so the headers of packets, and what receivers "
            "answer, are not counted on the links: some 6 % of full streams, more of thin ones"
        )
    return notes
