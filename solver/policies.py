"""The same job under other people's placements: what a plan is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.model import Cluster, Evaluation, JobGraph, Plan, Rules
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.evaluate import assess
from edgeplace.solver.problem import build


@dataclass(frozen=True)
class Policy:
    """A placement under a name, and what the evaluator says of it."""

    name: str
    plan: Plan
    evaluation: Evaluation


def policies(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> tuple[Policy, ...]:
    """Return the current placement, where it is whole, and every baseline.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete.
    """
    problem = build(job_graph, cluster, rules, current)
    if not problem.m:
        return ()
    found = []
    if problem.current is not None and (problem.current >= 0).all():
        found.append(("current", problem.current))
    found += [(name, baseline(problem)) for name, baseline in BASELINES.items()]
    return tuple(Policy(name, problem.plan(a), assess(problem, a)) for name, a in found)
