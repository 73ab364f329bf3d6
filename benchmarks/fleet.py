"""Wall time of `solve_fleet` from arrays to a checked plan, up to ten million subtasks.

    python benchmarks/fleet.py [--replicas 1000 10000 100000] [--workers 2] [--seed 1]

Each replica of a site has one Pi and two jobs of five subtasks, ten in all: a source and a sink
that stay where they are, and three in between. All replicas share a link of the exchange that they
hang on, and the cores and slots of a cloud; each of these three binds. Latency is limited, too.
Rates are lognormal, as are cores; links are alike to within a factor of four.

`--blas` solves each again with as many BLAS threads in every worker as there are cores, and prints
how much longer that takes, in wall time and in processor time.

The gap is certified: the evaluator has judged the plan, and the bound holds for every plan. Memory
is the largest that the process ever had.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from edgeplace.model import (
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
from edgeplace.solver.fleet import (
    Executor,
    Fleet,
    FleetResult,
    Part,
    Replicas,
    Threads,
    solve_fleet,
)

CORES, SLOTS, BYTES_PER_S = 0.0395, 2.55, 10_650.0
"""Of the cloud and the exchange's link, for each replica: less than the replicas would use."""


def job(name: str, rate: float, steps: list[tuple[float, float, float]]) -> JobGraph:
    """Return a chain; steps are records per core-second of a Pi, selectivity and bytes sent."""

    def operator(key: str, speed: float, selectivity: float, **more: object) -> Operator:
        cost = OperatorCost(
            operator=key,
            classes=(
                ClassCost(node_class="pi", true_rate_per_s=speed),
                ClassCost(node_class="server", true_rate_per_s=3 * speed),
            ),
            selectivity=selectivity,
            checkpointed_bytes=20_000,
            **({"demand": SourceDemand(rates_per_s=(rate,))} if key == "source" else {}),
        )
        return Operator(id=key, name=key, parallelism=1, cost=cost, **more)

    names = ["source", *(f"step-{i}" for i in range(len(steps))), "sink"]
    operators = [
        operator("source", 50_000, 1.0, born_at=("pi",)),
        *(
            operator(n, s, f, slot_sharing_group="default" if f > 0.2 else "heavy")
            for n, (s, f, _) in zip(names[1:-1], steps, strict=True)
        ),
        operator("sink", 50_000, 0.0),
    ]
    sizes = [120.0, *(size for _, _, size in steps)]
    streams = tuple(
        Stream(
            source=a,
            target=b,
            ship_strategy=ShipStrategy.FORWARD,
            cost=StreamCost(source=a, target=b, bytes_per_record=size),
        )
        for a, b, size in zip(names, names[1:], sizes, strict=False)
    )
    return JobGraph(
        name=name,
        operators=tuple(operators),
        streams=streams,
        buffer_timeout_ms=100,
        checkpoint_interval_ms=60_000,
    )


def fleet(replicas: int, seed: int) -> Fleet:
    """Return a fleet of so many replicas."""
    rng = np.random.default_rng(seed)
    jobs = [
        job("alerts", 80.0, [(900.0, 0.7, 120.0), (1500.0, 1.0, 60.0), (600.0, 0.05, 90.0)]),
        job("counts", 40.0, [(500.0, 0.5, 300.0), (700.0, 1.0, 200.0), (300.0, 0.1, 120.0)]),
    ]
    cluster = Cluster(
        sites=(Site(id="cloud", tier="cloud"), Site(id="exchange"), Site(id="shop")),
        nodes=(
            Node(id="cloud", site="cloud", node_class="server", cores=CORES * replicas),
            Node(id="pi", site="shop", node_class="pi", cores=0.5),
        ),
        task_managers=(
            TaskManager(id="cloud", node="cloud", slots=int(SLOTS * replicas)),
            TaskManager(id="pi", node="pi", slots=4),
        ),
        links=(
            Link(
                source="exchange",
                target="cloud",
                bandwidth_bytes_per_s=BYTES_PER_S * replicas,
                delay_ms=10,
                price_per_byte=0.2,
                both_ways=True,
            ),
            Link(source="shop", target="exchange", delay_ms=20, both_ways=True),
        ),
        checkpoint_storage="cloud",
        mtu_bytes=1500,
    )
    rules = Rules(
        rules=tuple(Pin(operators=("sink",), to="cloud", job=j.name) for j in jobs),
        max_latency_ms=345.0,
    )
    columns = Replicas(
        replicas,
        rates={j.name: np.clip(rng.lognormal(0.0, 0.4, replicas), 0.4, 2.2) for j in jobs},
        cores={"pi": 0.5 * rng.lognormal(0.0, 0.3, replicas)},
        bandwidth_bytes_per_s=rng.uniform(5e4, 2e5, replicas),
        delay_ms=rng.uniform(5.0, 40.0, replicas),
        price_per_byte=rng.uniform(0.5, 2.0, replicas),
    )
    return Fleet(jobs, cluster, {"shop": columns}, rules)


R = TypeVar("R")


class Unbridled:
    """An executor on this machine that leaves BLAS its threads."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers)
        self._parts: Sequence[Part] = ()

    def spread(self, parts: Sequence[Part]) -> "Unbridled":
        """Keep parts in memory."""
        self._parts = parts
        return self

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return what a function says of each part, in their order."""
        return list(self._pool.map(function, self._parts))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def took(made: Fleet, executor: Executor) -> tuple[float, float]:
    """Return the wall time and the processor time of solving a fleet."""
    wall, cpu = time.monotonic(), time.process_time()
    solve_fleet(made, executor=executor)
    return time.monotonic() - wall, time.process_time() - cpu


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replicas", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blas", action="store_true", help="compare with all BLAS threads")
    options = parser.parse_args()
    print(
        "subtasks    status    gap       seconds  of these: patterns prices plan check  GB  binds"
    )
    for replicas in options.replicas:
        made = fleet(replicas, options.seed)
        result = solve_fleet(made, workers=options.workers)
        print(f"{10 * replicas:<11,} {line(result)}", flush=True)
        if options.blas:
            ours = took(made, Threads(options.workers))
            theirs = took(made, Unbridled(options.workers))
            wall, cpu = (b / a for a, b in zip(ours, theirs, strict=True))
            print(f"with all BLAS threads: {wall:.2f} times the wall time, {cpu:.2f} of processors")


def line(result: FleetResult) -> str:
    """Return a result in a line."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    took = result.runtime_s
    steps = " ".join(f"{took.get(k, 0):.2f}" for k in ("patterns", "prices", "plan", "check"))
    binds = ", ".join(result.prices) or result.conflict
    return f"{result.status:<9} {result.gap:<9.1e} {took['all']:<8.2f} {steps}  {used:.1f}  {binds}"


if __name__ == "__main__":
    main()
