"""Clusters of Pis at edge sites and servers behind the WAN."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.instances.job_draft import PI, SERVER
from edgeplace.model import Cluster, Link, Node, NodeClass, Site, TaskManager

CLOUD = "cloud"
UNLIMITED_SLOTS = 1_000_000


@dataclass(frozen=True)
class Machines:
    """Equal machines of one site."""

    count: int
    cores: float
    slots: int
    memory_bytes: float | None = None


PI_4 = Machines(count=1, cores=4, slots=4)
"""A Raspberry Pi 4 or 5: four cores, with one slot for each core, as usual in Flink."""


def edge_cluster(
    edge: Sequence[str],
    pis: Machines,
    servers: Machines,
    links: Sequence[Link],
    *,
    junctions: Sequence[str] = (),
    checkpoints: bool = False,
) -> Cluster:
    """Return a cluster of equal edge sites with Pis and one cloud site with servers.

    Parameters
    ----------
    edge
        Ids of the edge sites; Pi p of site s is `s-pi-p`.
    junctions
        Sites without machines.
    checkpoints
        Whether the cloud holds the checkpoint storage.
    """
    return Cluster(
        sites=(
            *(Site(id=s) for s in edge),
            *(Site(id=s) for s in junctions),
            Site(id=CLOUD, tier="cloud"),
        ),
        nodes=(
            *(n for s in edge for n in _nodes(f"{s}-pi", s, PI, pis)),
            *_nodes("server", CLOUD, SERVER, servers),
        ),
        task_managers=(
            *(t for s in edge for t in _task_managers(f"{s}-pi", pis)),
            *_task_managers("server", servers),
        ),
        links=tuple(links),
        node_classes=(NodeClass(id=PI, speed=0.5), NodeClass(id=SERVER, speed=1.0)),
        checkpoint_storage=CLOUD if checkpoints else None,
    )


def with_servers(cluster: Cluster, sites: Sequence[str], servers: Machines) -> Cluster:
    """Return a cluster with servers at sites that had no machines; these do not become cloud."""
    return cluster.model_copy(
        update={
            "nodes": (*cluster.nodes, *(n for s in sites for n in _nodes(s, s, SERVER, servers))),
            "task_managers": (
                *cluster.task_managers,
                *(t for s in sites for t in _task_managers(s, servers)),
            ),
        }
    )


def uplink(
    site: str,
    bandwidth_bytes_per_s: float | None,
    delay_ms: float,
    *,
    to: str = CLOUD,
    price_per_byte: float = 1.0,
) -> Link:
    """Return the link of an edge site, both ways."""
    return Link(
        source=site,
        target=to,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        delay_ms=delay_ms,
        price_per_byte=price_per_byte,
        both_ways=True,
    )


def pi_ids(site: str, pis: Machines) -> tuple[str, ...]:
    """Return the ids of the Pis of a site."""
    return tuple(f"{site}-pi-{i}" for i in range(pis.count))


def _nodes(prefix: str, site: str, node_class: str, of: Machines) -> list[Node]:
    return [
        Node(id=f"{prefix}-{i}", site=site, node_class=node_class, cores=of.cores)
        for i in range(of.count)
    ]


def _task_managers(prefix: str, of: Machines) -> list[TaskManager]:
    return [
        TaskManager(
            id=f"{prefix}-{i}", node=f"{prefix}-{i}", slots=of.slots, memory_bytes=of.memory_bytes
        )
        for i in range(of.count)
    ]
