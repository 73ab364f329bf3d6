"""Tabu search: a local search that leaves its optimum and does not return to it.

Glover, "Tabu Search - Part I", ORSA Journal on Computing 1(3), 1989, doi 10.1287/ijoc.1.3.190; for
operator placement: Nardelli, Cardellini, Grassi and Lo Presti, IEEE TPDS 30(8), 2019, doi
10.1109/tpds.2019.2896115. It starts from the local search's optimum. Each step makes the best
relocation that breaks no limit, though it may cost. A subtask may not go back to the site it left
for some steps, unless that gives the best placement so far (Glover's recency memory and
aspiration; Nardelli et al. list whole placements instead). How many is drawn anew each time, about
the number of subtasks, as in Taillard, "Robust taboo search for the quadratic assignment problem",
Parallel Computing 17, 1991, doi 10.1016/S0167-8191(05)80147-4: with short tenures the walk goes
round among places of almost the same price.
"""

import time

import numpy as np

from edgeplace.solver.arrays import Bools
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.local_search import descend
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TIE, ZERO

TENURE = 1.0, 2.0
"""Least and most steps for which a return is forbidden, for each subtask of the problem."""
PATIENCE = 20
"""Steps without a better placement after which a search without a time limit ends, for each
subtask."""


def tabu(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the best placement on the way; the local search's if that breaks a limit.

    A time limit is used up: ends by themselves differ too much to compare methods by.
    """
    p = problem
    deadline = budget.deadline()
    rng = np.random.default_rng(budget.seed)
    state = State(p)
    descend(p, state, deadline)
    best = state.assignment.copy()
    if not all(state.holds(k) for k in range(p.n)):
        return Found(best)
    least = state.wan
    sites = _sites(p)
    forbidden_until = np.zeros(sites.shape, np.intp)
    patience = PATIENCE * p.n if budget.time_limit_s is None else float("inf")
    step = last_better = 0
    while step - last_better < patience and time.monotonic() < deadline:
        step += 1
        better = least * (1 - TIE) - ZERO
        move = _best_move(p, state, sites, forbidden_until < step, better - state.wan)
        if move is None and (forbidden_until < step).all():
            break
        if move is None:
            continue
        k, t = move
        tenure = rng.integers(int(TENURE[0] * p.n), int(TENURE[1] * p.n), endpoint=True)
        forbidden_until[k, p.tms.site[state.assignment[k]]] = step + tenure
        state.put(k, t)
        if state.wan < better:
            best, least, last_better = state.assignment.copy(), state.wan, step
    return Found(best)


def _sites(p: Problem) -> Bools:
    """Return the sites where rules let each subtask run, shape (n_subtasks, n_sites)."""
    sites = np.zeros((p.n, p.network.n_sites), bool)
    np.logical_or.at(sites.T, p.tms.site, p.allowed().T)
    return sites


def _best_move(
    p: Problem, state: State, sites: Bools, free: Bools, aspired: float
) -> tuple[int, int] | None:
    """Return the best relocation to another site that breaks no limit.

    It is to a site that is not forbidden, or it changes `wan` by less than `aspired`.
    """
    every = np.arange(p.n)
    here = p.tms.site[state.assignment]
    change = state.at_site - state.at_site[every, here][:, None]
    open_ = sites & (free | (change < aspired))
    open_[every, here] = False
    pairs = np.argwhere(open_)
    hosts: dict[int, list[int]] = {}
    for i in np.argsort(change[open_], kind="stable").tolist():
        k, site = pairs[i].tolist()
        if k not in hosts:
            hosts[k] = state.by_price(k, state.fits(k))
        for t in hosts[k]:
            if p.tms.site[t] == site and state.carried(k, t):
                return k, t
    return None
