"""Deciding how many subtasks an operator has, together with where they run."""

from edgeplace.solver.parallelism.choice import Asked
from edgeplace.solver.parallelism.choose import choose
from edgeplace.solver.parallelism.within import Means

__all__ = ["Asked", "Means", "choose"]
