"""The network between sites: routes, and the tree form if the sites form a tree."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import networkx as nx
import numpy as np

from edgeplace.model import MONTH_S, Cluster, Link
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem.tree import Tree

_HERE, _NOWHERE = -1, -2
"""In place of a link: the site itself, and a site that cannot be reached."""


@dataclass(frozen=True)
class Cut:
    """An edge of a tree network: removing it leaves the sites in `below` on one side."""

    below: frozenset[int]
    up: int
    """Index of the directed link that leads out of `below`."""
    down: int
    """Index of the directed link that leads into `below`."""


@dataclass(frozen=True)
class Volume:
    """Bytes that cost nothing, of one link or of two opposite ones that share them."""

    links: tuple[int, ...]
    bytes_per_s: float
    """The volume of a month, spread evenly."""
    price: float
    """Of a byte beyond it."""


@dataclass(frozen=True)
class Network:
    """Directed links between sites, indexed.

    Attributes
    ----------
    ends
        Sites at the two ends of each directed link.
    names
        ``a -> b`` of each directed link.
    capacity_bytes_per_s
        Bandwidth times target without what others send, infinite where not limited, shape
        (n_links,).
    bandwidth_bytes_per_s
        Bandwidth, infinite where not limited, shape (n_links,).
    delay_ms, price
        One-way delay and weight of a byte, shape (n_links,).
    tree
        The tree that the sites form, if they form one with links in both directions, else None.
        See `without_idle`.
    site_ids
        Names of the sites; a tree does not need them, for it has no two routes.
    volumes
        What is included in the prices of links; only `cost` takes account of it.
    """

    n_sites: int
    ends: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    bandwidth_bytes_per_s: Floats
    capacity_bytes_per_s: Floats
    delay_ms: Floats
    price: Floats
    tree: Tree | None
    site_ids: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = ()
    _last: dict[int, Ints] = field(default_factory=dict)
    """By site: the last link on the route from it to each site, `_HERE` or `_NOWHERE`."""

    @classmethod
    def of(cls, cluster: Cluster) -> "Network":
        """Index the links of a cluster."""
        site = {s.id: i for i, s in enumerate(cluster.sites)}
        # Each way on its own, as in `Cluster.directed_links`, without a new object for each.
        ways = [
            (a, *way)
            for a in cluster.links
            for way in ((a.source, a.target), (a.target, a.source))[: 1 + a.both_ways]
        ]
        links = [way[0] for way in ways]
        ends = tuple((site[a], site[b]) for _, a, b in ways)
        bandwidth = np.array([a.bandwidth_bytes_per_s or np.inf for a in links])
        return cls(
            n_sites=len(site),
            ends=ends,
            names=tuple(f"{a} -> {b}" for _, a, b in ways),
            bandwidth_bytes_per_s=bandwidth,
            capacity_bytes_per_s=bandwidth * cluster.link_target
            - np.array([a.background_bytes_per_s for a in links]),
            delay_ms=np.array([a.delay_ms for a in links]),
            price=np.array([a.price_per_byte for a in links]),
            tree=Tree.of(len(site), ends),
            site_ids=tuple(site),
            volumes=tuple(_volumes(links, ends)),
        )

    @cached_property
    def price_without_volume(self) -> Floats:
        """Price of a byte on links of which every byte costs, else 0, shape (n_links,)."""
        price: Floats = self.price.copy()
        for volume in self.volumes:
            price[list(volume.links)] = 0.0
        return price

    @cached_property
    def turn_ms(self) -> Floats:
        """Delay of each link there and back, -inf where none leads back, shape (n_links,)."""
        if self.tree is not None:
            turn: Floats = self.delay_ms.copy()
            up, down = (way[way >= 0] for way in (self.tree.up, self.tree.down))
            turn[up] += self.delay_ms[down]
            turn[down] += self.delay_ms[up]
            return turn
        opposite = {(b, a): float(self.delay_ms[i]) for i, (a, b) in enumerate(self.ends)}
        turn = np.array([opposite.get(pair, -np.inf) for pair in self.ends])
        turn += self.delay_ms
        return turn

    @cached_property
    def _graph(self) -> "nx.DiGraph[int]":
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(self.n_sites))
        for i, (a, b) in enumerate(self.ends):
            # Delay in whole nanoseconds keeps the order of routes independent of rounding.
            weight = round(float(self.delay_ms[i]) * 1e6) * self.n_sites + 1
            graph.add_edge(a, b, link=i, weight=weight)
        return graph

    @cached_property
    def cuts(self) -> tuple[Cut, ...] | None:
        """One per edge of the tree, those farthest from the root first; None without a tree."""
        tree = self.tree
        if tree is None:
            return None
        below: list[set[int]] = [{s} for s in range(self.n_sites)]
        cuts = []
        for s in tree.order[:0:-1].tolist():
            below[tree.parent[s]] |= below[s]
            cuts.append(Cut(frozenset(below[s]), int(tree.up[s]), int(tree.down[s])))
        return tuple(cuts)

    def steps(self, a: Ints, b: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield the links on the routes from sites a to b, at most one of each pair at a time.

        Pairs without a route cross nothing.

        Yields
        ------
        tuple
            Indices of pairs, and the link that each of them crosses.
        """
        if self.tree is not None:
            yield from self.tree.steps(a, b)
            return
        sources, row = np.unique(a, return_inverse=True)
        last = self._last_links(sources)
        tail = np.array(self.ends, np.intp).reshape(-1, 2)[:, 0]
        # From the far end back: the order of the links does not matter.
        here = b.copy()
        way = np.flatnonzero(last[row, here] >= 0)
        while len(way):
            links = last[row[way], here[way]]
            yield way, links
            here[way] = tail[links]
            way = way[here[way] != a[way]]

    def along(self, weight: Floats, a: Ints, b: Ints) -> Floats:
        """Return the sum of links' weights on the way from sites a to sites b.

        0 where there is no route.
        """
        total = np.zeros(len(a))
        for which, links in self.steps(a, b):
            total[which] += weight[links]
        return total

    def joined_by_route(self, a: Ints, b: Ints) -> Bools:
        """Return whether there is a route from sites a to sites b."""
        if self.tree is not None:
            met: Bools = (a == b) | ~(self.tree.alone[a] | self.tree.alone[b])
            return met
        sources, row = np.unique(a, return_inverse=True)
        joined: Bools = self._last_links(sources)[row, b] != _NOWHERE
        return joined

    def route(self, a: int, b: int) -> tuple[int, ...] | None:
        """Return the links from site a to site b: least delay, then fewest links.

        Of such routes the one whose last site before b has the first id, as text; and so on back.

        None if b cannot be reached.
        """
        if not self.joined_by_route(np.array([a]), np.array([b]))[0]:
            return None
        if self.tree is not None:
            return self.tree.route(a, b)
        links = [int(link[0]) for _, link in self.steps(np.array([a]), np.array([b]))]
        return tuple(reversed(links))

    def _last_links(self, sources: Ints) -> Ints:
        """Return the last links on the routes from some sites, shape (len(sources), n_sites)."""
        for a in sources.tolist():
            if a not in self._last:
                self._last[a] = self._last_from(a)
        return np.array([self._last[a] for a in sources.tolist()], np.intp).reshape(
            -1, self.n_sites
        )

    def _last_from(self, a: int) -> Ints:
        before, _ = nx.dijkstra_predecessor_and_distance(self._graph, a)
        last = np.full(self.n_sites, _NOWHERE)
        for b, sites in before.items():
            # Of routes that are equally good one that does not depend on the order in the file.
            first = min(sites, key=lambda s: self.site_ids[s], default=-1)
            last[b] = self._graph.edges[first, b]["link"] if sites else _HERE
        return last

    def joined(self, cluster: Cluster, links: Sequence[Link]) -> "Network":
        """Return the network of a cluster with unlimited links between sites that had no route.

        Routes that exist stay as they are.
        """
        more = Network.of(cluster.model_copy(update={"links": (*cluster.links, *links)}))
        more.capacity_bytes_per_s[: len(self.names)] = self.capacity_bytes_per_s
        for a in range(self.n_sites):
            own = self._last_from(a)
            more._last[a] = np.where(own == _NOWHERE, more._last_from(a), own)
        return more

    def without_idle(self, idle: Collection[int]) -> "Network":
        """Return the network as a tree, if it is one but for sites without links.

        Parameters
        ----------
        idle
            Sites where nothing runs in any plan that is asked for.
        """
        if self.tree is not None:
            return self
        return dataclasses.replace(self, tree=Tree.of(self.n_sites, self.ends, idle))

    def delay(self, a: int, b: int) -> float:
        """Return the one-way delay from site a to site b in ms; infinite if unreachable."""
        route = self.route(a, b)
        return float("inf") if route is None else float(sum(self.delay_ms[i] for i in route))


def _volumes(links: Sequence[Link], ends: Sequence[tuple[int, int]]) -> Iterator[Volume]:
    """Yield the included volumes of directed links; opposite links that have one share it."""
    found = {ends[i]: i for i, link in enumerate(links) if link.included_bytes}
    for (a, b), i in found.items():
        back = found.get((b, a))
        if back is None or i < back:
            shared = (i,) if back is None else (i, back)
            yield Volume(shared, links[i].included_bytes / MONTH_S, links[i].price_per_byte)
