"""Units: sets of equal subtasks; the model counts them instead of placing each one.

The subtasks of an operator behind a HASH or REBALANCE exchange are often alike: each gets the same
from everyone. A solver that may exchange them proves the same thing once for every order of them.
So the model says how many of them run where (symmetry by aggregation: Liberti, "Reformulations in
mathematical programming", Math. Program. 131, 2012). Of two units whose subtasks send to each
other, one at most is counted, since the traffic between two counts is their product.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Alone, Capped, Together


@dataclass(frozen=True)
class Units:
    """A partition of the subtasks.

    Attributes
    ----------
    of
        Unit of each subtask, shape (n_subtasks,).
    size, first
        Subtasks of each unit, and the first of them, shape (n_units,).
    """

    of: Ints
    size: Ints
    first: Ints

    @classmethod
    def single(cls, n: int) -> "Units":
        """Return n subtasks, each by itself."""
        return cls(np.arange(n), np.ones(n, np.intp), np.arange(n))

    @classmethod
    def alike(cls, problem: Problem, candidates: Bools) -> "Units":
        """Return the sets of subtasks with equal costs, needs, allowed places and partners.

        Where they run now, and how long their records take, is left out of account.

        Parameters
        ----------
        candidates
            Where each subtask may run, shape (n_subtasks, n_tms).
        """
        of, size = _numbered(_signatures(problem, candidates))
        if (size > 1).any():
            split = _neighbours_of_counted(problem, of, size)
            names = [(int(u), k if split[u] else -1) for k, u in enumerate(of)]
            of, size = _numbered(names)
        first = np.full(len(size), problem.n)
        np.minimum.at(first, of, np.arange(problem.n))
        return cls(of, size, first)

    def members(self, unit: int) -> Ints:
        """Return the subtasks of a unit."""
        return np.flatnonzero(self.of == unit)


def _numbered(names: list[tuple[object, ...]] | list[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Return the number of each name, counted from 0 as they come, and how often each comes."""
    index: dict[object, int] = {}
    of = np.array([index.setdefault(name, len(index)) for name in names], np.intp)
    return of, np.bincount(of, minlength=len(index))


def _signatures(p: Problem, candidates: Bools) -> list[tuple[object, ...]]:
    numbers = np.concatenate(
        [
            part
            for q in p.demands
            for part in (
                q.work.busy,
                q.work.cores,
                q.footprint.takes,
                q.footprint.checkpoint_bytes_per_s[:, None],
            )
        ],
        axis=1,
    )
    own: list[list[object]] = [[] for _ in range(p.n)]
    for r, c in enumerate(p.constraints):
        match c:
            case Together():
                for k in np.concatenate([c.first, c.second]).tolist():
                    own[k].append(("alone", k))
            case Alone():
                for k in np.concatenate([c.subtasks, c.others]).tolist():
                    own[k].append(("alone", k))
            case Capped():
                for k in c.subtasks.tolist():
                    own[k].append(r)
    sent, got = (
        _exchanged(p, p.channels.source, p.channels.target),
        _exchanged(p, p.channels.target, p.channels.source),
    )
    places = np.packbits(candidates, axis=1)
    return [
        (
            int(p.subtasks.operator_of[k]),
            numbers[k].tobytes(),
            places[k].tobytes(),
            tuple(own[k]),
            sent[k],
            got[k],
        )
        for k in range(p.n)
    ]


def _exchanged(p: Problem, near: Ints, far: Ints) -> list[bytes]:
    """Return, of each subtask, whom it exchanges how much with over which stream."""
    order = np.lexsort((p.channels.stream, far, near))
    cuts = np.searchsorted(near[order], np.arange(p.n + 1)).tolist()
    whom = np.stack([far[order], p.channels.stream[order], p.channels.live[order]], axis=1)
    flow = np.stack(
        [
            each[order]
            for q in p.demands
            for each in (
                q.channels.bytes_per_s,
                q.channels.least_bytes_per_s,
                q.channels.window_bytes,
            )
        ],
        axis=1,
    )
    return [whom[a:b].tobytes() + flow[a:b].tobytes() for a, b in pairwise(cuts)]


def _neighbours_of_counted(p: Problem, of: Ints, size: Ints) -> Bools:
    """Return which units to take apart, so that no two counted ones exchange anything."""
    a, b = of[p.channels.source], of[p.channels.target]
    both = (size[a] > 1) & (size[b] > 1)
    near: dict[int, set[int]] = {}
    for u, v in set(zip(a[both].tolist(), b[both].tolist(), strict=True)):
        near.setdefault(u, set()).add(v)
        near.setdefault(v, set()).add(u)
    split = np.zeros(len(size), bool)
    # The largest stay whole.
    for u in sorted(near, key=lambda u: (-size[u], u)):
        if not split[u]:
            split[list(near[u])] = True
    return split
