"""The placement problem as rows and columns of a linear model."""

from edgeplace.solver.formulation.formulation import Formulation, formulate

__all__ = ["Formulation", "formulate"]
