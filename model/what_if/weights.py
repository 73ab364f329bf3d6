"""Weights of a plan, as shares of the streams of its jobs."""

from collections.abc import Sequence

from edgeplace.model.cluster import Cluster
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph, ShipStrategy, Stream
from edgeplace.model.plan import Plan


def with_weights(jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan) -> tuple[JobGraph, ...]:
    """Return jobs whose CUSTOM streams send by the weights of a plan.

    Each producer subtask sends by the weights of the site where the plan has it. A site without
    weights sends evenly, as a router does that was given none.

    Raises
    ------
    InvalidInputError
        If the weights name a site, a job or an operator that is not there, or an operator that no
        CUSTOM stream feeds.
    """
    if not plan.weights:
        return tuple(jobs)
    site = {n.id: n.site for n in cluster.nodes}
    at = {t.id: site[t.node] for t in cluster.task_managers}
    sites = {s.id for s in cluster.sites}
    for name, operators in plan.weights.items():
        job = next((j for j in jobs if j.name == name), None)
        if job is None:
            raise InvalidInputError(
                f"the plan has weights for job {name!r}, which is not among the jobs",
                "give the plan of these jobs",
            )
        for operator, rows in operators.items():
            job.operator(operator)
            if strange := sorted(set(rows) - sites):
                raise InvalidInputError(
                    f"the plan has weights of site {strange[0]!r} for operator {operator!r}, and "
                    f"the cluster has no such site",
                    f"its sites are {', '.join(sorted(sites))}",
                )
            if not split_streams(job, operator):
                raise InvalidInputError(
                    f"the plan has weights for operator {operator!r}, which no CUSTOM stream feeds",
                    "weights are for the combiners behind a router (docs/splitting.md)",
                )
    return tuple(
        job.revised(
            streams=tuple(_weighted(job, s, plan, at) for s in job.streams),
        )
        if job.name in plan.weights
        else job
        for job in jobs
    )


def split_streams(job: JobGraph, operator: str) -> list[Stream]:
    """Return the streams by which a router feeds an operator, given its id."""
    return [
        s for s in job.streams if s.target == operator and s.ship_strategy is ShipStrategy.CUSTOM
    ]


def _weighted(job: JobGraph, s: Stream, plan: Plan, at: dict[str, str]) -> Stream:
    rows = plan.weights[job.name].get(s.target)
    if rows is None or s.ship_strategy is not ShipStrategy.CUSTOM or s.cost is None:
        return s
    q = job.operator(s.target).parallelism
    even = (1 / q,) * q
    shares = tuple(rows.get(at.get(tm, ""), even) for tm in plan.of(job.name)[s.source])
    return s.model_copy(update={"cost": s.cost.model_copy(update={"shares_by_producer": shares})})
