"""Which links a channel crosses, as linear expressions of where its two ends run.

Two forms give the same numbers wherever the placement is whole:

* `TreeCrossings`: on a tree, a channel crosses an edge outwards iff its producer is below the edge
  and its consumer is not. One column and one row per channel and edge, and the bound of the site
  pair form: the earth mover's distance on a tree is a sum over its edges (Kolen, 1982;
  Picard and Ratliff, 1978).
* `PairCrossings`: on any network, one column per channel and pair of sites, tied to the ends by
  flow rows (the linearisation of Cardellini et al., DEBS'16, doi 10.1145/2933267.2933312).
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.linear_model import Affine, Kind, LinearModel
from edgeplace.solver.problem import Problem

Ints = NDArray[np.intp]


class Crossings(Protocol):
    """Linear expressions of the links that a channel crosses."""

    def of(self, source: int, target: int) -> dict[int, Affine]:
        """Return link -> expression that is 1 if traffic from source to target crosses it."""


class Sites:
    """Where subtasks are, as expressions of the placement columns."""

    def __init__(self, problem: Problem, x: Ints) -> None:
        self._columns: list[dict[int, list[int]]] = []
        for k in range(problem.n):
            at: dict[int, list[int]] = {}
            for t in np.flatnonzero(x[k] >= 0).tolist():
                at.setdefault(int(problem.tm_site[t]), []).append(int(x[k, t]))
            self._columns.append(at)

    def of(self, k: int) -> dict[int, list[int]]:
        """Return site -> placement columns of subtask k there."""
        return self._columns[k]

    def at(self, k: int, site: int) -> Affine:
        """Return the expression that is 1 if subtask k runs at a site."""
        columns = self._columns[k]
        if site not in columns:
            return Affine()
        if len(columns) == 1:
            return Affine(constant=1.0)
        return Affine(dict.fromkeys(columns[site], 1.0))

    def anywhere(self, k: int, sites: frozenset[int]) -> Affine:
        """Return the expression that is 1 if subtask k runs at one of some sites."""
        total = Affine()
        for site in self._columns[k].keys() & sites:
            total.add(self.at(k, site))
        return total


class TreeCrossings:
    """Crossings on a tree of sites; see the module."""

    def __init__(self, problem: Problem, model: LinearModel, sites: Sites) -> None:
        if problem.network.cuts is None:
            raise ValueError("the sites do not form a tree")
        self._cuts = problem.network.cuts
        self._model = model
        self._sites = sites
        self._below: dict[tuple[int, int], Affine] = {}
        self._sides: dict[frozenset[int], NDArray[np.int8]] = {}
        self._known: dict[tuple[int, int], dict[int, Affine]] = {}

    def of(self, source: int, target: int) -> dict[int, Affine]:
        """Return link -> expression that is 1 if traffic from source to target crosses it."""
        if (source, target) not in self._known:
            self._known[source, target] = self._build(source, target)
        return self._known[source, target]

    def _side(self, k: int) -> NDArray[np.int8]:
        """Return, for each cut, 1 if subtask k must be below, 0 if above, 2 if it may be either."""
        own = frozenset(self._sites.of(k))
        if own not in self._sides:
            self._sides[own] = np.array(
                [1 if own <= c.below else 2 if own & c.below else 0 for c in self._cuts], np.int8
            )
        return self._sides[own]

    def _at(self, k: int, cut: int) -> Affine:
        if (k, cut) not in self._below:
            self._below[k, cut] = self._sites.anywhere(k, self._cuts[cut].below)
        return self._below[k, cut]

    def _build(self, source: int, target: int) -> dict[int, Affine]:
        a, b = self._side(source), self._side(target)
        crossed: dict[int, Affine] = {}
        for c in np.flatnonzero((a != b) | (a == 2)).tolist():
            cut = self._cuts[c]
            # outwards - inwards = X_source - X_target, and only one of them is 1.
            difference = Affine().add(self._at(source, c)).add(self._at(target, c), -1.0)
            if a[c] == 1 or b[c] == 0:
                crossed[cut.up] = difference
            elif a[c] == 0 or b[c] == 1:
                crossed[cut.down] = Affine().add(difference, -1.0)
            else:
                out = self._model.column(Kind.IMPLIED)
                self._model.at_most(Affine().add(difference).add_term(out, -1.0), 0.0)
                crossed[cut.up] = Affine({out: 1.0})
                crossed[cut.down] = Affine({out: 1.0}).add(difference, -1.0)
        return crossed


class PairCrossings:
    """Crossings on any network; see the module."""

    def __init__(self, problem: Problem, model: LinearModel, sites: Sites) -> None:
        self._network = problem.network
        self._model = model
        self._sites = sites
        self._known: dict[tuple[int, int], dict[int, Affine]] = {}

    def of(self, source: int, target: int) -> dict[int, Affine]:
        """Return link -> expression that is 1 if traffic from source to target crosses it."""
        if (source, target) not in self._known:
            crossed: dict[int, Affine] = {}
            for (a, b), share in self._pairs(source, target).items():
                route = self._network.route(a, b)
                if route is None:
                    self._model.at_most(share, 0.0, ("route", 0))
                for link in route or ():
                    crossed.setdefault(link, Affine()).add(share)
            self._known[source, target] = crossed
        return self._known[source, target]

    def _pairs(self, source: int, target: int) -> dict[tuple[int, int], Affine]:
        own, other = sorted(self._sites.of(source)), sorted(self._sites.of(target))
        if len(own) == 1:
            return {(own[0], b): self._sites.at(target, b) for b in other}
        if len(other) == 1:
            return {(a, other[0]): self._sites.at(source, a) for a in own}
        column = {(a, b): self._model.column(Kind.IMPLIED) for a in own for b in other}
        for a in own:
            row = Affine({column[a, b]: 1.0 for b in other})
            self._model.equal(row.add(self._sites.at(source, a), -1.0), 0.0)
        for b in other:
            row = Affine({column[a, b]: 1.0 for a in own})
            self._model.equal(row.add(self._sites.at(target, b), -1.0), 0.0)
        return {pair: Affine({c: 1.0}) for pair, c in column.items()}
