"""The way up from every site to the root: the topology that NebulaStream's strategies walk."""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.baselines.order import downstream, neighbours
from edgeplace.solver.problem import Problem


@dataclass(frozen=True)
class Ascent:
    """Sites on the route from each site to the root, both included.

    NebulaStream's topology is a tree of workers whose root hosts the sinks. Here the root is the
    site where rules hold the sinks, else the cloud site with most slots.
    """

    problem: Problem
    root: int
    paths: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, problem: Problem) -> "Ascent":
        """Find the root and the ways up to it. A site without a route to it goes there at once."""
        p, root = problem, _root(problem)
        paths = []
        for site in range(p.network.n_sites):
            route = p.network.route(site, root)
            hops = [root] if route is None else [p.network.ends[i][1] for i in route]
            paths.append(tuple(dict.fromkeys([site, *hops])))
        return cls(p, root, tuple(paths))

    def common(self, sites: Ints) -> tuple[int, ...]:
        """Return the sites that the ways up from all of some sites share, the lowest first."""
        first, *others = (self.paths[s] for s in np.unique(sites).tolist())
        shared = reduce(lambda left, path: left & set(path), others, set(first))
        return tuple(s for s in first if s in shared)

    def down(self, start: int, sources: Ints) -> tuple[int, ...]:
        """Return a site and those on the ways between it and some sources, the highest first."""
        ways = [self.paths[s] for s in sources.tolist()]
        between = {s for way in ways if start in way for s in way[: way.index(start)]}
        return start, *sorted(between, key=lambda s: (len(self.paths[s]), s))

    def task_managers(self, sites: tuple[int, ...], first: int | None = None) -> list[int]:
        """Return the TaskManagers at some sites, in this order, one of them and its node first."""
        p = self.problem
        rank = {s: i for i, s in enumerate(sites)}

        def order(t: int) -> tuple[int, bool, bool]:
            near = first is not None and p.tms.node[t] == p.tms.node[first]
            return rank[int(p.tms.site[t])], not near, t != first

        return sorted((t for t in range(p.m) if int(p.tms.site[t]) in rank), key=order)


def place_sources(problem: Problem, filler: Filler) -> list[Ints]:
    """Place the sources, and return the sites of the sources that each subtask depends on."""
    producers, _ = neighbours(problem)
    below: list[Ints] = [np.zeros(0, np.intp)] * problem.n
    for k in downstream(problem).tolist():
        into = producers[k]
        if len(into):
            below[k] = np.unique(np.concatenate([below[j] for j in into]))
        else:
            filler.place(k, filler.allowed(k))
            below[k] = problem.tms.site[filler.assignment[[k]]]
    return below


def first_with_room(filler: Filler, k: int, ladder: list[int]) -> None:
    """Place a subtask on the first allowed TaskManager with a free slot, else on any that may."""
    allowed = filler.allowed(k)
    may = set(allowed.tolist())
    free = (t for t in ladder if t in may and filler.room(k, t))
    chosen = next(free, None)
    filler.place(k, allowed if chosen is None else [chosen])


def _root(p: Problem) -> int:
    feeds = np.zeros(p.n, bool)
    feeds[p.channels.feeding[0]] = True
    allowed = p.allowed()
    held = []
    for k in np.flatnonzero(~feeds).tolist():
        sites = np.unique(p.tms.site[allowed[k]])
        if len(sites) == 1:
            held.append(int(sites[0]))
    if held:
        return int(np.bincount(held).argmax())
    slots = np.bincount(p.tms.site, weights=p.tms.slots, minlength=p.network.n_sites)
    cloud = np.bincount(p.tms.site, weights=p.tms.is_server, minlength=p.network.n_sites) > 0
    return int(np.lexsort((-slots, ~cloud))[0])
