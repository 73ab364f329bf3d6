"""Which links a channel crosses, as linear expressions of where its two ends run.

Two forms give the same numbers wherever the placement is whole:

* `TreeCrossings`: on a tree, a channel crosses an edge outwards iff its producer is below the edge
  and its consumer is not. One column and one row per channel and edge, and the bound of the site
  pair form: the earth mover's distance on a tree is a sum over its edges (Kolen, 1982;
  Picard and Ratliff, 1978).
* `PairCrossings`: on any network, one column per channel and pair of sites, tied to the ends by
  flow rows (the linearisation of Cardellini et al., DEBS'16, doi 10.1145/2933267.2933312).

The ends are units (`solver/units.py`): between a subtask and a counted unit, a crossing is the
number of the unit's subtasks with which the channel crosses the link.
"""

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.choices import Choices
from edgeplace.solver.linear_model import Affine, Kind, LinearModel
from edgeplace.solver.problem import Problem

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
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
        TimeoutError
            If the deadline passes.
        """

    def expand(self, row: Ints, column: Ints, value: Floats) -> Entries:
        """Return entries with every shorthand replaced by columns of the model."""


class Sites:
    """Where units are, as expressions of the placement columns."""

    def __init__(self, problem: Problem, choices: Choices) -> None:
        self.choices = choices
        self._site = problem.tm_site[choices.tm]
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
_CELLS = 2_000_000
"""Pairs times edges that are looked at in one go."""


class TreeCrossings:
    """Crossings on a tree of sites; see the module."""

    def __init__(self, problem: Problem, model: LinearModel, sites: Sites) -> None:
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
        at, tm = problem.tm_site, np.arange(problem.m)
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
        count[p.tm_site[c.tm], c.unit] = 1
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
                raise TimeoutError("the model is too large to be built in time")
            parts.append(self._crossed(source[i : i + step], target[i : i + step], i))
        return Crossed(
            *(
                np.concatenate([getattr(part, f) for part in parts])
                for f in Crossed.__dataclass_fields__
            )
        )

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
        count = self._first[s + 1] - self._first[s]
        start = np.repeat(self._first[s] - np.cumsum(count) + count, count)
        tms = self._tms[start + np.arange(count.sum())]
        columns = self._choices.x[np.repeat(u, count), tms]
        there = columns >= 0
        return (
            np.concatenate([row[~short], np.repeat(row[short], count)[there]]),
            np.concatenate([column[~short], columns[there]]),
            np.concatenate([value[~short], np.repeat(value[short], count)[there]]),
        )


class PairCrossings:
    """Crossings on any network; see the module."""

    def __init__(self, problem: Problem, model: LinearModel, sites: Sites) -> None:
        self._network = problem.network
        self._model = model
        self._sites = sites

    def crossed(self, source: Ints, target: Ints, deadline: float) -> Crossed:
        """Return the crossings of pairs of units; see `Crossings`."""
        entries: list[tuple[int, int, int, float]] = []
        fixed: list[tuple[int, int, float]] = []
        for i, (u, v) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
            if time.monotonic() > deadline:
                raise TimeoutError("the model is too large to be built in time")
            for (a, b), share in self._pairs(u, v).items():
                route = self._network.route(a, b)
                if route is None:
                    self._model.at_most(share, 0.0, ("route", 0))
                for link in route or ():
                    entries += [(i, link, c, value) for c, value in share.terms.items()]
                    if share.constant:
                        fixed.append((i, link, share.constant))
        table = np.array([e[:3] for e in entries], np.intp).reshape(-1, 3)
        constant = np.array([f[:2] for f in fixed], np.intp).reshape(-1, 2)
        return Crossed(
            pair=table[:, 0],
            link=table[:, 1],
            column=table[:, 2],
            value=np.array([e[3] for e in entries]),
            fixed_pair=constant[:, 0],
            fixed_link=constant[:, 1],
            fixed=np.array([f[2] for f in fixed]),
        )

    def expand(self, row: Ints, column: Ints, value: Floats) -> Entries:
        """Return entries as they are: there are no shorthands here."""
        return row, column, value

    def _pairs(self, source: int, target: int) -> dict[tuple[int, int], Affine]:
        own, other = sorted(self._sites.of(source)), sorted(self._sites.of(target))
        here, there = self._sites.size(source), self._sites.size(target)
        if len(own) == 1:
            return {(own[0], b): Affine().add(self._sites.at(target, b), here) for b in other}
        if len(other) == 1:
            return {(a, other[0]): Affine().add(self._sites.at(source, a), there) for a in own}
        column = {
            (a, b): self._model.column(Kind.IMPLIED, here * there) for a in own for b in other
        }
        for a in own:
            row = Affine({column[a, b]: 1.0 for b in other})
            self._model.equal(row.add(self._sites.at(source, a), -there), 0.0)
        for b in other:
            row = Affine({column[a, b]: 1.0 for a in own})
            self._model.equal(row.add(self._sites.at(target, b), -here), 0.0)
        return {pair: Affine({c: 1.0}) for pair, c in column.items()}
