"""The nouns as arrays: what the evaluator and every back end share."""

from edgeplace.solver.problem.problem import Problem, build

__all__ = ["Problem", "build"]
