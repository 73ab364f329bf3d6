"""Job, cluster and rules as arrays, which the evaluator and every back end share."""

from edgeplace.solver.problem.footprint import has_state_law, with_state_at_demand
from edgeplace.solver.problem.problem import Problem, build, build_as_placed, with_jobs

__all__ = [
    "Problem",
    "build",
    "build_as_placed",
    "has_state_law",
    "with_jobs",
    "with_state_at_demand",
]
