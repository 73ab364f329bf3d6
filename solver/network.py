"""The network between sites: routes, and the tree form if the sites form a tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, Link

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    """An edge of a tree network: removing it leaves the sites in `below` on one side."""

    below: frozenset[int]
    up: int
    """Index of the directed link that leads out of `below`."""
    down: int
    """Index of the directed link that leads into `below`."""


@dataclass(frozen=True)
class Network:
    """Directed links between sites, indexed.

    Attributes
    ----------
    names
        ``a -> b`` of each directed link.
    capacity_bytes_per_s
        Bandwidth times target, infinite where not limited, shape (n_links,).
    bandwidth_bytes_per_s
        Bandwidth, infinite where not limited, shape (n_links,).
    delay_ms, price
        One-way delay and weight of a byte, shape (n_links,).
    cuts
        One per edge if the sites form a tree with links in both directions, else None.
    """

    n_sites: int
    ends: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    bandwidth_bytes_per_s: Floats
    capacity_bytes_per_s: Floats
    delay_ms: Floats
    price: Floats
    cuts: tuple[Cut, ...] | None
    _graph: "nx.DiGraph[int]"
    _routes: dict[int, dict[int, tuple[int, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, cluster: Cluster) -> "Network":
        """Index the links of a cluster."""
        site = {s.id: i for i, s in enumerate(cluster.sites)}
        links = list(cluster.directed_links())
        ends = tuple((site[a.source], site[a.target]) for a in links)
        bandwidth = np.array([a.bandwidth_bytes_per_s or np.inf for a in links])
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(site)))
        for i, (link, (a, b)) in enumerate(zip(links, ends, strict=True)):
            graph.add_edge(a, b, link=i, delay=link.delay_ms)
        return cls(
            n_sites=len(site),
            ends=ends,
            names=tuple(f"{a.source} -> {a.target}" for a in links),
            bandwidth_bytes_per_s=bandwidth,
            capacity_bytes_per_s=bandwidth * cluster.link_target,
            delay_ms=np.array([a.delay_ms for a in links]),
            price=np.array([a.price_per_byte for a in links]),
            cuts=_cuts(graph),
            _graph=graph,
        )

    def route(self, a: int, b: int) -> tuple[int, ...] | None:
        """Return the links from site a to site b: least delay, then fewest links, then first named.

        None if b cannot be reached.
        """
        if a == b:
            return ()
        if a not in self._routes:
            self._routes[a] = dict(self._routes_from(a))
        return self._routes[a].get(b)

    def _routes_from(self, a: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        # Delay in whole nanoseconds keeps the order of routes independent of rounding.
        def weight(u: int, v: int, data: dict[str, float]) -> int:
            return round(data["delay"] * 1e6) * self.n_sites + 1

        for b, sites in nx.single_source_dijkstra_path(self._graph, a, weight=weight).items():
            pairs = pairwise(sites)
            yield b, tuple(self._graph.edges[u, v]["link"] for u, v in pairs)

    def joined(self, cluster: Cluster, links: Sequence[Link]) -> "Network":
        """Return the network of a cluster with unlimited links between sites that had no route.

        Routes that exist stay as they are.
        """
        more = Network.of(cluster.model_copy(update={"links": (*cluster.links, *links)}))
        more.capacity_bytes_per_s[: len(self.names)] = self.capacity_bytes_per_s
        for a in range(self.n_sites):
            own = dict(more._routes_from(a))
            own.update(self._routes_from(a))
            more._routes[a] = own
        return more

    def delay(self, a: int, b: int) -> float:
        """Return the one-way delay from site a to site b in ms; infinite if unreachable."""
        route = self.route(a, b)
        return float("inf") if route is None else float(sum(self.delay_ms[i] for i in route))


def _cuts(graph: "nx.DiGraph[int]") -> tuple[Cut, ...] | None:
    undirected = graph.to_undirected()
    if not nx.is_tree(undirected) or graph.number_of_edges() != 2 * undirected.number_of_edges():
        return None
    root = nx.center(undirected)[0] if len(graph) > 1 else 0
    below: dict[int, set[int]] = {s: {s} for s in graph}
    cuts = []
    order = list(nx.bfs_edges(undirected, root))
    for parent, child in reversed(order):
        below[parent] |= below[child]
        up, down = graph.edges[child, parent]["link"], graph.edges[parent, child]["link"]
        cuts.append(Cut(frozenset(below[child]), up, down))
    return tuple(cuts)
