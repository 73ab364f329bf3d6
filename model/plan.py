"""A plan: the TaskManager of every subtask."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import model_validator

from edgeplace.model.base import Frozen, Id, NonNegative, sums_to_one
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
    weights: dict[Id, dict[Id, dict[Id, tuple[NonNegative, ...]]]] = {}
    """Job name -> operator id -> site of its producers -> share of their records that each subtask
    of the operator gets; a row sums to 1. Of operators that a router feeds by weights.
    """
    names: dict[Id, dict[Id, str]] = {}
    """Job name -> operator id -> the operator's name in Flink. Flink derives ids from the place in
    the job graph, so another operator may have the same id. Without a name, the id alone counts.
    """
    uses: dict[Id, JobUse] = {}
    """Job name -> the resources that it uses, for plans of other jobs on the same cluster."""
    headroom: NonNegative | None = None
    """Factor by which all sources can grow before the first limit. None: no limit grows with them,
    or it is not known.
    """

    @model_validator(mode="after")
    def _weights_fit(self) -> Self:
        for job, operators in self.weights.items():
            for operator, rows in operators.items():
                places = self.jobs.get(job, {}).get(operator, ())
                for site, row in rows.items():
                    if len(row) != len(places) or not sums_to_one(row):
                        raise ValueError(
                            f"weights of site {site!r} for operator {operator!r} of job {job!r}: "
                            f"{len(row)} that sum to {sum(row):g}; expected {len(places)}, one for "
                            "each subtask in the plan, that sum to 1"
                        )
        return self

    def of(self, job: str) -> dict[str, tuple[str, ...]]:
        """Return the placement of one job: operator id -> TaskManager of each subtask."""
        return self.jobs[job]

    def subtasks(self) -> Iterator[tuple[str, str, int, str]]:
        """Yield (job, operator id, subtask index, TaskManager id) of every subtask."""
        for job, operators in self.jobs.items():
            for operator, places in operators.items():
                for i, tm in enumerate(places):
                    yield job, operator, i, tm
