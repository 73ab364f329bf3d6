"""Local search: co-locate, swap, relocate, until nothing helps.

Nardelli, Cardellini, Grassi and Lo Presti, IEEE TPDS 30(8), 2019, doi 10.1109/tpds.2019.2896115,
model-free heuristics. It starts from greedy first-fit and repeats three improvements as long as
the objective, here `wan`, falls: bring two operators that communicate to the resource of one of
them; exchange all that two resources host; move a single operator. Only placements within all
limits are visited. Where greedy first-fit broke a limit, a step that mends it is an improvement
whatever it costs: the paper's instances have no such start, ours do.
"""

import time

import numpy as np

from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.greedy_first_fit import by_penalty, fill
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TIE, ZERO


def local_search(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the local optimum that is reached from greedy first-fit."""
    deadline = budget.deadline()
    state = State(problem)
    descend(problem, state, deadline)
    return Found(state.assignment)


def descend(problem: Problem, state: State, deadline: float) -> None:
    """Fill an empty state greedily, and improve it until no step helps or the time is up."""
    fill(problem, state)
    resources = by_penalty(problem, state)
    improved = True
    while improved and time.monotonic() < deadline:
        improved = _co_locate(problem, state, deadline)
        improved |= _swap(problem, state, resources, deadline)
        improved |= _relocate(problem, state, deadline)


def _co_locate(p: Problem, state: State, deadline: float) -> bool:
    """Bring ends of channels to one TaskManager, heaviest channel first."""
    improved = False
    for i in np.argsort(-p.channels.bytes_per_s, kind="stable").tolist():
        ends = int(p.channels.source[i]), int(p.channels.target[i])
        for k, other in (ends, ends[::-1]):
            here, there = int(state.assignment[k]), int(state.assignment[other])
            if p.tms.site[here] == p.tms.site[there]:
                continue
            price = state.price(k)
            cheaper = price[there] < price[here] * (1 - TIE) - ZERO
            if cheaper and state.fits(k)[there] and state.carried(k, there):
                state.put(k, there)
                improved = True
        if time.monotonic() > deadline:
            break
    return improved


def _swap(p: Problem, state: State, resources: list[int], deadline: float) -> bool:
    """Exchange what TaskManagers host, but for the subtasks that rules hold in place."""
    allowed = p.allowed()
    free = allowed.sum(axis=1) > 1
    improved = False
    for i, u in enumerate(resources):
        for v in resources[i + 1 :]:
            if p.tms.site[u] == p.tms.site[v]:
                continue
            on_u = np.flatnonzero((state.assignment == u) & free)
            on_v = np.flatnonzero((state.assignment == v) & free)
            movable = allowed[on_u, v].all() and allowed[on_v, u].all()
            if movable and len(on_u) + len(on_v) > 1:
                moves = [(k, v) for k in on_u.tolist()] + [(k, u) for k in on_v.tolist()]
                improved |= _all_or_none(state, moves)
            if time.monotonic() > deadline:
                return improved
    return improved


def _all_or_none(state: State, moves: list[tuple[int, int]]) -> bool:
    """Make all moves if all hold and `wan` falls, else none."""
    before = [(k, int(state.assignment[k])) for k, _ in moves]
    wan = state.wan
    for k, _ in moves:
        state.take(k)
    for k, t in moves:
        if not state.fits(k)[t] or not state.carried(k, t):
            break
        state.put(k, t)
    else:
        if state.wan < wan * (1 - TIE) - ZERO:
            return True
    for k, _ in moves:
        if state.assignment[k] >= 0:
            state.take(k)
    for k, t in before:
        state.put(k, t)
    return False


def _relocate(p: Problem, state: State, deadline: float) -> bool:
    """Move single subtasks to the places with the least cost."""
    improved = False
    for k in range(p.n):
        t = state.cheaper(k)
        if t is not None:
            state.put(k, t)
            improved = True
        if time.monotonic() > deadline:
            break
    return improved
