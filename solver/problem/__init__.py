"""Job, cluster and rules as arrays, which the evaluator and every back end share."""

from edgeplace.solver.problem.problem import Problem, build, with_jobs

__all__ = ["Problem", "build", "with_jobs"]
