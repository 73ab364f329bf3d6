"""Routes between the sites of a cluster file."""

import math
from itertools import pairwise

from edgeplace.model import Cluster


class LeastDelayRoutes:
    """Routes by the links with the least delay."""

    def __init__(self, cluster: Cluster) -> None:
        import networkx as nx

        self._graph: nx.DiGraph[str] = nx.DiGraph()
        for link in cluster.directed_links():
            self._graph.add_edge(
                link.source,
                link.target,
                delay_ms=link.delay_ms,
                bandwidth=link.bandwidth_bytes_per_s or math.inf,
                free=max(
                    0.0, (link.bandwidth_bytes_per_s or math.inf) - link.background_bytes_per_s
                ),
            )

    def between(self, a: str, b: str) -> tuple[float, float] | None:
        """Return one-way delay in ms and the narrowest bandwidth in bytes/s, None: no route."""
        links = self.links(a, b)
        if links is None:
            return None
        edges = [self._graph.edges[e] for e in links]
        return sum(e["delay_ms"] for e in edges), min(e["bandwidth"] for e in edges)

    def links(self, a: str, b: str) -> list[tuple[str, str]] | None:
        """Return the links of the route from one site to another, None: no route."""
        if a == b:
            return []
        import networkx as nx

        try:
            return list(pairwise(nx.shortest_path(self._graph, a, b, weight="delay_ms")))
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return None

    def free_bytes_per_s(self, link: tuple[str, str]) -> float:
        """Return the bandwidth of a link without the traffic of others, inf: not limited."""
        free: float = self._graph.edges[link]["free"]
        return free
