"""The nouns as arrays: what the evaluator and every back end share."""

from edgeplace.solver.problem.problem import Problem, build, with_jobs

__all__ = ["Problem", "build", "with_jobs"]
