"""Envelopes: rows that tighten the model by the room beside a number of subtasks at a site.

Between the k subtasks of a counted unit at a site and the m subtasks that send to it from there,
k * m of the pairs need no link. But the more of the one, the fewer of the other fit: with f(k) the
most that fit beside k, by slots and by cores, no more than k * f(k) pairs stay inside. The lines
over these points are rows; without them the relaxation has half of both.
"""

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.formulation.crossings import TreeCrossings
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TOLERANCE

MOST = 64
"""Largest count that is worth looking at."""
LINES = 8
"""Most rows for a unit and an edge."""


def envelopes(
    p: Problem, model: LinearModel, c: PlacementColumns, crossings: TreeCrossings
) -> None:
    """Add the rows for every counted unit, every edge, and what sends to the unit or gets from it.

    They hold for every whole placement.
    """
    size = c.units.size
    for source, target, site, column in crossings.free:
        for counted, other in ((target, source), (source, target)):
            own = np.flatnonzero((size[counted] > 1) & (size[counted] <= MOST))
            pairs = np.stack([counted[own], site[own]])
            for unit, s in np.unique(pairs, axis=1).T.tolist():
                look()
                at = own[(counted[own] == unit) & (site[own] == s)]
                if len(at) > 1:
                    beside = _beside(p, c, crossings.machines(s), unit, other[at])
                    _row(
                        model,
                        crossings,
                        unit,
                        s,
                        source[at],
                        size[target[at]],
                        column[at],
                        beside,
                        int(size[unit]),
                    )


def _beside(p: Problem, c: PlacementColumns, tms: Ints, unit: int, others: Ints) -> Ints:
    """Return how many of some units fit on TaskManagers beside k of a counted one, for each k."""
    first, size = c.units.first, c.units.size
    k = np.arange(size[unit] + 1)
    most = np.full(len(k), len(others))
    # What can be nowhere else is there already.
    stuck = (c.x >= 0).sum(axis=1) == (c.x[:, tms] >= 0).sum(axis=1)
    stuck[others] = stuck[unit] = False
    least = p.work.cores[:, np.unique(p.tms.node_class[tms])].min(axis=1)[first]
    room = p.tms.node_cores[np.unique(p.tms.node[tms])].sum() * (1 + TOLERANCE)
    room -= (least * size)[stuck].sum() + least[unit] * k
    needs = np.cumsum(np.sort(least[others]))
    most = np.minimum(most, np.searchsorted(needs, room, side="right"))
    most[room < 0] = 0
    # Operators that share no slots each take their own.
    operator = p.subtasks.operator_of[first]
    group = p.subtasks.group[operator]
    shared = np.bincount(p.subtasks.group, minlength=len(p.subtasks.group)) > 1
    if not shared[group[np.append(others, unit)]].any():
        alone = stuck & ~shared[group]
        slots = p.tms.slots[tms].sum() - size[alone].sum() - k
        most = np.minimum(most, np.maximum(slots, 0))
    fit: Ints = most
    return fit


def _row(
    model: LinearModel,
    crossings: TreeCrossings,
    unit: int,
    site: int,
    source: Ints,
    size: Ints,
    column: Ints,
    beside: Ints,
    count: int,
) -> None:
    slope, start = _hull(np.arange(count + 1) * beside)
    n = len(source)
    # Pairs inside: size(target) * below(source) - those that cross outwards.
    column = np.concatenate(
        [
            crossings.below(source, np.full(n, site)),
            column,
            crossings.below(np.array([unit]), np.array([site])),
        ]
    )
    some = np.unique(np.linspace(0, len(slope) - 1, LINES).astype(np.intp))
    for b, a in zip(slope[some].tolist(), start[some].tolist(), strict=True):
        value = np.concatenate([size.astype(float), -np.ones(n), [-b]])
        rows = np.zeros(len(column), np.intp)
        model.all_at_most(*crossings.expand(rows, column, value), np.array([a]))


def _hull(y: Ints) -> tuple[Floats, Floats]:
    """Return slopes and values at 0 of the lines that bound points (k, y[k]) from above."""
    hull: list[int] = []
    for k in range(len(y)):
        while len(hull) > 1:
            i, j = hull[-2:]
            if (y[j] - y[i]) * (k - i) > (y[k] - y[i]) * (j - i):
                break
            hull.pop()
        hull.append(k)
    left, right = np.array(hull[:-1]), np.array(hull[1:])
    slope = (y[right] - y[left]) / (right - left)
    return slope, y[left] - slope * left
