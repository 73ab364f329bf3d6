"""Filling TaskManagers one subtask at a time: what all the baselines share."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.problem import Problem

Ints = NDArray[np.intp]


class Filler:
    """Places subtasks on the least used allowed TaskManager, counting slots as Flink does.

    A full TaskManager is taken only where every allowed one is full: a baseline is always a whole
    placement, and the evaluator says what it breaks.
    """

    def __init__(self, problem: Problem) -> None:
        self._p = problem
        self._allowed = problem.allowed()
        self._count = np.zeros((len(problem.group), problem.m), np.intp)
        self._used = np.zeros(problem.m, np.intp)
        self.assignment = np.full(problem.n, -1, np.intp)

    def allowed(self, k: int) -> Ints:
        """Return the TaskManagers where subtask k may run; all, if rules leave none."""
        own: Ints = np.flatnonzero(self._allowed[k])
        return own if len(own) else np.arange(self._p.m)

    def place(self, k: int, among: Iterable[int]) -> None:
        """Place subtask k on the least used of some TaskManagers."""
        p = self._p
        o = int(p.subtasks.operator_of[k])
        group = p.group == p.group[o]

        def rank(t: int) -> tuple[bool, float, int]:
            # A slot of the group that has no subtask of this operator yet is free of charge.
            extra = self._count[o, t] >= self._count[group, t].max()
            slots = max(int(p.tm_slots[t]), 1)
            return bool(extra and self._used[t] >= p.tm_slots[t]), self._used[t] / slots, t

        t = min(among, key=rank)
        before = self._count[group, t].max()
        self._count[o, t] += 1
        self._used[t] += self._count[group, t].max() - before
        self.assignment[k] = t

    def room(self, k: int, t: int) -> bool:
        """Return True if TaskManager t has a slot for subtask k."""
        p = self._p
        o = int(p.subtasks.operator_of[k])
        most = self._count[p.group == p.group[o], t].max()
        return bool(self._count[o, t] < most or self._used[t] < p.tm_slots[t])
