"""Slots in use: for each slot sharing group, the number of subtasks of its largest operator.

Subtasks of different operators of a group share a slot, subtasks of one operator never do. The
decomposition by site, the fleet and the balance of workers count here. Others count themselves:
the evaluator (evaluation/usage.py) because it checks all of them, models because they state it as
rows, and the baselines (baselines/slots_taken.py) because they count on from the step before.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.problem import Problem

Number = TypeVar("Number", bound=np.number)


@dataclass(frozen=True)
class SlotCounter:
    """Counts the slots of subtasks that are given as numbers per operator."""

    _by_group: Ints
    """The operators, group by group, shape (n_operators,)."""
    _first: Ints
    """Where each group begins in them."""

    @classmethod
    def of(cls, group: Ints) -> "SlotCounter":
        """Return it for the sharing group of each operator, shape (n_operators,), at least one."""
        by_group = np.argsort(group, kind="stable")
        return cls(by_group, np.unique(group[by_group], return_index=True)[1])

    def slots(self, held: NDArray[Number]) -> NDArray[Number]:
        """Return the slots that subtasks take, shape (...), of (..., n_operators) subtasks."""
        largest = np.maximum.reduceat(held[..., self._by_group], self._first, axis=-1)
        total: NDArray[Number] = largest.sum(axis=-1)
        return total


def slots_of_places(problem: Problem, subtask: Ints, tm: Ints) -> Floats:
    """Return the slots of each TaskManager that pairs of subtask and TaskManager take together.

    Parameters
    ----------
    subtask, tm
        The pairs, shape (n_pairs,). A subtask may be in several, as where it is not decided yet.

    Returns
    -------
    Floats
        Shape (n_tms,).
    """
    p = problem
    # Most operators are on few of many TaskManagers: only what is there is counted.
    pairs, count = np.unique(p.subtasks.operator_of[subtask] * p.m + tm, return_counts=True)
    groups, of = np.unique(p.subtasks.group[pairs // p.m] * p.m + pairs % p.m, return_inverse=True)
    largest = np.zeros(len(groups))
    np.maximum.at(largest, of, count)
    return np.bincount(groups % p.m, weights=largest, minlength=p.m).astype(float, copy=False)
