"""Control loops that must answer in 70 ms, between a near server and a far cloud."""

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import (
    UNLIMITED_SLOTS,
    Machines,
    edge_cluster,
    pi_ids,
    uplink,
    with_servers,
)
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import Pin, Rules, ShipStrategy

BUFFER_TIMEOUT_MS = 5.0
LIMIT_MS = 70.0
METRO = "metro"


def latency_bound(size: int, seed: int) -> Instance:
    """Return `size` sites, each with sensor, detection, decision and actuator.

    The actuator is at the sensor's site, so a loop pays a delay there and back. The one small Pi
    of a site cannot run everything. The rest may run in the cloud, which is cheap and mostly too
    far, or on a near metro server, which costs four times as much per byte and has little CPU. So
    bytes, latency and CPU conflict. The sites form no tree.
    """
    draws = Draws("latency-bound", size, seed)
    pis = Machines(count=1, cores=1, slots=4)
    sites = [f"site-{i}" for i in range(size)]
    delays = [draws.between(20, 38) for _ in sites]
    rates = [draws.between(200, 600) for _ in sites]
    draft = JobDraft(f"control-{size}", buffer_timeout_ms=BUFFER_TIMEOUT_MS)
    source = draft.source("sensor", [pi_ids(s, pis)[0] for s in sites], rates)
    for name, rate in (("parse", 2500.0), ("detect", draws.between(1000, 1400)), ("decide", 4e4)):
        draft.operator(name, size, rate, pi_speed=draws.between(0.6, 0.9))
    draft.operator("actuate", size, 1e5)
    draft.operator("archive", 1, 1e5)
    raw = draws.between(100, 400)
    kept = draws.between(0.05, 0.3)
    draft.stream(source, "parse", ShipStrategy.FORWARD, raw)
    draft.stream("parse", "detect", ShipStrategy.FORWARD, round(raw * draws.between(0.7, 1.5), 1))
    draft.stream("detect", "decide", ShipStrategy.FORWARD, 60.0, selectivity=kept)
    draft.stream("decide", "actuate", ShipStrategy.FORWARD, 40.0)
    draft.stream("parse", "archive", ShipStrategy.REBALANCE, 20.0, selectivity=0.5)
    far = [uplink(s, 2e6, d, price_per_byte=0.5) for s, d in zip(sites, delays, strict=True)]
    near = [uplink(s, 2e6, draws.between(9, 12), to=METRO, price_per_byte=2.0) for s in sites]
    cluster = with_servers(
        edge_cluster(
            sites,
            pis,
            Machines(count=1, cores=1.0 * size, slots=UNLIMITED_SLOTS),
            [*far, *near],
            junctions=[METRO],
        ),
        [METRO],
        Machines(count=1, cores=round(0.3 * size, 2), slots=UNLIMITED_SLOTS),
    )
    pins = [Pin(operators=("actuate",), subtasks=(i,), to=site) for i, site in enumerate(sites)]
    return Instance(
        name=f"latency-bound-{size}-{seed}",
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=(*pins, Pin(operators=("archive",), to=METRO)), max_latency_ms=LIMIT_MS),
    )
