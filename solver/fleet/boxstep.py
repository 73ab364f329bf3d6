"""Prices of shared resources at which the replicas together stay within the capacity.

For any prices of at least 0 the replicas' least costs, less what is there at these prices, bound
the optimum from below (Lagrangian duality: Geoffrion, "Lagrangean relaxation for integer
programming", 1974). The best prices are found by cutting planes within a box that moves (Kelley,
1960; Marsten, Hogan and Blankenship, "The boxstep method", 1975).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Floats
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.tolerances import ROUNDING

_ROUNDS = 80
_BOX = 0.5
"""Half the width of the first box around prices that are known to be near, as a share of them."""


@dataclass(frozen=True)
class CuttingPlane:
    """The bound at some prices, and its gradient."""

    prices: Floats
    bound: float
    slope: Floats


@dataclass(frozen=True)
class Dual:
    """The best prices that were found.

    Attributes
    ----------
    best
        The cut with the highest bound.
    ceiling
        No prices within the last box have a higher bound.
    exceeds
        Whether the bound is above what any plan could cost: there is none.
    cuts
        All that were found.
    """

    best: CuttingPlane
    ceiling: float
    exceeds: bool
    cuts: tuple[CuttingPlane, ...]

    def mixture(self) -> Floats | None:
        """Return what share of the replicas should choose as at each cut, shape (n_cuts,).

        So that they take no more than there is, at the least cost: the relaxation's own answer
        (Dantzig and Wolfe, 1960). None if no shares do.
        """
        model = LinearModel()
        share = model.columns(Kind.REAL, np.ones(len(self.cuts)))
        first = np.zeros(len(share), np.intp)
        model.all_equal(first, share, np.ones(len(share)), np.ones(1))
        slopes = np.stack([c.slope for c in self.cuts], axis=1)
        for over in slopes:
            model.all_at_most(first, share, over / max(np.abs(over).max(), 1e-300), np.zeros(1))
        costs = [c.bound - float(c.prices @ c.slope) for c in self.cuts]
        cheap = Affine(dict(zip(share.tolist(), costs, strict=True)))
        answer = Milp(model).minimise(cheap, seconds=None, gap=0.0, start=None)
        return answer.values


def highest(
    at: Callable[[Floats], CuttingPlane],
    start: Floats,
    most: float,
    gap: float,
    seconds_left: Callable[[], float],
) -> Dual:
    """Return the prices of the highest bound.

    Parameters
    ----------
    at
        Returns the cut at some prices, shape (n_limits,); all must be scaled so that a price of 1
        is much.
    start
        Prices to start from.
    most
        What no plan costs more than.
    gap
        Relative distance to the ceiling that is near enough.
    """
    n = len(start)
    cuts = [at(start)]
    best = cuts[0]
    reach = np.maximum(start * _BOX, 0.05 if not start.any() else 0.05 * start.max())
    centre = start
    ceiling = np.inf
    for _ in range(_ROUNDS if n else 0):
        if best.bound > most or seconds_left() <= 0:
            break
        low, high = np.maximum(centre - reach, 0.0), centre + reach
        try:
            prices, ceiling = _master(cuts, low, high)
        except OutOfTimeError:
            break
        at_edge = ((prices <= low * (1 + ROUNDING)) & (low > 0)) | (prices >= high * (1 - ROUNDING))
        if ceiling - best.bound <= gap * max(abs(best.bound), 1e-300):
            if not at_edge.any():
                break
            centre, reach = best.prices, np.where(at_edge, reach * 4, reach)
            continue
        try:
            cut = at(prices)
        except OutOfTimeError:
            break
        cuts.append(cut)
        if cut.bound > best.bound:
            # The box goes where it is better, and grows where its edge was in the way.
            best, centre = cut, cut.prices
            reach = np.where(at_edge, reach * 2, reach)
    return Dual(best, ceiling, best.bound > most, tuple(cuts))


def _master(cuts: list[CuttingPlane], low: Floats, high: Floats) -> tuple[Floats, float]:
    """Return where in a box all cuts together allow the highest bound, and that bound."""
    n = len(low)
    base = max(abs(c.bound) for c in cuts) or 1.0
    model = LinearModel()
    shift = model.columns(Kind.REAL, high - low)
    rise = model.column(Kind.REAL, np.inf)
    # The lowest that any cut gets in the box: a column is never below 0.
    falls = [np.minimum(c.slope * (low - c.prices), c.slope * (high - c.prices)) for c in cuts]
    floor = min(c.bound + float(fall.sum()) for c, fall in zip(cuts, falls, strict=True))
    for cut in cuts:
        terms = {int(shift[r]): -float(cut.slope[r]) / base for r in range(n)}
        terms[rise] = 1.0
        room = cut.bound + float(cut.slope @ (low - cut.prices)) - floor
        model.at_most(Affine(terms), room / base)
    answer = Milp(model).minimise(Affine({rise: -1.0}), seconds=None, gap=0.0, start=None)
    if answer.values is None:
        raise ArithmeticError("the cutting planes of the shared limits contradict one another")
    prices = low + np.clip(answer.values[:n], 0.0, high - low)
    return prices, floor + base * float(answer.values[n])
