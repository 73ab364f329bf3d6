"""Fill TaskManagers one subtask at a time: the common part of the baselines."""

from collections.abc import Iterable

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.slots_taken import SlotsTaken
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
        self._taken = SlotsTaken(problem)
        self._slots = np.maximum(problem.tms.slots, 1)
        self.assignment = np.full(problem.n, -1, np.intp)

    def hold(self, subtasks: Ints, assignment: Ints) -> None:
        """Place some subtasks where an assignment has them; the filler must be empty."""
        at = assignment[subtasks]
        self._taken.hold(subtasks, at)
        self.assignment[subtasks] = at

    def allowed(self, k: int) -> Ints:
        """Return the TaskManagers where subtask k may run; all, if rules leave none."""
        own: Ints = np.flatnonzero(self._allowed[k])
        return own if len(own) else np.arange(self._p.m)

    def place(self, k: int, among: Iterable[int]) -> None:
        """Place subtask k on the least used of some TaskManagers."""
        look()
        used = self._taken.used
        t = np.sort(np.fromiter(among, np.intp))
        full = self._taken.needed(k)[t] & (used[t] >= self._p.tms.slots[t])
        t = t[~full] if not full.all() else t
        chosen = int(t[np.argmin(used[t] / self._slots[t])])
        self._taken.add(k, chosen)
        self.assignment[k] = chosen

    def room(self, k: int, t: int) -> bool:
        """Return True if TaskManager t has a slot for subtask k."""
        taken = self._taken
        return bool(not taken.needed(k)[t] or taken.used[t] < self._p.tms.slots[t])
