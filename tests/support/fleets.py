"""Small random fleets, and the same written out: every replica with objects of its own."""

import itertools
import random

import numpy as np

from edgeplace.model import (
    Cluster,
    JobGraph,
    JobRequirements,
    Link,
    Match,
    Node,
    Pin,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    TaskManager,
)
from edgeplace.solver.fleet import Fleet, Replicas
from tests.support.seeds import cost, operator, stream


def fleet(seed, counts=(3, 2), jobs=2, tightness=0.6, latency=True, mtu=1500):
    """Kinds of sites with one or two Pis behind an exchange and a server; `jobs` at each."""
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    numbers = np.random.default_rng(seed)
    sites = [Site(id="cloud", tier="cloud"), Site(id="exchange")]
    nodes = [Node(id="server", site="cloud", node_class="server", cores=1.0)]
    tms = [TaskManager(id="server", node="server", slots=1)]
    links = [
        Link(
            source="exchange",
            target="cloud",
            bandwidth_bytes_per_s=1e9,
            delay_ms=5,
            price_per_byte=rng.choice([0.0, 0.5]),
            both_ways=True,
        )
    ]
    made, pins, replicas = [], [], {}
    cores = slots = traffic = 0.0
    for i, count in enumerate(counts):
        kind = f"kind-{i}"
        sites.append(Site(id=kind))
        pis = [f"{kind}-pi-{n}" for n in range(rng.choice([1, 2]))]
        nodes += [Node(id=v, site=kind, node_class="pi", cores=rng.uniform(0.5, 1.2)) for v in pis]
        tms += [TaskManager(id=v, node=v, slots=rng.randint(2, 4), memory_bytes=10**9) for v in pis]
        links.append(
            Link(
                source=kind,
                target="exchange",
                bandwidth_bytes_per_s=rng.uniform(1e5, 1e6),
                delay_ms=rng.choice([5, 20]),
                both_ways=True,
            )
        )
        rates = {}
        for j in range(jobs):
            name = f"job-{i}-{j}"
            rate = rng.uniform(50, 500)
            made.append(_job(rng, name, pis[j % len(pis)], rate))
            pins.append(Pin(operators=("sink",), to="cloud", job=name))
            rates[name] = numbers.uniform(0.5, 1.5, count)
            cores += count * rate * 2 / 1000
            slots += count * 3
            traffic += count * rate * 250
        replicas[kind] = Replicas(
            count,
            rates=rates,
            cores={pis[0]: numbers.uniform(0.5, 1.5, count)},
            slots={pis[0]: numbers.integers(2, 5, count)},
            bandwidth_bytes_per_s=numbers.uniform(1e5, 1e6, count),
            delay_ms=numbers.choice([5.0, 20.0], count),
            price_per_byte=numbers.uniform(0.5, 2.0, count),
        )
    nodes[0] = nodes[0].model_copy(update={"cores": cores * tightness})
    tms[0] = tms[0].model_copy(update={"slots": int(slots * (0.4 + tightness / 2))})
    links[0] = links[0].model_copy(update={"bandwidth_bytes_per_s": traffic * (0.4 + tightness)})
    cluster = Cluster(
        sites=tuple(sites),
        nodes=tuple(nodes),
        task_managers=tuple(tms),
        links=tuple(links),
        checkpoint_storage="cloud",
        mtu_bytes=mtu,
    )
    limit = rng.choice([350.0, 450.0, 900.0]) if latency else None
    own = ()
    if latency and rng.random() < 0.5:
        most = rng.choice([300.0, 400.0])
        own = (JobRequirements(job=made[0].name, max_latency_ms=most),)
    return Fleet(made, cluster, replicas, Rules(rules=tuple(pins), max_latency_ms=limit, jobs=own))


def one_shop(count, cores, free=False, passed=0, **replicas):
    """A Pi and a server, which runs a map, with 0.1 cores of 100 records/s, and a sink.

    A map that is free to run at the Pi sends twice the bytes from there. So many `passed` steps
    before it, which stay at the Pi, change nothing.
    """
    source = cost("source", 1e6, 1e6, demand=SourceDemand(rates_per_s=(100.0,)))
    early = [f"step-{i}" for i in range(passed)]
    operators = [
        operator("source", 1, source, born_at=("pi",)),
        *(operator(s, 1, cost(s, 1e6, 1e6, selectivity=1.0)) for s in early),
        operator("map", 1, cost("map", 1e5, 1000.0, selectivity=2.0, state_bytes=1000.0)),
        operator("sink", 1, cost("sink", 1e6, 1e15, selectivity=0.0)),
    ]
    chain = [op.id for op in operators]
    streams = [stream(a, b, ShipStrategy.FORWARD, 100) for a, b in itertools.pairwise(chain)]
    job = JobGraph(name="job", operators=tuple(operators), streams=tuple(streams))
    link = Link(source="shop", target="cloud", bandwidth_bytes_per_s=1e9, both_ways=True)
    cluster = Cluster(
        sites=(Site(id="cloud", tier="cloud"), Site(id="shop")),
        nodes=(
            Node(id="server", site="cloud", node_class="server", cores=cores),
            Node(id="pi", site="shop", node_class="pi", cores=4.0),
        ),
        task_managers=(
            TaskManager(id="server", node="server", slots=10**6),
            TaskManager(id="pi", node="pi", slots=100),
        ),
        links=(link,),
    )
    rules = [Pin(operators=("sink",) if free else ("map", "sink"), to="cloud", job="job")]
    rules += [Pin(operators=(s,), to="shop", job="job") for s in early]
    return Fleet([job], cluster, {"shop": Replicas(count, **replicas)}, Rules(rules=tuple(rules)))


def _job(rng, name, pi, rate):
    demand = SourceDemand(rates_per_s=(rate,))
    steps = ["map", "filter", "window"][: rng.choice([1, 2, 3])]
    operators = [operator("source", 1, cost("source", 1e5, 4e5, demand=demand), born_at=(pi,))]
    streams, before = [], "source"
    for step in steps:
        speed = rng.uniform(400, 3000)
        made = cost(
            step,
            speed,
            speed * rng.uniform(1.5, 3),
            selectivity=rng.choice([0.1, 0.5, 1.0]),
            state_bytes=rng.choice([0, 10**6]),
            checkpointed_bytes=rng.choice([0, 10**5]),
        )
        group = rng.choice(["default", step])
        operators.append(operator(step, 1, made, slot_sharing_group=group))
        size = rng.choice([20, 100, 400])
        streams.append(stream(before, step, ShipStrategy.FORWARD, size))
        before = step
    operators.append(operator("sink", 1, cost("sink", 1e5, 4e5, selectivity=0.0)))
    streams.append(stream(before, "sink", ShipStrategy.FORWARD, 100))
    return JobGraph(
        name=name,
        operators=tuple(operators),
        streams=tuple(streams),
        checkpoint_interval_ms=10_000,
        buffer_timeout_ms=100,
    )


def written_out(fleet):
    """(jobs, cluster, rules) with every replica as objects: what `solve` takes."""
    c = fleet.cluster
    copied = set(fleet.replicas)
    sites = [s for s in c.sites if s.id not in copied]
    labels = {}
    for kind, replicas in fleet.replicas.items():
        for i in range(replicas.count):
            labels[f"{kind}.{i}"] = "yes"
    nodes = [n.model_copy(update={"labels": labels}) for n in c.nodes if n.site not in copied]
    node = {n.id: n for n in c.nodes}
    tms = [t for t in c.task_managers if node[t.node].site not in copied]
    links = [a for a in c.links if a.source not in copied and a.target not in copied]
    jobs, rules = [], []
    for kind, replicas in fleet.replicas.items():
        own_nodes = [n for n in c.nodes if n.site == kind]
        own_tms = [t for t in c.task_managers if node[t.node].site == kind]
        (link,) = (a for a in c.links if kind in (a.source, a.target))
        own_jobs = [
            j for j in fleet.jobs if {n.id for n in own_nodes} >= set(j.operators[0].born_at or ())
        ]
        for i in range(replicas.count):

            def named(name, i=i):
                return f"{name}.{i}"

            def value(columns, key, otherwise, i=i):
                return columns[key][i] if key in columns else otherwise

            sites.append(Site(id=named(kind)))
            nodes += [
                n.model_copy(
                    update={
                        "id": named(n.id),
                        "site": named(kind),
                        "cores": float(value(replicas.cores, n.id, n.cores)),
                        "labels": {named(kind): "yes"},
                    }
                )
                for n in own_nodes
            ]
            tms += [
                t.model_copy(
                    update={
                        "id": named(t.id),
                        "node": named(t.node),
                        "slots": int(value(replicas.slots, t.id, t.slots)),
                    }
                )
                for t in own_tms
            ]
            links.append(
                link.model_copy(
                    update={
                        "source": named(kind) if link.source == kind else link.source,
                        "target": named(kind) if link.target == kind else link.target,
                        "bandwidth_bytes_per_s": float(replicas.bandwidth_bytes_per_s[i]),
                        "delay_ms": float(replicas.delay_ms[i]),
                        "price_per_byte": float(replicas.price_per_byte[i]),
                    }
                )
            )
            for j in own_jobs:
                factor = float(value(replicas.rates, j.name, 1.0))
                operators = []
                for op in j.operators:
                    update = {}
                    if op.born_at:
                        update["born_at"] = tuple(named(b) for b in op.born_at)
                        rates = tuple(r * factor for r in op.cost.demand.rates_per_s)
                        update["cost"] = op.cost.model_copy(
                            update={"demand": SourceDemand(rates_per_s=rates)}
                        )
                    operators.append(op.model_copy(update=update))
                jobs.append(
                    j.model_copy(update={"name": named(j.name), "operators": tuple(operators)})
                )
                own_rules = [r for r in fleet.rules.rules if r.job == j.name]
                rules += [r.model_copy(update={"job": named(j.name)}) for r in own_rules]
                rules.append(
                    Match(
                        operators=tuple(op.id for op in j.operators),
                        job=named(j.name),
                        labels={named(kind): "yes"},
                    )
                )
    cluster = Cluster(
        sites=tuple(sites),
        nodes=tuple(nodes),
        task_managers=tuple(tms),
        links=tuple(links),
        checkpoint_storage=c.checkpoint_storage,
        mtu_bytes=c.mtu_bytes,
    )
    own = tuple(
        r.model_copy(update={"job": job.name})
        for r in fleet.rules.jobs
        for job in jobs
        if job.name.rpartition(".")[0] == r.job
    )
    whole = {"max_latency_ms": fleet.rules.max_latency_ms, "jobs": own}
    return jobs, cluster, Rules(rules=tuple(rules), **whole)
