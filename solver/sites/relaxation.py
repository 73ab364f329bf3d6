"""The relaxed problem, which keeps only the limits of machines and the restrictions.

It minimises `wan` subject to the allowed places of subtasks and the capacity of machines: cores,
slots, memory and disk. Links, credit windows, latency, moves and rules between subtasks are left
out, so its optimum bounds `wan` from below; if the evaluator finds that its plan holds all of them
too, the plan is optimal.
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats
from edgeplace.solver.clock import afford
from edgeplace.solver.problem import Problem
from edgeplace.solver.slots import slots_of_places
from edgeplace.solver.tolerances import TOLERANCE

_PLACE_S = 1e-7
"""Time to look at one place of one subtask, measured."""


@dataclass(frozen=True)
class Relaxation:
    """A problem without its limits between machines.

    Attributes
    ----------
    may
        Where each subtask may run, shape (n_subtasks, n_tms).
    has_slack
        TaskManagers that hold all that may run there at once, shape (n_tms,).
    unlimited
        TaskManager whose limits are left out as well, so that it has slack; -1: none.
    """

    problem: Problem
    may: Bools
    has_slack: Bools
    unlimited: int

    @classmethod
    def of(cls, problem: Problem, may: Bools, unlimited: int = -1) -> "Relaxation":
        """Relax a problem, given where each subtask may run."""
        has_slack = _has_slack(problem, may)
        if unlimited >= 0:
            has_slack[unlimited] = True
        return cls(problem, may, has_slack, unlimited)

    @property
    def free(self) -> Bools:
        """True for subtasks with more than one place, shape (n_subtasks,)."""
        several: Bools = self.may.sum(axis=1) > 1
        return several

    def narrowed(self, may: Bools) -> "Relaxation":
        """Return the relaxation with fewer places."""
        return Relaxation.of(self.problem, may, self.unlimited)

    def full_home(self) -> int:
        """Return the TaskManager at the root of the tree that most may run on and that may be full.

        -1 if there is none.
        """
        tree = self.problem.network.tree
        count = (self.may & self.free[:, None]).sum(axis=0) * ~self.has_slack
        if tree is None:
            return -1
        count[self.problem.tms.site != tree.root] = 0
        return int(count.argmax()) if count.any() else -1


def _has_slack(p: Problem, may: Bools) -> Bools:
    """Return the TaskManagers whose limits, and whose node's, cannot bind."""
    afford(_PLACE_S * int(may.sum()))
    k, t = np.nonzero(may)

    def most(each: Floats) -> Floats:
        return np.bincount(t, weights=each, minlength=p.m).astype(float, copy=False)

    # A subtask that may run on several TaskManagers of a node counts more than once: never less.
    cores = most(p.work.cores[k, p.tms.node_class[t]])
    node = np.bincount(p.tms.node, weights=cores, minlength=len(p.tms.node_cores))
    has_slack: Bools = (node <= p.tms.node_cores * (1 - TOLERANCE))[p.tms.node] & (
        slots_of_places(p, k, t) <= p.tms.slots
    )
    for takes, has in zip(p.footprint.takes.T, p.tms.has.T, strict=True):
        has_slack &= most(takes[k]) <= has
    return has_slack
