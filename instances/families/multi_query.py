"""Several queries that share tight slots: the hardest shape known for exact methods.

Each query has a pipeline of source, map, filter and combiner on every Pi, windows that all
pipelines feed, and a sink. Every subtask needs a slot of its own. The Pis have fewer slots than
the pipelines need, and the server's CPU cannot run all the rest.
"""

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import (
    CLOUD,
    UNLIMITED_SLOTS,
    Machines,
    edge_cluster,
    pi_ids,
    uplink,
)
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import JobGraph, Pin, Rules, ShipStrategy

QUERIES = 3
STEPS = ("map", "filter", "combine")


def multi_query(size: int, seed: int) -> Instance:
    """Return three queries over `size` sites of two Pis with eight slots each.

    The server has four cores for every five Pis: where much work leaves the Pis, it is full.
    """
    draws = Draws("multi-query", size, seed)
    pis = Machines(count=2, cores=4, slots=8)
    sites = [f"site-{i}" for i in range(size)]
    births = [pi for s in sites for pi in pi_ids(s, pis)]
    rates = [draws.between(500, 2000) for _ in births]
    jobs = tuple(_query(f"query-{q}", births, rates, draws) for q in range(QUERIES))
    cluster = edge_cluster(
        sites,
        pis,
        Machines(count=1, cores=0.8 * len(births), slots=UNLIMITED_SLOTS),
        [uplink(s, None, 20.0, price_per_byte=draws.one_of((1.0, 1.5, 2.0))) for s in sites],
    )
    pins = tuple(Pin(job=job.name, operators=("sink",), to=CLOUD) for job in jobs)
    return Instance(
        name=f"multi-query-{size}-{seed}", jobs=jobs, cluster=cluster, rules=Rules(rules=pins)
    )


def _query(name: str, births: list[str], rates: list[float], draws: Draws) -> JobGraph:
    draft = JobDraft(name, slot_each=True)
    lines = len(births)
    last, out, kept = draft.source("source", births, rates), 100.0, 1.0
    passed = 1.0
    for step in STEPS:
        # The cost of a step depends on the output of the steps before it, so that no thread is
        # full.
        rate = draws.between(3000, 9000) * max(passed, 0.3)
        draft.operator(step, lines, rate, pi_speed=draws.between(0.4, 0.7))
        draft.stream(last, step, ShipStrategy.FORWARD, out, selectivity=kept)
        last, out = step, out * draws.one_of((0.5, 1.0, 2.0))
        kept = draws.one_of((0.1, 0.3, 1.0, 1.2))
        passed *= kept
    windows = max(2, lines // 2)
    draft.operator("window", windows, max(1.0, sum(rates) * passed / windows / 0.4))
    draft.operator("sink", 1, 1e5)
    draft.stream(last, "window", ShipStrategy.HASH, out, selectivity=kept)
    draft.stream("window", "sink", ShipStrategy.REBALANCE, out, selectivity=0.01)
    return draft.job()
