"""Links that every plan overloads, found by a minimum cut instead of a search.

In a tree a link parts the sites in two. Each subtask is on one side, by its rules and by the
machines where it keeps up; what a link carries one way at least is the least cut between those that
must be on the one side and those that must be on the other (Stone, IEEE Trans. Softw. Eng. 3(1),
1977). How many fit there is left out, so the true load may be more, never less.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx
import numpy as np

from edgeplace.model import Limit, LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TOLERANCE

_MOST = 2e9
"""Links times subtasks times TaskManagers: some ten seconds."""


@dataclass(frozen=True)
class OverloadedLink:
    """A link that carries too much in every plan that keeps the limits of machines.

    Attributes
    ----------
    limit
        What it carries at least.
    own
        Subtasks that must be before it.
    anyhow
        Whether it carries too much in plans that overload machines, too.
    """

    limit: Limit
    own: Ints
    anyhow: bool


def thin_links(p: Problem) -> Iterator[OverloadedLink]:
    """Yield each link that carries too much in every plan that keeps the limits of machines.

    Nothing where the sites form no tree, a subtask keeps up nowhere, or it would take too long.

    Raises
    ------
    OutOfTimeError
        If the time of the call that runs is over.
    """
    limited = int(np.isfinite(p.network.capacity_bytes_per_s).sum())
    if p.network.tree is None or limited * p.n * p.m * len(p.peaks) > _MOST:
        return
    if not p.keeps_up.any(axis=1).all():
        return
    sites = nx.Graph(p.network.ends)
    for e, (a, b) in enumerate(p.network.ends):
        room = float(p.network.capacity_bytes_per_s[e])
        if not np.isfinite(room):
            continue
        look()
        before = _side(p, sites, a, b)[p.tms.site]
        far = p.storage_site is not None and not _side(p, sites, a, b)[p.storage_site]
        most = room * (1 + TOLERANCE)
        here, there = _sides(p.keeps_up, before)
        least = _too_much(p, here, there, far, most)
        if least is not None:
            limit = Limit.of(
                LimitKind.LINK_BANDWIDTH,
                p.network.names[e],
                least,
                room,
                (p.cluster.sites[a].id, p.cluster.sites[b].id),
            )
            anyhow = _too_much(p, *_sides(p.allowed(), before), far, most) is not None
            yield OverloadedLink(limit, np.flatnonzero(~there), anyhow)


def _sides(places: Bools, before: Bools) -> tuple[Bools, Bools]:
    """Return which subtasks may be before a link, and which behind it, shape (n_subtasks,).

    Parameters
    ----------
    places
        Where each subtask may run, shape (n_subtasks, n_tms).
    before
        Whether each TaskManager is before the link, shape (n_tms,).
    """
    here: Bools = np.any(places[:, before], axis=1)
    there: Bools = np.any(places[:, ~before], axis=1)
    return here, there


def _too_much(p: Problem, here: Bools, there: Bools, far: bool, most: float) -> float | None:
    """Return the least bytes/s over a link, None if it may be as little as it can carry.

    What is too much in one period of a day is too much: it is that of the period with most.

    Parameters
    ----------
    far
        Whether checkpoints are stored behind the link.
    """
    found = []
    for q in p.peaks:
        stored = q.footprint.checkpoint_bytes_per_s if far else np.zeros(q.n)
        # Two plans of sides: all that may be here is, or as little as can be. Mostly one will do.
        if min(_load(q, side, stored) for side in (~there, here)) > most:
            found.append(_least_cut(q, here, there, stored))
    return max((least for least in found if least > most), default=None)


def _side(p: Problem, sites: "nx.Graph[int]", a: int, b: int) -> Bools:
    """Return which sites are on the side of a, without the link to b, shape (n_sites,)."""
    side = np.zeros(p.network.n_sites, bool)
    side[list(nx.node_connected_component(nx.restricted_view(sites, [], [(a, b)]), a))] = True
    return side


def _load(p: Problem, side: Bools, stored: Floats) -> float:
    """Return bytes/s from one side to the other, given which subtasks are before the link."""
    source, target = p.channels.source, p.channels.target
    crossing = side[source] & ~side[target]
    return float(p.channels.least_bytes_per_s[crossing].sum() + stored[side].sum())


def _least_cut(p: Problem, here: Bools, there: Bools, stored: Floats) -> float:
    graph: nx.DiGraph[int] = nx.DiGraph()
    begin, end = p.n, p.n + 1
    graph.add_nodes_from((begin, end))
    # An edge without a capacity is never cut.
    graph.add_edges_from((begin, k) for k in np.flatnonzero(~there).tolist())
    graph.add_edges_from((k, end) for k in np.flatnonzero(~here).tolist())
    flows = [
        *zip(
            p.channels.source.tolist(),
            p.channels.target.tolist(),
            p.channels.least_bytes_per_s.tolist(),
            strict=True,
        ),
        *((k, end, float(stored[k])) for k in np.flatnonzero(stored * here).tolist()),
    ]
    for k, j, flow in flows:
        if flow > 0 and graph.has_edge(k, j):
            graph[k][j]["capacity"] += flow
        elif flow > 0:
            graph.add_edge(k, j, capacity=flow)
    least: float = nx.minimum_cut_value(graph, begin, end)
    return least
