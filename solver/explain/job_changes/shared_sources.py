"""Sources that several jobs read, and the WAN bytes if one job read them for all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgeplace.model import Cluster, JobGraph, Operator, Plan, with_weights
from edgeplace.solver.evaluation.usage import bytes_on_links
from edgeplace.solver.problem import build_as_placed
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.traffic import Traffic

_WORTH = 0.01

STATEMENT_SET = (
    "SET 'table.optimizer.reuse-source-enabled' = 'true';",
    "SET 'table.optimizer.reuse-sub-plan-enabled' = 'true';",
    "EXECUTE STATEMENT SET BEGIN ... END;",
)
"""Statements of one set are one job, which scans a table once (Flink SQL, table/config)."""


@dataclass(frozen=True)
class SharedSource:
    """A source of several jobs that crosses links more than once."""

    source: str
    """Its name, the same in all of these jobs."""
    jobs: tuple[str, ...]
    wan_bytes_per_s: float
    """What the source sends over links, for all these jobs."""
    once_wan_bytes_per_s: float
    """The same if each link carries it once: on each link the most that a job sends. A lower
    bound: that the records are the same is not known."""
    lines: tuple[str, ...] = STATEMENT_SET


def shared_sources(
    job_graph: JobGraph | Sequence[JobGraph], cluster: Cluster, plan: Plan
) -> tuple[SharedSource, ...]:
    """Return sources of several jobs with one name, one demand and one origin, that cross links.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or do not fit together.
    """
    if isinstance(job_graph, JobGraph):
        return ()
    jobs = list(with_weights(job_graph, cluster, plan))
    problem = build_as_placed(jobs, cluster, plan)
    site = problem.tms.site[problem.assignment(plan)]
    # Each job by itself: its operators are numbered from its first.
    of_job = [Channels.of(Traffic.of([job]), cluster) for job in jobs]
    first = np.cumsum([0, *(sum(op.parallelism for op in job.operators) for job in jobs)])
    alike: dict[tuple[object, ...], list[tuple[int, Operator]]] = {}
    for j, job in enumerate(jobs):
        for op in job.sources():
            demand = op.cost.demand.rates_per_s if op.cost and op.cost.demand else ()
            alike.setdefault((op.name, demand, op.born_at), []).append((j, op))
    found = []
    for readers in alike.values():
        if len({j for j, _ in readers}) < 2:
            continue
        sent = []
        for j, op in readers:
            start = sum(o.parallelism for o in jobs[j].operators[: jobs[j].operators.index(op)])
            channels = of_job[j]
            # Answers go back to the source, and count with its records.
            ends = np.where(
                np.arange(len(channels.source)) < channels.n_feeding,
                channels.source,
                channels.target,
            )
            own = (ends >= start) & (ends < start + op.parallelism)
            part = replace(
                channels,
                source=channels.source[own] + first[j],
                target=channels.target[own] + first[j],
                records_per_s=channels.records_per_s[own],
                bytes_per_s=channels.bytes_per_s[own],
            )
            alone = replace(problem, channels=part, storage_site=None)
            sent.append(bytes_on_links(alone, site)[0])
        now, once = float(np.sum(sent)), float(np.max(sent, axis=0).sum())
        if now > 0 and once < now * (1 - _WORTH):
            names = tuple(jobs[j].name for j, _ in readers)
            found.append(SharedSource(readers[0][1].name, names, now, once))
    return tuple(found)
