"""The resources of the cluster that each job uses under a plan."""

from collections.abc import Sequence

import numpy as np

from edgeplace.model import AMOUNTS, Cluster, JobGraph, JobUse, Plan
from edgeplace.solver.arrays import Floats
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build


def job_uses(
    job_graph: JobGraph | Sequence[JobGraph], cluster: Cluster, plan: Plan
) -> dict[str, JobUse]:
    """Return job name -> its use of TaskManagers, nodes and links.

    Jobs share no slot, and links carry the sum of what they send.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    return {job.name: _use(job, cluster, plan) for job in jobs}


def _use(job: JobGraph, cluster: Cluster, plan: Plan) -> JobUse:
    with unhurried():
        # Sources that nothing holds are where the plan has them.
        problem = build(job, cluster, current=plan)
    found = measure_usage(problem, problem.assignment(plan))
    task_managers = [t.id for t in cluster.task_managers]
    sent: dict[str, dict[str, float]] = {}
    for i in np.flatnonzero(found.link_bytes).tolist():
        a, b = (cluster.sites[s].id for s in problem.network.ends[i])
        sent.setdefault(a, {})[b] = float(found.link_bytes[i])
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
