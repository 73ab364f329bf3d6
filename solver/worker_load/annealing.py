"""A first plan, and better ones by exchanging subtasks between two workers.

Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983) on counts: in each step one
worker, mostly the fullest, and another one look at all exchanges of one, two or three subtasks of a
kind for as many of another kind, or for nothing, at once.
"""

import time

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import look
from edgeplace.solver.worker_load.loads import Loads

_STEPS_PER_SUBTASK, _MOST_STEPS = 60, 20_000
_SHARPNESS = 200.0
"""Of the potential, Σ exp(sharpness · load / largest load): it sees the fullest workers only."""
_HEAT = 0.15
_FULLEST_FIRST = 0.7
"""How often the fullest worker takes part."""
_AT_ONCE = (1, 1, 2, 3)
_FEW_KINDS = 64


def spread(loads: Loads, deadline: float, start: Ints | None = None) -> Ints | None:
    """Return counts of all subtasks, each put where it adds the least load; None: no slot is left.

    Parameters
    ----------
    deadline
        Monotonic time from which on each goes where most slots are free.
    start
        Counts of those that are placed already, shape (n_kinds, n_workers).
    """
    kinds, p = loads.kinds, loads.kinds.problem
    count = np.zeros((len(kinds.members), p.m), np.intp) if start is None else start.copy()
    for k in np.lexsort([-kinds.compute.max(axis=1), kinds.allowed.sum(axis=1)]).tolist():
        look()
        missing = int(kinds.size[k] - count[k].sum())
        if not missing:
            continue
        # What each worker would have with one more.
        more = count.copy()
        more[k] += 1
        taken = loads.slots(more.T)
        in_time = time.monotonic() < deadline
        full = loads.of_all(more) if in_time else taken - p.tms.slots
        for _ in range(missing):
            may = kinds.allowed[k] & (taken <= p.tms.slots)
            if not may.any():
                return None
            w = int(np.argmin(np.where(may, full, np.inf)))
            count[k, w] += 1
            more[k, w] += 1
            taken[w] = loads.slots(more[:, w])
            full[w] = loads.of_worker(more[:, w], w) if in_time else taken[w] - p.tms.slots[w]
    return count


class Exchanges:
    """Exchanges of one subtask for one of another kind, or for nothing."""

    def __init__(self, n_kinds: int) -> None:
        self._n_kinds = n_kinds
        every = np.arange(n_kinds)
        # Kinds may be so many that all pairs of them fill the memory.
        self._all = _exchanges(every, every, n_kinds) if n_kinds <= _FEW_KINDS else None

    def between(self, mine: Ints, theirs: Ints) -> Ints:
        """Return exchanges that change counts to no less than none, shape (n, n_kinds).

        Parameters
        ----------
        mine, theirs
            What two workers have, shape (n_kinds,); the changes are those of the first.
        """
        if self._all is None:
            return _exchanges(np.flatnonzero(mine > 0), np.flatnonzero(theirs > 0), self._n_kinds)
        held = ((self._all >= -mine) & (self._all <= theirs)).all(axis=1)
        return self._all[held]


def _exchanges(gives: Ints, takes: Ints, n_kinds: int) -> Ints:
    # The number after the last kind stands for nothing.
    give, take = np.append(gives, n_kinds), np.append(takes, n_kinds)
    i, j = np.nonzero(give[:, None] != take)
    change = np.zeros((len(i), n_kinds + 1), np.intp)
    rows = np.arange(len(i))
    change[rows, give[i]] = -1
    change[rows, take[j]] = 1
    return change[:, :n_kinds]


def exchanged(loads: Loads, start: Ints, seed: int, deadline: float) -> tuple[Ints, Ints]:
    """Return the best counts found from some start, and what single workers had on the way.

    Returns
    -------
    tuple
        Counts, shape (n_kinds, n_workers), and of single workers, shape (n, n_kinds).
    """
    p = loads.kinds.problem
    exchanges = Exchanges(len(loads.kinds.members))
    rng = np.random.default_rng(seed)
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
        times = int(rng.choice(_AT_ONCE))
        change = times * exchanges.between(count[a] // times, count[b] // times)
        mine, theirs = count[a] + change, count[b] - change
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
