"""A benchmark instance: jobs, the cluster they share, rules, and the current placement."""

from typing import Literal

from pydantic import Field

from edgeplace.model import Cluster, JobGraph, Plan, Rules
from edgeplace.model.base import Frozen, Id


class Instance(Frozen):
    """The complete input of a placement method."""

    format: Literal["edgeplace/instance"] = "edgeplace/instance"
    version: Literal[1] = 1
    name: Id
    jobs: tuple[JobGraph, ...] = Field(min_length=1)
    cluster: Cluster
    rules: Rules = Rules()
    current: Plan | None = None

    @property
    def subtasks(self) -> int:
        """Number of subtasks of all jobs."""
        return sum(op.parallelism for job in self.jobs for op in job.operators)
