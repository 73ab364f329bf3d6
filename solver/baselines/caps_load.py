"""What CAPS weighs: compute, state and network load of every worker.

Wang, Huang, Wang, Kalavri and Matta, "CAPSys: Contention-aware task placement for data stream
processing", EuroSys 2025; source: https://github.com/CASP-Systems-BU/CAPSys, scripts/caps-go,
caps_multi/utils.go (CalculateThreshold, GetUpperBoundForCost).

A worker is a TaskManager. Its compute load is its subtasks' share of its node's cores, its state
load the bytes/s that they checkpoint, the one figure of state traffic that costs tell, and its
network load the bytes/s that they send to other workers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
_NOTHING = 1e-6
"""Of the even share: with less between it and the most, ratios would be those of rounding."""


@dataclass(frozen=True)
class Scale:
    """Between what the load of the fullest worker may lie: compute, state, network; shape (3,).

    The least is an even share of the whole, and no network load; the most is one worker's slots
    filled with the most expensive subtasks. Where the two are as good as the same, there is nothing
    to choose.
    """

    least: Floats
    most: Floats

    @classmethod
    def of(cls, problem: Problem) -> "Scale":
        """Return the scale of a problem."""
        p = problem
        compute = compute_share(p)
        state = p.checkpoint_bytes_per_s
        sent = np.zeros(p.n)
        np.add.at(sent, p.feeding[0], p.bytes_per_s[: p.n_feeding])
        least = np.array([compute.min(axis=1).sum(), state.sum(), 0.0]) / p.m
        most = np.array([_fullest(p, cost) for cost in (compute.max(axis=1), state, sent)])
        apart = most - least > np.maximum(least * _NOTHING, np.finfo(float).tiny)
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
    share: Floats = p.cores[:, p.tm_class] / p.node_cores[p.tm_node]
    return share


def worker_loads(problem: Problem, assignment: Ints) -> Floats:
    """Return the compute, state and network load of each TaskManager, shape (m, 3)."""
    p = problem
    loads = np.zeros((p.m, 3))
    np.add.at(loads[:, 0], assignment, compute_share(p)[np.arange(p.n), assignment])
    np.add.at(loads[:, 1], assignment, p.checkpoint_bytes_per_s)
    a, b = (assignment[ends] for ends in p.feeding)
    np.add.at(loads[:, 2], a[a != b], p.bytes_per_s[: p.n_feeding][a != b])
    return loads


def largest_load(problem: Problem, assignment: Ints) -> float:
    """Return the largest normalised load of any worker in any dimension."""
    return float(Scale.of(problem).normalised(worker_loads(problem, assignment)).max())


def _fullest(p: Problem, cost: Floats) -> float:
    """Return what the most expensive subtasks cost that one worker has slots for."""
    slots = min(int(p.tm_slots.max(initial=0)), p.n)
    # One slot of a sharing group takes a subtask of each of its operators.
    per_slot = np.zeros((int(p.group.max()) + 1, slots))
    for o, group in enumerate(p.group.tolist()):
        dearest = -np.sort(-cost[p.subtasks.range_of(o)])[:slots]
        per_slot[group, : len(dearest)] += dearest
    return float(-np.sort(-per_slot, axis=None)[:slots].sum())
