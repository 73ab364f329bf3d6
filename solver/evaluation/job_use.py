"""The resources of the cluster that each job uses under a plan."""

from collections.abc import Sequence

import numpy as np

from edgeplace.model import (
    AMOUNTS,
    Cluster,
    JobGraph,
    JobUse,
    Period,
    Plan,
    with_weights,
)
from edgeplace.solver.arrays import Floats
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build_as_placed
from edgeplace.solver.problem.day import demand_by_job


def job_uses(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    demand: Sequence[Period] = (),
) -> dict[str, JobUse]:
    """Return job name -> its use of TaskManagers, nodes and links.

    Streams send by the weights of the plan. Jobs share no slot, and links carry the sum of what
    they send. Of a demand with periods, each figure is that of the period in which it is most:
    what another job must leave free.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    jobs = with_weights(
        [job_graph] if isinstance(job_graph, JobGraph) else job_graph, cluster, plan
    )
    own = demand_by_job(demand, jobs)
    return {job.name: _use(job, cluster, plan, own[job.name]) for job in jobs}


def _use(job: JobGraph, cluster: Cluster, plan: Plan, demand: tuple[Period, ...]) -> JobUse:
    with unhurried():
        # Sources that nothing holds are where the plan has them.
        problem = build_as_placed(job, cluster, plan, demand)
    found = measure_usage(problem, problem.assignment(plan))
    task_managers = [t.id for t in cluster.task_managers]
    sent: dict[str, dict[str, float]] = {}
    # Over a whole day they are means.
    link_bytes = np.max([u.link_bytes for u in found.periods or (found,)], axis=0)
    for i in np.flatnonzero(link_bytes).tolist():
        a, b = (cluster.sites[s].id for s in problem.network.ends[i])
        sent.setdefault(a, {})[b] = float(link_bytes[i])
    return JobUse(
        slots={t: int(n) for t, n in _used(task_managers, found.slots.astype(float)).items()},
        amounts={
            kind.facts.has: _used(task_managers, taken)
            for kind, taken in zip(AMOUNTS, found.taken.T, strict=True)
        },
        cores=_used([n.id for n in cluster.nodes], found.cores),
        bytes_per_s=sent,
    )


def _used(names: Sequence[str], amounts: Floats) -> dict[str, float]:
    return {names[i]: float(amounts[i]) for i in np.flatnonzero(amounts).tolist()}
