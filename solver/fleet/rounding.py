"""A plan from prices: the cheapest patterns, and an exact choice where two cost nearly the same.

The replicas whose next best pattern costs little more are chosen anew together, exactly, in ever
larger pools; a pool of all that can be in a better plan proves the bound.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.arrays import Ints
from edgeplace.solver.fleet.boxstep import Dual
from edgeplace.solver.fleet.executor import Spread
from edgeplace.solver.fleet.part import Part
from edgeplace.solver.fleet.parts import Parts
from edgeplace.solver.fleet.rounding_milp import Columns, choose, columns

_POOLS = (100, 1_000, 10_000)
"""Replicas whose patterns are chosen together with those that the prices leave open."""
_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, less whole numbers, fall evenly into shares of 1."""
_CLOSING = 50_000
"""Patterns up to which all that can be in a better plan are tried together."""


def find_plan(
    parts: Parts, spread: Spread, dual: Dual, gap: float, seconds_left: Callable[[], float]
) -> tuple[list[NDArray[np.integer]] | None, float]:
    """Return patterns of all replicas that hold together, and what no others have less `wan` than.

    An infinite bound proves that there are none.
    """
    prices, bound = dual.best.prices, dual.best.bound
    priced = spread.map(lambda part: part.at(prices))
    used = np.sum([p.used for p in priced], axis=0)
    cost = sum(p.cost for p in priced)
    known: list[NDArray[np.integer]] | None = None
    value = np.inf
    if (used <= parts.room).all():
        known, value = [p.chosen for p in priced], cost
    margin = np.concatenate([p.margin for p in priced])
    nearest = np.argsort(margin, kind="stable")[: _POOLS[-1] + 1]
    for size in _POOLS:
        near = known is not None and value - bound <= gap * value
        if near or seconds_left() <= 0:
            break
        # All that can be in a better plan, if that is little enough.
        extra = value - bound
        among = nearest[margin[nearest] <= extra]
        complete = len(among) <= size
        if not complete:
            among = nearest[:size]
            extra = float(margin[among[-1]])
        own = columns(parts.parts, parts.by_part(np.sort(among)), prices, extra)
        if len(own.cost) > _CLOSING:
            break
        base: list[NDArray[np.integer]] = [p.chosen for p in priced]
        if not complete and size == _POOLS[-1]:
            # Too many replicas for an exact choice: they are divided first.
            base = _divided(parts, spread, dual) or base
        chosen, least = _choose(parts, own, base, among, gap, seconds_left)
        if chosen is not None:
            new = sum(p.taken(c)[0] for p, c in zip(parts.parts, chosen, strict=True))
            if new < value:
                known, value = chosen, new
        if complete:
            bound = max(bound, min(least, value))
            break
    return known, bound


def _divided(parts: Parts, spread: Spread, dual: Dual) -> list[NDArray[np.integer]] | None:
    """Return choices of which some are as at one cut, some as at another; None without shares."""
    shares = dual.mixture()
    if shares is None:
        return None
    some = np.flatnonzero(shares > 0)
    ends = np.cumsum(shares[some]) / shares[some].sum()
    ends[-1] = 1.0
    divided: list[NDArray[np.integer]] = [np.zeros(len(p.fits), np.int16) for p in parts.parts]
    for k, first, last in zip(some.tolist(), [0.0, *ends[:-1]], ends, strict=True):
        priced = spread.map(partial(Part.at, prices=dual.cuts[k].prices * parts.unit))
        for own, new in zip(divided, priced, strict=True):
            turn = np.arange(len(own)) * _GOLDEN % 1
            mine = (first <= turn) & (turn < last)
            own[mine] = new.chosen[mine]
    return divided


def _choose(
    parts: Parts,
    own: Columns,
    base: list[NDArray[np.integer]],
    among: Ints,
    gap: float,
    seconds_left: Callable[[], float],
) -> tuple[list[NDArray[np.integer]] | None, float]:
    """Choose among some replicas' patterns, all others as they are in a base."""
    room, cost = parts.room, 0.0
    near = np.zeros(parts.n_replicas, bool)
    near[among] = True
    others = np.flatnonzero(~near)
    for part, rest, c in zip(parts.parts, parts.by_part(others), base, strict=True):
        own_cost, used = part.of(rest).taken(c[rest])
        room, cost = room - used, cost + own_cost
    left = seconds_left()
    seconds = None if left == np.inf else max(left, 0.0)
    taken, least = choose(own, room, cost, seconds, gap / 10)
    return None if taken is None else _replaced(base, own, taken), least


def _replaced(
    base: list[NDArray[np.integer]], own: Columns, taken: Ints
) -> list[NDArray[np.integer]]:
    chosen = [c.copy() for c in base]
    for i, c in enumerate(chosen):
        here = taken[own.part[taken] == i]
        c[own.replica[here]] = own.pattern[here]
    return chosen
