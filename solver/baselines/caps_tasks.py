"""Tasks and workers of CAPS, which treats equal ones as interchangeable.

CAPS takes the tasks of an operator to be alike. Where rules hold subtasks at different places
they are not: tasks of one kind are subtasks of an operator that may take the same places, and
whose partners in a FORWARD stream are of one kind too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.baselines.caps_load import Reading, Weights, exchanges
from edgeplace.solver.baselines.order import downstream
from edgeplace.solver.problem import Problem


@dataclass(frozen=True)
class Edge:
    """The bytes that tasks of one kind send to those of another."""

    source: int
    target: int
    bytes_per_s: float
    forward: bool
    """Task i sends to task i alone, else every task to all."""


@dataclass(frozen=True)
class Tasks:
    """Kinds of tasks and of workers.

    Attributes
    ----------
    members
        Subtasks of each kind, kinds of producers before kinds of consumers.
    operator
        Operator of each kind, shape (n_kinds,).
    compute
        Mean share that a task takes of the cores of each worker's node, shape (n_kinds, m).
    state
        Mean bytes/s that a task checkpoints, shape (n_kinds,).
    allowed
        Where tasks may run, shape (n_kinds, m).
    worker
        Kind of each worker, shape (m,).
    partner
        Producer of each subtask in a FORWARD stream, -1 without one, shape (n_subtasks,).
    """

    members: tuple[Ints, ...]
    operator: Ints
    compute: Floats
    state: Floats
    allowed: Bools
    edges: tuple[Edge, ...]
    worker: Ints
    partner: Ints

    @classmethod
    def of(cls, problem: Problem, reading: Reading = "flink") -> "Tasks":
        """Find the kinds of a problem, subtasks weighed by a reading (see `caps_load`)."""
        p, weights = problem, Weights.of(problem, reading)
        streams = list(_streams(p, reading))
        kind = p.subtasks.operator_of
        if reading == "flink":
            kind = _kinds(p, [channels for channels, forward in streams if forward])
        # Renumbered, producers first.
        order = downstream(p)
        _, first = np.unique(kind[order], return_index=True)
        kind = np.argsort(np.argsort(first))[kind]
        members = tuple(np.flatnonzero(kind == c) for c in range(len(first)))
        edges = []
        partner = np.full(p.n, -1, np.intp)
        for channels, forward in streams:
            ends = np.stack([kind[p.channels.source[channels]], kind[p.channels.target[channels]]])
            pairs, at = np.unique(ends, axis=1, return_inverse=True)
            flow = np.bincount(at.ravel(), weights=p.channels.bytes_per_s[channels])
            edges += [
                Edge(a, b, float(w), forward)
                for (a, b), w in zip(pairs.T.tolist(), flow, strict=True)
            ]
            if forward:
                partner[p.channels.target[channels]] = p.channels.source[channels]
        allowed = p.allowed()[[m[0] for m in members]]
        machine = np.stack([p.tms.node_class, p.tms.slots, p.tms.node_cores[p.tms.node]])
        worker = np.unique(np.concatenate([machine, allowed]), axis=1, return_inverse=True)[1]
        return cls(
            members=members,
            operator=p.subtasks.operator_of[[m[0] for m in members]],
            compute=np.array([weights.compute[m].mean(axis=0) for m in members]),
            state=np.array([weights.state[m].mean() for m in members]),
            allowed=allowed,
            edges=tuple(edges),
            worker=worker.ravel(),
            partner=partner,
        )

    def assigned(self, count: Ints) -> Ints:
        """Return an assignment with so many tasks of each kind on each worker, (n_kinds, m).

        Tasks join their partners in a FORWARD stream where the numbers let them.
        """
        at = np.full(len(self.partner), -1, np.intp)
        for kind, members in enumerate(self.members):
            left = count[kind].copy()
            others = []
            for k in members.tolist():
                t = int(at[self.partner[k]]) if self.partner[k] >= 0 else -1
                if t >= 0 and left[t] > 0:
                    at[k] = t
                    left[t] -= 1
                else:
                    others.append(k)
            at[others] = np.repeat(np.arange(len(left)), left)
        return at


def _streams(p: Problem, reading: Reading) -> Iterator[tuple[Ints, bool]]:
    """Yield the channels of each stream, and whether it joins subtasks one to one."""
    source, target = (p.subtasks.operator_of[ends] for ends in p.channels.feeding)
    for e in exchanges(p):
        own = (
            (source == e.source)
            & (target == e.target)
            & (p.channels.stream[: p.channels.n_feeding] == e.stream)
        )
        channels = np.flatnonzero(own)
        ends = (len(p.subtasks.range_of(o)) for o in (e.source, e.target))
        yield channels, e.forward if reading == "caps" else len({len(channels), *ends}) == 1


def _kinds(p: Problem, forward: list[Ints]) -> Ints:
    """Return the kind of each subtask: split until partners of alike ones are alike."""
    traits = np.concatenate([p.subtasks.operator_of[:, None], p.allowed()], axis=1)
    kind: Ints = np.unique(traits, axis=0, return_inverse=True)[1].ravel()
    while True:
        columns = [kind]
        for channels in forward:
            for own, other in (
                (p.channels.source, p.channels.target),
                (p.channels.target, p.channels.source),
            ):
                partners = np.full(p.n, -1, np.intp)
                partners[own[channels]] = kind[other[channels]]
                columns.append(partners)
        finer: Ints = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].ravel()
        if finer.max() == kind.max():
            return kind
        kind = finer
