"""The cheapest sequence of options for the next bins, with a price for each change of option.

A shortest path over (bin, option), by dynamic programming: exact for the demand given. Without the
price of changes, the least cost of each bin adds up to a lower bound for any path. (Layered graphs
for right-sizing: S. Albers and J. Quedenfeld, Optimal algorithms for right-sizing data centers,
SPAA 2018.)
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Floats, Ints

_HALVINGS = 30


@dataclass(frozen=True)
class Path:
    """The option for each of the next bins.

    Parameters
    ----------
    options
        Shape (bins,): the option in each bin.
    cost
        Cost of the path, including changes.
    stay_cost
        Cost of keeping the current option in the first bin, and of the best path after it.
    bound
        Lower bound of the cost of any path.
    """

    options: Ints
    cost: float
    stay_cost: float
    bound: float

    @property
    def gap(self) -> float:
        """The relative distance between the path's cost and the bound."""
        return (self.cost - self.bound) / self.cost if self.cost > 0 else 0.0


def plan_ahead(costs: Floats, change: float, now: int) -> Path:
    """Return the cheapest path from the current option.

    Parameters
    ----------
    costs
        Shape (bins, options): cost of each option in each bin; not negative. It may be infinite,
        if another option's is finite.
    change
        Price of one change of option, in the unit of the costs.
    now
        The current option.
    """
    bins, n = costs.shape
    to_go = np.zeros(n)
    best_next = np.empty((bins, n), np.intp)
    for k in range(bins - 1, -1, -1):
        value = costs[k] + to_go
        cheapest = int(value.argmin())
        switch = value[cheapest] + change
        best_next[k] = np.where(value <= switch, np.arange(n), cheapest)
        to_go = np.minimum(value, switch)
        stay = value[now]
    options = np.empty(bins, np.intp)
    option = now
    for k in range(bins):
        option = int(best_next[k, option])
        options[k] = option
    return Path(options, float(to_go[now]), float(stay), float(costs.min(axis=1).sum()))


def shadow_price(costs: Floats, most: float) -> float:
    """Return the least price of a change at which the cheapest path has at most so many changes.

    It is what one change more would save. The path begins at the cheapest option of the first bin,
    and a change in that bin counts, too: else a path could hide one there, and more than one range
    of prices would have few enough.
    """
    now = int(costs[0].argmin())
    low, high = 0.0, float((costs.max(axis=1) - costs.min(axis=1)).sum())
    for _ in range(_HALVINGS):
        price = (low + high) / 2
        options = plan_ahead(costs, price, now).options
        if np.count_nonzero(np.diff(options, prepend=now)) <= most:
            high = price
        else:
            low = price
    return high
