"""Write a placement as a schedulercfg; `parser.py` has the grammar."""

from collections.abc import Mapping

from edgeplace.adapters.flink.schedulercfg.names import TaskNames, is_plain, task_managers_by_key
from edgeplace.model import Cluster, InvalidInputError, JobGraph


def render(plan_of_job: Mapping[str, tuple[str, ...]], job: JobGraph, cluster: Cluster) -> str:
    """Return a placement as a file of the modern dialect.

    A task goes by its name, or by its JobVertexID where the name, less the numbers in brackets, is
    not unique in the job, or cannot stand in a line.

    Parameters
    ----------
    plan_of_job
        Operator id -> TaskManager id of each subtask (`Plan.of`).

    Raises
    ------
    InvalidInputError
        If the placement does not fit the job and the cluster, or if a task or TaskManager has no
        name that can stand in a line and means nothing else.
    """
    _check_fits(plan_of_job, job, cluster)
    tasks, locations = TaskNames(job), task_managers_by_key(cluster)
    place = {}
    for tm in cluster.task_managers:
        for location in (tm.host, tm.id):
            if location and is_plain(location) and locations[location] == [tm]:
                place[tm.id] = location
                break
    lines = []
    for op in job.operators:
        key = tasks.key_of(op)
        if key is None:
            raise InvalidInputError(
                f"operator {op.name!r} ({op.id!r}) of job {job.name!r} has neither a name nor an "
                "id that can stand in a schedulercfg and means no other operator",
                "give it a plain and unique name in the job: .name(...)",
            )
        for i, tm_id in enumerate(plan_of_job[op.id], 1):
            if tm_id not in place:
                raise InvalidInputError(
                    f"TaskManager {tm_id!r} has neither a host nor an id that can stand in a "
                    "schedulercfg and means no other TaskManager",
                    "set taskmanager.resource-id to a plain name of its own and use it as the id",
                )
            lines.append(f"{key} ({i}/{op.parallelism}); {place[tm_id]}\n")
    return "".join(lines)


def _check_fits(
    plan_of_job: Mapping[str, tuple[str, ...]], job: JobGraph, cluster: Cluster
) -> None:
    known = {t.id for t in cluster.task_managers}
    ids = {op.id for op in job.operators}
    problems = [f"job {job.name!r} has no operator {o!r}" for o in plan_of_job if o not in ids]
    for op in job.operators:
        places = plan_of_job.get(op.id, ())
        if len(places) != op.parallelism:
            problems.append(f"{len(places)} places for {op.parallelism} subtasks of {op.name!r}")
        problems += [f"the cluster has no TaskManager {t!r}" for t in sorted({*places} - known)]
    if problems:
        raise InvalidInputError(
            "the plan does not fit the job and the cluster: " + "; ".join(problems[:8]),
            "solve again with this job and this cluster",
        )
