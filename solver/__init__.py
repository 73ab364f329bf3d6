"""Deciding: where every subtask runs, proved."""

from edgeplace.solver.evaluate import evaluate
from edgeplace.solver.solve import solve

__all__ = ["evaluate", "solve"]
