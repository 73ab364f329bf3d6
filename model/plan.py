"""A plan: the TaskManager of every subtask."""

from collections.abc import Iterator
from typing import Literal

from edgeplace.model.base import Frozen, Id
from edgeplace.model.job_use import JobUse


class Plan(Frozen):
    """The place of every subtask of every job."""

    format: Literal["edgeplace/plan"] = "edgeplace/plan"
    version: Literal[1] = 1
    jobs: dict[Id, dict[Id, tuple[Id, ...]]]
    """Job name -> operator id -> TaskManager id of each subtask, by subtask index."""
    supposing: tuple[str, ...] = ()
    """The assumptions of `solve --set`: the plan is for a job or a cluster that does not exist.
    Empty for a plan of the real ones.
    """
    uses: dict[Id, JobUse] = {}
    """Job name -> the resources that it uses, for plans of other jobs on the same cluster."""

    def of(self, job: str) -> dict[str, tuple[str, ...]]:
        """Return the placement of one job: operator id -> TaskManager of each subtask."""
        return self.jobs[job]

    def subtasks(self) -> Iterator[tuple[str, str, int, str]]:
        """Yield (job, operator id, subtask index, TaskManager id) of every subtask."""
        for job, operators in self.jobs.items():
            for operator, places in operators.items():
                for i, tm in enumerate(places):
                    yield job, operator, i, tm
