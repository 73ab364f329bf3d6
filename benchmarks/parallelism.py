"""`solve --parallelism all` beside DS2's parallelism, then `solve`: value, bound and seconds.

    python benchmarks/parallelism.py [--only 150 1500] [--seconds 120]

Pipelines on Pis (source, parse, filter, joined by FORWARD), then window, model and sink behind
HASH and REBALANCE exchanges; four Pis or more a site, servers at a hub. DS2's parallelism is the
least with which every thread keeps up on the fastest class, with the largest share of key groups
that a subtask gets (V. Kalavri et al., OSDI 2018). One run each on one thread; seconds are wall
and processor time. `searched` of `vectors` combinations were searched one by one, all others were
ruled out by bounds, except for `open`.
"""

import argparse
import math
import random
import time

from pi_sites import pi_sites

from edgeplace.model import (
    Case,
    ClassCost,
    Cluster,
    JobGraph,
    Operator,
    OperatorCost,
    Result,
    ShipStrategy,
    SourceDemand,
    Stream,
    StreamCost,
)
from edgeplace.solver import solve, solve_case

SIZES = {"150": (10, 4, 12), "1500": (50, 9, 60)}
"""Sites, Pis a site, and the parallelism of the window that runs."""
ROW = (
    # operator, records/s of a thread on a Pi and on a server, selectivity, then the stream to the
    # next: strategy and bytes a record
    ("source", 20_000.0, 100_000.0, None, "FORWARD", 120.0),
    ("parse", 3_000.0, 15_000.0, 1.0, "FORWARD", 150.0),
    ("filter", 2_500.0, 12_000.0, 0.4, "HASH", 90.0),
    ("window", 1_200.0, 6_000.0, 0.1, "HASH", 60.0),
    ("model", 150.0, 800.0, 1.0, "REBALANCE", 40.0),
    ("sink", 5_000.0, 20_000.0, 1.0, "", 0.0),
)


def instance(sites: int, pis: int, window: int, seed: int = 1) -> tuple[JobGraph, Cluster]:
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    n = sites * pis
    parallelism = dict.fromkeys(("source", "parse", "filter"), n)
    parallelism |= {"window": window, "model": window // 2, "sink": window // 4}
    operators, streams = [], []
    for i, (name, pi, server, selectivity, strategy, size) in enumerate(ROW):
        rates = tuple(rng.uniform(200, 800) for _ in range(n)) if i == 0 else ()
        operators.append(
            Operator(
                id=name,
                name=name,
                parallelism=parallelism[name],
                born_at=tuple(f"pi-{k // pis}-{k % pis}" for k in range(len(rates))),
                cost=OperatorCost(
                    operator=name,
                    classes=(
                        ClassCost(node_class="pi", true_rate_per_s=pi),
                        ClassCost(node_class="server", true_rate_per_s=server),
                    ),
                    selectivity=selectivity,
                    demand=SourceDemand(rates_per_s=rates) if rates else None,
                ),
            )
        )
        if strategy:
            after = ROW[i + 1][0]
            cost = StreamCost(source=name, target=after, bytes_per_record=size)
            streams.append(
                Stream(source=name, target=after, ship_strategy=ShipStrategy(strategy), cost=cost)
            )
    delays_ms = [rng.choice([10, 20, 30]) for _ in range(sites)]
    cluster = pi_sites(pis, 2, max(2, n // 20), 32, 16, delays_ms)
    return JobGraph(name="edge", operators=tuple(operators), streams=tuple(streams)), cluster


def ds2(job: JobGraph) -> dict[str, int]:
    """Return DS2's parallelism of the operators behind the exchanges."""
    source = job.operators[0].cost
    rate = sum(source.demand.rates_per_s) if source and source.demand else 0.0
    wanted = {}
    for name, _, server, selectivity, *_ in ROW:
        if name in ("window", "model", "sink"):
            groups = job.operator(name).max_parallelism
            n = 1
            while rate * math.ceil(groups / n) / groups > server:
                n += 1
            wanted[name] = n
        rate *= selectivity if selectivity is not None else 1.0
    return wanted


def measured(solved: Result, began: tuple[float, float]) -> str:
    wall, cpu = time.monotonic() - began[0], time.process_time() - began[1]
    levels = "  ".join(f"{v.name} {v.value:.6g} (bound {v.bound:.6g})" for v in solved.levels)
    return f"{solved.status.value:10} wall {wall:6.1f} s, cpu {cpu:6.1f} s  {levels}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--seconds", type=float, help="time limit of each call")
    args = parser.parse_args()
    for size in args.only:
        job, cluster = instance(*SIZES[size])
        subtasks = sum(op.parallelism for op in job.operators)
        print(f"{size}: {subtasks} subtasks, {len(cluster.nodes)} nodes", flush=True)
        began = time.monotonic(), time.process_time()
        wanted = ds2(job)
        case = Case((job,), cluster).with_parallelism({job.name: wanted})
        print(f"  DS2, then solve  {wanted}", flush=True)
        print(f"    {measured(solve_case(case, time_limit_s=args.seconds), began)}", flush=True)
        began = time.monotonic(), time.process_time()
        found = solve(job, cluster, parallelism="all", time_limit_s=args.seconds)
        chosen = found.chosen
        print(f"  parallelism all  {chosen.parallelism.get(job.name) if chosen else None}")
        print(f"    {measured(found, began)}")
        if chosen:
            print(
                f"    {chosen.searched} of {chosen.vectors} vectors searched, "
                f"{chosen.vectors - chosen.searched - chosen.open} ruled out, {chosen.open} open",
                flush=True,
            )


if __name__ == "__main__":
    main()
