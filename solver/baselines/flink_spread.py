"""Flink's own strategy: equal shares of slots on all machines, without regard to the network."""

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.problem import Problem


def flink_spread(problem: Problem) -> Ints:
    """Return the assignment that Flink's `LeastUtilizationSlotMatchingStrategy` makes.

    Each slot goes to the TaskManager with the least share of its slots in use
    (`taskmanager.load-balance.mode: SLOTS`, formerly `cluster.evenly-spread-out-slots`). Subtasks
    that rules hold in a place are placed first: where data is born is no choice of Flink's.
    """
    filler = Filler(problem)
    held = (problem.allowed().sum(axis=1) < problem.m).tolist()
    for k in sorted(range(problem.n), key=lambda k: not held[k]):
        filler.place(k, filler.allowed(k))
    return filler.assignment
