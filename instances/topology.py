"""Instances over a network from GraphML, as the Internet Topology Zoo publishes them.

Knight, Nguyen, Falkner, Bowden and Roughan, "The Internet Topology Zoo", IEEE JSAC 29(9), 2011:
nodes with Longitude and Latitude, some edges with LinkSpeedRaw (bit/s).
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeplace.instances.draws import Draws, rounded
from edgeplace.instances.instance import Instance
from edgeplace.instances.network_case import network_case
from edgeplace.model import InvalidInputError, Link

EARTH_RADIUS_KM = 6371.0
KM_PER_MS = 200.0
"""Speed of light in fibre."""
UNKNOWN_DELAY_MS = 5.0
"""Delay of a link if a node has no coordinates."""


def topology(path: str | Path, edge_sites: int, seed: int) -> Instance:
    """Return an instance over the network of a GraphML file.

    The node with most links is the cloud; sources are at some of those with fewest. A delay is
    that of light in fibre along the great circle. A bandwidth is that of the file, or unlimited.
    Each link has the weight 1 in `wan`.

    Raises
    ------
    InvalidInputError
        If the file has no connected network with that many sites besides the cloud.
    """
    import networkx as nx

    try:
        graph: nx.Graph[str] = nx.Graph(nx.read_graphml(path))
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file", "check the path") from None
    except Exception as e:
        # networkx passes on all errors of its parser: XML, key and conversion errors.
        raise InvalidInputError(f"{path}: not GraphML: {e}", "give a GraphML file") from e
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    if len(graph) < 2 or not nx.is_connected(graph):
        raise InvalidInputError(
            f"{path}: {len(graph)} nodes that are not all connected",
            "give a network of two nodes or more in one piece",
        )
    if not 1 <= edge_sites < len(graph):
        raise InvalidInputError(
            f"{path}: {len(graph)} nodes, one of them the cloud, cannot have {edge_sites} edge "
            "sites",
            f"ask for 1 to {len(graph) - 1}",
        )
    draws = Draws("topology", Path(path).stem, edge_sites, seed)
    by_links = sorted(graph, key=lambda n: (-graph.degree(n), n))
    cloud = by_links[0]
    fewest = sorted(graph.degree(n) for n in by_links[1:])[edge_sites - 1]
    outer = [n for n in graph if n != cloud and graph.degree(n) <= fewest]
    edge = draws.some_of(outer, edge_sites)
    places = {n: _place(data) for n, data in graph.nodes(data=True)}
    links = [
        Link(
            source=a,
            target=b,
            bandwidth_bytes_per_s=_bandwidth(data),
            delay_ms=_delay_ms(places[a], places[b]),
            both_ways=True,
        )
        for a, b, data in graph.edges(data=True)
    ]
    return network_case(
        f"topology-{Path(path).stem}-{edge_sites}-{seed}", list(graph), cloud, edge, links, draws
    )


def _place(data: Mapping[str, Any]) -> tuple[float, float] | None:
    if "Latitude" not in data or "Longitude" not in data:
        return None
    return math.radians(float(data["Latitude"])), math.radians(float(data["Longitude"]))


def _delay_ms(a: tuple[float, float] | None, b: tuple[float, float] | None) -> float:
    if a is None or b is None:
        return UNKNOWN_DELAY_MS
    half = (
        math.sin((a[0] - b[0]) / 2) ** 2
        + math.cos(a[0]) * math.cos(b[0]) * math.sin((a[1] - b[1]) / 2) ** 2
    )
    km = 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, half)))
    return rounded(km / KM_PER_MS)


def _bandwidth(data: Mapping[str, Any]) -> float | None:
    bits_per_s = float(data.get("LinkSpeedRaw", 0.0))
    return bits_per_s / 8 if bits_per_s > 0 else None
