"""Nexmark's queries over generators at edge sites.

Tucker, Tufte, Papadimos and Maier, "NEXMark: A Benchmark for Queries over Data Streams" (2008);
proportions, sizes and hot keys are those of Apache Beam's `NexmarkConfiguration`: 1 person and 3
auctions for 46 bids, of 200, 500 and 100 bytes; half of the bids are for a hot auction.
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
from edgeplace.model import Pin, Rules, ShipStrategy

PERSONS, AUCTIONS, BIDS = 0.02, 0.06, 0.92
PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200.0, 500.0, 100.0
HOT_SHARE = 0.5
QUERIES = ("q1", "q2", "q3", "q5", "q8")


def nexmark(size: int, seed: int) -> Instance:
    """Return one query over `size` sites of two Pis; the seed picks the query and draws rates."""
    draws = Draws("nexmark", size, seed)
    query = QUERIES[seed % len(QUERIES)]
    pis = Machines(count=2, cores=4, slots=4)
    sites = [f"site-{i}" for i in range(size)]
    rates = [draws.between(1000, 6000) for _ in sites]
    draft = JobDraft(f"nexmark-{query}", checkpoint_interval_ms=10_000)
    births = [pi_ids(s, pis)[0] for s in sites]
    speed = draws.between(0.4, 0.65)
    sink = "sink"

    def source(name: str, share: float) -> str:
        return draft.source(name, births, [round(r * share, 2) for r in rates])

    def operator(name: str, parallelism: int, rate: float, state: float | None = None) -> str:
        return draft.operator(name, parallelism, rate, pi_speed=speed, state_bytes=state)

    workers = max(2, size // 2)
    if query in ("q1", "q2"):
        bids = source("bids", BIDS)
        # Query 1 converts every bid's price, query 2 keeps the bids for one auction in 123.
        kept = 1.0 if query == "q1" else 0.0081
        step = operator("convert" if query == "q1" else "select", size, draws.between(3e4, 9e4))
        operator(sink, 1, 1e5)
        draft.stream(bids, step, ShipStrategy.FORWARD, BID_BYTES)
        draft.stream(step, sink, ShipStrategy.REBALANCE, BID_BYTES, selectivity=kept)
    elif query == "q5":
        bids = source("bids", BIDS)
        combine = operator("combine", size, draws.between(2e4, 6e4), 2e5 * size)
        window = operator("hot-items", workers, draws.between(1e4, 3e4), 4e5 * size)
        operator(sink, 1, 1e5)
        hot = [HOT_SHARE + (1 - HOT_SHARE) / workers] + [(1 - HOT_SHARE) / workers] * (workers - 1)
        draft.stream(bids, combine, ShipStrategy.FORWARD, BID_BYTES)
        draft.stream(combine, window, ShipStrategy.HASH, 24.0, selectivity=0.2, shares=hot)
        draft.stream(window, sink, ShipStrategy.REBALANCE, 24.0, selectivity=0.01)
    else:
        # Query 3 joins sellers of three states for good, query 8 new sellers of a window.
        persons, auctions = source("persons", PERSONS), source("auctions", AUCTIONS)
        keep_persons = operator("persons-kept", size, draws.between(3e4, 9e4))
        keep_auctions = operator("auctions-kept", size, draws.between(3e4, 9e4))
        join = operator("join", workers, draws.between(5e3, 2e4), 1e6 * size)
        operator(sink, 1, 1e5)
        some, few = (0.3, 0.1) if query == "q3" else (1.0, 1.0)
        draft.stream(persons, keep_persons, ShipStrategy.FORWARD, PERSON_BYTES)
        draft.stream(auctions, keep_auctions, ShipStrategy.FORWARD, AUCTION_BYTES)
        draft.stream(keep_persons, join, ShipStrategy.HASH, 80.0, selectivity=some)
        draft.stream(keep_auctions, join, ShipStrategy.HASH, 60.0, selectivity=few)
        draft.stream(join, sink, ShipStrategy.REBALANCE, 120.0, selectivity=0.2)
    cluster = edge_cluster(
        sites,
        pis,
        Machines(count=1, cores=2.0 * size, slots=UNLIMITED_SLOTS),
        [
            uplink(s, round(r * BID_BYTES * draws.between(1.5, 4.0)), draws.between(5, 80))
            for s, r in zip(sites, rates, strict=True)
        ],
        checkpoints=True,
    )
    return Instance(
        name=f"nexmark-{size}-{seed}",
        jobs=(draft.job(),),
        cluster=cluster,
        rules=Rules(rules=(Pin(operators=(sink,), to=CLOUD),)),
    )
