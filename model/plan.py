"""A plan: the TaskManager of every subtask."""

from collections.abc import Iterator
from typing import Literal

from edgeplace.model.base import Frozen, Id
from edgeplace.model.job_use import JobUse


class Plan(Frozen):
    """Where every subtask of every job runs."""

    format: Literal["edgeplace/plan"] = "edgeplace/plan"
    version: Literal[1] = 1
    jobs: dict[Id, dict[Id, tuple[Id, ...]]]
    """Job name -> operator id -> TaskManager id of each subtask, by subtask index."""
    supposing: tuple[str, ...] = ()
    """What `solve --set` supposed: the plan is for a job or a cluster that is not there. Empty for
    what is."""
    uses: dict[Id, JobUse] = {}
    """Job name -> what it takes where it is placed, for plans of other jobs on the same cluster."""

    def of(self, job: str) -> dict[str, tuple[str, ...]]:
        """Return the placement of one job: operator id -> TaskManager of each subtask."""
        return self.jobs[job]

    def subtasks(self) -> Iterator[tuple[str, str, int, str]]:
        """Yield (job, operator id, subtask index, TaskManager id) of every subtask."""
        for job, operators in self.jobs.items():
            for operator, places in operators.items():
                for i, tm in enumerate(places):
                    yield job, operator, i, tm
