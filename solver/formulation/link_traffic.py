"""The traffic of links, and its price, as expressions of a model's columns."""

import numpy as np

from edgeplace.solver.arrays import Floats
from edgeplace.solver.formulation.crossings import Crossed, Crossings, Entries
from edgeplace.solver.formulation.exact_sums import product_parts, rounded, totals, words
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, LinearModel, merged
from edgeplace.solver.problem import Problem


def carried(p: Problem, crossed: Crossed, flow: Floats, written: Entries) -> tuple[Entries, Floats]:
    """Return bytes/s on links, as entries of columns or shorthands, and what is always there."""
    entries = merged(
        np.concatenate([crossed.link, written[0]]),
        np.concatenate([crossed.column, written[1]]),
        np.concatenate([crossed.value * flow[crossed.pair], written[2]]),
    )
    fixed = np.zeros(len(p.network.names))
    np.add.at(fixed, crossed.fixed_link, crossed.fixed * flow[crossed.fixed_pair])
    return entries, fixed


def priced(
    price: Floats,
    model: LinearModel,
    c: PlacementColumns,
    crossings: Crossings,
    crossed: Crossed,
    flow: Floats,
    written: Entries,
) -> Affine:
    """Return the price of all traffic, given that of each link.

    The price of a pair's flow on a link is rounded once, and is the same wherever it appears; the
    sums are exact.
    """
    fixed = product_parts(crossed.fixed, flow[crossed.fixed_pair] * price[crossed.fixed_link])
    moving = product_parts(crossed.value, flow[crossed.pair] * price[crossed.link])
    state = written[2] * price[written[0]]
    every = np.concatenate([moving, [state, np.zeros(len(state))], fixed], axis=1)
    each = words(every, float(c.units.size.max(initial=1)))
    column, at = np.unique(np.concatenate([crossed.column, written[1]]), return_inverse=True)
    moves = len(at)
    short = totals(at, each[:, :moves], len(column))
    # A column, or a shorthand for several.
    row, column, _ = crossings.expand(np.arange(len(column)), column, np.ones(len(column)))
    cost = totals(column, short[:, row], len(model.upper))
    return _not_below(c, cost, each[:, moves:].sum(axis=1))


def _not_below(c: PlacementColumns, cost: Floats, constant: Floats) -> Affine:
    """Return the costs of columns as an expression; the costs of places are at least 0.

    A unit is somewhere, so what the cheapest of its places costs is a constant. What costs more
    than the best plan can then be seen column by column. What cancels does so without rounding:
    large costs that come to nothing say nothing of small ones.

    Parameters
    ----------
    cost, constant
        In words (`exact_sums`), shape (n_words, n_columns) and (n_words,).
    """
    # It ends: each round finds a cheaper place of some unit.
    while True:
        value = rounded(cost)
        lowest = np.full(len(c.units.size), np.inf)
        np.minimum.at(lowest, c.unit, value[c.column])
        cheapest = np.flatnonzero(value[c.column] == lowest[c.unit])
        least = np.zeros((len(cost), len(c.units.size)))
        least[:, c.unit[cheapest]] = cost[:, c.column[cheapest]]
        least[:, rounded(least) >= 0] = 0.0
        if not least.any():
            break
        cost[:, c.column] -= least[:, c.unit]
        constant = constant + (least * c.units.size).sum(axis=1)
    used = np.flatnonzero(value)
    terms = dict(zip(used.tolist(), value[used].tolist(), strict=True))
    return Affine(terms, float(rounded(constant)))
