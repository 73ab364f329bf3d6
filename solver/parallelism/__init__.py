"""Deciding how many subtasks an operator has, together with where they run."""

from edgeplace.solver.parallelism.branch_and_bound import Inputs, choose
from edgeplace.solver.parallelism.choice import ALL, Asked
from edgeplace.solver.parallelism.within import Means

__all__ = ["ALL", "Asked", "Inputs", "Means", "choose"]
