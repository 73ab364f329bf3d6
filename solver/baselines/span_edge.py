"""SpanEdge: local tasks at every source site, global tasks at one hub.

Sajjad, Danniswara, Al-Shishtawy and Vlassov, "SpanEdge: Towards Unifying Stream Processing over
Central and Near-the-Edge Data Centers", SEC 2016; its scheduler is public
(https://github.com/kendanniswara/StormOnEdge, GeoAwareScheduler). Local tasks run where their
sources are. A global task runs at the site whose largest delay to the sites of its inputs is
least. TaskManagers of a site take turns. There is no cost and no capacity in it.

Its users mark tasks as local or global. Here a subtask is local if all its inputs come from one
site and local subtasks alone, so that running it there sends nothing between sites.
"""

import numpy as np

from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.baselines.order import downstream, neighbours
from edgeplace.solver.problem import Problem


def span_edge(problem: Problem) -> Ints:
    """Return SpanEdge's assignment; pins hold."""
    p = problem
    filler = Filler(p)
    producers, _ = neighbours(p)
    operator = p.subtasks.operator_of
    local = np.zeros(p.n, bool)
    hubs: dict[int, int] = {}
    for k in downstream(p).tolist():
        into = producers[k]
        allowed = filler.allowed(k)
        if not len(into):
            local[k] = True
            filler.place(k, allowed)
            continue
        sites = np.unique(p.tms.site[filler.assignment[into]])
        local[k] = len(sites) == 1 and bool(local[into].all())
        o = int(operator[k])
        if local[k]:
            site = int(sites[0])
        else:
            if o not in hubs:
                inputs = np.concatenate([producers[i] for i in p.subtasks.range_of(o)])
                hubs[o] = _hub(p, np.unique(p.tms.site[filler.assignment[inputs]]))
            site = hubs[o]
        there = allowed[p.tms.site[allowed] == site]
        filler.place(k, there if len(there) else allowed)
    return filler.assignment


def _hub(p: Problem, inputs: Ints) -> int:
    """Return the site with the least largest delay to the sites of the inputs."""

    def farthest(site: int) -> float:
        return max(p.network.delay(int(i), site) for i in inputs)

    sites: list[int] = np.unique(p.tms.site).tolist()
    return min(sites, key=farthest)
