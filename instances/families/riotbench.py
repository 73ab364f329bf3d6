"""RIoTBench's dataflows at its workloads' rates.

Shukla, Chaturvedi and Simmhan, "RIoTBench: A Real-time IoT Benchmark for Distributed Stream
Processing Platforms", CCPE 29(21), 2017, arXiv 1701.08530: the dataflows of figure 3, the tasks'
peak rates on one core of a Xeon E5-2660 (figure 5a), message sizes and rates of table 3. Only
published facts are used. The speed of a Pi's core is drawn between 0.38 and 0.67 of the server's,
the range of ratios measured between two machine types (CAPSys' profiles). The cloud's services
(table insert, blob upload) accept only a few messages per second, so each call has a batch: as
many messages as keep one thread 70 % busy.
"""

from dataclasses import dataclass

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
from edgeplace.model import Pin, Rules, ShipStrategy

PEAK_PER_S = {
    "ABD": 4.0,
    "ABU": 2.0,
    "ANN": 60_000.0,
    "ATI": 4.0,
    "AVG": 12_000.0,
    "BLF": 63_000.0,
    "C2S": 10_000.0,
    "DAC": 63_000.0,
    "DTC": 15_000.0,
    "ERR": 60_000.0,
    "GRP": 60_000.0,
    "INP": 50_000.0,
    "JOIN": 60_000.0,
    "KAL": 68_000.0,
    "MLR": 15_000.0,
    "MQP": 8400.0,
    "RGF": 60_000.0,
    "SLR": 34_000.0,
    "SML": 3000.0,
}
"""Messages per second of one thread on a server's core. JOIN, ERR and GRP (accumulating before a
plot) have no bar of their own: they are given the accumulator's.
"""
IN_THE_CLOUD = ("ABU", "ATI", "MQP")
"""Tasks that call a service there."""
STATEFUL = {"AVG": 200.0, "DAC": 500.0, "GRP": 400.0, "INP": 200.0, "KAL": 100.0, "SLR": 300.0}
"""State, in bytes a sensor key; the sizes are assumed."""


@dataclass(frozen=True)
class RiotWorkload:
    """The records of sensors, at the peak of the published trace."""

    fields: int
    message_bytes: float
    messages_per_s: float


WORKLOADS = {
    "CITY": RiotWorkload(9, 380.0, 5000.0),
    "FIT": RiotWorkload(26, 1024.0, 500.0),
    "GRID": RiotWorkload(3, 130.0, 10_000.0),
    "TAXI": RiotWorkload(17, 191.0, 4000.0),
}

EACH_FIELD = -1.0
"""Selectivity of a parser: a message for each field. Of a join: the other way round."""

Edge = tuple[str, str, float]
FLOWS: dict[str, tuple[Edge, ...]] = {
    "ETL": (
        ("src", "SML", 1.0),
        ("SML", "RGF", EACH_FIELD),
        ("RGF", "BLF", 0.95),
        ("BLF", "INP", 0.95),
        ("INP", "JOIN", 1.0),
        ("JOIN", "ANN", 0.0),
        ("ANN", "ATI", 1.0),
        ("ANN", "C2S", 1.0),
        ("C2S", "MQP", 1.0),
    ),
    "STATS": (
        ("src", "SML", 1.0),
        ("SML", "AVG", EACH_FIELD),
        ("SML", "KAL", EACH_FIELD),
        ("SML", "DAC", EACH_FIELD),
        ("KAL", "SLR", 1.0),
        ("AVG", "GRP", 0.1),
        ("SLR", "GRP", 1.0),
        ("DAC", "GRP", 1.0),
        ("GRP", "ABU", 0.01),
    ),
    "PRED": (
        ("src", "SML", 1.0),
        ("SML", "DTC", 1.0),
        ("SML", "MLR", 1.0),
        ("SML", "AVG", 1.0),
        ("AVG", "ERR", 0.1),
        ("MLR", "ERR", 1.0),
        ("ERR", "MQP", 0.5),
        ("DTC", "MQP", 0.5),
    ),
}
"""Source task, target task, selectivity; 0 stands for joining a message's fields again. PRED
without its model updates, which come once in minutes."""


def riotbench(size: int, seed: int) -> Instance:
    """Return one dataflow at one workload, over `size` sites with two Pis each.

    The seed picks dataflow and workload, and draws how much slower each task is on a Pi. Tasks
    have a subtask a site, in FORWARD lines, up to the tasks that call the cloud.
    """
    draws = Draws("riotbench", size, seed)
    flow = tuple(FLOWS)[seed % len(FLOWS)]
    load = tuple(WORKLOADS)[seed // len(FLOWS) % len(WORKLOADS)]
    workload = WORKLOADS[load]
    pis = Machines(count=2, cores=4, slots=4)
    sites = [f"site-{i}" for i in range(size)]
    # Parsing on one Pi core a site bounds what a site can send.
    each = min(workload.messages_per_s / size, 0.3 * PEAK_PER_S["SML"])
    draft = JobDraft(f"{flow}-{load}", checkpoint_interval_ms=30_000)
    draft.source("src", [pi_ids(s, pis)[0] for s in sites], [round(each, 1)] * size)
    rates = {"src": each * size}
    sizes = {"src": workload.message_bytes}
    edges = FLOWS[flow]
    for task in dict.fromkeys(target for _, target, _ in edges):
        inputs = [(a, _factor(s, workload)) for a, b, s in edges if b == task]
        rates[task] = sum(rates[a] * factor for a, factor in inputs)
        parsed = any(s == EACH_FIELD for _, b, s in edges if b == task)
        before = max(sizes[a] for a, _ in inputs)
        field = round(workload.message_bytes / workload.fields + 40.0, 1)
        joined = any(s == 0.0 for _, b, s in edges if b == task)
        sizes[task] = field if parsed else workload.message_bytes if joined else before
        cloud = task in IN_THE_CLOUD
        parallelism = 1 if cloud else size
        peak = PEAK_PER_S[task]
        draft.operator(
            task,
            parallelism,
            max(peak, rates[task] / parallelism / 0.7) if cloud else peak,
            pi_speed=draws.between(0.38, 0.67),
            state_bytes=STATEFUL[task] * 1000 * size if task in STATEFUL else None,
        )
        for a, b, s in edges:
            if b == task:
                ship = ShipStrategy.REBALANCE if cloud else ShipStrategy.FORWARD
                draft.stream(a, b, ship, sizes[b], selectivity=_factor(s, workload))
    used = {b for _, b, _ in edges}
    raw = each * workload.message_bytes
    cluster = edge_cluster(
        sites,
        pis,
        Machines(count=1, cores=2.0 * size, slots=UNLIMITED_SLOTS),
        [uplink(s, round(raw * draws.between(1.5, 6.0)), draws.between(10, 60)) for s in sites],
        checkpoints=True,
    )
    return Instance(
        name=f"riotbench-{size}-{seed}",
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=tuple(Pin(operators=(t,), to=CLOUD) for t in IN_THE_CLOUD if t in used)),
    )


def _factor(selectivity: float, workload: RiotWorkload) -> float:
    if selectivity == EACH_FIELD:
        return float(workload.fields)
    return selectivity or round(1 / workload.fields, 6)
