"""Facts of the keys and of the workers of a split operator."""

from collections.abc import Sequence

import numpy as np

from edgeplace.model import Cluster, JobGraph, Plan, ShipStrategy, with_weights
from edgeplace.solver.arrays import Floats
from edgeplace.solver.problem import build_as_placed


def records_of_workers(
    jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan, job: str, operator: str
) -> list[float]:
    """Return the records/s of each subtask of an operator, by the weights of a plan."""
    problem = build_as_placed(with_weights(jobs, cluster, plan), cluster, plan)
    records: list[float] = problem.work.rate_per_s[problem.subtasks.of(operator, job)].tolist()
    return records


def stated_frequencies(job: JobGraph, operator: str) -> Floats | None:
    """Return how often each key comes, if `partial` of the operator's HASH stream states it.

    None without it: what cold records of the other form have for keys says nothing of load.
    """
    for s in job.streams:
        stated = s.cost.partial if s.cost and s.ship_strategy is ShipStrategy.HASH else None
        if s.source == operator and stated and stated.law.form == "zipf":
            return np.arange(1.0, round(stated.law.keys) + 1) ** -stated.law.shape
    return None
