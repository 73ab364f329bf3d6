"""Instances without a plan. Each lacks one resource, so that a proof needs no search."""

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import CLOUD, Machines, edge_cluster, pi_ids, uplink
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import AnyRule, Exlocate, Pin, Rules, ShipStrategy, StayOnSite

SHORT_OF = ("slot", "node", "local slot")


def infeasible(size: int, seed: int) -> Instance:
    """Return `size` sites with four operators each, where one more unit of a resource would be
    enough. The seed chooses the resource: a slot of the whole cluster, a node for subtasks that
    must not run together, or a slot on the site that data must not leave.
    """
    draws = Draws("infeasible", size, seed)
    short_of = SHORT_OF[seed % len(SHORT_OF)]
    pis = Machines(count=2, cores=4, slots=4)
    sites = [f"site-{i}" for i in range(size)]
    births = [pi_ids(s, pis)[0] for s in sites]
    draft = JobDraft(f"short-{size}", slot_each=True)
    source = draft.source("source", births, [draws.between(100, 400) for _ in sites])
    steps = ("parse", "filter", "combine")
    parallelism = 2 * size + 2 if short_of == "node" else size
    for step in steps:
        draft.operator(step, parallelism if step == "combine" else size, draws.between(4e3, 9e3))
    draft.operator("sink", 1, 1e5)
    draft.stream(source, "parse", ShipStrategy.FORWARD, 120.0)
    draft.stream("parse", "filter", ShipStrategy.FORWARD, 150.0)
    draft.stream("filter", "combine", ShipStrategy.REBALANCE, 150.0, selectivity=0.4)
    draft.stream("combine", "sink", ShipStrategy.REBALANCE, 60.0, selectivity=0.1)
    subtasks = len(steps[:2]) * size + parallelism + size + 1
    rules: list[AnyRule] = [Pin(operators=("sink",), to=CLOUD)]
    slots = 8
    if short_of == "slot":
        # The Pis' slots and these together are one fewer than there are subtasks.
        pis = Machines(count=2, cores=4, slots=1)
        slots = subtasks - 2 * size - 1
    elif short_of == "node":
        # 2 size Pis and one server, and one subtask more than nodes.
        slots = subtasks
        rules.append(Exlocate(operators=("combine",), level="node"))
    else:
        # Source, parse and filter of each subtask need three slots; a site has two.
        pis = Machines(count=2, cores=4, slots=1)
        slots = subtasks
        rules.append(StayOnSite(operators=("parse", "filter")))
    cluster = edge_cluster(
        sites,
        pis,
        Machines(count=1, cores=4.0 * size, slots=slots),
        [uplink(s, None, draws.between(5, 40)) for s in sites],
    )
    return Instance(
        name=f"infeasible-{size}-{seed}",
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=tuple(rules)),
    )
