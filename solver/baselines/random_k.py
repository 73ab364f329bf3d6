"""Random-k: the best of some random placements, by the cost model.

How learned cost models are used to place operators: Heinrich, Binnig, Kornmayer and Luthra,
"Costream: Learned Cost Models for Operator Placement in Edge-Cloud Environments", ICDE 2024,
arXiv 2403.08444: draw placements that are valid, predict each, keep the best. Here the evaluator
predicts, so nothing is lost to the model: this is what such a search reaches at most.
"""

import time

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.problem import Problem

DRAWS = 100
"""Costream's scripts draw 25, and 100 for the baseline they compare with."""


def random_k(problem: Problem, budget: Budget = UNLIMITED, draws: int = DRAWS) -> Found:
    """Return the best of some random placements; None if the time is up before the first.

    If none of them holds, the one that breaks fewest limits.
    """
    deadline = budget.deadline()
    rng = np.random.default_rng(budget.seed)
    nothing = State(problem)
    best = None
    least = (np.inf, np.inf)
    for _ in range(draws):
        if time.monotonic() > deadline:
            break
        draw = drawn(problem, nothing.cleared(), rng)
        found = assess(problem, draw)
        worth = (float(len(found.violations)), found.wan_cost)
        if worth < least:
            best, least = draw, worth
    return Found(best)


def drawn(p: Problem, state: State, rng: np.random.Generator) -> Ints:
    """Return a placement: each subtask, in random order, on a random TaskManager that is left."""
    allowed = p.allowed()
    for k in rng.permutation(p.n).tolist():
        left = rng.permutation(np.flatnonzero(state.fits(k))).tolist()
        hosts = (t for t in left if state.carried(k, t))
        anywhere = np.flatnonzero(allowed[k]) if allowed[k].any() else np.arange(p.m)
        state.put(k, next(hosts, int(rng.choice(anywhere))))
    return state.assignment
