"""A tree of sites with small data centres between edge and cloud."""

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import (
    CLOUD,
    Machines,
    edge_cluster,
    pi_ids,
    uplink,
    with_servers,
)
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import Pin, Rules, ShipStrategy

FAN_OUT = 4


def tree(size: int, seed: int) -> Instance:
    """Return `size` sites below one regional server for every four of them, below the cloud.

    Each site has its own pipeline of parse, filter, combine and model. Each region joins the
    results of its sites. Pis and regional servers are too small for everything below them.
    """
    draws = Draws("tree", size, seed)
    pis = Machines(count=2, cores=2, slots=6)
    sites = [f"site-{i}" for i in range(size)]
    regions = [f"region-{r}" for r in range((size + FAN_OUT - 1) // FAN_OUT)]
    rates = [draws.between(200, 800) for _ in sites]
    draft = JobDraft(f"tree-{size}")
    source = draft.source("source", [pi_ids(s, pis)[0] for s in sites], rates)
    draft.operator("parse", size, draws.between(1200, 2000), pi_speed=0.55)
    draft.operator("filter", size, draws.between(1500, 3000), pi_speed=0.6)
    draft.operator("combine", size, draws.between(600, 1500), pi_speed=0.5)
    draft.operator("model", size, draws.between(300, 700), pi_speed=0.4)
    draft.operator("join", len(regions), 20_000.0)
    draft.operator("sink", 1, 100_000.0)
    raw, kept = draws.between(80, 200), draws.between(0.2, 0.5)
    draft.stream(source, "parse", ShipStrategy.FORWARD, raw)
    draft.stream("parse", "filter", ShipStrategy.FORWARD, round(raw * draws.between(0.8, 1.6), 1))
    draft.stream("filter", "combine", ShipStrategy.FORWARD, raw, selectivity=kept)
    draft.stream("filter", "model", ShipStrategy.FORWARD, 0.6 * raw, selectivity=kept)
    draft.stream("combine", "join", ShipStrategy.RESCALE, 50.0, selectivity=0.2)
    draft.stream("model", "join", ShipStrategy.RESCALE, 90.0, selectivity=draws.between(0.1, 0.9))
    draft.stream("join", "sink", ShipStrategy.REBALANCE, 40.0, selectivity=0.1)
    links = [
        uplink(
            s,
            None,
            8.0,
            to=regions[i // FAN_OUT],
            price_per_byte=draws.one_of((1.0, 1.5, 2.0, 4.0)),
        )
        for i, s in enumerate(sites)
    ]
    links += [uplink(r, None, 25.0, price_per_byte=draws.one_of((0.5, 1.0, 2.0))) for r in regions]
    cluster = with_servers(
        edge_cluster(
            sites,
            pis,
            Machines(count=1, cores=0.6 * size, slots=6 * size),
            links,
            junctions=regions,
        ),
        regions,
        Machines(count=1, cores=2.0, slots=8),
    )
    return Instance(
        name=f"tree-{size}-{seed}",
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=(Pin(operators=("sink",), to=CLOUD),)),
    )
