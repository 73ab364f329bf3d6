"""Blocks of subtasks that are decided together, and the few subtasks that link the blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.clock import afford, look
from edgeplace.solver.problem import Problem
from edgeplace.solver.sites.relaxation import Relaxation

MOST_PATTERNS = 20_000
"""Ways to place a block that are worth trying all."""
MOST_LINKING = 12
_SORTING_S = 2.5e-7
"""Time to sort one place of one subtask in among others, measured."""
MOST_SETTINGS = 4096
"""Ways to place all linking subtasks together."""


@dataclass(frozen=True)
class Blocks:
    """A partition of the subtasks that have a choice.

    Attributes
    ----------
    places
        TaskManagers that are worth trying for each subtask.
    linking
        Subtasks that several blocks exchange with; they run only where there is room.
    members
        Subtasks of each block, with those fixed on the machines that it may fill.
    """

    places: tuple[Ints, ...]
    linking: tuple[int, ...]
    members: tuple[Ints, ...]


def blocks(relaxed: Relaxation) -> Blocks | None:
    """Return blocks small enough to try all their placements, None if there are none such."""
    p = relaxed.problem
    places = tuple(_worth_trying(relaxed))
    width = np.array([len(t) for t in places])
    if (width == 0).any():
        return None
    node = np.where(relaxed.has_slack, -1, p.tms.node)
    if _too_many_patterns(places, width, node):
        return None
    parted = _parted(p, places, width, node)
    if parted is None:
        return None
    found, linking = parted
    fixed = [k for k in np.flatnonzero(width == 1).tolist() if node[places[k][0]] >= 0]
    on_node: dict[int, list[int]] = {}
    for k in fixed:
        on_node.setdefault(int(node[places[k][0]]), []).append(k)
    members = []
    for c in found:
        nodes = {int(v) for k in c for v in node[places[k]] if v >= 0}
        members.append(np.array(sorted([*c, *(k for v in nodes for k in on_node.pop(v, []))])))
    # Machines that only fixed subtasks use still have to hold them.
    members += [np.array(own) for own in on_node.values()]
    return Blocks(places, tuple(linking), tuple(members))


def _parted(
    p: Problem, places: Sequence[Ints], width: Ints, node: Ints
) -> tuple[list[list[int]], list[int]] | None:
    """Return the subtasks of each block, and the linking ones; None: no blocks are small enough."""
    free = np.flatnonzero(width > 1).tolist()
    loose = {k for k in free if (node[places[k]] < 0).all()}
    near, by_node, logs = _neighbours(p, width > 1), _by_node(p, places, node), np.log(width)
    linking: list[int] = []
    while True:
        look()
        found = _components(free, near, by_node, set(linking))
        large = [c for c in found if logs[c].sum() > np.log(MOST_PATTERNS)]
        if not large:
            return found, linking
        # The subtask with most neighbours connects the most.
        candidates = [k for c in large for k in c if k in loose]
        if not candidates or len(linking) >= MOST_LINKING:
            return None
        linking.append(max(candidates, key=lambda k: (len(near.get(k, ())), -k)))
        if np.prod(width[linking], dtype=float) > MOST_SETTINGS:
            return None


def _worth_trying(relaxed: Relaxation) -> Sequence[Ints]:
    """Return the TaskManagers to try for each subtask; at a site with slack, one that has it."""
    afford(_SORTING_S * int(relaxed.may.sum()))
    p = relaxed.problem
    order = np.lexsort((np.arange(p.m), ~relaxed.has_slack, p.tms.site))
    rank = np.empty(p.m, np.intp)
    rank[order] = np.arange(p.m)
    k, t = np.nonzero(relaxed.may)
    # By subtask, then site; at each site those with room first.
    sorting = np.lexsort((rank[t], k))
    k, t = k[sorting], t[sorting]
    place = k * p.network.n_sites + p.tms.site[t]
    first = np.ones(len(place), bool)
    first[1:] = place[1:] != place[:-1]
    leader = t[np.flatnonzero(first)[np.cumsum(first) - 1]] if len(t) else t
    kept = first | ~relaxed.has_slack[leader]
    k, t = k[kept], t[kept]
    t = t[np.lexsort((t, k))]
    return np.split(t, np.searchsorted(k, np.arange(1, p.n)))


def _too_many_patterns(places: Sequence[Ints], width: Ints, node: Ints) -> bool:
    """Return whether one machine joins so many subtasks that a block has too many patterns.

    Whoever may run on a machine that is short of something is in one block with all others there:
    only subtasks that have room everywhere can be taken out of blocks.
    """
    k = np.repeat(np.arange(len(width)), width)
    v = node[np.concatenate(places)] if len(places) else np.zeros(0, np.intp)
    kept = (v >= 0) & (width[k] > 1)
    n_nodes = int(node.max(initial=0)) + 1
    # Sorted and thinned out: `np.unique` hashes, and takes a hundred times as long.
    pair = np.sort(k[kept] * n_nodes + v[kept])
    k, v = np.divmod(pair[np.diff(pair, prepend=-1) > 0], n_nodes)
    patterns = np.bincount(v, weights=np.log(width[k]))
    return bool((patterns > np.log(MOST_PATTERNS)).any())


def _neighbours(p: Problem, free: Bools) -> dict[int, set[int]]:
    near: dict[int, set[int]] = {}
    both = free[p.channels.source] & free[p.channels.target] & (p.channels.bytes_per_s > 0)
    for k, j in zip(
        p.channels.source[both].tolist(), p.channels.target[both].tolist(), strict=True
    ):
        near.setdefault(k, set()).add(j)
        near.setdefault(j, set()).add(k)
    return near


def _by_node(p: Problem, places: Sequence[Ints], node: Ints) -> list[list[int]]:
    """Return the subtasks with a choice that may run on each node that is short of something."""
    on: dict[int, list[int]] = {}
    for k in range(p.n):
        look()
        if len(places[k]) > 1:
            for v in set(node[places[k]].tolist()) - {-1}:
                on.setdefault(v, []).append(k)
    return list(on.values())


def _components(
    free: list[int], near: dict[int, set[int]], by_node: list[list[int]], linking: set[int]
) -> list[list[int]]:
    """Return the connected components of subtasks without the linking ones."""
    root = {k: k for k in free if k not in linking}

    def find(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = root[k]
        return k

    def join(k: int, j: int) -> None:
        if k in root and j in root:
            root[find(j)] = find(k)

    for k, others in near.items():
        for j in others:
            join(k, j)
    for own in by_node:
        for j in own[1:]:
            join(own[0], j)
    found: dict[int, list[int]] = {}
    for k in root:
        found.setdefault(find(k), []).append(k)
    return list(found.values())
