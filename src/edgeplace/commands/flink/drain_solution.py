"""The solver's placement of jobs while a node is drained."""

from collections.abc import Sequence, Set

from edgeplace.adapters.flink.apply import JobNow, Obstacle
from edgeplace.adapters.flink.plans import Places
from edgeplace.adapters.flink.rest import LiveFlink
from edgeplace.case.births import with_births
from edgeplace.model import (
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    LimitKind,
    Plan,
    Result,
    Rules,
    without_jobs,
)
from edgeplace.solver import solve
from edgeplace.views.terms import Terms

_OBJECTIVE = ("moves", "wan")


def solved_elsewhere(
    live: LiveFlink,
    jobs: Sequence[JobNow],
    off: Set[str],
    user: Cluster,
    costs: Sequence[Costs],
    rules: Rules | None,
    own: Sequence[JobGraph],
    time_limit_s: float,
) -> tuple[dict[str, Places], list[Obstacle]]:
    """Place jobs with the fewest moves, then the least WAN traffic, on all but some TaskManagers.

    Parameters
    ----------
    jobs
        All that have subtasks there; those are placed that the costs are of.
    rules
        What they say of other jobs that run does not matter here.
    own
        The user's own graphs of jobs: `born_at` of their sources counts, which Flink does not
        know. Other sources stay where they run.

    Returns
    -------
    Job id -> its placement by resource id, or why there is none.

    Raises
    ------
    InvalidInputError
        If the cluster, the costs, the rules or the user's own graphs do not fit the jobs and what
        is registered.
    FlinkUnreachableError
        If Flink does not answer.
    """
    measured = {_job_of(c.job, "costs", jobs).job.id: c for c in costs}
    said = {_job_of(mine.name, "job files", jobs).job.id: mine for mine in own}
    chosen = [now for now in jobs if now.job.id in measured]
    elsewhere = {job.name for job in live.jobs()} - {now.job.name for now in chosen}
    cluster, users_id = live.users_cluster(user)
    resource_id = {mine: rid for rid, mine in users_id.items()}
    slots = {}
    for tm in cluster.task_managers:
        held = live.slots_held(resource_id[tm.id])
        others = sum(held.values()) - sum(held[now.job.id] for now in chosen)
        slots[tm.id] = 0 if resource_id[tm.id] in off else tm.slots - others
    cluster = cluster.model_copy(
        update={
            "task_managers": tuple(
                tm.model_copy(update={"slots": slots[tm.id]}) for tm in cluster.task_managers
            )
        }
    )
    current = {
        now.graph.name: {
            op: tuple(users_id.get(rid, rid) for rid in rids) for op, rids in now.places.items()
        }
        for now in chosen
    }
    result = solve(
        [
            _born_as_said(now.graph, said.get(now.job.id), user).with_costs(measured[now.job.id])
            for now in chosen
        ],
        cluster,
        rules and without_jobs(rules, elsewhere),
        objective=_OBJECTIVE,
        current=Plan(jobs=current),
        time_limit_s=time_limit_s,
    )
    if result.plan is None:
        closed = {tm.id for tm in cluster.task_managers if resource_id[tm.id] in off}
        return {}, [_why_not(result, Terms.of(cluster), closed, [now.graph for now in chosen])]
    return {
        now.job.id: {
            op: tuple(resource_id[t] for t in tms)
            for op, tms in result.plan.of(now.graph.name).items()
        }
        for now in chosen
    }, []


def _born_as_said(job: JobGraph, own: JobGraph | None, cluster: Cluster) -> JobGraph:
    """Return a job whose sources are born where the user's own graph says."""
    if own is None:
        return job
    ids = {op.id for op in job.operators}
    births = {
        job.operator(mine.id if mine.id in ids else mine.name).id: mine.born_at
        for mine in own.operators
        if mine.born_at
    }
    operators = tuple(
        op.model_copy(update={"born_at": births[op.id]}) if op.id in births else op
        for op in job.operators
    )
    return with_births(job.revised(operators=operators), cluster)


def _job_of(name: str, what: str, jobs: Sequence[JobNow]) -> JobNow:
    """Return the one job of a name."""
    named = [now for now in jobs if now.job.name == name]
    if len(named) != 1:
        raise InvalidInputError(
            f"the {what} are of job {name!r}: {len(named) or 'no'} jobs of this name run there",
            f"give the {what} of a job that runs there, or drain without --costs",
        )
    return named[0]


def _why_not(
    result: Result, terms: Terms, closed: Set[str], graphs: Sequence[JobGraph]
) -> Obstacle:
    found = result.conflict
    if found is None:
        return Obstacle(
            f"the solver found no placement without it (stopped by {result.stopped_by.value})",
            "give more time with --timeout, or drain without --cluster",
        )
    what = "; ".join([*found.members, *(f"exceeded: {terms.limit(v)}" for v in found.shortfalls)])
    cure = found.cure
    if "stays on its node" in what or "is born at" in what:
        cure = (
            "the data of that source is taken to be born there; if it can be read elsewhere too, "
            "say so by born_at in its job file (--job-file) or by a pin rule (--rules); or drain "
            "without --costs"
        )
    elif any(c.kind is LimitKind.SLOTS and c.where in closed for c in found.changes):
        cure = (
            "what is drained takes nothing: let the rules allow other places, give other nodes "
            "more slots, or drain without --costs"
        )
    return Obstacle(
        _by_name(f"no placement without it keeps all limits: {what}", graphs),
        _by_name(cure, graphs),
    )


def _by_name(text: str, graphs: Sequence[JobGraph]) -> str:
    """Return a text with names instead of JobVertexIDs, by which rules may name operators."""
    for op in (op for graph in graphs for op in graph.operators):
        text = text.replace(op.id, op.name)
    return text
