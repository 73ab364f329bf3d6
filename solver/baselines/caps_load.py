"""The loads of CAPS: compute, state and network load of every worker.

Wang, Huang, Wang, Kalavri and Matta, "CAPSys: Contention-aware task placement for data stream
processing", EuroSys 2025; source: https://github.com/CASP-Systems-BU/CAPSys, scripts/caps-go,
caps_multi/utils.go (CalculateThreshold, GetUpperBoundForCost).

A worker is a TaskManager. Its compute load is its subtasks' share of its node's cores, its state
load the bytes/s that they checkpoint, the one figure of state traffic that costs tell, and its
network load the bytes/s that they send to other workers.

The load of a subtask can be computed in two ways. They differ where FORWARD in CAPS's files joins
unlike numbers of tasks, and where key groups do not divide evenly among the tasks behind a HASH:

* ``flink``: as Flink runs it. The first exchange is RESCALE: 8 senders to 6 receivers give two of
  these twice what the others get, so they take twice the CPU. Of 128 key groups, five tasks get 25
  or 26. Bytes go where the channels lead.
* ``caps``: as CAPS has it. All tasks of an operator weigh the same, and a worker with a senders and
  b receivers of a FORWARD exchange sends max(a - b, 0) times what a sender sends.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgeplace.model import InvalidInputError, ShipStrategy
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import CAPS_SPREAD

Reading = Literal["flink", "caps"]
_LOCAL = (ShipStrategy.FORWARD, ShipStrategy.RESCALE)


@dataclass(frozen=True)
class Exchange:
    """The bytes that the tasks of one operator send to those of another, as CAPS counts them."""

    source: int
    target: int
    stream: int
    """In its job."""
    bytes_per_s: float
    """Of one sender."""
    forward: bool
    """A sender sends to one receiver, else to all alike."""


def exchanges(p: Problem) -> Iterator[Exchange]:
    """Yield the streams of a problem as CAPS counts them."""
    jobs = {job.name: job for job in p.subtasks.jobs}
    source, target = (p.subtasks.operator_of[ends] for ends in p.channels.feeding)
    ends = np.stack([source, target, p.channels.stream[: p.channels.n_feeding]])
    streams, at = np.unique(ends, axis=1, return_inverse=True)
    flow = np.bincount(at.ravel(), weights=p.channels.bytes_per_s[: p.channels.n_feeding])
    for (a, b, stream), whole in zip(streams.T.tolist(), flow.tolist(), strict=True):
        strategy = jobs[p.subtasks.operators[a][0]].streams[stream].ship_strategy
        senders = len(p.subtasks.range_of(a))
        yield Exchange(a, b, stream, whole / senders, strategy in _LOCAL)


@dataclass(frozen=True)
class Weights:
    """The loads of each subtask.

    Attributes
    ----------
    compute
        Share of the cores of each TaskManager's node, shape (n_subtasks, n_workers).
    state
        Bytes/s that it checkpoints, shape (n_subtasks,).
    sent
        Bytes/s that it sends if all receivers are elsewhere, shape (n_subtasks,).
    """

    compute: Floats
    state: Floats
    sent: Floats

    @classmethod
    def of(cls, problem: Problem, reading: Reading = "flink") -> "Weights":
        """Return the weights of a problem's subtasks.

        Raises
        ------
        InvalidInputError
            If CAPS could not weigh it: rules let subtasks of one operator run at unlike places.
        """
        p = problem
        sent = np.zeros(p.n)
        np.add.at(sent, p.channels.feeding[0], p.channels.bytes_per_s[: p.channels.n_feeding])
        compute, state = compute_share(p), p.footprint.checkpoint_bytes_per_s
        if reading == "flink":
            return cls(compute, state, sent)
        _check_alike(p)
        first, operator = p.subtasks.first[:-1], p.subtasks.operator_of
        size = np.diff(p.subtasks.first)

        def even(own: Floats) -> Floats:
            whole: Floats = np.add.reduceat(own, first, axis=0)
            return (whole.T / size).T[operator]

        return cls(even(compute), even(state), even(sent))


def _check_alike(p: Problem) -> None:
    for o, (_, op) in enumerate(p.subtasks.operators):
        own = p.allowed()[p.subtasks.range_of(o)]
        if (own != own[0]).any():
            raise InvalidInputError(
                f"subtasks of {op.name!r} may run at unlike places, and CAPS takes all of an "
                "operator for alike",
                "leave out the rules and places of data that tell them apart, or weigh by the "
                "reading 'flink'",
            )


@dataclass(frozen=True)
class Scale:
    """The range of the fullest worker's load: compute, state, network; shape (3,).

    The least is an even share of the whole, and no network load; the most is one worker's slots
    filled with the most expensive subtasks. Where the two are as good as the same, there is nothing
    to choose.
    """

    least: Floats
    most: Floats

    @classmethod
    def of(cls, problem: Problem, reading: Reading = "flink") -> "Scale":
        """Return the scale of a problem."""
        p, weights = problem, Weights.of(problem, reading)
        compute, state, sent = weights.compute, weights.state, weights.sent
        least = np.array([compute.min(axis=1).sum(), state.sum(), 0.0]) / p.m
        most = np.array([_fullest(p, cost) for cost in (compute.max(axis=1), state, sent)])
        apart = most - least > np.maximum(least * CAPS_SPREAD, np.finfo(float).tiny)
        return cls(least, np.where(apart, most, least))

    def at(self, ratio: Floats) -> Floats:
        """Return the loads at some ratios between least and most, 0 to 1."""
        return self.least + (self.most - self.least) * ratio

    def normalised(self, loads: Floats) -> Floats:
        """Return loads, the last axis of length 3, as ratios; 0 where there is nothing to choose.

        A ratio is below 0 where unlike workers make less than an even share possible.
        """
        span = self.most - self.least
        return np.where(span > 0, (loads - self.least) / np.where(span > 0, span, 1.0), 0.0)


def compute_share(p: Problem) -> Floats:
    """Return each subtask's share of the cores of each TaskManager's node, shape (n, m)."""
    share: Floats = p.work.cores[:, p.tms.node_class] / p.tms.node_cores[p.tms.node]
    return share


def worker_loads(problem: Problem, assignment: Ints, reading: Reading = "flink") -> Floats:
    """Return the compute, state and network load of each TaskManager, shape (m, 3)."""
    p, weights = problem, Weights.of(problem, reading)
    loads = np.zeros((p.m, 3))
    np.add.at(loads[:, 0], assignment, weights.compute[np.arange(p.n), assignment])
    np.add.at(loads[:, 1], assignment, weights.state)
    if reading == "caps":
        count = np.zeros((len(p.subtasks.operators), p.m))
        np.add.at(count, (p.subtasks.operator_of, assignment), 1)
        for e in exchanges(p):
            senders, receivers = count[e.source], count[e.target]
            if e.forward:
                apart = np.maximum(senders - receivers, 0)
            else:
                apart = senders * (1 - receivers / receivers.sum())
            loads[:, 2] += e.bytes_per_s * apart
        return loads
    a, b = (assignment[ends] for ends in p.channels.feeding)
    np.add.at(loads[:, 2], a[a != b], p.channels.bytes_per_s[: p.channels.n_feeding][a != b])
    return loads


def largest_load(problem: Problem, assignment: Ints, reading: Reading = "flink") -> float:
    """Return the largest normalised load of any worker in any dimension."""
    loads = worker_loads(problem, assignment, reading)
    return float(Scale.of(problem, reading).normalised(loads).max())


def _fullest(p: Problem, cost: Floats) -> float:
    """Return the load of one worker whose slots hold the most expensive subtasks."""
    slots = min(int(p.tms.slots.max(initial=0)), p.n)
    # One slot of a sharing group takes a subtask of each of its operators.
    per_slot = np.zeros((int(p.subtasks.group.max()) + 1, slots))
    for o, group in enumerate(p.subtasks.group.tolist()):
        dearest = -np.sort(-cost[p.subtasks.range_of(o)])[:slots]
        per_slot[group, : len(dearest)] += dearest
    return float(-np.sort(-per_slot, axis=None)[:slots].sum())
