"""A good plan if the cores of a machine that all sites share do not suffice.

Every branch of a tree may use its own machines, or the one at home that all of them share. The
cores there get a price (Lagrangian relaxation: Held and Karp, Math. Program. 1, 1971); at any price
each block of subtasks takes its best pattern by itself. At the price at which the machine is just
full, blocks that cost the same either way are sent home one by one while it has room: the greedy
rule for the multiple-choice knapsack (Sinha and Zoltners, Oper. Res. 27(3), 1979). The plan says
nothing of those in which branches use machines of one another.
"""

import time
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.sites.blocks import Blocks, blocks
from edgeplace.solver.sites.decide import unary
from edgeplace.solver.sites.far_hosts import branches
from edgeplace.solver.sites.patterns import Shape, by_shape, costs
from edgeplace.solver.sites.relaxation import Relaxation
from edgeplace.solver.tolerances import STALL

_ROUNDS = 60


@dataclass(frozen=True)
class _Front:
    """Blocks of one shape: the least cost of each set of members at home, and its cores there.

    Attributes
    ----------
    sets
        The members of each set as bits, shape (n_sets,).
    cost, cores
        Shape (B, n_sets).
    """

    shape: Shape
    members: Ints
    flow: Floats
    sets: Ints
    cost: Floats
    cores: Floats

    def best(self, price: float) -> Ints:
        """Return the best set of each block, the smaller one of equal ones; shape (B,)."""
        chosen: Ints = (self.cost + price * self.cores).argmin(axis=1)
        return chosen


def shared_plan(problem: Problem, deadline: float) -> Ints | None:
    """Return a plan in which branches share a machine at the root, None if that is not the case.

    Parameters
    ----------
    deadline
        Monotonic time at which to give up.
    """
    p, tree = problem, problem.network.tree
    if tree is None or not p.keeps_up.any(axis=1).all():
        return None
    relaxed = Relaxation.of(p, p.keeps_up)
    home = relaxed.full_home()
    if home < 0:
        return None
    shared = Relaxation.of(p, _own_or_home(relaxed, home), unlimited=home)
    found = blocks(shared)
    if found is None or found.linking:
        return None
    alone, _ = unary(p, found)
    fronts = []
    for shape, members, flow in by_shape(p, found, shared.has_slack):
        if time.monotonic() > deadline:
            return None
        front = _front(p, found, home, shape, members, flow, alone)
        if front is None:
            return None
        fronts.append(front)
    decided = np.zeros(p.n, bool)
    for front in fronts:
        decided[front.members] = True
    fixed = ~decided & (np.array([t[0] for t in found.places]) == home)
    room = p.tms.node_cores[p.tms.node[home]] - p.work.cores[fixed, p.tms.node_class[home]].sum()
    chosen = _fill(fronts, room)
    if chosen is None:
        return None
    assignment = np.array([t[0] for t in found.places], np.intp)
    for front, sets in zip(fronts, chosen, strict=True):
        places, pattern, cost = costs(p, found, front.shape, front.members, front.flow, alone)
        taken = _sets(home, places, pattern)
        cost = np.where(taken[None, :] == front.sets[sets][:, None], cost, np.inf)
        best = pattern[cost.argmin(axis=1)]
        assignment[front.members] = np.take_along_axis(places, best[:, :, None], axis=2)[:, :, 0]
    return assignment


def _own_or_home(relaxed: Relaxation, home: int) -> Bools:
    """Return the places in the branch that all of a subtask's data comes from, and at home."""
    p, tree = relaxed.problem, relaxed.problem.network.tree
    if tree is None:
        raise ValueError("the sites do not form a tree")
    tm_branch = branches(tree)[p.tms.site]
    own = np.where(relaxed.free, -2, tm_branch[relaxed.may.argmax(axis=1)])
    """-2: not known yet, -1: none."""
    source, target = p.channels.feeding
    while True:
        open_ = own[target] == -2
        ready = np.ones(p.n, bool)
        np.logical_and.at(ready, target[open_], own[source[open_]] != -2)
        fed = open_ & ready[target]
        if not fed.any():
            break
        low, high = np.full(p.n, np.iinfo(np.intp).max), np.full(p.n, -1)
        np.minimum.at(low, target[fed], own[source[fed]])
        np.maximum.at(high, target[fed], own[source[fed]])
        k = np.unique(target[fed])
        own[k] = np.where(low[k] == high[k], high[k], -1)
    may: Bools = relaxed.may & (own[:, None] == tm_branch[None, :]) & (own >= 0)[:, None]
    may[:, home] |= relaxed.may[:, home]
    unchanged = ~relaxed.free | ~may.any(axis=1)
    may[unchanged] = relaxed.may[unchanged]
    return may


def _front(
    p: Problem,
    found: Blocks,
    home: int,
    shape: Shape,
    members: Ints,
    flow: Floats,
    alone: list[Floats],
) -> _Front | None:
    places, pattern, cost = costs(p, found, shape, members, flow, alone)
    if (places == home).any(axis=0).sum() != (places == home).all(axis=0).sum():
        return None  # Blocks of one shape, but home is not at the same place in each.
    taken = _sets(home, places, pattern)
    order = np.argsort(taken, kind="stable")
    sets, first = np.unique(taken[order], return_index=True)
    least = np.minimum.reduceat(cost[:, order], first, axis=1)
    at_home = (sets[:, None] >> np.arange(members.shape[1]) & 1).astype(bool)
    cores = p.work.cores[members, p.tms.node_class[home]] @ at_home.T.astype(float)
    return _Front(shape, members, flow, sets, least, cores)


def _sets(home: int, places: Ints, pattern: Ints) -> Ints:
    """Return which members are at home in each pattern, as bits; shape (n_patterns,)."""
    members = np.arange(pattern.shape[1])
    there = (places[0] == home)[members[None, :], pattern]
    bits: Ints = there @ (1 << members)
    return bits


def _fill(fronts: list[_Front], room: float) -> list[Ints] | None:
    """Return the set of each block at the price at which home is just full; None: it never is."""

    def taken(chosen: list[Ints]) -> tuple[float, float]:
        cost = cores = 0.0
        for front, sets in zip(fronts, chosen, strict=True):
            rows = np.arange(len(sets))
            cost += float(front.cost[rows, sets].sum())
            cores += float(front.cores[rows, sets].sum())
        return cost, cores

    full = [front.best(0.0) for front in fronts]
    if taken(full)[1] <= room:
        return full
    # The least that must be at home.
    least = [np.where(np.isfinite(f.cost), f.cores, np.inf).argmin(axis=1) for f in fronts]
    if taken(least)[1] > room or not np.isfinite(taken(least)[0]):
        return None
    for _ in range(_ROUNDS):
        (dear, few), (cheap, many) = taken(least), taken(full)
        price = max((dear - cheap) / (many - few), 0.0)
        chosen = [front.best(price) for front in fronts]
        cost, cores = taken(chosen)
        if cost + price * cores >= (dear + price * few) * (1 - STALL):
            break
        if cores <= room:
            least = chosen
        else:
            full = chosen
    # Sent home in the order of what a core is worth, while there is room.
    room -= taken(least)[1]
    worth, more, which = [], [], []
    for i, (front, a, b) in enumerate(zip(fronts, least, full, strict=True)):
        rows = np.arange(len(a))
        saved = front.cost[rows, a] - front.cost[rows, b]
        extra = front.cores[rows, b] - front.cores[rows, a]
        better = np.flatnonzero(saved > 0)
        worth.append(saved[better] / np.maximum(extra[better], 1e-12))
        more.append(extra[better])
        which.append(np.stack([np.full(len(better), i), better], axis=1))
    chosen = [a.copy() for a in least]
    extra = np.concatenate(more)
    block = np.concatenate(which)
    for j in np.argsort(-np.concatenate(worth), kind="stable").tolist():
        if extra[j] <= room:
            room -= float(extra[j])
            i, b = block[j].tolist()
            chosen[i][b] = full[i][b]
    return chosen
