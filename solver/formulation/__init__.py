"""The placement problem as rows and columns of a linear model."""

from edgeplace.solver.formulation.formulation import Formulation, SubtasksCountedError, formulate

__all__ = ["Formulation", "SubtasksCountedError", "formulate"]
