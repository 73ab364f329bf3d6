"""Slots, CPU, memory, disk and bounds on terms of the objective as rows of a linear model.

A limit that everything that may come together would not exceed has no row.
"""

import numpy as np

from edgeplace.model import AMOUNTS, BOUNDS, RATED, LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, power_of_two
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TOLERANCE


def slots(p: Problem, model: LinearModel, c: PlacementColumns) -> None:
    """Slots: sum over sharing groups of the largest number of subtasks of one operator."""
    operator = p.subtasks.operator_of[c.units.first][c.unit]
    pairs, at = np.unique(operator * p.m + c.tm, return_inverse=True)
    most = _total(at, c.size, len(pairs))
    groups, of = np.unique(p.subtasks.group[pairs // p.m] * p.m + pairs % p.m, return_inverse=True)
    largest = np.zeros(len(groups))
    np.maximum.at(largest, of, most)
    tight = _total(groups % p.m, largest, p.m) > p.tms.slots
    shared = (np.bincount(of, minlength=len(groups)) > 1) & tight[groups % p.m]
    column = np.full(len(groups), -1, np.intp)
    column[shared] = model.columns(Kind.IMPLIED, largest[shared])
    # Of the operators of a group, each is at most the largest.
    behind = shared[of[at]]
    members = np.flatnonzero(shared[of])
    number = np.full(len(pairs), -1, np.intp)
    number[members] = np.arange(len(members))
    model.all_at_most(
        np.concatenate([number[at[behind]], np.arange(len(members))]),
        np.concatenate([c.column[behind], column[of[members]]]),
        np.concatenate([np.ones(behind.sum()), -np.ones(len(members))]),
        np.zeros(len(members)),
    )
    direct = ~behind & tight[c.tm]
    _rows(
        model,
        np.concatenate([c.tm[direct], groups[shared] % p.m]),
        np.concatenate([c.column[direct], column[shared]]),
        np.ones(direct.sum() + shared.sum()),
        p.tms.slots.astype(float),
        tight,
        LimitKind.SLOTS,
    )


def cpu(
    p: Problem,
    model: LinearModel,
    c: PlacementColumns,
    rho: int | None,
    unit: float,
    explicit: bool,
) -> None:
    """CPU: busy share of each task thread, and cores of each node, against their limits.

    Parameters
    ----------
    rho
        Column of the largest utilisation, None where that is 1.
    unit
        What one unit of that column stands for.
    """
    k = c.units.first[c.unit]
    node = p.tms.node[c.tm]
    share = p.work.cores[k, p.tms.node_class[c.tm]] / p.tms.node_cores[node]
    _, one = np.unique(c.unit * len(p.tms.node_cores) + node, return_index=True)
    whole = _total(node[one], (share * c.size)[one], len(p.tms.node_cores))
    _rated(model, node, c.column, share, whole, rho, unit, LimitKind.NODE_CPU)
    busy = p.work.busy[k, p.tms.node_class[c.tm]]
    if rho is not None or (explicit and busy.max(initial=0.0) > 1):
        highest = np.zeros(p.n)
        np.maximum.at(highest, k, busy)
        _rated(model, k, c.column, busy, highest, rho, unit, LimitKind.SUBTASK_BUSY)


def _rated(
    model: LinearModel,
    row: Ints,
    column: Ints,
    share: Floats,
    whole: Floats,
    rho: int | None,
    unit: float,
    what: str,
) -> None:
    """Require utilisations to be at most rho, or 1 where rho is no column."""
    if rho is None:
        _rows(model, row, column, share, np.ones(len(whole)), whole > 1 - TOLERANCE, what)
        return
    used = np.flatnonzero(whole > 0)
    row = np.concatenate([row, used])
    column = np.concatenate([column, np.full(len(used), rho)])
    share = np.concatenate([share / unit, -np.ones(len(used))])
    _rows(model, row, column, share, np.zeros(len(whole)), whole > 0, what)


def space(p: Problem, model: LinearModel, c: PlacementColumns) -> None:
    """Amounts that each TaskManager has, such as memory.

    Scaled to about 1, since HiGHS can run in circles over rows of billions. Limits hold to the
    byte all the same: `Formulation.missed` forbids what the scaling lets in.
    """
    for what, each, room in zip(AMOUNTS, p.footprint.takes.T, p.tms.has.T, strict=True):
        need = each[c.units.first[c.unit]]
        tight = np.isfinite(room) & (_total(c.tm, need * c.size, p.m) > room)
        # Powers of two round nothing.
        unit = np.exp2(np.floor(np.log2(np.where(tight, np.maximum(room, 1.0), 1.0))))
        _rows(model, c.tm, c.column, need / unit[c.tm], room / unit, tight, what)


def bounds(p: Problem, model: LinearModel, rho: int | None, unit: float) -> None:
    """State the bounds on terms of the objective, once the model has all of these.

    Scaled so that the largest coefficient is about 1: solvers' tolerances are absolute.

    Parameters
    ----------
    rho, unit
        As for `cpu`.
    """
    for kind in BOUNDS:
        most, term = kind.bound(p.rules), kind.facts.bounds
        if most is None or term is None:
            continue
        total = model.objectives[term]
        scale = power_of_two(max(map(abs, total.terms.values()), default=1.0))
        row = Affine().add(total, 1 / scale)
        if rho is not None and kind in RATED:
            model.at_most(row.add_term(rho, -most * unit / scale), 0.0, (kind, 0))
        else:
            model.at_most(row, most / scale, (kind, 0))


def _rows(
    model: LinearModel,
    row: Ints,
    column: Ints,
    value: Floats,
    bound: Floats,
    wanted: Bools,
    what: str,
) -> None:
    """State those rows that are wanted; the number of a row is the index of its limit."""
    number = np.cumsum(wanted) - 1
    kept = wanted[row]
    model.all_at_most(
        number[row[kept]],
        column[kept],
        value[kept],
        bound[wanted],
        what,
        np.flatnonzero(wanted),
    )


def _total(at: Ints, amount: Floats | Ints, n: int) -> Floats:
    return np.bincount(at, weights=amount, minlength=n).astype(float, copy=False)
