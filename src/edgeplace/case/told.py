"""A plan as it is written: with what it supposes, and what its jobs are and use."""

from collections.abc import Sequence
from math import isfinite

from edgeplace.model import Case, Evaluation, JobGraph, Plan


def told(case: Case, plan: Plan, supposing: Sequence[str], figures: Evaluation | None) -> Plan:
    """Return a plan that says what it supposes, what its jobs use, and how far they can grow."""
    from edgeplace.solver import job_uses

    known = {
        "supposing": tuple(supposing),
        "uses": job_uses(case.jobs, case.cluster, plan, case.rules.demand if case.rules else ()),
        "headroom": figures.headroom if figures and isfinite(figures.headroom) else None,
    }
    return with_names(plan.model_copy(update=known), case.jobs)


def with_names(plan: Plan, jobs: Sequence[JobGraph]) -> Plan:
    """Return a plan with the names of its operators in Flink, as far as the jobs say them."""
    names = {job.name: _names_in_flink(job) for job in jobs if job.name in plan.jobs}
    return plan.model_copy(update={"names": {job: of for job, of in names.items() if of}})


def _names_in_flink(job: JobGraph) -> dict[str, str]:
    """Return operator id -> name in Flink.

    The chain is as `discover` has written it, while users may have renamed the operator. A name
    that is the id says nothing: the job did not run yet when the file was written.
    """
    names = {op.id: " -> ".join(op.chained) or op.name for op in job.operators}
    return {op: name for op, name in names.items() if name != op}
