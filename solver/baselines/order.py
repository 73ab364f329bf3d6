"""The order in which methods that build a placement take the subtasks."""

from itertools import pairwise

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.problem import Problem


def downstream(problem: Problem) -> Ints:
    """Return all subtasks, producers before consumers, operator by operator."""
    operator = problem.subtasks.operator_of
    source, target = problem.channels.feeding
    streams = np.unique(np.stack([operator[source], operator[target]]), axis=1)
    depth = np.zeros(len(problem.subtasks.group), np.intp)
    while True:
        deeper = depth.copy()
        np.maximum.at(deeper, streams[1], depth[streams[0]] + 1)
        if (deeper == depth).all():
            return np.argsort(depth[operator], kind="stable")
        depth = deeper


def neighbours(problem: Problem) -> tuple[list[Ints], list[Ints]]:
    """Return the producers and the consumers of each subtask."""
    source, target = problem.channels.feeding
    return _gathered(target, source, problem.n), _gathered(source, target, problem.n)


def _gathered(of: Ints, what: Ints, n: int) -> list[Ints]:
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(n + 1))
    return [np.unique(what[order[a:b]]) for a, b in pairwise(ends)]
