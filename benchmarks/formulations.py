"""Build and proof time of three linearisations of the same placement, side by side in one run.

    python benchmarks/formulations.py [--sites 4 8 16 32] [--seconds 60]

A star of sites with three Pis each and two servers at the hub; a job with a pipeline of five
operators a site and three joins that may run anywhere. The optimum is the same in every form:

* tree-cut: what `edgeplace solve` uses on trees (solver/formulation/crossings.py, TreeCrossings);
* ODP: one column per stream and pair of places, tied by flow rows (PairCrossings; Cardellini et
  al., DEBS'16);
* textbook: the same columns, tied by ``y_uv >= x_u + x_v - 1`` (baselines, TextbookCrossings).

Every Pi and server is a site of its own here, so that traffic between the Pis of a site counts.
Build is from the linear model's first row to the solver's last; proof is to a relative gap of
1e-7, by HiGHS on one thread, without a start.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version

from edgeplace.model import (
    ClassCost,
    Cluster,
    JobGraph,
    Link,
    Match,
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
from edgeplace.solver.baselines.textbook import TextbookCrossings
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.formulation import formulate
from edgeplace.solver.formulation.crossings import (
    Crossings,
    PairCrossings,
    SiteExpressions,
    TreeCrossings,
)
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.problem import Problem, build

JOINS, PIS, SERVERS = 3, 3, 2


def instance(sites: int, seed: int = 1) -> tuple[JobGraph, Cluster]:
    """Return the star instance: 5 operators a site, 3 joins, a sink; 3 Pis a site, 2 servers."""
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    places = [Site(id="hub", tier="cloud")]
    nodes: list[Node] = []
    links: list[Link] = []

    def join(a: str, b: str, price: float) -> None:
        links.append(Link(source=a, target=b, price_per_byte=price, both_ways=True))

    def machine(name: str, cores: float, hosts: Iterable[int], tier: str = "edge") -> None:
        places.append(Site(id=name, tier=tier))
        labels = {f"hosts-{s}": "yes" for s in hosts}
        nodes.append(Node(id=name, site=name, cores=cores, labels=labels))

    for s in range(sites):
        places.append(Site(id=f"site-{s}"))
        join(f"site-{s}", "hub", rng.choice([1.0, 1.5, 2.0, 4.0]))
        for p in range(PIS):
            machine(f"pi-{s}-{p}", 1.0, [s])
            join(f"pi-{s}-{p}", f"site-{s}", 0.01)
    for c in range(SERVERS):
        machine(f"server-{c}", 8.0 * sites, range(sites), "cloud")
        join(f"server-{c}", "hub", 0.005)
    operators: list[Operator] = []
    streams: list[Stream] = []

    def operator(
        name: str, load: float, rate: float, out: float, born: tuple[str, ...] = ()
    ) -> str:
        # A record rate of 1 makes loads and stream rates independent of one another.
        operators.append(
            Operator(
                id=name,
                name=name,
                parallelism=1,
                slot_sharing_group=name,
                born_at=born,
                cost=OperatorCost(
                    operator=name,
                    classes=(
                        ClassCost(
                            node_class="default",
                            true_rate_per_s=rate / min(load, 1.0),
                            cpu_ms_per_record=1000 * load / rate,
                        ),
                    ),
                    demand=SourceDemand(rates_per_s=(1.0,)) if born else None,
                ),
            )
        )
        return name

    def stream(a: str, b: str, rate: float, bytes_per_s: float) -> None:
        streams.append(
            Stream(
                source=a,
                target=b,
                ship_strategy=ShipStrategy.FORWARD,
                cost=StreamCost(source=a, target=b, selectivity=rate, bytes_per_record=bytes_per_s),
            )
        )

    joined = dict.fromkeys(range(JOINS), 0)
    for s in range(sites):
        r = rng.uniform(50, 150)
        src = operator(f"src-{s}", 0.05, 1.0, r, (f"pi-{s}-{rng.randrange(PIS)}",))
        parse = operator(f"parse-{s}", rng.uniform(0.2, 0.5), 1.0, r)
        b = r * rng.uniform(0.8, 1.6)
        keep = operator(f"filter-{s}", rng.uniform(0.1, 0.4), 1.0, b)
        f = b * rng.uniform(0.2, 0.7)
        agg = operator(f"agg-{s}", rng.uniform(0.3, 0.7), 1.0, f)
        model = operator(f"model-{s}", rng.uniform(0.4, 0.9), 1.0, f)
        stream(src, parse, 1.0, r)
        stream(parse, keep, 1.0, b)
        stream(keep, agg, 1.0, f)
        stream(keep, model, 1.0, f * 0.6)
        g = rng.randrange(JOINS)
        joined[g] += 2
        stream(agg, f"join-{g}", 1.0, f * rng.uniform(0.05, 0.4))
        stream(model, f"join-{g}", 1.0, f * rng.uniform(0.05, 0.9))
    for g in range(JOINS):
        operator(f"join-{g}", 1.0, max(joined[g], 1), 5.0)
        stream(f"join-{g}", "sink", 1 / max(joined[g], 1), 5.0)
    operator("sink", 0.1, JOINS, 0.0)
    job = JobGraph(name=f"star-{sites}", operators=tuple(operators), streams=tuple(streams))
    cluster = Cluster(
        sites=tuple(places),
        nodes=tuple(nodes),
        task_managers=tuple(TaskManager(id=n.id, node=n.id, slots=len(operators)) for n in nodes),
        links=tuple(links),
        cpu_target=1.0,
    )
    return job, cluster


def rules(job: JobGraph) -> Rules:
    """Pipelines run on their own site's Pis or on a server, the sink on the first server."""
    kept: list[Match | Pin] = [Pin(operators=("sink",), to="server-0")]
    for op in job.operators:
        kind, _, s = op.id.partition("-")
        if kind in ("parse", "filter", "agg", "model"):
            kept.append(Match(operators=(op.id,), labels={f"hosts-{s}": "yes"}))
    return Rules(rules=tuple(kept))


def measure(name: str, problem: Problem, seconds: float) -> str:
    """Build, prove, and return a line of the table."""
    began = time.perf_counter()
    form = formulate(problem, ["wan"], form=FORMS[name])
    loaded = Milp(form.model)
    built = time.perf_counter()
    objective = form.model.objectives["wan"]
    answer = loaded.minimise(objective, seconds=seconds, gap=0.0, start=None)
    done = time.perf_counter()
    value = float("nan")
    if answer.values is not None:
        value = assess(problem, form.assignment(answer.values)).wan_cost
    gap = (value - answer.bound) / value
    return (
        f"{problem.n:>8} {problem.m:>6} {name:>9} {len(form.model.upper):>9,} "
        f"{form.model.n_rows:>9,} {built - began:>8.2f} {done - built:>8.2f} "
        f"{answer.outcome.value:>9} {value:>12.4f} {gap:>9.2e}"
    )


FORMS: dict[str, Callable[[Problem, LinearModel, SiteExpressions], Crossings]] = {
    "tree-cut": TreeCrossings,
    "ODP": PairCrossings,
    "textbook": TextbookCrossings,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one proof")
    args = parser.parse_args()
    print(f"highspy {version('highspy')}, pulp {version('pulp')}, numpy {version('numpy')}")
    print(
        "subtasks  nodes      form   columns      rows  build s  proof s   outcome"
        "        value       gap"
    )
    for sites in args.sites:
        job, cluster = instance(sites)
        problem = build([job], cluster, rules(job))
        for name in FORMS:
            print(measure(name, problem, args.seconds), flush=True)


if __name__ == "__main__":
    main()
