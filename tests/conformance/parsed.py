"""A case, plain data of a JSON file, as classes of `edgeplace.model`."""

from dataclasses import dataclass
from typing import Any, Self

from edgeplace.model import Cluster, JobGraph, ObjectiveLevel, Plan, Rules
from tests.conformance.document_day import document_of
from tests.conformance.document_oracle import Document

Case = dict[str, Any]


@dataclass(frozen=True)
class Parsed:
    """A case as classes of `edgeplace.model`."""

    jobs: list[JobGraph]
    cluster: Cluster
    rules: Rules
    current: Plan | None
    objective: list[ObjectiveLevel]

    @classmethod
    def of(cls, case: Case) -> Self:
        """Parse the plain data of a case."""
        current = case.get("current")
        return cls(
            [JobGraph.model_validate(j) for j in case["jobs"]],
            Cluster.model_validate(case["cluster"]),
            Rules.model_validate(case.get("rules") or {}),
            Plan.model_validate(current) if current else None,
            [ObjectiveLevel.parse(v) for v in case["objective"]],
        )

    def document(self) -> Document:
        """Return what the document says of this case."""
        return document_of(self.jobs, self.cluster, self.rules, self.current)
