"""A job over the sites of a real network, whose links come from a file."""

from collections.abc import Sequence

from edgeplace.instances.draws import Draws
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import PI, SERVER, JobDraft
from edgeplace.model import (
    Cluster,
    Link,
    Node,
    NodeClass,
    Pin,
    Rules,
    ShipStrategy,
    Site,
    TaskManager,
)

PIS = 2


def network_case(
    name: str,
    site_ids: Sequence[str],
    cloud: str,
    edge: Sequence[str],
    links: Sequence[Link],
    draws: Draws,
) -> Instance:
    """Return pipelines of parse, filter and combine from the edge sites to a join and a sink.

    Parameters
    ----------
    cloud
        The site of the servers and the sink.
    edge
        Sites with two Pis and a source each. The other sites have no machines, as routers.
    """
    rates = [draws.between(200, 1500) for _ in edge]
    births = [f"{s}-pi-0" for s in edge]
    draft = JobDraft(name)
    draft.source("source", births, rates)
    draft.operator("parse", len(edge), draws.between(3000, 6000), pi_speed=draws.between(0.4, 0.6))
    draft.operator("filter", len(edge), draws.between(3000, 9000), pi_speed=draws.between(0.5, 0.6))
    draft.operator("combine", len(edge), draws.between(1500, 4000), pi_speed=0.45)
    draft.operator("join", max(1, len(edge) // 4), 2e4)
    draft.operator("sink", 1, 1e5)
    raw = draws.between(80, 300)
    draft.stream("source", "parse", ShipStrategy.FORWARD, raw)
    draft.stream("parse", "filter", ShipStrategy.FORWARD, round(raw * draws.between(0.8, 1.8), 1))
    kept = draws.between(0.2, 0.7)
    draft.stream("filter", "combine", ShipStrategy.FORWARD, raw, selectivity=kept)
    draft.stream("combine", "join", ShipStrategy.RESCALE, 60.0, selectivity=0.3)
    draft.stream("join", "sink", ShipStrategy.REBALANCE, 60.0, selectivity=0.1)
    machines = [(f"{s}-pi-{i}", s, PI, 2.0, 4) for s in edge for i in range(PIS)]
    machines.append(("server", cloud, SERVER, 1.0 * len(edge), 6 * len(edge)))
    cluster = Cluster(
        sites=tuple(Site(id=s, tier="cloud" if s == cloud else "edge") for s in site_ids),
        nodes=tuple(Node(id=n, site=s, node_class=c, cores=k) for n, s, c, k, _ in machines),
        task_managers=tuple(TaskManager(id=n, node=n, slots=k) for n, _, _, _, k in machines),
        links=tuple(links),
        node_classes=(NodeClass(id=PI, speed=0.5), NodeClass(id=SERVER, speed=1.0)),
    )
    return Instance(
        name=name,
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=(Pin(operators=("sink",), to=cloud),)),
    )
