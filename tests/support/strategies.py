"""Random small instances, of every kind of constraint."""

from hypothesis import strategies as st

from edgeplace.model import (
    AtRate,
    ClassCost,
    Cluster,
    JobGraph,
    Link,
    Node,
    Operator,
    OperatorCost,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Stream,
    StreamCost,
    TaskManager,
)
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.model.laws.state import StateLaw
from edgeplace.model.rules import (
    AtMost,
    Colocate,
    Exclusive,
    Exlocate,
    JobRequirements,
    Match,
    NeverMove,
    OwnData,
    Pin,
    StayOnSite,
)

CLASSES = ("pi", "server")
MOST_ASSIGNMENTS = 260


@st.composite
def clusters(draw, tree=None, tms=None):
    n_sites = draw(st.integers(1, 3))
    sites = tuple(
        Site(id=f"s{i}", tier=draw(st.sampled_from(["edge", "regional", "cloud"])))
        for i in range(n_sites)
    )
    n_tms = tms or draw(st.integers(1, 4))
    nodes, managers = [], []
    for i in range(n_tms):
        fresh = not nodes or draw(st.booleans())
        if fresh:
            nodes.append(
                Node(
                    id=f"n{len(nodes)}",
                    site=draw(st.sampled_from(sites)).id,
                    node_class=draw(st.sampled_from(CLASSES)),
                    cores=draw(st.sampled_from([0.5, 1.0, 2.0, 8.0])),
                    labels=draw(st.sampled_from([{}, {"gpu": "yes"}, {"gpu": "no"}])),
                )
            )
        managers.append(
            TaskManager(
                id=f"t{i}",
                node=nodes[-1].id,
                slots=draw(st.integers(0, 4)),
                memory_bytes=draw(st.sampled_from([None, None, 100, 1000, 999])),
                disk_bytes=draw(st.sampled_from([None, None, 100, 1000])),
                gpus=draw(st.sampled_from([0, 1, 2])),
            )
        )
    links = []
    as_tree = draw(st.booleans()) if tree is None else tree
    pairs = [(a, b) for a in range(n_sites) for b in range(a)]
    if as_tree:
        chosen = [(a, draw(st.integers(0, a - 1))) for a in range(1, n_sites)]
        ends = [e for a, b in chosen for e in ((a, b), (b, a))]
    else:
        ends = [e for a, b in pairs for e in ((a, b), (b, a)) if draw(st.integers(0, 9)) < 8]
    for a, b in ends:
        links.append(
            Link(
                source=f"s{a}",
                target=f"s{b}",
                bandwidth_bytes_per_s=draw(st.sampled_from([None, 500.0, 3000.0, 20000.0, 1e6])),
                delay_ms=draw(st.sampled_from([0.0, 5.0, 25.0, 60.0])),
                price_per_byte=draw(st.sampled_from([1.0, 1.0, 0.0, 2.5])),
                background_bytes_per_s=draw(st.sampled_from([0.0, 0.0, 100.0])),
            )
        )
    return Cluster(
        sites=sites,
        nodes=tuple(nodes),
        task_managers=tuple(managers),
        links=tuple(links),
        checkpoint_storage=draw(st.sampled_from([None, "s0", sites[-1].id])),
        cpu_target=draw(st.sampled_from([0.8, 1.0])),
        link_target=draw(st.sampled_from([0.8, 1.0])),
        buffers_per_channel=draw(st.sampled_from([0, 1, 2])),
        floating_buffers_per_gate=draw(st.sampled_from([1, 2, 8])),
        buffer_bytes=draw(st.sampled_from([64, 512, 32768])),
        mtu_bytes=draw(st.sampled_from([None, 600, 1400])),
    )


def _cost(draw, oid, source, p):
    classes = tuple(
        ClassCost(
            node_class=c,
            true_rate_per_s=draw(st.sampled_from([40.0, 150.0, 700.0, 5000.0])),
            cpu_ms_per_record=draw(st.sampled_from([None, None, 0.5, 3.0])),
        )
        for c in CLASSES
    )
    law = None
    state_bytes = draw(st.sampled_from([None, 0.0, 100.0, 500.0, 1000.0]))
    if state_bytes and draw(st.integers(0, 3)) == 0:
        law = StateLaw(
            fixed_bytes=draw(st.sampled_from([0.0, 80.0])), held_bytes_s=draw(st.floats(1, 9))
        )
    return OperatorCost(
        operator=oid,
        classes=classes if draw(st.integers(0, 9)) < 9 else (),
        selectivity=None if source else draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0])),
        demand=SourceDemand(
            rates_per_s=tuple(draw(st.sampled_from([0.0, 10.0, 30.0, 90.0])) for _ in range(p))
        )
        if source
        else None,
        state_bytes=state_bytes,
        state_law=law,
        checkpointed_bytes=draw(st.sampled_from([None, 0.0, 50.0, 4000.0])),
    )


@st.composite
def at_rates(draw):
    """What a stream was measured to carry at several rates, and how its source operator flushes."""
    if draw(st.integers(0, 3)):
        return {}
    rates = sorted(draw(st.sets(st.sampled_from([4.0, 20.0, 60.0]), min_size=1)))
    seen = tuple(
        AtRate(
            rate_per_s=rate,
            selectivity=draw(st.sampled_from([0.1, 0.4, 1.0])),
            bytes_per_record=draw(st.sampled_from([5.0, 60.0])),
        )
        for rate in rates
    )
    if draw(st.booleans()):
        return {"by_rate": seen}
    form = draw(st.sampled_from(["hot and cold", "zipf"]))
    law = FlushLaw(
        gathering=Gathering(
            interval_s=draw(st.sampled_from([None, 0.1, 1.0, 5.0])),
            records=draw(st.sampled_from([None, 7.0, 40.0])),
            checkpoint_s=draw(st.sampled_from([None, 2.0])),
            keys_per_record=draw(st.sampled_from([1.0, 3.0])),
        ),
        form=form,
        keys=draw(st.sampled_from([2.0, 12.5])),
        shape=draw(st.sampled_from([0.0, 0.3, 1.0])),
    )
    return {"by_rate": seen, "flush_law": law}


@st.composite
def jobs(draw, cluster, most=MOST_ASSIGNMENTS):
    m = max(1, len(cluster.task_managers))
    budget = 1
    while m ** (budget + 1) <= most and budget < 7:
        budget += 1
    sizes = []
    while budget > 0 and len(sizes) < 4:
        p = draw(st.integers(1, min(3, budget)))
        sizes.append(p)
        budget -= p
        if len(sizes) >= 2 and draw(st.integers(0, 3)) == 0:
            break
    edges = []
    for j in range(1, len(sizes)):
        for i in range(j):
            if draw(st.integers(0, 9)) < (8 if i == j - 1 else 2):
                edges.append((i, j))
    fed = {j for _, j in edges}
    places = [s.id for s in cluster.sites] + [t.id for t in cluster.task_managers]
    operators = []
    for i, p in enumerate(sizes):
        source = i not in fed
        born = ()
        if source:
            born = tuple(draw(st.sampled_from([*places, "anywhere"])) for _ in range(p))
        operators.append(
            Operator(
                id=f"o{i}",
                name=f"op {i}",
                parallelism=p,
                max_parallelism=draw(st.sampled_from([4, 128])),
                slot_sharing_group=draw(st.sampled_from(["g", "g", "h", f"own{i}"])),
                born_at=born,
                memory_bytes=draw(st.sampled_from([0.0, 0.0, 100.0, 500.0])),
                gpus=draw(st.sampled_from([0, 0, 0, 0, 0, 1])),
                cost=_cost(draw, f"o{i}", source, p),
            )
        )
    streams = []
    for i, j in edges:
        kinds = [k for k in ShipStrategy if k is not ShipStrategy.FORWARD or sizes[i] == sizes[j]]
        kind = draw(st.sampled_from(kinds))
        shares = None
        if kind in (ShipStrategy.HASH, ShipStrategy.CUSTOM) and draw(st.booleans()):
            weights = [draw(st.integers(1, 5)) for _ in range(sizes[j])]
            shares = tuple(w / sum(weights) for w in weights)
        streams.append(
            Stream(
                source=f"o{i}",
                target=f"o{j}",
                ship_strategy=kind,
                cost=StreamCost(
                    source=f"o{i}",
                    target=f"o{j}",
                    selectivity=draw(st.sampled_from([0.1, 0.5, 1.0])),
                    bytes_per_record=draw(st.sampled_from([1.0, 20.0, 400.0])),
                    shares=shares,
                    flushes_per_s=draw(st.sampled_from([None, None, 0.5, 4.0])),
                    **draw(at_rates()),
                ),
            )
        )
    return JobGraph(
        name="job",
        operators=tuple(operators),
        streams=tuple(streams),
        buffer_timeout_ms=draw(st.sampled_from([0.0, 100.0])),
        checkpoint_interval_ms=draw(st.sampled_from([None, 1000.0])),
        watermark_interval_ms=draw(st.sampled_from([None, 200.0])),
        state_backend=draw(st.sampled_from(["heap", "rocksdb"])),
    )


@st.composite
def rule_sets(draw, job, cluster, current):
    found = []
    ids = [o.id for o in job.operators]
    sizes = {o.id: o.parallelism for o in job.operators}
    places = [s.id for s in cluster.sites] + [n.id for n in cluster.nodes]
    places += [t.id for t in cluster.task_managers]
    places += [f"{name[:1]}*" for name in places]
    level = st.sampled_from(["site", "node", "task_manager"])
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        op = draw(st.sampled_from(ids))
        kind = draw(st.integers(0, 8))
        if kind == 0:
            found.append(
                Pin(
                    operators=(op,),
                    subtasks=(0,) if draw(st.booleans()) else (),
                    to=draw(st.sampled_from(places)),
                )
            )
        elif kind == 1:
            found.append(Match(operators=(op,), labels={"gpu": "yes"}))
        elif kind == 2:
            same = [o for o in ids if sizes[o] == sizes[op] and o != op]
            if same:
                found.append(
                    Colocate(operators=(op, draw(st.sampled_from(same))), level=draw(level))
                )
        elif kind == 3:
            found.append(Exlocate(operators=(op,), level=draw(level)))
        elif kind == 4:
            found.append(
                AtMost(operators=tuple(ids), count=draw(st.integers(0, 3)), level=draw(level))
            )
        elif kind == 5:
            found.append(StayOnSite(operators=(op,)))
        elif kind == 8:
            opened = ("s*",) if draw(st.booleans()) else ()
            found.append(OwnData(operators=(op,), open_sites=opened))
        elif kind == 6:
            found.append(Exclusive(operators=(op,), level=draw(level)))
        elif current:
            found.append(NeverMove(operators=(op,)))
    own = {
        "max_latency_ms": draw(st.sampled_from([None, None, None, 120.0, 300.0])),
        "max_moves": draw(st.sampled_from([None, None, 1])) if current else None,
    }
    limited = any(most is not None for most in own.values())
    return Rules(
        jobs=(JobRequirements(job=job.name, **own),) if limited else (),
        rules=tuple(found),
        max_latency_ms=draw(st.sampled_from([None, None, 120.0, 300.0, 700.0])),
        max_moves=draw(st.sampled_from([None, None, 1, 2])) if current else None,
    )


@st.composite
def instances(draw, tree=None):
    """(job, cluster, rules, current placement or None)"""
    cluster = draw(clusters(tree=tree))
    job = draw(jobs(cluster))
    current = None
    if draw(st.booleans()):
        ids = [t.id for t in cluster.task_managers]
        current = {
            o.id: tuple(draw(st.sampled_from(ids)) for _ in range(o.parallelism))
            for o in job.operators
        }
    return job, cluster, draw(rule_sets(job, cluster, current)), current


OBJECTIVES = st.sampled_from(
    [
        ("wan", "latency", "server_cores", "moves"),
        ("wan",),
        ("latency",),
        ("throughput",),
        ("wan:5%", "latency"),
        ("latency", "wan"),
        ("server_cores", "wan"),
        ("throughput", "wan", "latency"),
        ("wan", "throughput"),
        ("moves", "wan"),
        ("throughput:10%", "server_cores"),
    ]
)
