"""Slots in use while subtasks are placed one after the other, counted as in Flink."""

from copy import copy

import numpy as np

from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.problem import Problem


class SlotsTaken:
    """The slots that the subtasks placed so far take; see `edgeplace.solver.slots`.

    It counts on from step to step, where others count a whole placement.

    Attributes
    ----------
    used
        Slots taken on each TaskManager, shape (n_tms,).
    """

    def __init__(self, problem: Problem) -> None:
        self._operator_of = problem.subtasks.operator_of
        self._group = problem.subtasks.group
        n_groups = int(self._group.max(initial=-1)) + 1
        self._members = [np.flatnonzero(self._group == g) for g in range(n_groups)]
        self._n_tms = problem.m
        self._clear()

    def _clear(self) -> None:
        self._count = np.zeros((len(self._group), self._n_tms), np.intp)
        # Of the operators of each slot sharing group, the largest number on each TaskManager.
        self._most = np.zeros((len(self._members), self._n_tms), np.intp)
        self.used = np.zeros(self._n_tms, np.intp)

    def cleared(self) -> "SlotsTaken":
        """Return a count of the same problem with nothing placed."""
        other = copy(self)
        other._clear()
        return other

    def hold(self, subtasks: Ints, at: Ints) -> None:
        """Count several subtasks where they are placed; none may be placed yet."""
        np.add.at(self._count, (self._operator_of[subtasks], at), 1)
        np.maximum.at(self._most, self._group, self._count)
        self.used = self._most.sum(axis=0)

    def add(self, k: int, t: int) -> None:
        """Count subtask k on TaskManager t."""
        o = self._operator_of[k]
        g = self._group[o]
        self._count[o, t] += 1
        if self._count[o, t] > self._most[g, t]:
            self._most[g, t] += 1
            self.used[t] += 1

    def take(self, k: int, t: int) -> None:
        """Count subtask k on TaskManager t no more."""
        o = self._operator_of[k]
        g = self._group[o]
        self._count[o, t] -= 1
        most = self._count[self._members[g], t].max()
        self.used[t] -= self._most[g, t] - most
        self._most[g, t] = most

    def needed(self, k: int) -> Bools:
        """Return the TaskManagers where subtask k takes one more slot, shape (n_tms,).

        Elsewhere a slot of its group has no subtask of its operator yet.
        """
        o = self._operator_of[k]
        needed: Bools = self._count[o] >= self._most[self._group[o]]
        return needed
