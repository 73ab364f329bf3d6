"""What docs/formulation.md says of plans where demand varies over a day.

Written from docs/formulation.md, docs/job.md and the classes of `edgeplace.model` alone; nothing
here comes from `edgeplace.solver`.
"""

from collections.abc import Sequence

import numpy as np

from edgeplace.model import Cluster, JobGraph, Period, Plan, Rules
from tests.conformance.document_oracle import Document, Judged
from tests.conformance.document_places import Plans


def document_of(
    jobs: Sequence[JobGraph], cluster: Cluster, rules: Rules | None, current: Plan | None
) -> Document:
    """Return the document of a case, whatever its demand is."""
    kind = DocumentOfDay if rules and rules.demand else Document
    return kind(jobs, cluster, rules, current)


def documents_of(
    jobs: Sequence[JobGraph], cluster: Cluster, rules: Rules, current: Plan | None
) -> list[Document]:
    """Return the document of each period by itself."""
    alone = rules.model_copy(update={"demand": ()})
    always = Period(name="always", share=1.0)
    return [
        Document([_in_period(job, period, len(jobs)) for job in jobs], cluster, alone, current)
        for period in rules.demand or (always,)
    ]


class DocumentOfDay(Document):
    """One instance whose demand has periods, and its judge."""

    def judge(self, plans: Plans) -> Judged:
        """Return what the document says of plans: of all periods together."""
        total = sum(p.share for p in self.rules.demand)
        share = [p.share / total for p in self.rules.demand]
        each = documents_of(self.jobs, self.cluster, self.rules, self.current_plan)
        said = [document.judge(plans) for document in each]
        values = dict(said[0].values)
        for name in ("wan", "server_cores"):
            values[name] = sum(s * j.values[name] for s, j in zip(share, said, strict=True))
        for name in ("latency", "throughput"):
            values[name] = np.max([j.values[name] for j in said], axis=0)
        carried = sum(s * d.carried(plans) for s, d in zip(share, each, strict=True))
        cores = sum(s * d._cores(plans) for s, d in zip(share, each, strict=True))
        values["cost"] = self._cost(plans, carried, cores)
        broken = {
            kind: np.logical_or.reduce([j.broken[kind] for j in said if kind in j.broken])
            for kind in {kind for j in said for kind in j.broken}
        }
        return Judged(
            values,
            np.logical_and.reduce([j.hold for j in said]),
            np.logical_and.reduce([j.rated_aside for j in said]),
            np.logical_or.reduce([j.doubtful for j in said]),
            broken,
        )


def _in_period(job: JobGraph, period: Period, jobs: int) -> JobGraph:
    """Return a job at the rates of a period."""
    named = [op.name for op in job.operators]
    operators = []
    for op in job.operators:
        factor = period.factor
        for own in period.sources:
            called = op.id in own.operators or (
                op.name in own.operators and named.count(op.name) == 1
            )
            if called and (jobs == 1 or own.job == job.name):
                factor = own.factor
        if op.cost and op.cost.demand:
            rates = tuple(factor * rate for rate in op.cost.demand.rates_per_s)
            demand = op.cost.demand.model_copy(update={"rates_per_s": rates})
            op = op.model_copy(update={"cost": op.cost.model_copy(update={"demand": demand})})
        operators.append(op)
    return job.model_copy(update={"operators": tuple(operators)})
