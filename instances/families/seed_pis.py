"""A filter on one to four Pis and a server: the flink-placement project's experiment.

Boston University's CS551 project (https://github.com/atullal/flink-placement) put a filter that
keeps 30 or 70 % of its records on Raspberry Pis in front of a WAN of 100 to 500 kbit/s.
"""

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import CLOUD, PI_4, Machines, edge_cluster, uplink
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import Pin, Rules, ShipStrategy

RECORD_BYTES = 100.0


def seed_pis(size: int, seed: int) -> Instance:
    """Return `size` Pis with a source each, a map, a filter, a keyed window and a sink.

    The output of the filter takes at most 70 % of a link. Its input may exceed the link.
    """
    draws = Draws("seed-pis", size, seed)
    sites = [f"pi-{i}" for i in range(size)]
    kept = draws.one_of((0.3, 0.7))
    bandwidth = 1000 * draws.one_of((100, 200, 500)) / 8
    rates = [draws.between(0.3, 0.7) * bandwidth * 0.8 / (RECORD_BYTES * kept) for _ in sites]
    draft = JobDraft(f"filter-{size}", checkpoint_interval_ms=10_000)
    source = draft.source("source", [f"{s}-pi-0" for s in sites], [round(r, 1) for r in rates])
    mapped = draft.operator("map", size, draws.between(2000, 20_000))
    keep = draft.operator("filter", size, draws.between(2000, 20_000))
    window = draft.operator("window", max(1, size // 2), 50_000, state_bytes=5000.0 * size)
    sink = draft.operator("sink", 1, 100_000)
    draft.stream(source, mapped, ShipStrategy.FORWARD, RECORD_BYTES)
    draft.stream(mapped, keep, ShipStrategy.FORWARD, RECORD_BYTES)
    draft.stream(keep, window, ShipStrategy.HASH, RECORD_BYTES, selectivity=kept)
    draft.stream(window, sink, ShipStrategy.REBALANCE, 40.0, selectivity=0.05)
    cluster = edge_cluster(
        sites,
        PI_4,
        Machines(count=1, cores=8, slots=8),
        [uplink(s, bandwidth, draws.between(5, 50)) for s in sites],
        checkpoints=True,
    )
    return Instance(
        name=f"seed-pis-{size}-{seed}",
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=(Pin(operators=(sink,), to=CLOUD),)),
    )
