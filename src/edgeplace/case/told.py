"""A plan as it is written: with what it supposes, and what its jobs use."""

from collections.abc import Sequence
from math import isfinite

from edgeplace.model import Case, Evaluation, Plan


def told(case: Case, plan: Plan, supposing: Sequence[str], figures: Evaluation | None) -> Plan:
    """Return a plan that says what it supposes, what its jobs use, and how far they can grow."""
    from edgeplace.solver import job_uses

    known = {
        "supposing": tuple(supposing),
        "uses": job_uses(case.jobs, case.cluster, plan, case.rules.demand if case.rules else ()),
        "headroom": figures.headroom if figures and isfinite(figures.headroom) else None,
    }
    return plan.model_copy(update=known)
