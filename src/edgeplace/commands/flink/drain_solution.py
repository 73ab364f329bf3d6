"""The solver's placement of jobs while a node is drained."""

from collections.abc import Sequence, Set

from edgeplace.adapters.flink.apply import JobNow, Obstacle
from edgeplace.adapters.flink.plans import Places
from edgeplace.adapters.flink.rest import LiveFlink
from edgeplace.model import Cluster, Costs, InvalidInputError, Plan, Result, Rules
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
    time_limit_s: float,
) -> tuple[dict[str, Places], list[Obstacle]]:
    """Place jobs with the fewest moves, then the least WAN traffic, on all but some TaskManagers.

    Parameters
    ----------
    jobs
        All that have subtasks there; those are placed that the costs are of.

    Returns
    -------
    Job id -> its placement by resource id, or why there is none.

    Raises
    ------
    InvalidInputError
        If the cluster, the costs or the rules do not fit the jobs and what is registered.
    FlinkUnreachableError
        If Flink does not answer.
    """
    measured = {_job_of(c, jobs).job.id: c for c in costs}
    chosen = [now for now in jobs if now.job.id in measured]
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
        [now.graph.with_costs(measured[now.job.id]) for now in chosen],
        cluster,
        rules,
        objective=_OBJECTIVE,
        current=Plan(jobs=current),
        time_limit_s=time_limit_s,
    )
    if result.plan is None:
        return {}, [_why_not(result, Terms.of(cluster))]
    return {
        now.job.id: {
            op: tuple(resource_id[t] for t in tms)
            for op, tms in result.plan.of(now.graph.name).items()
        }
        for now in chosen
    }, []


def _job_of(costs: Costs, jobs: Sequence[JobNow]) -> JobNow:
    """Return the one job that costs are of."""
    named = [now for now in jobs if now.job.name == costs.job]
    if len(named) != 1:
        raise InvalidInputError(
            f"the costs are of job {costs.job!r}: {len(named) or 'no'} jobs of this name run there",
            "give the costs of a job that runs there, or drain without --costs",
        )
    return named[0]


def _why_not(result: Result, terms: Terms) -> Obstacle:
    found = result.conflict
    if found is None:
        return Obstacle(
            f"the solver found no placement without it (stopped by {result.stopped_by.value})",
            "give more time with --timeout, or drain without --cluster",
        )
    what = "; ".join([*found.members, *(f"exceeded: {terms.limit(v)}" for v in found.shortfalls)])
    cure = found.cure
    if "stays on its node" in what:
        cure = (
            "the data of that source is taken to be born there: pin it to where it can be read "
            "too (--rules), or drain without --costs"
        )
    return Obstacle(f"no placement without it keeps all limits: {what}", cure)
