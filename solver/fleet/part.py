"""Replicas of one kind of site, ready to be priced: the work that processors share."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look

_CELLS = 1 << 19
"""Replicas times patterns that are priced in one go: what fits a processor's cache."""


@dataclass(frozen=True)
class PriceTerms:
    """The use of resources by the patterns of a kind, each of shape (n_features, Q).

    Attributes
    ----------
    up, down, priced
        Of `wan`: bytes/s on the own links, and what they cost on shared ones.
    shared
        Of each limit that replicas share, shape (n_limits, n_features, Q).
    """

    up: Floats
    down: Floats
    priced: Floats
    shared: Floats

    def only(self, patterns: Ints) -> "PriceTerms":
        """Return the terms of some patterns."""
        return PriceTerms(
            np.ascontiguousarray(self.up[:, patterns]),
            np.ascontiguousarray(self.down[:, patterns]),
            np.ascontiguousarray(self.priced[:, patterns]),
            np.ascontiguousarray(self.shared[:, :, patterns]),
        )


@dataclass(frozen=True)
class Priced:
    """The choices of replicas at some prices.

    Attributes
    ----------
    used
        What their choices take of each shared limit, shape (n_limits,).
    cost
        Their `wan`.
    chosen
        The pattern of each replica, shape (n_replicas,).
    margin
        By how much its second-best pattern is worse, infinite without one, shape (n_replicas,).
    """

    used: Floats
    cost: float
    chosen: NDArray[np.int16]
    margin: Floats


@dataclass(frozen=True)
class Part:
    """Some replicas of one kind.

    Attributes
    ----------
    features
        Of each replica, shape (n_replicas, n_features).
    price
        Of a byte on its links up and down, shape (n_replicas, 2).
    fits
        Which patterns hold at it, others aside, shape (n_replicas, Q).
    """

    terms: PriceTerms
    features: Floats
    price: Floats
    fits: Bools

    def of(self, replicas: Ints) -> "Part":
        """Return some of the replicas."""
        return Part(self.terms, self.features[replicas], self.price[replicas], self.fits[replicas])

    def costs(self, prices: Floats) -> Floats:
        """Return the cost of each pattern at each replica, infinite if it is not valid there.

        Parameters
        ----------
        prices
            Of a unit of each shared limit, shape (n_limits,).
        """
        t = self.terms
        rest = t.priced + np.tensordot(prices, t.shared, axes=1)
        # Features that no term has anything of are left out: most of the work is this product.
        rows = [np.flatnonzero(m.any(axis=1)) for m in (t.up, t.down, rest)]
        by = (self.price[:, :1], self.price[:, 1:], None)
        left = [
            self.features[:, r] if each is None else self.features[:, r] * each
            for r, each in zip(rows, by, strict=True)
        ]
        right = [m[r] for m, r in zip((t.up, t.down, rest), rows, strict=True)]
        cost: Floats = np.concatenate(left, axis=1) @ np.concatenate(right)
        np.putmask(cost, ~self.fits, np.inf)
        return cost

    def bound(self, prices: Floats) -> tuple[float, Floats]:
        """Return the least cost of all replicas together, prices included, and their use.

        That is of each shared limit, shape (n_limits,).
        """
        chosen = np.empty(len(self.fits), np.int16)
        value = 0.0
        for own, cost in self._pieces(prices):
            best = cost.argmin(axis=1)
            value += float(cost[np.arange(len(cost)), best].sum())
            chosen[own] = best
        return value, self.taken(chosen)[1]

    def at(self, prices: Floats) -> Priced:
        """Return the choices of the replicas at some prices."""
        chosen = np.empty(len(self.fits), np.int16)
        margin = np.empty(len(self.fits))
        for own, cost in self._pieces(prices):
            rows = np.arange(len(cost))
            best = cost.argmin(axis=1)
            least = cost[rows, best]
            chosen[own] = best
            cost[rows, best] = np.inf
            margin[own] = cost.min(axis=1) - least
        cost_, used = self.taken(chosen)
        return Priced(used, cost_, chosen, margin)

    def _pieces(self, prices: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield the costs of so many replicas at a time as fit a processor's cache."""
        step = max(_CELLS // self.fits.shape[1], 1)
        for first in range(0, len(self.fits), step):
            look()
            own = slice(first, first + step)
            some = Part(self.terms, self.features[own], self.price[own], self.fits[own])
            yield own, some.costs(prices)

    def most(self) -> tuple[float, Floats]:
        """Return the largest cost and use of the replicas, each term alone."""
        t = self.terms
        total = self.features.sum(axis=0)
        cost = (
            (self.price[:, 0] @ self.features) @ t.up.max(axis=1)
            + (self.price[:, 1] @ self.features) @ t.down.max(axis=1)
            + total @ t.priced.max(axis=1)
        )
        return float(cost), t.shared.max(axis=2) @ total

    def taken(self, chosen: NDArray[np.integer]) -> tuple[float, Floats]:
        """Return `wan` and what shared limits lose if replicas choose so, shape (n_replicas,)."""
        t = self.terms
        n_patterns = self.fits.shape[1]

        def total(weight: Floats | None) -> Floats:
            """Return the sum of features over the replicas that chose each pattern."""
            columns = self.features.T if weight is None else self.features.T * weight
            return np.stack([np.bincount(chosen, weights=c, minlength=n_patterns) for c in columns])

        plain = total(None)
        cost = (
            (total(self.price[:, 0]) * t.up).sum()
            + (total(self.price[:, 1]) * t.down).sum()
            + (plain * t.priced).sum()
        )
        return float(cost), np.einsum("fq,rfq->r", plain, t.shared)
