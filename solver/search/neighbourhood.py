"""Parts of a plan that are worth deciding anew together.

Large-neighbourhood search (Shaw, "Using constraint programming and local search methods to solve
vehicle routing problems", CP 1998): all but a part of the plan stays as it is, and the exact model
finds the best of what is left.
"""

import numpy as np

from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.problem import Problem


class Neighbourhoods:
    """Parts of plans by turns: some sites, then some chains; larger where they are soon decided."""

    def __init__(self, problem: Problem, seed: int, few_sites: int, few_subtasks: int) -> None:
        self._problem = problem
        self._rng = np.random.default_rng(seed)
        self._few_sites, self._few_free = few_sites, max(few_subtasks // 2, 1)
        self._n_sites, self._n_free = few_sites, few_subtasks
        self._sites_turn = False

    def near(self, plan: Ints) -> Bools:
        """Return where subtasks may run beside where they do, shape (n_subtasks, n_tms)."""
        self._sites_turn = not self._sites_turn
        if self._sites_turn:
            return sites_nearby(self._problem, plan, self._rng, self._n_sites)
        return chains_nearby(self._problem, plan, self._rng, self._n_free)

    def decided(self, soon: bool) -> None:
        """Learn whether the last part was decided in time."""
        if self._sites_turn:
            self._n_sites = self._n_sites + 1 if soon else max(self._n_sites - 1, self._few_sites)
        else:
            self._n_free = self._n_free * 2 if soon else max(self._n_free // 2, self._few_free)


def sites_nearby(problem: Problem, plan: Ints, rng: np.random.Generator, n_sites: int) -> Bools:
    """Return where subtasks may run if what is at some random sites may change places there.

    Shape (n_subtasks, n_tms).
    """
    p = problem
    used = np.unique(p.tms.site)
    chosen = rng.choice(used, size=min(n_sites, len(used)), replace=False)
    there = np.isin(p.tms.site, chosen)
    return _with_plan(p, plan, p.keeps_up & there & there[plan][:, None])


def chains_nearby(problem: Problem, plan: Ints, rng: np.random.Generator, n_free: int) -> Bools:
    """Return where subtasks may run if some that exchange most may go anywhere.

    Shape (n_subtasks, n_tms).
    """
    p = problem
    free = np.zeros(p.n, bool)
    choice = np.flatnonzero(p.keeps_up.sum(axis=1) > 1)
    while len(choice) and free.sum() < min(n_free, len(choice)):
        # From a random subtask along the heaviest channels, as far as they lead to new ones.
        k = int(rng.choice(choice))
        for _ in range(p.n):
            free[k] = True
            near = np.flatnonzero((p.channels.source == k) | (p.channels.target == k))
            other = p.channels.source[near] + p.channels.target[near] - k
            new = ~free[other] & (p.keeps_up[other].sum(axis=1) > 1)
            if not new.any() or free.sum() >= n_free:
                break
            k = int(other[new][np.argmax(p.channels.bytes_per_s[near][new])])
        choice = choice[~free[choice]]
        n_free = min(n_free, int(free.sum()) + len(choice))
    return _with_plan(p, plan, p.keeps_up & free[:, None])


def _with_plan(p: Problem, plan: Ints, places: Bools) -> Bools:
    may = places.copy()
    may[np.arange(p.n), plan] = True
    return may
