"""Cuts for bundles: connected subtasks that pay only if one machine holds all of them.

Where the parts of a line pay only together, the relaxation fills what is left of a machine with a
share of each: two of the three slots that a line needs hold two thirds of it. With v at a site s
wherever u is, unless their channel leaves s (`apart` = 1 if it does),

    x_vs >= x_us - apart_uvs,

so that in the row of a capacity, sum(w_k x_ks) <= K, a bundle of subtasks stands for its root r:

    sum of its w_k x_ks >= W x_rs - sum(w below the channel in the bundle * apart of the channel).

Divided by some W and rounded, that is a mixed-integer rounding cut (Nemhauser and Wolsey, Math.
Program. 46, 1990; with columns complemented that are at their upper bound: Marchand and Wolsey,
Oper. Res. 49(3), 2001), which holds for every whole plan. Solvers find such rows too, one row of
the model after the other; where there are thousands of channels that takes them too long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.formulation.crossings import TreeCrossings
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, LinearModel, Row
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import (
    COEFFICIENT_WHOLE,
    CUT_FRACTION,
    CUT_VIOLATION,
    INTEGRALITY,
    ROUNDING,
)

_APART = 0.1
"""How far apart subtasks may be that are taken for one bundle: the more, the weaker its row."""
_DIVISORS = 6
"""Weights of bundles that are tried as divisors."""
_CHILDREN = 8
"""Sites below a site up to which its machines are looked at: crossings to each of them count."""


@dataclass(frozen=True)
class _Capacity:
    """All that the machines of a site hold: ``sum(weight * column) <= room``, columns whole."""

    site: int
    columns: Ints
    weights: Floats
    room: float


class Bundles:
    """Finds rows that a solution of the relaxation breaks; see the module."""

    def __init__(
        self,
        problem: Problem,
        model: LinearModel,
        choices: PlacementColumns,
        crossings: TreeCrossings,
    ) -> None:
        self._problem, self._choices, self._crossings = problem, choices, crossings
        self._upper = np.array(model.upper)
        self._capacities = list(_capacities(problem, model))
        self._free: dict[tuple[int, int, int], int] = {}
        pairs = []
        for source, target, site, column in crossings.free:
            keys = zip(source.tolist(), target.tolist(), site.tolist(), strict=True)
            self._free.update(zip(keys, column.tolist(), strict=True))
            pairs.append(np.stack([source, target]))
        self._pairs = np.unique(np.concatenate([np.zeros((2, 0), np.intp), *pairs], axis=1), axis=1)
        self._unit = np.full(len(model.upper), -1, np.intp)
        one = choices.size == 1
        self._unit[choices.column[one]] = choices.unit[one]

    def broken(self, values: Floats) -> list[Row]:
        """Return rows that hold for every plan, and not for these values of the columns."""
        p, x = self._problem, self._choices.x
        placed = np.where(x >= 0, values[np.maximum(x, 0)], 0.0)
        rows: list[Row] = []
        for site in sorted({c.site for c in self._capacities}):
            look()
            there = placed[:, p.tms.site == site].sum(axis=1)
            whole = (
                (there < INTEGRALITY) | (there > 1 - INTEGRALITY) | (self._choices.units.size > 1)
            )
            bundles = list(self._bundles(site, there, ~whole, values))
            for capacity in self._capacities:
                if capacity.site == site:
                    rows += self._rounded(capacity, bundles, values)
        return rows

    def _bundles(
        self, site: int, there: Floats, split: Bools, values: Floats
    ) -> Iterator[list[tuple[int, int, Affine]]]:
        """Yield the members of each bundle, the root first: (unit, its parent, apart)."""
        u, v = self._pairs
        alike = split[u] & split[v] & (np.abs(there[u] - there[v]) < _APART)
        near: dict[int, list[tuple[int, Affine]]] = {}
        for a, b in zip(u[alike].tolist(), v[alike].tolist(), strict=True):
            leaves, enters = self._apart(a, b, site)
            if max(_value(leaves, values), _value(enters, values)) < _APART:
                near.setdefault(a, []).append((b, leaves))
                near.setdefault(b, []).append((a, enters))
        seen: set[int] = set()
        for root in sorted(near):
            if root in seen:
                continue
            seen.add(root)
            bundle = [(root, -1, Affine())]
            for i, (member, _, _) in enumerate(bundle):
                for other, apart in near[member]:
                    if other not in seen:
                        seen.add(other)
                        bundle.append((other, i, apart))
            yield bundle

    def _apart(self, u: int, v: int, site: int) -> tuple[Affine, Affine]:
        """Return how often u is at a site and v is not, at most, and the other way round."""
        tree = self._problem.network.tree
        leaves, enters = Affine(), Affine()
        if tree is None:
            return leaves, enters
        if site != tree.root:
            out, into = self._crossing(u, v, site)
            leaves.add(out)
            enters.add(into)
        for child in np.flatnonzero(tree.parent == site).tolist():
            out, into = self._crossing(u, v, child)
            leaves.add(into)
            enters.add(out)
        return leaves, enters

    def _crossing(self, u: int, v: int, site: int) -> tuple[Affine, Affine]:
        """Return how often the channel from u to v crosses the edge of a site, out and in."""
        below_u, below_v = self._below(u, site), self._below(v, site)
        column = self._free.get((u, v, site))
        if column is not None:
            out = Affine({column: 1.0})
            return out, Affine({column: 1.0}).add(below_u, -1.0).add(below_v)
        # One end is always on one side: the channel crosses in one direction only.
        if self._always(u, site) or not below_v.terms:
            return below_u.add(below_v, -1.0), Affine()
        return Affine(), below_v.add(below_u, -1.0)

    def _below(self, unit: int, site: int) -> Affine:
        columns = self._choices.x[unit, self._crossings.machines(site)]
        return Affine(dict.fromkeys(columns[columns >= 0].tolist(), 1.0))

    def _always(self, unit: int, site: int) -> bool:
        x = self._choices.x[unit]
        return int((x[self._crossings.machines(site)] >= 0).sum()) == int((x >= 0).sum())

    def _rounded(
        self,
        capacity: _Capacity,
        bundles: Sequence[list[tuple[int, int, Affine]]],
        values: Floats,
    ) -> Iterator[Row]:
        """Yield a row for each divisor that gives one that the values break."""
        weight = dict(zip(capacity.columns.tolist(), capacity.weights.tolist(), strict=True))
        there = self._problem.tms.site == capacity.site
        joined: list[tuple[Ints, float]] = []
        """Columns of the root of each bundle, and what all of it needs."""
        apart = Affine()
        taken: set[int] = set()
        for bundle in bundles:
            look()
            columns = [self._choices.x[unit, there] for unit, _, _ in bundle]
            columns = [c[c >= 0] for c in columns]
            needs = [{weight.get(c, 0.0) for c in own.tolist()} for own in columns]
            if any(len(need) != 1 for need in needs):
                continue
            total = [next(iter(need)) for need in needs]
            for i in range(len(bundle) - 1, 0, -1):
                apart.add(bundle[i][2], total[i])
                total[bundle[i][1]] += total[i]
            joined.append((columns[0], total[0]))
            taken.update(c for own in columns for c in own.tolist())
        alone = np.array([c not in taken for c in weight], bool)
        columns, weights = capacity.columns[alone], capacity.weights[alone]
        upper = self._upper[columns]
        full = values[columns] > upper / 2
        room = capacity.room - float((weights * upper)[full].sum())
        heads = np.concatenate([np.zeros(0, np.intp), *(own for own, _ in joined)])
        head_weights = np.concatenate(
            [np.zeros(0), *(np.full(len(own), total) for own, total in joined)]
        )
        for divisor in sorted({round(float(w), 9) for _, w in joined}, reverse=True)[:_DIVISORS]:
            if divisor <= 0:
                continue
            bound = room / divisor
            fraction = bound - np.floor(bound)
            if not CUT_FRACTION < fraction < 1 - CUT_FRACTION:
                continue
            signed = _rounded(np.where(full, -weights, weights) / divisor, fraction)
            own = np.where(full, -signed, signed)
            limit = float(np.floor(bound)) - float((signed * upper)[full].sum())
            terms = Affine()
            for c, a in zip(columns.tolist(), own.tolist(), strict=True):
                terms.add_term(c, a)
            at_heads = _rounded(head_weights / divisor, fraction)
            for c, a in zip(heads.tolist(), at_heads.tolist(), strict=True):
                terms.add_term(c, a)
            terms.add(apart, -1 / (divisor * (1 - fraction)))
            limit -= terms.constant
            violation = _value(terms, values) - terms.constant - limit
            if violation > CUT_VIOLATION:
                kept = {c: a for c, a in terms.terms.items() if a}
                yield Row(kept, limit + ROUNDING * (1 + abs(limit)))


def _rounded(a: Floats, fraction: float) -> Floats:
    """Return the coefficients of the mixed-integer rounding cut."""
    low = np.floor(a + COEFFICIENT_WHOLE)
    rounded: Floats = low + np.maximum(a - low - fraction, 0.0) / (1 - fraction)
    return rounded


def _value(e: Affine, values: Floats) -> float:
    return e.constant + float(sum(a * values[c] for c, a in e.terms.items()))


def _capacities(p: Problem, model: LinearModel) -> Iterator[_Capacity]:
    """Yield the slots and the cores of each site, where all its machines have rows for them."""
    tree = p.network.tree
    if tree is None:
        return
    few = np.bincount(tree.parent + 1, minlength=p.network.n_sites + 1)[1:] <= _CHILDREN
    alone = np.bincount(p.tms.site, minlength=p.network.n_sites) == 1
    for block in model.blocks:
        if block.what == "packing" and block.which is not None:
            # One row a block, of a group of machines that the model takes as one.
            s = int(p.tms.site[block.which[0]])
            if few[s] and alone[s]:
                yield _Capacity(s, block.column, block.value, float(block.bound[0]))
    for what, at, unit in (
        (LimitKind.SLOTS, np.arange(p.m), np.ones(p.m)),
        (LimitKind.NODE_CPU, p.tms.node, p.tms.node_cores),
    ):
        machines = np.unique(at)
        site = np.zeros(int(machines.max(initial=0)) + 1, np.intp)
        site[at] = p.tms.site
        found: dict[int, dict[int, tuple[Ints, Floats, float]]] = {}
        for block in model.blocks:
            if block.what != what or block.which is None:
                continue
            cuts = np.searchsorted(block.row, np.arange(len(block.bound) + 1))
            for i, v in enumerate(block.which.tolist()):
                own = slice(cuts[i], cuts[i + 1])
                row = block.column[own], block.value[own] * unit[v], block.bound[i] * unit[v]
                # With a demand in periods a machine has a row for each peak: one of them holds.
                found.setdefault(int(site[v]), {}).setdefault(v, row)
        for s, rows in found.items():
            if few[s] and len(rows) == int((site[machines] == s).sum()):
                columns, weights, rooms = zip(*rows.values(), strict=True)
                yield _Capacity(
                    s, np.concatenate(columns), np.concatenate(weights), float(sum(rooms))
                )
