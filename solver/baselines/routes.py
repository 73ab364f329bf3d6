"""All routes between sites as tables, so that the cost of a move is one look-up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem.network import Network


@dataclass(frozen=True)
class Routes:
    """Price, delay and existence of the route from each site to each, shape (n_sites, n_sites).

    A missing route has price and delay 0, and `missing` is true.
    """

    network: Network
    price: Floats
    delay_ms: Floats
    missing: Bools
    _below: Bools | None
    """On a tree: whether each site is below each cut, shape (n_cuts, n_sites)."""

    @classmethod
    def between(cls, network: Network, sites: Sequence[int]) -> "Routes":
        """Return the tables, filled at least for these sites."""
        n = network.n_sites
        missing = np.zeros((n, n), bool)
        if network.tree is not None:
            missing[network.tree.alone] = missing[:, network.tree.alone] = True
            np.fill_diagonal(missing, False)
        if network.cuts is not None:
            below = np.zeros((len(network.cuts), n), bool)
            for c, cut in enumerate(network.cuts):
                below[c, list(cut.below)] = True
            price = _on_tree(network, below, network.price)
            return cls(network, price, _on_tree(network, below, network.delay_ms), missing, below)
        price, delay = np.zeros((n, n)), np.zeros((n, n))
        for a in sites:
            for b in sites:
                links = network.route(a, b)
                if links is None:
                    missing[a, b] = True
                elif links:
                    price[a, b] = sum(network.price[i] for i in links)
                    delay[a, b] = sum(network.delay_ms[i] for i in links)
        return cls(network, price, delay, missing, None)

    def round_trip_ms(self, a: Ints, b: Ints) -> Floats:
        """Return the round-trip times of pairs of sites; 0 where one way is missing."""
        there: Floats = self.delay_ms[a, b] + self.delay_ms[b, a]
        return np.where(self.missing[a, b] | self.missing[b, a], 0.0, there)

    def bytes_on_links(self, a: Ints, b: Ints, flow: Floats) -> Floats:
        """Return the bytes/s that flows between sites put on each link, shape (n_links,)."""
        total = np.zeros(len(self.network.names))
        if self._below is not None:
            leaves, enters = self._below[:, a], self._below[:, b]
            up, down = _links(self.network)
            total[up] = (leaves & ~enters) @ flow
            total[down] = (enters & ~leaves) @ flow
            return total
        for s, d, w in zip(a.tolist(), b.tolist(), flow.tolist(), strict=True):
            for i in self.network.route(s, d) or ():
                total[i] += w
        return total


def _links(network: Network) -> tuple[Ints, Ints]:
    """Return the links out of and into the lower side of each cut."""
    cuts = network.cuts or ()
    return np.array([c.up for c in cuts], np.intp), np.array([c.down for c in cuts], np.intp)


def _on_tree(network: Network, below: Bools, weight: Floats) -> Floats:
    """Return the sum of the links' weights on the way from each site to each."""
    up, down = _links(network)
    inside = below.astype(float)
    outwards = (inside.T * weight[up]) @ (1 - inside)
    table: Floats = outwards + ((1 - inside).T * weight[down]) @ inside
    return table
