"""Four queries on one source: each for itself, all at once, and in one job that shares the source.

    python benchmarks/four_queries.py

They are those of `instances/four-queries`: in the style of RIoTBench's ETL, STATS, PRED and TRAIN.
Three ways to plan them:

* one after the other: each query is placed on what the ones before leave;
* all at once: `solve([jobs])`, one proof for all four;
* one job: the readings that are needed in the cloud cross the link once, to a relay that hands them
  on. Of the 16 choices of queries that read from the relay, the best.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

from edgeplace.model import (
    Case,
    Cluster,
    JobGraph,
    Operator,
    Pin,
    Result,
    Rules,
    Stream,
    read,
    without_use,
)
from edgeplace.solver import job_uses, solve, solve_case

FOLDER = Path(__file__).parents[1] / "instances" / "four-queries"
NAMES = ("etl", "stats", "predict", "train")
QUERIES = {name: read(FOLDER / f"{name}.yaml", JobGraph) for name in NAMES}
CLUSTER = read(FOLDER / "cluster.yaml", Cluster)
RULES = read(FOLDER / "rules.yaml", Rules)
SENSORS, RELAY = "sensors", "relay"


def renamed(op: Operator, name: str) -> Operator:
    cost = op.cost and op.cost.model_copy(update={"operator": name})
    return op.model_copy(
        update={"id": name, "name": name, "slot_sharing_group": name, "cost": cost}
    )


def between(s: Stream, source: str, target: str) -> Stream:
    ends = {"source": source, "target": target}
    return s.model_copy(update={**ends, "cost": s.cost and s.cost.model_copy(update=ends)})


def relayed() -> tuple[Operator, Stream]:
    """Return the relay, and the stream on which it gets each reading."""
    store = QUERIES["etl"].operator("store")
    (first,) = (s for s in QUERIES["etl"].streams if s.source == SENSORS)
    return renamed(store, RELAY), between(first, SENSORS, RELAY)


def parts(query: str, reads: str) -> tuple[list[Operator], list[Stream]]:
    """Return the operators of a query and their streams, of which the first reads elsewhere."""

    def named(id_: str) -> str:
        return reads if id_ == SENSORS else f"{query}-{id_}"

    operators = [renamed(o, named(o.id)) for o in QUERIES[query].operators if o.id != SENSORS]
    streams = [between(s, named(s.source), named(s.target)) for s in QUERIES[query].streams]
    return operators, streams


def together(behind: Sequence[str]) -> JobGraph:
    """Return one job of all queries, some of which read from the relay."""
    operators, streams = [QUERIES["etl"].operator(SENSORS)], []
    if behind:
        relay, read_by_it = relayed()
        operators.append(relay)
        streams.append(read_by_it)
    for query in QUERIES:
        more, fed = parts(query, RELAY if query in behind else SENSORS)
        operators += more
        streams += fed
    return JobGraph(name="all", operators=tuple(operators), streams=tuple(streams))


def held_together() -> Rules:
    """Return the rules for one job of all queries."""
    return Rules(
        rules=tuple(
            rule.model_copy(
                update={"job": "all", "operators": tuple(f"{rule.job}-{o}" for o in rule.operators)}
            )
            for rule in RULES.rules
            if isinstance(rule, Pin)
        )
    )


def one_after_the_other() -> float:
    left, total = CLUSTER, 0.0
    for job in QUERIES.values():
        own = Rules(rules=tuple(rule for rule in RULES.rules if rule.job == job.name))
        found = solve(job, left, own, ("wan",))
        assert found.plan and found.evaluation
        total += found.evaluation.wan_bytes_per_s
        left = without_use(left, job_uses([job], left, found.plan).values())
    return total


def said(title: str, wan: float, bound: float | None) -> None:
    proved = "" if bound is None else f"   bound {bound / 1000:8.2f} kB/s"
    print(f"{title:<24}{wan / 1000:8.2f} kB/s{proved}")


def main() -> None:
    jobs = list(QUERIES.values())
    before = one_after_the_other()
    said("one after the other", before, None)
    all_at_once = solve(jobs, CLUSTER, RULES, ("wan",))
    assert all_at_once.evaluation
    said("all at once", all_at_once.evaluation.wan_bytes_per_s, all_at_once.bound)
    found: list[tuple[float, tuple[str, ...], Result]] = []
    for n in range(len(QUERIES) + 1):
        for behind in itertools.combinations(QUERIES, n):
            job = together(behind)
            result = solve_case(Case((job,), CLUSTER, held_together()), objective=("wan",))
            if result.evaluation:
                found.append((result.evaluation.wan_bytes_per_s, behind, result))
    wan, behind, best = min(found, key=lambda f: f[:2])
    bound = min(r.bound or 0.0 for _, _, r in found)
    said("one job", wan, bound)
    print(f"behind the link read: {', '.join(behind)}; {best.status.value}")
    print(f"one job sends {1 - wan / all_at_once.evaluation.wan_bytes_per_s:.1%} less")


if __name__ == "__main__":
    main()
