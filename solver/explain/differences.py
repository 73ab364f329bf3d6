"""Differences of two plans: moved subtasks, objective terms, limits broken and cured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgeplace.model import Cluster, Evaluation, JobGraph, Limit, Plan, Rules
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.explain.moves import newly


@dataclass(frozen=True)
class Shift:
    """Subtasks of one operator that go the same way."""

    job: str
    operator: str
    """Operator id."""
    name: str
    source: str
    """Site."""
    target: str
    """Site; the same as `source` where they change the machine only."""
    subtasks: tuple[int, ...]
    """Indices from 0."""
    machines: tuple[tuple[str, str], ...]
    """From which TaskManager to which, each way once."""


@dataclass(frozen=True)
class Difference:
    """Two plans for the same jobs on the same cluster."""

    before: Evaluation
    after: Evaluation
    shifts: tuple[Shift, ...]
    breaks: tuple[Limit, ...]
    """Limits that hold before and not after."""
    cures: tuple[Limit, ...]
    """Limits that do not hold before, as they are there, and do after."""


def difference(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    before: Plan,
    after: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Difference:
    """Return what changes from one plan to another, as the evaluator judges both.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or a plan does not belong to them.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    one, other = (evaluate(job_graph, cluster, p, rules, current) for p in (before, after))
    return Difference(
        before=one,
        after=other,
        shifts=shifts(jobs, before, after, sites_of(cluster)),
        breaks=newly(other.violations, one.violations),
        cures=newly(one.violations, other.violations),
    )


def sites_of(*clusters: Cluster) -> dict[str, str]:
    """Return the site of each TaskManager of some clusters."""
    found = {}
    for cluster in clusters:
        node_site = {n.id: n.site for n in cluster.nodes}
        found.update({t.id: node_site[t.node] for t in cluster.task_managers})
    return found


def shifts(
    jobs: Iterable[JobGraph], before: Plan, after: Plan, site: Mapping[str, str]
) -> tuple[Shift, ...]:
    """Return which subtasks change their TaskManager, by operator and site.

    Parameters
    ----------
    site
        Of each TaskManager that a plan names.
    """
    found = []
    for job in jobs:
        for op in job.operators:
            was, now = before.of(job.name)[op.id], after.of(job.name)[op.id]
            ways: dict[tuple[str, str], list[int]] = {}
            for i, (a, b) in enumerate(zip(was, now, strict=True)):
                if a != b:
                    ways.setdefault((site[a], site[b]), []).append(i)
            for (source, target), own in ways.items():
                machines = tuple(dict.fromkeys((was[i], now[i]) for i in own))
                found.append(Shift(job.name, op.id, op.name, source, target, tuple(own), machines))
    return tuple(found)
