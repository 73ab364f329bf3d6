"""The path behind the latency of a plan: its subtasks, and what its time consists of."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import Cluster, JobGraph, Plan, Rules, with_weights
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.latency import LongestPaths
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build


@dataclass(frozen=True)
class PathStep:
    """One subtask of a path, and what the stream that leads to it adds; times in ms.

    Attributes
    ----------
    subtask
        Flink's name of it, with its job if there are several.
    buffers_ms
        How long records wait in Flink's output buffer until it is sent.
    links_ms
        Delay of the links, and the time to transfer a buffer.
    credit_ms
        How long a buffer waits for credit of the receiver.
    processing_ms
        How long the subtask has a record.
    """

    subtask: str
    task_manager: str
    site: str
    buffers_ms: float
    links_ms: float
    credit_ms: float
    processing_ms: float


@dataclass(frozen=True)
class WorstPath:
    """The longest path of a plan, from its source to its sink.

    Attributes
    ----------
    latency_ms
        The evaluator's figure; the parts of all steps add up to it.
    job
        Of the path; empty: there is only one.
    period
        Of the day, in which it is longest; empty: demand does not vary.
    """

    latency_ms: float
    steps: tuple[PathStep, ...]
    job: str = ""
    period: str = ""

    def total(self, part: str) -> float:
        """Return the sum of one part over all steps: `links_ms`."""
        return float(sum(getattr(step, part) for step in self.steps))


def worst_path(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> WorstPath | None:
    """Return the worst path of a plan, None where a stream has no route.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else job_graph
    with unhurried():
        p = build(with_weights(jobs, cluster, plan), cluster, rules, current)
        usage = measure_usage(p, p.assignment(plan))
    if usage.unreachable:
        return None
    each = usage.periods or (usage,)
    i = max(range(len(each)), key=lambda i: each[i].latency_ms)
    worst, at, of = each[i], usage.assignment, p.subtasks
    site = p.tms.site[at]
    paths = LongestPaths.of(worst.problem, site, p.tms.node_class[at], worst.far)
    steps = paths.worst()
    return WorstPath(
        worst.latency_ms,
        tuple(
            PathStep(
                of.title(s.subtask),
                p.cluster.task_managers[at[s.subtask]].id,
                p.cluster.sites[site[s.subtask]].id,
                s.buffers_ms,
                s.links_ms,
                s.credit_ms,
                s.processing_ms,
            )
            for s in steps
        ),
        of.ids(steps[0].subtask)[0] if len(of.jobs) > 1 else "",
        p.day[i].name if usage.periods else "",
    )
