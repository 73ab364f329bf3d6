"""Greedy first-fit: every subtask on the first TaskManager of one list that can host it.

Nardelli, Cardellini, Grassi and Lo Presti, "Efficient Operator Placement for Distributed Data
Stream Processing Applications", IEEE TPDS 30(8), 2019, doi 10.1109/tpds.2019.2896115, model-free
heuristics: resources are sorted by their cumulative link penalty to the nodes that host pinned
operators, and operators are placed in breadth-first order from the sources. The penalty of a link
is here its price, then its delay: the terms for network usage and response time.
"""

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.order import downstream
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem


def greedy_first_fit(problem: Problem) -> Ints:
    """Return the assignment of greedy first-fit.

    A subtask that fits nowhere goes to the first TaskManager of the list where rules allow it.
    """
    state = State(problem)
    fill(problem, state)
    return state.assignment


def fill(problem: Problem, state: State) -> None:
    """Place all subtasks in an empty state."""
    p = problem
    resources = by_penalty(p, state)
    allowed = p.allowed()
    order = downstream(p)
    pinned = allowed[order].sum(axis=1) == 1
    for k in np.concatenate([order[pinned], order[~pinned]]).tolist():
        fits = state.fits(k)
        hosts = (t for t in resources if fits[t] and state.carried(k, t))
        last_resort = resources[int(np.argmax(allowed[k, resources]))]
        state.put(k, next(hosts, last_resort))


def by_penalty(problem: Problem, state: State) -> list[int]:
    """Return the TaskManagers, those with the least penalty to pinned subtasks first."""
    p, routes = problem, state.routes
    allowed = p.allowed()
    pinned = np.zeros(p.network.n_sites)
    for k in range(p.n):
        look()
        sites = np.unique(p.tms.site[allowed[k]])
        if len(sites) == 1:
            pinned[sites[0]] += 1
    penalties = [
        ((table + table.T) @ pinned)[p.tms.site]
        for table in (routes.delay_ms, routes.price, routes.missing.astype(float))
    ]
    ranked: list[int] = np.lexsort(penalties).tolist()
    return ranked
