"""A first plan, and better ones by exchanging subtasks between two workers.

Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983) on counts: in each step one
worker, mostly the fullest, and another one look at all exchanges of one, two or three subtasks of a
kind for as many of another kind, or for nothing, at once.
"""

import time

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.worker_load.loads import Loads

Ints = NDArray[np.intp]
_STEPS_PER_SUBTASK, _MOST_STEPS = 60, 20_000
_SHARPNESS = 200.0
"""Of the potential, Σ exp(sharpness · load / largest load): it sees the fullest workers only."""
_HEAT = 0.15
_FULLEST_FIRST = 0.7
"""How often the fullest worker takes part."""
_AT_ONCE = (1, 1, 2, 3)


def spread(loads: Loads, start: Ints | None = None) -> Ints | None:
    """Return counts of all subtasks, each put where it hurts least; None if one finds no slot.

    Parameters
    ----------
    start
        Counts of those that are placed already, shape (n_kinds, n_workers).
    """
    kinds, p = loads.kinds, loads.kinds.problem
    count = np.zeros((len(kinds.members), p.m), np.intp) if start is None else start.copy()
    for k in np.lexsort([-kinds.compute.max(axis=1), kinds.allowed.sum(axis=1)]).tolist():
        for _ in range(int(kinds.size[k] - count[k].sum())):
            count[k] += 1
            taken, full = loads.slots(count.T), loads.of_all(count)
            count[k] -= 1
            may = kinds.allowed[k] & (taken <= p.tm_slots)
            if not may.any():
                return None
            count[k, np.argmin(np.where(may, full, np.inf))] += 1
    return count


def changes(n_kinds: int) -> Ints:
    """Return all exchanges of one subtask for one of another kind or nothing, (n, n_kinds)."""
    # The last one stands for nothing.
    gives, takes = np.nonzero(~np.eye(n_kinds + 1, dtype=bool))
    one = np.eye(n_kinds + 1, n_kinds, dtype=np.intp)
    return one[takes] - one[gives]


def exchanged(loads: Loads, start: Ints, seed: int, deadline: float) -> tuple[Ints, Ints]:
    """Return the best counts found from some start, and what single workers had on the way.

    Returns
    -------
    tuple
        Counts, shape (n_kinds, n_workers), and of single workers, shape (n, n_kinds).
    """
    p = loads.kinds.problem
    rng = np.random.default_rng(seed)
    one = changes(len(loads.kinds.members))
    count = start.T.copy()
    load = loads.of_all(start)
    best, least = count.copy(), float(load.max())
    seen = {tuple(own) for own in count.tolist()}
    steps = min(_STEPS_PER_SUBTASK * p.n, _MOST_STEPS) if p.m > 1 else 0
    for step in range(steps):
        if least <= 0 or time.monotonic() >= deadline:
            break
        heat = _HEAT * (1 - step / steps) ** 2
        a = int(np.argmax(load)) if rng.random() < _FULLEST_FIRST else int(rng.integers(p.m))
        b = (a + 1 + int(rng.integers(p.m - 1))) % p.m
        change = int(rng.choice(_AT_ONCE)) * one
        mine, theirs = count[a] + change, count[b] - change
        # What cannot be given is most of it, and the check is cheap.
        held = ((mine >= 0) & (theirs >= 0)).all(axis=1)
        mine, theirs = mine[held], theirs[held]
        held = loads.fit(mine, a) & loads.fit(theirs, b)
        mine, theirs = mine[held], theirs[held]
        if not len(mine):
            continue
        my_load, their_load = loads.of_worker(mine, a), loads.of_worker(theirs, b)
        top, sharp = max(load[a], load[b]), _SHARPNESS / least
        with np.errstate(over="ignore"):
            potential = np.exp(sharp * (my_load - top)) + np.exp(sharp * (their_load - top))
        now = np.exp(sharp * (load[a] - top)) + np.exp(sharp * (load[b] - top))
        taken = int(np.argmin(potential - heat * rng.exponential(size=len(mine))))
        if potential[taken] >= now + heat * rng.random():
            continue
        count[a], count[b] = mine[taken], theirs[taken]
        load[a], load[b] = my_load[taken], their_load[taken]
        seen.update((tuple(count[a].tolist()), tuple(count[b].tolist())))
        if load.max() < least:
            best, least = count.copy(), float(load.max())
    return best.T, np.array(sorted(seen), np.intp)
