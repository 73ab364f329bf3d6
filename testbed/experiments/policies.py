"""Placements of one job under several policies, with their predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeplace import Cluster, JobGraph, Plan, Rules, evaluate, solve
from edgeplace.model import Evaluation, Operator, Pin, ShipStrategy
from edgeplace.solver import policies
from testbed.errors import TestbedError
from testbed.world import CLOUD, EDGE_SITES, PIS, SERVER

FLINK = "Flink's default"
EDGEPLACE = "edgeplace"
# The rate comes first, because a full WAN or Pi loses data. Of all placements within 2 % of the
# best rate, the one with the least traffic is chosen.
OBJECTIVE = ("throughput:2%", "wan", "latency", "server_cores")
_SOLVE_SECONDS = 60.0
_ROUNDS = 20
_CONVERGED = 1e-5
_PLANS = 5
_COMMITTER = ": Committer"


@dataclass(frozen=True)
class PolicyChoice:
    """A placement, and the policies that choose it."""

    policies: tuple[str, ...]
    plan: Plan


def sinks(job: JobGraph) -> list[Operator]:
    """Return the operators that write results: those without output, with any name.

    A sink with a committer operator (`NAME: Committer`) writes in the operator before it.
    """
    fed = {s.source for s in job.streams}
    ends = [op for op in job.operators if op.id not in fed]
    committers = {op.id for op in ends if op.name.endswith(_COMMITTER)}
    writers = {s.source for s in job.streams if s.target in committers}
    return [op for op in job.operators if op in ends or op.id in writers]


def rules(job: JobGraph) -> Rules:
    """Return the rules of every placement: results are needed in the cloud."""
    return Rules(rules=(Pin(operators=tuple(op.id for op in sinks(job)), to=CLOUD),))


def with_rate(job: JobGraph, per_subtask: float) -> JobGraph:
    """Return the job with a rate in records per second for each source subtask."""
    for source in job.sources():
        job = job.with_source_rate(source.id, per_subtask * source.parallelism)
    return job


def without_state(job: JobGraph) -> JobGraph:
    """Return the job without checkpointed bytes."""
    operators = tuple(
        op.model_copy(update={"cost": op.cost.model_copy(update={"checkpointed_bytes": 0.0})})
        if op.cost
        else op
        for op in job.operators
    )
    return job.revised(operators=operators, notes=job.notes)


def over(cluster: Cluster, mbit_per_s: float) -> Cluster:
    """Return the cluster with another rate of its links, and without reserve, to find the highest
    rate that a placement can sustain.
    """
    bytes_per_s = mbit_per_s * 1e6 / 8
    links = tuple(
        link.model_copy(update={"bandwidth_bytes_per_s": bytes_per_s}) for link in cluster.links
    )
    return cluster.model_copy(update={"links": links, "cpu_target": 1.0, "link_target": 1.0})


def at_core_speed(cluster: Cluster, relative: float) -> Cluster:
    """Return the cluster with the work of its cores, in core-seconds of the cores on which costs
    were measured.

    Parameters
    ----------
    relative
        Speed of the cores over that of those.
    """
    nodes = tuple(n.model_copy(update={"cores": relative * n.cores}) for n in cluster.nodes)
    return cluster.model_copy(update={"nodes": nodes})


def without_background(cluster: Cluster, background_cores: Mapping[str, float]) -> Cluster:
    """Return the cluster with what its TaskManagers leave of the cores: one runs on each node.

    Parameters
    ----------
    background_cores
        Node class -> cores that a TaskManager uses without records.
    """
    nodes = tuple(
        n.model_copy(update={"cores": n.cores - background_cores.get(n.node_class, 0.0)})
        for n in cluster.nodes
    )
    return cluster.model_copy(update={"nodes": nodes})


def born_at_sites(job: JobGraph) -> JobGraph:
    """Return the job with the data of source subtask i produced at site i, modulo the number of
    sites.
    """
    operators = tuple(
        op.model_copy(update={"born_at": _in_turn(EDGE_SITES, op)}) if op in job.sources() else op
        for op in job.operators
    )
    return job.revised(operators=operators, notes=job.notes)


def _in_turn(places: Sequence[str], op: Operator) -> tuple[str, ...]:
    """Return a place for each subtask of an operator, in turn."""
    return tuple(places[i % len(places)] for i in range(op.parallelism))


def at_the_edge(job: JobGraph) -> Plan:
    """Return a placement with each operator that has a subtask for each site at the sites, and the
    others on the server.
    """
    pis = tuple(PIS.values())
    here = {op.parallelism for op in job.sources()}
    elsewhere = _hashed(job) | {op.id for op in sinks(job)}
    return Plan(
        jobs={
            job.name: {
                op.id: _in_turn(pis, op)
                if op.parallelism in here and op.id not in elsewhere
                else (SERVER,) * op.parallelism
                for op in job.operators
            }
        }
    )


def half_and_half(job: JobGraph) -> Plan:
    """Return a placement that shows each operator of several subtasks on both classes of machine.

    Of an operator that may run at the sites, the first subtask is on its Pi, and the others are on
    the server. Of an operator behind a HASH, the last subtask is on a Pi. Operators with one
    subtask are on the server.
    """
    pis = list(PIS.values())
    places = dict(at_the_edge(job).of(job.name))
    for op in job.operators:
        if op.parallelism > 1 and op not in job.sources() and op not in sinks(job):
            rest = [SERVER] * (op.parallelism - 1)
            places[op.id] = (*rest, pis[-1]) if op.id in _hashed(job) else (pis[0], *rest)
    return Plan(jobs={job.name: places})


def _hashed(job: JobGraph) -> set[str]:
    return {s.target for s in job.streams if s.ship_strategy is ShipStrategy.HASH}


def between_data_and_use(job: JobGraph, seen: Mapping[str, Sequence[str]]) -> Plan:
    """Return stock Flink's placement, with other places for sources and sink.

    Flink does not know where data is produced and results are needed, so the sources and the sink
    are moved there.
    """
    pis = tuple(PIS.values())
    places = {op.id: tuple(seen[op.id]) for op in job.operators}
    places |= {op.id: _in_turn(pis, op) for op in job.sources()}
    places |= {op.id: (SERVER,) * op.parallelism for op in sinks(job)}
    return Plan(jobs={job.name: places})


def choices(job: JobGraph, cluster: Cluster, flink: Plan) -> list[PolicyChoice]:
    """Return the placements of all policies, each once.

    Parameters
    ----------
    job
        The job with costs, and with the rate for the comparison.
    flink
        Stock Flink's placement.

    Raises
    ------
    TestbedError
        If edgeplace does not prove that its placement is the best.
    """
    named = {FLINK: flink}
    named |= {
        p.name: p.plan
        for p in policies(job, cluster, rules(job))
        if p.name in ("all-server", "threshold")
    }
    named[EDGEPLACE] = _proven(job, cluster)
    found: dict[str, list[str]] = {}
    plans: dict[str, Plan] = {}
    for name, plan in named.items():
        key = str(sorted(plan.of(job.name).items()))
        found.setdefault(key, []).append(name)
        plans[key] = plan
    return [PolicyChoice(tuple(names), plans[key]) for key, names in found.items()]


def _proven(job: JobGraph, cluster: Cluster) -> Plan:
    """Return the placement that sustains most.

    The output of combiners is not proportional to the rate, so the solver runs again at the rate
    that its answer sustains, as long as the answer improves.
    """
    best: Plan | None = None
    most = 0.0
    for _ in range(_PLANS):
        result = solve(job, cluster, rules(job), objective=OBJECTIVE, time_limit_s=_SOLVE_SECONDS)
        if result.plan is None or result.status.value != "optimal":
            raise TestbedError(f"{job.name}: no proven plan but {result.status}: {result.conflict}")
        rate, _ = sustained_per_subtask(job, cluster, result.plan)
        if best is not None and rate <= most:
            break
        best, most = result.plan, rate
        if rate > 0:
            job = with_rate(job, rate)
    assert best is not None  # noqa: S101 - the first is better than none
    return best


def sustained_per_subtask(job: JobGraph, cluster: Cluster, plan: Plan) -> tuple[float, Evaluation]:
    """Return the rate of a source subtask at which the first limit is reached, and the evaluation.

    Because of headers, traffic grows more slowly than the rate, so the headroom is computed again
    at the rate that it yields.
    """
    [source, *_] = job.sources()
    if source.cost is None or source.cost.demand is None:
        raise TestbedError(f"{job.name}: the rate of its sources is not known")
    rate = sum(source.cost.demand.rates_per_s) / source.parallelism
    for _ in range(_ROUNDS):
        verdict = evaluate(with_rate(job, rate), cluster, plan)
        rate *= verdict.sustained
        if abs(verdict.sustained - 1) < _CONVERGED:
            break
    return rate, verdict
