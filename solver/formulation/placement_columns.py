"""The placement columns of a model: which TaskManagers each unit of subtasks may take."""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.formulation.units import Units
from edgeplace.solver.linear.model import Kind, LinearModel


@dataclass(frozen=True)
class PlacementColumns:
    """Columns "so many subtasks of unit u run on TaskManager t".

    Attributes
    ----------
    x
        Column of each pair, -1 where the unit cannot run there, shape (n_units, n_tms).
    unit, tm, column
        The pairs that have one, by unit, shape (n_columns,).
    """

    units: Units
    x: Ints
    unit: Ints
    tm: Ints
    column: Ints

    @classmethod
    def add(cls, model: LinearModel, units: Units, candidates: Bools) -> "PlacementColumns":
        """Add the columns, and the rows that place every subtask once.

        Parameters
        ----------
        candidates
            Where each subtask may run, shape (n_subtasks, n_tms).
        """
        mask = candidates[units.first]
        x = np.full(mask.shape, -1, np.intp)
        for kind, own in ((Kind.BINARY, units.size == 1), (Kind.COUNT, units.size > 1)):
            at = np.nonzero(mask & own[:, None])
            x[at] = model.columns(kind, units.size[at[0]].astype(float))
        unit, tm = np.nonzero(mask)
        column = x[unit, tm]
        model.all_equal(unit, column, np.ones(len(unit)), units.size.astype(float))
        return cls(units, x, unit, tm, column)

    @property
    def size(self) -> Ints:
        """Subtasks of the unit of each pair, shape (n_columns,)."""
        return self.units.size[self.unit]
