"""Filling TaskManagers one subtask at a time: what all the baselines share."""

from collections.abc import Iterable

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem


class Filler:
    """Places subtasks on the least used allowed TaskManager, counting slots as Flink does.

    A full TaskManager is taken only where every allowed one is full: a baseline is always a whole
    placement, and the evaluator says what it breaks.
    """

    def __init__(self, problem: Problem) -> None:
        self._p = problem
        self._allowed = problem.allowed()
        self._count = np.zeros((len(problem.subtasks.group), problem.m), np.intp)
        # Of the operators of each slot sharing group, the largest number on each TaskManager.
        self._most = np.zeros((int(problem.subtasks.group.max(initial=0)) + 1, problem.m), np.intp)
        self._slots = np.maximum(problem.tms.slots, 1)
        self._used = np.zeros(problem.m, np.intp)
        self.assignment = np.full(problem.n, -1, np.intp)

    def hold(self, subtasks: Ints, assignment: Ints) -> None:
        """Place some subtasks where an assignment has them; the filler must be empty."""
        p, at = self._p, assignment[subtasks]
        np.add.at(self._count, (p.subtasks.operator_of[subtasks], at), 1)
        np.maximum.at(self._most, p.subtasks.group, self._count)
        self._used = self._most.sum(axis=0)
        self.assignment[subtasks] = at

    def allowed(self, k: int) -> Ints:
        """Return the TaskManagers where subtask k may run; all, if rules leave none."""
        own: Ints = np.flatnonzero(self._allowed[k])
        return own if len(own) else np.arange(self._p.m)

    def place(self, k: int, among: Iterable[int]) -> None:
        """Place subtask k on the least used of some TaskManagers."""
        look()
        p = self._p
        o = int(p.subtasks.operator_of[k])
        most = self._most[p.subtasks.group[o]]
        t = np.sort(np.fromiter(among, np.intp))
        # A slot of the group that has no subtask of this operator yet is free of charge.
        full = (self._count[o, t] >= most[t]) & (self._used[t] >= p.tms.slots[t])
        t = t[~full] if not full.all() else t
        chosen = t[np.argmin(self._used[t] / self._slots[t])]
        self._count[o, chosen] += 1
        self._used[chosen] += self._count[o, chosen] > most[chosen]
        most[chosen] = max(most[chosen], self._count[o, chosen])
        self.assignment[k] = chosen

    def room(self, k: int, t: int) -> bool:
        """Return True if TaskManager t has a slot for subtask k."""
        p = self._p
        o = int(p.subtasks.operator_of[k])
        most = self._most[p.subtasks.group[o], t]
        return bool(self._count[o, t] < most or self._used[t] < p.tms.slots[t])
