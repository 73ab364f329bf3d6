"""The cost of a month: columns for what is not linear in the placement."""

import numpy as np

from edgeplace.model import HOUR_S, MONTH_S
from edgeplace.solver.arrays import Floats
from edgeplace.solver.formulation.crossings import Crossed, Crossings, Entries
from edgeplace.solver.formulation.link_traffic import carried, priced
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, power_of_two
from edgeplace.solver.problem import Problem


def cost(
    p: Problem,
    model: LinearModel,
    c: PlacementColumns,
    crossings: Crossings,
    crossed: Crossed,
    flow: Floats,
    written: Entries,
    most: float,
) -> Affine:
    """Return what links, busy cores and used nodes cost in a month.

    Bytes beyond an included volume are a column each: at least what the links carry without the
    volume, and at least 0.

    Parameters
    ----------
    most
        What no plan that is wanted costs more than; infinite: it is not known.
    """
    net = p.network
    monthly = net.price_without_volume * MONTH_S
    total = priced(monthly, model, c, crossings, crossed, flow, written)
    per_core = p.tms.core_price[c.tm] * (MONTH_S / HOUR_S)
    cores = p.mean_cores[c.units.first[c.unit], p.tms.node_class[c.tm]]
    total.add(Affine.of(c.column, cores * per_core))
    total.add(_nodes_in_use(p, model, c))
    # A channel crosses a link at most once, and at most one of two opposite ones.
    sent = float(p.channels.bytes_per_s.sum() + p.footprint.checkpoint_bytes_per_s.sum())
    paid = [v for v in net.volumes if v.price > 0 and v.bytes_per_s < sent]
    if not paid:
        return total
    price = MONTH_S * np.array([v.price for v in paid])
    beyond = sent - np.array([v.bytes_per_s for v in paid])
    if most > 0:
        beyond = np.minimum(beyond, most / price)
    unit = np.array([power_of_two(b) for b in beyond.tolist()])
    over = model.columns(Kind.REAL, beyond / unit)
    (link, column, value), always = carried(p, crossed, flow, written)
    number = np.full(len(net.names), -1)
    for i, v in enumerate(paid):
        number[list(v.links)] = i
    kept = number[link] >= 0
    row, at, load = crossings.expand(number[link[kept]], column[kept], value[kept])
    fixed = np.bincount(number[number >= 0], weights=always[number >= 0], minlength=len(paid))
    room = np.array([v.bytes_per_s for v in paid]) - fixed
    rows = np.arange(len(paid))
    model.all_at_most(
        np.concatenate([row, rows]),
        np.concatenate([at, over]),
        np.concatenate([load / unit[row], -np.ones(len(paid))]),
        room / unit,
    )
    for column_of, monthly_of in zip(over.tolist(), (price * unit).tolist(), strict=True):
        total.add_term(column_of, monthly_of)
    return total


def _nodes_in_use(p: Problem, model: LinearModel, c: PlacementColumns) -> Affine:
    """Return what nodes cost in a month; a node is in use if any subtask runs there."""
    node = p.tms.node[c.tm]
    own = np.flatnonzero(p.tms.node_price[node] > 0)
    nodes, at = np.unique(node[own], return_inverse=True)
    used = model.columns(Kind.BINARY, np.ones(len(nodes)))
    # A row for each unit and node: all of a unit runs there only if the node is in use.
    pairs, row = np.unique(c.unit[own] * len(nodes) + at, return_inverse=True)
    unit, of = np.divmod(pairs, max(len(nodes), 1))
    model.all_at_most(
        np.concatenate([row, np.arange(len(pairs))]),
        np.concatenate([c.column[own], used[of]]),
        np.concatenate([np.ones(len(own)), -c.units.size[unit].astype(float)]),
        np.zeros(len(pairs)),
    )
    return Affine.of(used, p.tms.node_price[nodes] * (MONTH_S / HOUR_S))
