"""A tree of sites, rooted at its centre."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgeplace.solver.arrays import Bools, Ints


@dataclass(frozen=True)
class Tree:
    """A rooted tree over sites, every edge a link in each direction.

    Attributes
    ----------
    root
        A centre: the largest distance to it is least.
    parent
        Parent of each site, -1 for the root and for sites without links, shape (n_sites,).
    depth
        Edges between a site and the root, shape (n_sites,).
    up, down
        Link from each site to its parent and back, -1 where it has none, shape (n_sites,).
    order
        Sites with links by depth, the root first.
    """

    root: int
    parent: Ints
    depth: Ints
    up: Ints
    down: Ints
    order: Ints

    @classmethod
    def of(
        cls, n_sites: int, ends: Sequence[tuple[int, int]], idle: Collection[int] = ()
    ) -> "Tree | None":
        """Return the tree that some directed links form, None if they form none.

        Parameters
        ----------
        idle
            Sites that may be without links, since nothing runs there.
        """
        link = {pair: i for i, pair in enumerate(ends)}
        linked = sorted(set(range(n_sites)) - (set(idle) - {a for a, _ in ends}))
        if (
            not linked
            or len(link) != 2 * (len(linked) - 1)
            or any((b, a) not in link for a, b in link)
        ):
            return None
        near: list[list[int]] = [[] for _ in range(n_sites)]
        for a, b in ends:
            near[a].append(b)
        order, _ = _walk(near, linked[0])
        if len(order) < len(linked):
            return None
        # The middle of a longest path: its ends are the farthest site from anywhere, and from it.
        order, parent = _walk(near, order[-1])
        path = [order[-1]]
        while parent[path[-1]] >= 0:
            path.append(parent[path[-1]])
        root = path[len(path) // 2]
        order, parent = _walk(near, root)
        depth = np.zeros(n_sites, np.intp)
        for s in order[1:]:
            depth[s] = depth[parent[s]] + 1
        return cls(
            root=root,
            parent=np.array(parent, np.intp),
            depth=depth,
            up=np.array([link.get((s, q), -1) for s, q in enumerate(parent)], np.intp),
            down=np.array([link.get((q, s), -1) for s, q in enumerate(parent)], np.intp),
            order=np.array(order, np.intp),
        )

    @cached_property
    def alone(self) -> Bools:
        """Sites without links in a cluster of several sites, shape (n_sites,)."""
        found: Bools = np.ones(len(self.parent), bool)
        found[self.order] = False
        return found

    def route(self, a: int, b: int) -> tuple[int, ...]:
        """Return the links from site a to site b."""
        ups: list[int] = []
        downs: list[int] = []
        while a != b:
            if self.depth[a] >= self.depth[b]:
                ups.append(int(self.up[a]))
                a = int(self.parent[a])
            else:
                downs.append(int(self.down[b]))
                b = int(self.parent[b])
        return (*ups, *reversed(downs))

    def steps(self, a: Ints, b: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield the links on the routes from sites a to b, at most one of each pair at a time.

        Pairs without a route cross nothing.

        Yields
        ------
        tuple
            Indices of pairs, and the link that each of them crosses.
        """
        a, b = a.copy(), np.where(self.alone[a] | self.alone[b], a, b)
        while len(apart := np.flatnonzero(a != b)):
            # The deeper end climbs; at equal depth the first one does.
            climbs = self.depth[a[apart]] >= self.depth[b[apart]]
            first, second = apart[climbs], apart[~climbs]
            if len(first):
                yield first, self.up[a[first]]
                a[first] = self.parent[a[first]]
            if len(second):
                yield second, self.down[b[second]]
                b[second] = self.parent[b[second]]


def _walk(near: Sequence[Sequence[int]], start: int) -> tuple[list[int], list[int]]:
    """Return the sites in the order of a breadth-first search, and the parent of each."""
    parent = [-1] * len(near)
    order = [start]
    for s in order:
        for t in near[s]:
            if t != parent[s] and t != start and parent[t] < 0:
                parent[t] = s
                order.append(t)
    return order, parent
