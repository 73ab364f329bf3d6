"""The fullest worker of a plan, with the loads of CAPS."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import Cluster, JobGraph, Plan, Rules, refuse_demand
from edgeplace.solver.baselines.caps_load import Scale, worker_loads
from edgeplace.solver.problem import build


@dataclass(frozen=True)
class FullestWorker:
    """The TaskManager with the largest normalised load, and its loads.

    Attributes
    ----------
    task_manager
        Its name.
    node_share
        What its subtasks take of the cores of its node, as a share of them.
    checkpoint_bytes_per_s
        What its subtasks checkpoint.
    sent_bytes_per_s
        What its subtasks send to other TaskManagers.
    largest_load
        The largest of the three, each normalised: 0 is an even share of the whole, 1 the slots of
        one TaskManager filled with the most expensive subtasks.
    """

    task_manager: str
    node_share: float
    checkpoint_bytes_per_s: float
    sent_bytes_per_s: float
    largest_load: float


def fullest_worker(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
) -> FullestWorker:
    """Return the fullest TaskManager of a plan; of several the first.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    refuse_demand(rules, "the load of workers is known")
    problem = build(job_graph, cluster, rules)
    loads = worker_loads(problem, problem.assignment(plan))
    ratios = Scale.of(problem).normalised(loads).max(axis=1)
    worker = int(ratios.argmax())
    share, checkpointed, sent = loads[worker].tolist()
    return FullestWorker(
        problem.cluster.task_managers[worker].id,
        share,
        checkpointed,
        sent,
        float(ratios[worker]),
    )
