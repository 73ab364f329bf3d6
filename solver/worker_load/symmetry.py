"""Kinds: subtasks with equal loads, and the bytes that one kind sends to another.

Colour refinement (Weisfeiler and Leman 1968) splits the subtasks until those of one colour cost
the same, may run at the same places and exchange the same with as many of every colour. How many of
each kind a worker has then says all of its loads, if every two kinds are joined in one of two ways:

* all to all: a worker with a of the A senders and b of the B receivers sends a · (B - b) times
  what a channel carries;
* in stars (FORWARD, RESCALE): each of one kind, the hub, has g of the other, its leaves. A worker
  with h hubs and l leaves has room for at most min(l, g · h) pairs. So many it gets everywhere at
  once: which leaves belong to which hub is ours to say, as long as the stars of all streams
  together form trees in which no kind is the leaf of two (g > 1) others.

Kinds for which that does not hold are taken apart, in the end into single subtasks, which are
joined with any kind all to all or not at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.baselines.caps_load import Reading, Weights, exchanges
from edgeplace.solver.clock import afford, look
from edgeplace.solver.problem import Problem

_PAIR_S = 2e-7
"""Time to sort the places and costs of subtasks, for each TaskManager, measured."""


@dataclass(frozen=True)
class Joined:
    """The bytes that each subtask of one kind sends to its partners of another."""

    source: int
    target: int
    stream: int
    """In its job."""
    bytes_per_s: float
    """On one channel."""
    outs: int
    """Partners of a sender."""
    ins: int
    """Partners of a receiver."""
    everyone: bool
    """All to all, else in stars."""


@dataclass(frozen=True)
class Kinds:
    """A partition of the subtasks.

    Attributes
    ----------
    reading
        What subtasks weigh, see `caps_load`.
    of
        Kind of each subtask, shape (n_subtasks,).
    members
        Subtasks of each kind.
    operator
        Operator of each kind, shape (n_kinds,).
    compute
        Share that one takes of the cores of each worker's node, shape (n_kinds, n_workers).
    state
        Bytes/s that one checkpoints, shape (n_kinds,).
    allowed
        Where it may run, shape (n_kinds, n_workers).
    worker
        Number of each worker among unlike ones, shape (n_workers,).
    """

    problem: Problem
    reading: Reading
    of: Ints
    members: tuple[Ints, ...]
    operator: Ints
    compute: Floats
    state: Floats
    allowed: Bools
    joined: tuple[Joined, ...]
    worker: Ints

    @classmethod
    def find(cls, problem: Problem, reading: Reading = "flink") -> "Kinds":
        """Return the coarsest kinds that counts of them say all about."""
        p = problem
        afford(_PAIR_S * p.n * p.m)
        weights = Weights.of(p, reading)
        if reading == "caps":
            colour, joined = p.subtasks.operator_of, list(_as_caps(p))
        else:
            colour, joined = _told_apart(p, weights)
        _, first = np.unique(colour, return_index=True)
        machine = np.stack([p.tms.node_class, p.tms.slots, p.tms.node_cores[p.tms.node]])
        machine = np.concatenate([machine, p.allowed()[first]])
        return cls(
            problem=p,
            reading=reading,
            of=colour,
            members=tuple(np.flatnonzero(colour == c) for c in range(len(first))),
            operator=p.subtasks.operator_of[first],
            compute=weights.compute[first],
            state=weights.state[first],
            allowed=p.allowed()[first],
            joined=tuple(joined),
            worker=np.unique(machine, axis=1, return_inverse=True)[1].ravel(),
        )

    @property
    def size(self) -> Ints:
        """Subtasks of each kind, shape (n_kinds,)."""
        return np.bincount(self.of)

    def counted(self, assignment: Ints) -> Ints:
        """Return how many of each kind an assignment has on each worker, (n_kinds, n_workers)."""
        count = np.zeros((len(self.members), self.problem.m), np.intp)
        np.add.at(count, (self.of, assignment), 1)
        return count

    def dealt(self, count: Ints) -> Ints:
        """Return an assignment with so many of each kind on each worker, partners together."""
        at = np.full(self.problem.n, -1, np.intp)
        stars = _stars(self.joined)
        for tree in nx.connected_components(stars) if len(stars) else ():
            # Everything else hangs below the kind of fewest: it is the leaf of none.
            root = min(tree, key=lambda k: (len(self.members[k]), k))
            at[self.members[root]] = np.repeat(np.arange(self.problem.m), count[root])
            for hub, leaf in nx.bfs_edges(stars, root):
                # Trees have one edge between two kinds.
                self._join(at, stars.edges[hub, leaf, 0]["joined"], leaf, count[leaf])
        for k, members in enumerate(self.members):
            if k not in stars:
                at[members] = np.repeat(np.arange(self.problem.m), count[k])
        return at

    def _join(self, at: Ints, joined: Joined, leaf: int, count: Ints) -> None:
        """Place the leaves of a kind whose hubs are placed."""
        p = self.problem
        a, b = p.channels.feeding
        # Other streams, and channels without traffic, may join the two kinds as well.
        which = (self.of[a] == joined.source) & (self.of[b] == joined.target)
        which &= (p.channels.stream[: p.channels.n_feeding] == joined.stream) & (
            p.channels.bytes_per_s[: p.channels.n_feeding] > 0
        )
        hubs, leaves = (b, a) if leaf == joined.source else (a, b)
        left = count.copy()
        for h, k in zip(hubs[which].tolist(), leaves[which].tolist(), strict=True):
            # By CAPS's own weights a leaf may have several hubs.
            if at[k] < 0 and left[at[h]] > 0:
                at[k] = at[h]
                left[at[h]] -= 1
        others = [k for k in self.members[leaf].tolist() if at[k] < 0]
        at[others] = np.repeat(np.arange(len(left)), left)


def _as_caps(p: Problem) -> Iterator[Joined]:
    """Yield what operators send to each other as CAPS counts it: FORWARD goes one to one."""
    for e in exchanges(p):
        senders, receivers = (len(p.subtasks.range_of(o)) for o in (e.source, e.target))
        if e.forward:
            yield Joined(e.source, e.target, e.stream, e.bytes_per_s, 1, 1, everyone=False)
        else:
            each = e.bytes_per_s / receivers
            yield Joined(e.source, e.target, e.stream, each, receivers, senders, everyone=True)


def _told_apart(p: Problem, weights: Weights) -> tuple[Ints, list[Joined]]:
    """Return the kind of each subtask, and what kinds send, by Flink's channels."""
    traits = [p.subtasks.operator_of[:, None], weights.compute, weights.state[:, None]]
    own = np.concatenate([*traits, p.allowed()], axis=1)
    colour: Ints = np.unique(own, axis=0, return_inverse=True)[1].ravel()
    while True:
        look()
        colour = _refined(p, colour)
        joined = list(_joined(p, colour))
        odd = _odd(joined, np.bincount(colour))
        if odd is None:
            return colour, joined
        alone = np.flatnonzero(colour == odd)
        colour = colour.copy()
        colour[alone] = colour.max() + 1 + np.arange(len(alone))


def _numbered(rows: list[NDArray[np.generic]]) -> Ints:
    """Return the number of each row of a table, given by its columns, among its unlike rows."""
    order = np.lexsort(rows)
    new = np.zeros(len(order), bool)
    for column in rows:
        new[1:] |= column[order][1:] != column[order][:-1]
    number = np.empty(len(order), np.intp)
    number[order] = np.cumsum(new)
    return number


def _refined(p: Problem, colour: Ints) -> Ints:
    """Split colours until those of one have as many partners of every colour, on like channels."""
    a, b = p.channels.feeding
    flow = p.channels.bytes_per_s[: p.channels.n_feeding]
    heard = flow > 0
    ends = np.concatenate([a[heard], b[heard]])
    partners = np.concatenate([b[heard], a[heard]])
    outwards = np.repeat([0, 1], int(heard.sum()))
    like = np.tile(_numbered([p.channels.stream[: p.channels.n_feeding][heard], flow[heard]]), 2)
    while True:
        look()
        met = _numbered([outwards, like, colour[partners]])
        seen, times = np.unique(ends * (int(met.max(initial=0)) + 1) + met, return_counts=True)
        subtask, what = np.divmod(seen, int(met.max(initial=0)) + 1)
        profile: list[tuple[int, ...]] = [(c,) for c in colour.tolist()]
        entries = zip(subtask.tolist(), what.tolist(), times.tolist(), strict=True)
        for k, group in groupby(entries, key=lambda entry: entry[0]):
            profile[k] += tuple(v for entry in group for v in entry[1:])
        index: dict[tuple[int, ...], int] = {}
        finer = np.array([index.setdefault(own, len(index)) for own in profile], np.intp)
        if len(index) == len(np.unique(colour)):
            return finer
        colour = finer


def _joined(p: Problem, colour: Ints) -> Iterator[Joined]:
    """Yield the bytes that the kinds send to each other."""
    a, b = p.channels.feeding
    flow = p.channels.bytes_per_s[: p.channels.n_feeding]
    heard = np.flatnonzero(flow > 0)
    a, b, flow, stream = a[heard], b[heard], flow[heard], p.channels.stream[heard]
    size = np.bincount(colour)
    like = _numbered([stream, flow, colour[b], colour[a]])
    _, first, times = np.unique(like, return_index=True, return_counts=True)
    for i, n in zip(first.tolist(), times.tolist(), strict=True):
        source, target = int(colour[a[i]]), int(colour[b[i]])
        outs, ins = n // int(size[source]), n // int(size[target])
        everyone = outs == int(size[target])
        yield Joined(source, target, int(stream[i]), float(flow[i]), outs, ins, everyone)


def _stars(joined: tuple[Joined, ...] | list[Joined]) -> "nx.MultiGraph[int]":
    """Return the kinds that are joined in stars."""
    graph: nx.MultiGraph[int] = nx.MultiGraph()
    graph.add_edges_from((j.source, j.target, {"joined": j}) for j in joined if not j.everyone)
    return graph


def _odd(joined: list[Joined], size: Ints) -> int | None:
    """Return a kind that has to be taken apart, None if counts say all."""
    # The kinds that are one to one with each other are leaves together.
    leaves = nx.utils.UnionFind(range(len(size)))
    stars: nx.MultiGraph[int] = nx.MultiGraph()
    stars.add_nodes_from(range(len(size)))
    for j in joined:
        look()
        if j.everyone:
            continue
        if min(j.outs, j.ins) > 1 or nx.has_path(stars, j.source, j.target):
            return min(j.source, j.target, key=lambda k: (size[k], k))
        stars.add_edge(j.source, j.target)
        if j.outs == j.ins:
            leaves.union(j.source, j.target)
    held: dict[int, Joined] = {}
    for j in joined:
        if not j.everyone and j.outs != j.ins:
            leaf = j.target if j.outs > 1 else j.source
            if leaves[leaf] in held:
                return leaf
            held[leaves[leaf]] = j
    return None
