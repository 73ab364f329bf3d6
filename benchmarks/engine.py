"""Wall time of whole `solve` calls, from objects to proved result, on families with known optima.

    python benchmarks/engine.py [--only tree exchange queries networks] [--seconds 60]

* tree: the stars of benchmarks/formulations.py, a site for every Pi, for `wan` alone and for all
  levels of the default objective;
* exchange: ten operators that a HASH or REBALANCE exchange joins, all to all;
* queries: several queries on every Pi, windows behind a HASH exchange, and a server whose CPU
  binds. The distance between any two sites is one;
* networks: ten operators with a cycle among them, on networks that are no trees, one node a site,
  for `wan` alone and for all levels.

Seconds are wall and processor time of one run on one thread. `optimum` is what is known from
elsewhere. To compare two versions, run the script in both, one after the other.
"""

import argparse
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

import formulations
import networkx as nx
from pi_sites import pi_sites

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    ClassCost,
    Cluster,
    JobGraph,
    Link,
    Node,
    Operator,
    OperatorCost,
    Pin,
    Rules,
    ShipStrategy,
    Site,
    SourceDemand,
    Stream,
    StreamCost,
    TaskManager,
)
from edgeplace.solver import solve

NO_RULES = Rules()


@dataclass(frozen=True)
class KnownCase:
    """An instance, and the optimum that it is known to have (nan: it is not known)."""

    name: str
    job: JobGraph
    cluster: Cluster
    rules: Rules = NO_RULES
    objective: tuple[str, ...] = ("wan",)
    optimum: float = math.nan


def trees() -> Iterator[KnownCase]:
    for sites, optimum in ((32, 1922.264776), (100, 9224.477143), (300, 22121.162568)):
        job, cluster = formulations.instance(sites)
        rules = formulations.rules(job)
        for objective in (("wan",), DEFAULT_OBJECTIVE):
            yield KnownCase(f"tree {sites}", job, cluster, rules, objective, optimum)


def exchanges() -> Iterator[KnownCase]:
    for sites, parallelism in ((4, 8), (16, 16), (16, 64)):
        yield KnownCase(f"exchange {sites}x{parallelism}", *exchange(sites, parallelism))


def exchange(sites: int, parallelism: int, seed: int = 1) -> tuple[JobGraph, Cluster]:
    """Return ten operators in a row, most of them all to all; four Pis a site, four servers."""
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    row = (
        ("source", "FORWARD", 1.0),
        ("parse", "HASH", 0.5),
        ("clean", "REBALANCE", 1.0),
        ("enrich", "HASH", 1.0),
        ("window", "REBALANCE", 0.2),
        ("join", "HASH", 1.0),
        ("aggregate", "FORWARD", 0.5),
        ("model", "REBALANCE", 1.0),
        ("top", "HASH", 0.1),
        ("sink", "", 0.0),
    )
    operators, streams = [], []
    for i, (name, strategy, selectivity) in enumerate(row):
        rates = tuple(rng.uniform(200, 800) for _ in range(parallelism)) if i == 0 else ()
        operators.append(
            Operator(
                id=name,
                name=name,
                parallelism=parallelism,
                slot_sharing_group="all",
                born_at=tuple(f"pi-{k % sites}-{k // sites % 4}" for k in range(len(rates))),
                cost=OperatorCost(
                    operator=name,
                    classes=(
                        ClassCost(node_class="pi", true_rate_per_s=3_000),
                        ClassCost(node_class="server", true_rate_per_s=20_000),
                    ),
                    selectivity=None if i == 0 else selectivity,
                    demand=SourceDemand(rates_per_s=rates) if rates else None,
                ),
            )
        )
        if strategy:
            after = row[i + 1][0]
            streams.append(
                Stream(
                    source=name,
                    target=after,
                    ship_strategy=ShipStrategy(strategy),
                    cost=StreamCost(source=name, target=after, bytes_per_record=100.0),
                )
            )
    job = JobGraph(name="exchange", operators=tuple(operators), streams=tuple(streams))
    return job, pi_sites(4, 8, 4, 64, 128, [20.0] * sites)


def queries() -> Iterator[KnownCase]:
    known = {
        (8, 3, 1): 4_915_082.371,
        (8, 3, 2): 440_328.260,
        (8, 3, 3): 578_494.034,
        (8, 3, 4): 1_003_196.933,
        (8, 3, 5): 4_321_986.362,
        (8, 3, 7): math.nan,
        (10, 4, 3): 685_200.055,
        (10, 4, 1): math.nan,
    }
    for (slots, branches, seed), optimum in known.items():
        job, cluster, rules = multi_query(8, 2, slots, branches, seed)
        name = f"queries {slots},{branches},{seed}"
        yield KnownCase(name, job, cluster, rules, optimum=optimum)


def multi_query(
    sites: int, pis: int, slots: int, branches: int, seed: int
) -> tuple[JobGraph, Cluster, Rules]:
    """Return `branches` queries over all Pis: three operators a Pi each, then windows, a sink."""
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    n = sites * pis
    operators: list[Operator] = []
    streams: list[Stream] = []

    def add(name: str, load: float, rate: float, parallelism: int = 1, pi: int = -1) -> None:
        # Loads are those of one subtask at `rate` records/s; a server is four times as fast.
        classes = tuple(
            ClassCost(
                node_class=kind,
                true_rate_per_s=speed * rate / load,
                cpu_ms_per_record=1000 * load / speed / rate,
            )
            for kind, speed in (("pi", 1.0), ("server", 4.0))
        )
        operators.append(
            Operator(
                id=name,
                name=name,
                parallelism=parallelism,
                slot_sharing_group=name,
                born_at=(f"pi-{pi}",) if pi >= 0 else (),
                cost=OperatorCost(
                    operator=name,
                    classes=classes,
                    demand=SourceDemand(rates_per_s=(1.0,)) if pi >= 0 else None,
                ),
            )
        )

    def feed(a: str, b: str, bytes_per_s: float, strategy: ShipStrategy) -> None:
        cost = StreamCost(source=a, target=b, selectivity=1.0, bytes_per_record=bytes_per_s)
        streams.append(Stream(source=a, target=b, ship_strategy=strategy, cost=cost))

    rates = [rng.uniform(500, 2000) for _ in range(n)]
    windows = max(2, n // 2)
    pins = []
    for b in range(branches):
        for i in range(n):
            add(f"source{b}-{i}", 0.2, 1.0, pi=i)
        before, rate, size = "source", list(rates), 100.0
        for name in ("map", "filter", "agg"):
            selectivity = rng.choice([1.0, 0.3, 0.1, 1.5])
            smaller = size * rng.choice([1, 0.5, 2])
            loads = [min(1.0, r / rng.uniform(1500, 8000)) for r in rate]
            for i in range(n):
                add(f"{name}{b}-{i}", loads[i], 1.0)
                feed(f"{before}{b}-{i}", f"{name}{b}-{i}", rate[i] * size, ShipStrategy.FORWARD)
            before, rate, size = name, [r * selectivity for r in rate], smaller
        add(f"window{b}", 0.5, n / windows, windows)
        for i in range(n):
            feed(f"agg{b}-{i}", f"window{b}", rate[i] * size, ShipStrategy.HASH)
        add(f"sink{b}", 0.1, float(n))
        feed(f"window{b}", f"sink{b}", sum(rate) * 0.01 * size / n, ShipStrategy.REBALANCE)
        pins.append(Pin(operators=(f"sink{b}",), to="server"))
    total = sum(op.parallelism for op in operators)
    nodes = [
        Node(id=f"pi-{i}", site=f"site-{i // pis}", node_class="pi", cores=4) for i in range(n)
    ]
    server = Node(id="server", site="cloud", node_class="server", cores=4)
    ends = [*(f"site-{s}" for s in range(sites)), "cloud"]
    cluster = Cluster(
        sites=(
            Site(id="middle"),
            *(Site(id=s, tier="cloud" if s == "cloud" else "edge") for s in ends),
        ),
        nodes=(*nodes, server),
        task_managers=(
            *(TaskManager(id=node.id, node=node.id, slots=slots) for node in nodes),
            TaskManager(id="server", node="server", slots=total),
        ),
        # Half a way to the middle: one between any two.
        links=tuple(
            Link(source=s, target="middle", price_per_byte=0.5, both_ways=True) for s in ends
        ),
        cpu_target=1.0,
    )
    job = JobGraph(name="queries", operators=tuple(operators), streams=tuple(streams))
    return job, cluster, Rules(rules=tuple(pins))


def networks() -> Iterator[KnownCase]:
    for nodes in (32, 64, 128, 256, 512):
        for seed in (1, 2, 3):
            instance = network(nodes, seed)
            for objective in (("wan",), DEFAULT_OBJECTIVE):
                yield KnownCase(f"network {nodes},{seed}", *instance, objective)


def network(nodes: int, seed: int) -> tuple[JobGraph, Cluster, Rules]:
    """Return two sources, a join, a branch that meets again, and a sink on a small world.

    Of the nodes one in eight is a server. A Pi carries one or two of the operators, so the plan
    that were best without limits does not hold.
    """
    rng = random.Random(1000 * nodes + seed)  # noqa: S311 - an instance generator
    row = (
        ("source-0", (), 0.2),
        ("source-1", (), 0.2),
        ("filter-0", ("source-0",), 0.5),
        ("filter-1", ("source-1",), 0.5),
        ("join", ("filter-0", "filter-1"), 0.8),
        ("enrich", ("join",), 0.6),
        ("model", ("join",), 0.9),
        ("alert", ("enrich",), 0.4),
        ("merge", ("alert", "model"), 0.5),
        ("sink", ("merge",), 0.1),
    )
    ends = rng.sample(range(nodes), 3)
    inputs: dict[str, float] = {}
    operators, streams = [], []
    for name, feeds, load in row:
        rate = inputs[name] = sum(inputs[f] for f in feeds) or 1000.0
        is_source = not feeds
        operators.append(
            Operator(
                id=name,
                name=name,
                parallelism=1,
                slot_sharing_group=name,
                born_at=(f"node-{ends[int(name[-1])]}",) if is_source else (),
                cost=OperatorCost(
                    operator=name,
                    classes=(
                        ClassCost(node_class="pi", true_rate_per_s=rate / load),
                        ClassCost(node_class="server", true_rate_per_s=4 * rate / load),
                    ),
                    demand=SourceDemand(rates_per_s=(1000.0,)) if is_source else None,
                ),
            )
        )
        for source in feeds:
            size = rng.uniform(20, 200)
            streams.append(
                Stream(
                    source=source,
                    target=name,
                    ship_strategy=ShipStrategy.FORWARD,
                    cost=StreamCost(
                        source=source, target=name, selectivity=1.0, bytes_per_record=size
                    ),
                )
            )
    graph = nx.connected_watts_strogatz_graph(nodes, 4, 0.3, seed=seed)
    cluster = Cluster(
        sites=tuple(Site(id=f"site-{i}", tier="edge" if i % 8 else "cloud") for i in range(nodes)),
        nodes=tuple(
            Node(
                id=f"node-{i}",
                site=f"site-{i}",
                node_class="pi" if i % 8 else "server",
                cores=1 if i % 8 else 2,
            )
            for i in range(nodes)
        ),
        task_managers=tuple(
            TaskManager(id=f"node-{i}", node=f"node-{i}", slots=2) for i in range(nodes)
        ),
        links=tuple(
            Link(
                source=f"site-{a}",
                target=f"site-{b}",
                bandwidth_bytes_per_s=1e6,
                delay_ms=rng.uniform(1, 20),
                price_per_byte=rng.uniform(0.5, 2),
                both_ways=True,
            )
            for a, b in graph.edges
        ),
    )
    job = JobGraph(name="network", operators=tuple(operators), streams=tuple(streams))
    return job, cluster, Rules(rules=(Pin(operators=("sink",), to=f"node-{ends[2]}"),))


FAMILIES = {"tree": trees, "exchange": exchanges, "queries": queries, "networks": networks}


def measure(case: KnownCase, seconds: float) -> str:
    """Solve, and return a line of the table."""
    began, used = time.perf_counter(), time.process_time()
    result = solve(
        case.job, case.cluster, case.rules, objective=case.objective, time_limit_s=seconds
    )
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    subtasks = sum(op.parallelism for op in case.job.operators)
    value, bound = math.nan, math.nan
    if result.levels:
        value, bound = result.levels[0].value, result.levels[0].bound
    return (
        f"{case.name:>16} {subtasks:>8} {len(case.cluster.nodes):>6} {len(case.objective):>6} "
        f"{wall:>8.3f} {cpu:>8.3f} {result.status.value:>10} {value:>16.6f} {bound:>16.6f} "
        f"{case.optimum:>16.6f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one call")
    args = parser.parse_args()
    print(f"highspy {version('highspy')}, numpy {version('numpy')}")
    print(
        "            case subtasks  nodes levels   wall s    cpu s     status"
        "              wan            bound          optimum"
    )
    for family in args.only:
        for case in FAMILIES[family]():
            print(measure(case, args.seconds), flush=True)


if __name__ == "__main__":
    main()
