"""Clusters of sites with Pis around a hub with servers."""

from collections.abc import Sequence

from edgeplace.model import Cluster, Link, Node, Site, TaskManager


def pi_sites(
    pis: int,
    pi_slots: int,
    servers: int,
    server_cores: int,
    server_slots: int,
    delays_ms: Sequence[float],
) -> Cluster:
    """Return a site with so many Pis for each delay to the hub; Pis have four cores."""
    names = [f"site-{s}" for s in range(len(delays_ms))]
    edge = [
        Node(id=f"pi-{s}-{p}", site=site, node_class="pi", cores=4)
        for s, site in enumerate(names)
        for p in range(pis)
    ]
    cloud = [
        Node(id=f"server-{i}", site="hub", node_class="server", cores=server_cores)
        for i in range(servers)
    ]
    return Cluster(
        sites=(Site(id="hub", tier="cloud"), *(Site(id=site) for site in names)),
        nodes=(*edge, *cloud),
        task_managers=(
            *(TaskManager(id=n.id, node=n.id, slots=pi_slots) for n in edge),
            *(TaskManager(id=n.id, node=n.id, slots=server_slots) for n in cloud),
        ),
        links=tuple(
            Link(
                source=site,
                target="hub",
                bandwidth_bytes_per_s=5e6,
                delay_ms=delay_ms,
                both_ways=True,
            )
            for site, delay_ms in zip(names, delays_ms, strict=True)
        ),
    )
