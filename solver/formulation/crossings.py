"""The links that a channel crosses, as linear expressions of the places of its two ends.

Two forms give the same numbers wherever the placement is whole:

* `TreeCrossings`: on a tree, a channel crosses an edge outwards iff its producer is below the edge
  and its consumer is not. One column and one row per channel and edge, and the bound of the site
  pair form: the earth mover's distance on a tree is a sum over its edges (Kolen, 1982;
  Picard and Ratliff, 1978).
* `PairCrossings`: on any network, one column per channel and pair of sites, tied to the ends by
  flow rows (the linearisation of Cardellini et al., DEBS'16, doi 10.1145/2933267.2933312).

The ends are units (`solver/formulation/units.py`): between a subtask and a counted unit, a crossing
is the number of the unit's subtasks with which the channel crosses the link.
"""

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import LimitKind
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import afford
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem

Entries = tuple[Ints, Ints, Floats]
"""Row, column, value."""


@dataclass(frozen=True)
class Crossed:
    """Linear expressions of how often each pair of units crosses each link.

    Attributes
    ----------
    pair, link, column, value
        Entries; a column may be a shorthand, which `Crossings.expand` spells out.
    fixed_pair, fixed_link, fixed
        Constants.
    """

    pair: Ints
    link: Ints
    column: Ints
    value: Floats
    fixed_pair: Ints
    fixed_link: Ints
    fixed: Floats


class Crossings(Protocol):
    """Linear expressions of the links that channels cross."""

    def crossed(self, source: Ints, target: Ints, deadline: float) -> Crossed:
        """Return the crossings of pairs of units, each pair once.

        Raises
        ------
        OutOfTimeError
            If the deadline passes.
        """

    def expand(self, row: Ints, column: Ints, value: Floats) -> Entries:
        """Return entries with every shorthand replaced by columns of the model."""


class SiteExpressions:
    """The sites of units, as expressions of the placement columns."""

    def __init__(self, problem: Problem, choices: PlacementColumns) -> None:
        self.choices = choices
        self._site = problem.tms.site[choices.tm]
        self._known: dict[int, dict[int, list[int]]] = {}

    def of(self, u: int) -> dict[int, list[int]]:
        """Return site -> placement columns of unit u there."""
        if u not in self._known:
            # The choices are in the order of their units.
            own = slice(*np.searchsorted(self.choices.unit, [u, u + 1]))
            found: dict[int, list[int]] = {}
            pairs = zip(self._site[own].tolist(), self.choices.column[own].tolist(), strict=True)
            for s, c in pairs:
                found.setdefault(s, []).append(c)
            self._known[u] = found
        return self._known[u]

    def at(self, u: int, site: int) -> Affine:
        """Return the expression of how many subtasks of unit u run at a site."""
        columns = self.of(u)
        if site not in columns:
            return Affine()
        if len(columns) == 1:
            return Affine(constant=self.size(u))
        return Affine(dict.fromkeys(columns[site], 1.0))

    def size(self, u: int) -> float:
        """Return the number of subtasks of unit u."""
        return float(self.choices.units.size[u])


_SHORTHAND = 1 << 32
"""Columns from here on stand for "subtasks of unit u below the edge of site s"."""
_ENTRY_S = 1e-7
"""Time to spell out one entry of a shorthand, measured."""
_CELLS = 2_000_000
"""Pairs times edges that are looked at in one go."""


class TreeCrossings:
    """Crossings on a tree of sites; see the module."""

    def __init__(self, problem: Problem, model: LinearModel, sites: SiteExpressions) -> None:
        if problem.network.tree is None:
            raise ValueError("the sites do not form a tree")
        self._tree = tree = problem.network.tree
        self._model = model
        self._choices = sites.choices
        self._size = sites.choices.units.size
        self._n_sites = problem.network.n_sites
        self.free: list[tuple[Ints, Ints, Ints, Ints]] = []
        """Source, target, site and column of the crossings that no linear expression gives: how
        often source and target cross the edge of the site outwards."""
        self._side = self._sides(problem)
        below, tms = [], []
        at, tm = problem.tms.site, np.arange(problem.m)
        while len(at):
            below.append(at)
            tms.append(tm)
            inner = tree.parent[at] >= 0
            at, tm = tree.parent[at[inner]], tm[inner]
        order = np.argsort(np.concatenate(below), kind="stable")
        self._tms = np.concatenate(tms)[order]
        """TaskManagers below the edge of each site, site by site."""
        self._first = np.searchsorted(np.concatenate(below)[order], np.arange(self._n_sites + 1))

    def _sides(self, p: Problem) -> NDArray[np.int8]:
        """Return whether a unit must be below the edge of a site (1), above (0), or may (2).

        Shape (n_sites, n_units).
        """
        c = self._choices
        count = np.zeros((self._n_sites, len(self._size)), np.int32)
        count[p.tms.site[c.tm], c.unit] = 1
        for s in self._tree.order[:0:-1]:
            count[self._tree.parent[s]] += count[s]
        side = np.where(count == count[self._tree.root], 1, 2).astype(np.int8)
        side[count == 0] = 0
        side[self._tree.root] = 1
        return side

    def crossed(self, source: Ints, target: Ints, deadline: float) -> Crossed:
        """Return the crossings of pairs of units; see `Crossings`."""
        step = max(_CELLS // self._n_sites, 1)
        parts = []
        for i in range(0, max(len(source), 1), step):
            if time.monotonic() > deadline:
                raise OutOfTimeError("the model is too large to be built in time")
            parts.append(self._crossed(source[i : i + step], target[i : i + step], i))
        return _joined(parts)

    def _crossed(self, source: Ints, target: Ints, offset: int) -> Crossed:
        a, b = self._side[:, source], self._side[:, target]
        s, pair = np.nonzero((a != b) | (a == 2))
        a, b = a[s, pair], b[s, pair]
        u, v = source[pair], target[pair]
        pair = pair + offset
        free = (a == 2) & (b == 2)
        upward = ~free & ((a == 1) | (b == 0))
        # outwards - inwards = size(v) * below(u) - size(u) * below(v), and only one is not 0.
        sign = np.where(upward, 1.0, -1.0)
        link = np.where(upward, self._tree.up[s], self._tree.down[s])
        gain, loss = sign * self._size[v], -sign * self._size[u]
        y = self._model.columns(Kind.IMPLIED, (self._size[u] * self._size[v])[free].astype(float))
        self.free.append((u[free], v[free], s[free], y))
        row = np.arange(len(y))
        self._model.all_at_most(
            *self.expand(
                np.concatenate([row, row, row]),
                np.concatenate([self.below(u, s)[free], self.below(v, s)[free], y]),
                np.concatenate([-gain[free], -loss[free], -np.ones(len(y))]),
            ),
            np.zeros(len(y)),
        )
        moving_u, moving_v = a == 2, b == 2
        fixed_u, fixed_v = a == 1, b == 1
        up = self._tree.up[s[free]]
        return Crossed(
            pair=np.concatenate([pair[moving_u], pair[moving_v], pair[free], pair[free]]),
            link=np.concatenate([link[moving_u], link[moving_v], link[free], up]),
            column=np.concatenate([self.below(u, s)[moving_u], self.below(v, s)[moving_v], y, y]),
            value=np.concatenate([gain[moving_u], loss[moving_v], np.ones(2 * len(y))]),
            fixed_pair=np.concatenate([pair[fixed_u], pair[fixed_v]]),
            fixed_link=np.concatenate([link[fixed_u], link[fixed_v]]),
            fixed=np.concatenate(
                [gain[fixed_u] * self._size[u[fixed_u]], loss[fixed_v] * self._size[v[fixed_v]]]
            ),
        )

    def machines(self, s: int) -> Ints:
        """Return the TaskManagers below the edge of a site."""
        return self._tms[self._first[s] : self._first[s + 1]]

    def below(self, u: Ints, s: Ints) -> Ints:
        """Return the shorthand for how many subtasks of units u run below the edges of sites s."""
        return _SHORTHAND + u * self._n_sites + s

    def expand(self, row: Ints, column: Ints, value: Floats) -> Entries:
        """Return entries in columns of the model; see `Crossings`."""
        short = column >= _SHORTHAND
        u, s = np.divmod(column[short] - _SHORTHAND, self._n_sites)
        afford(_ENTRY_S * float((self._first[s + 1] - self._first[s]).sum()))
        which, of = _ranges(self._first[s], self._first[s + 1])
        columns = self._choices.x[u[which], self._tms[of]]
        there = columns >= 0
        return (
            np.concatenate([row[~short], row[short][which][there]]),
            np.concatenate([column[~short], columns[there]]),
            np.concatenate([value[~short], value[short][which][there]]),
        )


class PairCrossings:
    """Crossings on any network; see the module."""

    def __init__(self, problem: Problem, model: LinearModel, sites: SiteExpressions) -> None:
        self._network = problem.network
        self.model = model
        c = sites.choices
        self._size = c.units.size
        # A spot is a site where a unit may run; spots are in the order of their units.
        site = problem.tms.site[c.tm]
        order = np.lexsort((site, c.unit))
        self._column = c.column[order]
        unit, site = c.unit[order], site[order]
        new = np.ones(len(unit), bool)
        new[1:] = (np.diff(unit) > 0) | (np.diff(site) > 0)
        first = np.flatnonzero(new)
        self._site = site[first]
        self._cut = np.append(first, len(unit))
        """Columns of spot i: `_column[_cut[i] : _cut[i + 1]]`."""
        self._first = np.searchsorted(unit[first], np.arange(len(self._size) + 1))
        """Spots of unit u: from `_first[u]` to `_first[u + 1]`."""

    def crossed(self, source: Ints, target: Ints, deadline: float) -> Crossed:
        """Return the crossings of pairs of units; see `Crossings`."""
        spots = np.diff(self._first)
        ends = np.cumsum(spots[source] * spots[target])
        parts: list[Crossed] = []
        begin = 0
        while begin < len(source) or not parts:
            if time.monotonic() > deadline:
                raise OutOfTimeError("the model is too large to be built in time")
            done = ends[begin - 1] if begin else 0
            end = max(int(np.searchsorted(ends, done + _CELLS, side="right")), begin + 1)
            parts.append(self._crossed(source[begin:end], target[begin:end], begin))
            begin = end
        return _joined(parts)

    def expand(self, row: Ints, column: Ints, value: Floats) -> Entries:
        """Return entries as they are: there are no shorthands here."""
        return row, column, value

    def _crossed(self, source: Ints, target: Ints, offset: int) -> Crossed:
        """Return the crossings of some pairs, spot by spot of both ends."""
        model, size = self.model, self._size
        n_own, n_other = np.diff(self._first)[source], np.diff(self._first)[target]
        pair = np.repeat(np.arange(len(source)), n_own * n_other)
        nth = np.arange(len(pair)) - np.repeat(np.cumsum(n_own * n_other), n_own * n_other)
        nth += (n_own * n_other)[pair]
        a = self._first[source[pair]] + nth // n_other[pair]
        b = self._first[target[pair]] + nth % n_other[pair]
        here, there = size[source[pair]], size[target[pair]]
        both = (n_own > 1)[pair] & (n_other > 1)[pair]
        product = np.full(len(pair), -1, np.intp)
        product[both] = model.columns(Kind.IMPLIED, (here * there)[both].astype(float))
        self.tie(product[both], pair[both], (a[both], b[both]), (here[both], there[both]))

        # How often each pair is at each two spots: (spot pair, column, value), or a constant.
        cell = [np.flatnonzero(both)]
        column, value = [product[both]], [np.ones(len(cell[0]))]
        for moving, spot, factor in (
            ((n_own > 1)[pair] & ~both, a, there),
            ((n_other > 1)[pair] & ~both, b, here),
        ):
            at = np.flatnonzero(moving)
            which, columns = self.columns(spot[at])
            cell.append(at[which])
            column.append(columns)
            value.append(factor[at[which]].astype(float))
        entry = np.concatenate(cell)
        order = np.argsort(entry, kind="stable")
        entry, columns, values = (
            entry[order],
            np.concatenate(column)[order],
            np.concatenate(value)[order],
        )
        still = ~both & (n_own == 1)[pair] & (n_other == 1)[pair]
        constant = np.where(still, here * there, 0).astype(float)

        lost = ~self._network.joined_by_route(self._site[a], self._site[b])
        row = np.cumsum(lost) - 1
        none = np.zeros(int(lost.sum()), np.intp)
        model.all_at_most(
            row[entry[lost[entry]]],
            columns[lost[entry]],
            values[lost[entry]],
            -constant[lost],
            LimitKind.ROUTE,
            none,
        )
        cut = np.searchsorted(entry, np.arange(len(pair) + 1))
        steps = list(self._network.steps(self._site[a], self._site[b]))
        on = np.concatenate([np.zeros(0, np.intp), *(which for which, _ in steps)])
        link = np.concatenate([np.zeros(0, np.intp), *(links for _, links in steps)])
        which, of = _ranges(cut[on], cut[on + 1])
        fixed = np.flatnonzero(constant[on])
        return Crossed(
            pair=pair[on[which]] + offset,
            link=link[which],
            column=columns[of],
            value=values[of],
            fixed_pair=pair[on[fixed]] + offset,
            fixed_link=link[fixed],
            fixed=constant[on[fixed]],
        )

    def tie(
        self, product: Ints, pair: Ints, spots: tuple[Ints, Ints], sizes: tuple[Ints, Ints]
    ) -> None:
        """Require of columns that they say how often pairs of units are at two spots.

        A unit is at a spot as often as its pairs with all of the other unit say.

        Parameters
        ----------
        product, pair
            The columns, and which pair each is of, shape (n_columns,).
        spots, sizes
            Of the pair's source and of its target, shape (n_columns,) each.
        """
        for spot, factor in ((spots[0], sizes[1]), (spots[1], sizes[0])):
            key, row = np.unique(pair * (len(self._site) + 1) + spot, return_inverse=True)
            first = np.full(len(key), len(row), np.intp)
            np.minimum.at(first, row, np.arange(len(row)))
            which, columns = self.columns(spot[first])
            self.model.all_equal(
                np.concatenate([row, which]),
                np.concatenate([product, columns]),
                np.concatenate([np.ones(len(row)), -factor[first[which]].astype(float)]),
                np.zeros(len(key)),
            )

    def columns(self, spot: Ints) -> tuple[Ints, Ints]:
        """Return the placement columns of some spots: (which of them, column)."""
        which, of = _ranges(self._cut[spot], self._cut[spot + 1])
        return which, self._column[of]


def _ranges(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the whole numbers of some ranges, one range after the other: (which range, number)."""
    count = end - begin
    which = np.repeat(np.arange(len(begin)), count)
    return which, np.arange(len(which)) + np.repeat(begin - np.cumsum(count) + count, count)


def _joined(parts: list[Crossed]) -> Crossed:
    names = Crossed.__dataclass_fields__
    return Crossed(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
