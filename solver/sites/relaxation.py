"""What is left of a placement when only machines and restrictions limit it.

The relaxed problem minimises `wan` subject to who may run where and to what machines hold: cores,
slots, memory and disk. Links, credit windows, latency, moves and rules between subtasks are left
out, so its optimum bounds `wan` from below; if the evaluator finds that its plan holds all of them
too, the plan is optimal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Relaxation:
    """A problem without its limits between machines.

    Attributes
    ----------
    may
        Where each subtask may run, shape (n_subtasks, n_tms).
    roomy
        TaskManagers that hold all that may run there at once, shape (n_tms,).
    """

    problem: Problem
    may: Bools
    roomy: Bools

    @classmethod
    def of(cls, problem: Problem, may: Bools) -> "Relaxation":
        """Relax a problem, given where each subtask may run."""
        return cls(problem, may, _roomy(problem, may))

    @property
    def free(self) -> Bools:
        """Which subtasks have a choice, shape (n_subtasks,)."""
        several: Bools = self.may.sum(axis=1) > 1
        return several

    def narrowed(self, may: Bools) -> "Relaxation":
        """Return the relaxation with fewer places."""
        return Relaxation.of(self.problem, may)


def _roomy(p: Problem, may: Bools) -> Bools:
    """Return the TaskManagers whose limits, and whose node's, cannot bind."""
    k, t = np.nonzero(may)

    def most(each: Floats) -> Floats:
        return np.bincount(t, weights=each, minlength=p.m).astype(float, copy=False)

    # A subtask that may run on several TaskManagers of a node counts more than once: never less.
    cores = most(p.cores[k, p.tm_class[t]])
    node = np.bincount(p.tm_node, weights=cores, minlength=len(p.node_cores))
    pairs, count = np.unique(p.subtasks.operator_of[k] * p.m + t, return_counts=True)
    group = p.group[pairs // p.m] * p.m + pairs % p.m
    groups, of = np.unique(group, return_inverse=True)
    largest = np.zeros(len(groups))
    np.maximum.at(largest, of, count)
    slots = np.bincount(groups % p.m, weights=largest, minlength=p.m)
    roomy: Bools = (
        (node <= p.node_cores * (1 - 1e-9))[p.tm_node]
        & (slots <= p.tm_slots)
        & (most(p.memory_bytes[k]) <= p.tm_memory)
        & (most(p.disk_bytes[k]) <= p.tm_disk)
    )
    return roomy
