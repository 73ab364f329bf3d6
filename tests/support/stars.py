"""Random stars: sites with Pis around a cloud, a pipeline a site, joins that may run anywhere."""

import random

from edgeplace.model import (
    Cluster,
    JobGraph,
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
from tests.support.seeds import cost, operator, stream


def star(sites, seed, fan_in=1.0):
    """(job, cluster, rules); a larger `fan_in` makes the joins' input heavier."""
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    places, nodes, links, operators, streams, held = [], [], [], [], [], []

    def add(name, feeds=(), **more):
        demand = more.pop("demand", None)
        # A Pi carries half of a pipeline or so.
        speed = 1 / rng.uniform(0.1, 0.6)
        selectivity = None if demand else 1.0
        made = cost(name, speed, 4 * speed, selectivity=selectivity, demand=demand)
        operators.append(operator(name, 1, made, **more))
        streams.extend(stream(f, name, ShipStrategy.FORWARD, s) for f, s in feeds)

    places.append(Site(id="hub", tier="cloud"))
    nodes.append(
        Node(
            id="server",
            site="hub",
            node_class="server",
            cores=8 * sites + 8,
            labels={f"hosts-{s}": "yes" for s in range(sites)},
        )
    )
    into = {g: [] for g in range(2)}
    for s in range(sites):
        places.append(Site(id=f"site-{s}"))
        price = rng.choice([1.0, 1.5, 4.0])
        links.append(Link(source=f"site-{s}", target="hub", price_per_byte=price, both_ways=True))
        for p in range(2):
            nodes.append(
                Node(
                    id=f"pi-{s}-{p}",
                    site=f"site-{s}",
                    node_class="pi",
                    cores=1.0,
                    labels={f"hosts-{s}": "yes"},
                )
            )
        r = rng.uniform(50, 150)
        demand = SourceDemand(rates_per_s=(1.0,))
        add(f"src-{s}", demand=demand, born_at=(f"pi-{s}-{rng.randrange(2)}",))
        add(f"parse-{s}", [(f"src-{s}", r)])
        add(f"filter-{s}", [(f"parse-{s}", r * rng.uniform(0.8, 1.4))])
        into[s % 2].append((f"filter-{s}", fan_in * r * rng.uniform(0.1, 0.6)))
        held.append(Match(operators=(f"parse-{s}", f"filter-{s}"), labels={f"hosts-{s}": "yes"}))
    for g, feeds in into.items():
        if feeds:
            add(f"join-{g}", feeds)
    add("sink", [(f"join-{g}", 5.0) for g, feeds in into.items() if feeds])
    held.append(Pin(operators=("sink",), to="server"))
    # Rates add up along the joins: a thread that merges is never too slow here.
    fast = [
        op.model_copy(
            update={
                "cost": cost(op.id, 1000.0 * sites, 4000.0 * sites, selectivity=op.cost.selectivity)
            }
        )
        if op.id.startswith(("join", "sink"))
        else op
        for op in operators
    ]
    job = JobGraph(name="star", operators=tuple(fast), streams=tuple(streams))
    cluster = Cluster(
        sites=tuple(places),
        nodes=tuple(nodes),
        task_managers=tuple(TaskManager(id=n.id, node=n.id, slots=len(operators)) for n in nodes),
        links=tuple(links),
        cpu_target=1.0,
    )
    return job, cluster, Rules(rules=tuple(held))
