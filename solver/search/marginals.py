"""Lower bounds of `wan` for a subtask at a site, over all placements of the rest.

All limits but where a single subtask may run are left out, and of the channels a spanning forest,
the heaviest there is, is kept: what is left out can only add. Over a forest, dynamic programming
gives the least `wan` with each subtask at each site, its min-marginal, exactly (Bertelè and
Brioschi, "Nonserial Dynamic Programming", 1972; min-sum on trees: Pearl, 1988).
A site whose min-marginal exceeds the `wan` of a known plan hosts the subtask in no better plan.
That holds on any network, where the cuts of a tree are of no use.

Prices for slots and cores (Lagrangian relaxation) were tried: where operators fill machines, they
raise the bound by less than 1 %.
"""

from dataclasses import dataclass

import networkx as nx
import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TOLERANCE

_CELLS = 5e7
"""Sites x sites x subtasks from which on the tables would not fit."""


@dataclass(frozen=True)
class Marginals:
    """Bounds of `wan`.

    Attributes
    ----------
    least
        No plan with the subtask at the site has less, infinite where it cannot be; shape
        (n_subtasks, n_sites).
    bound
        No plan has less.
    site
        Of each subtask in a plan that would have `bound`, if only what is kept here counted; shape
        (n_subtasks,).
    """

    least: Floats
    bound: float
    site: Ints

    @classmethod
    def of(cls, problem: Problem) -> "Marginals | None":
        """Return the min-marginals, None if there are too many sites, or there is no plan."""
        p = problem
        if float(p.network.n_sites) ** 2 * p.n > _CELLS:
            return None
        found = _Forest.of(p).solve(_alone(p))
        if not np.isfinite(found.bound):
            return None
        return cls(found.marginals(), found.bound, found.site)

    def plan(self, problem: Problem) -> Ints:
        """Return an assignment to TaskManagers of `site`, the least used first."""
        filler = Filler(problem)
        for k in range(problem.n):
            there = np.flatnonzero(problem.keeps_up[k] & (problem.tms.site == self.site[k]))
            filler.place(k, there.tolist())
        return filler.assignment

    def near(self, wan: float, fewest: int) -> Bools:
        """Return the sites in plans with at most so much `wan`, and each subtask's cheapest few.

        Some limits can be met only if subtasks with much traffic have a choice, too. Shape
        (n_subtasks, n_sites).

        Parameters
        ----------
        fewest
            Sites of a subtask that are always among them, if it may run at so many.
        """
        near: Bools = self.least <= wan
        cheapest = np.argsort(self.least, axis=1, kind="stable")[:, :fewest]
        np.put_along_axis(near, cheapest, values=True, axis=1)
        return near & np.isfinite(self.least)

    def wider(self, wan: float) -> float:
        """Return up to which `wan` to look next: about twice as many places, infinite for all.

        It is more than `wan`.
        """
        places = np.sort(self.least[np.isfinite(self.least)])
        within = int(np.searchsorted(places, wan, side="right"))
        wanted = max(2 * max(within, 2 * len(self.least)), within)
        return float(places[wanted]) if wanted < len(places) else np.inf


@dataclass(frozen=True)
class _Solved:
    """The least costs over a forest; see `_Forest.solve`."""

    forest: "_Forest"
    inwards: Floats
    """Of a subtask at a site and all that hangs on it, shape (n_subtasks, n_sites)."""
    sent: dict[int, Floats]
    """The least of that and of the channel, by the site of what it hangs on."""
    bound: float
    site: Ints

    def marginals(self) -> Floats:
        """Return the least cost of all with each subtask at each site."""
        outwards = np.zeros_like(self.inwards)
        """Least cost of all of its tree that does not hang on the subtask."""
        rest = np.zeros(len(self.inwards))
        for k in self.forest.order:
            look()
            q = self.forest.parent[k]
            if q < 0:
                rest[k] = self.bound - self.inwards[k].min()
                continue
            with np.errstate(invalid="ignore"):
                others = np.where(np.isfinite(self.sent[k]), self.inwards[q] - self.sent[k], np.inf)
            outwards[k] = (self.forest.cost[k] + (others + outwards[q])[None, :]).min(axis=1)
            rest[k] = rest[q]
        least: Floats = self.inwards + outwards + rest[:, None]
        return least


@dataclass(frozen=True)
class _Forest:
    """Subtasks joined by channels that form no cycle, the heaviest.

    Attributes
    ----------
    order
        Subtasks, each after the one it hangs on.
    parent
        What each hangs on, -1 for roots.
    cost
        Of the channels between the two, by the sites of the subtask and of its parent.
    """

    order: list[int]
    parent: list[int]
    cost: dict[int, Floats]

    @classmethod
    def of(cls, p: Problem) -> "_Forest":
        price = _prices(p)
        flow: dict[tuple[int, int], float] = {}
        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(p.n))
        ends = zip(p.channels.source.tolist(), p.channels.target.tolist(), strict=True)
        for (a, b), bytes_per_s in zip(ends, p.channels.bytes_per_s.tolist(), strict=True):
            flow[a, b] = flow.get((a, b), 0.0) + bytes_per_s
            graph.add_edge(a, b, weight=flow[a, b] + flow.get((b, a), 0.0))
        forest = nx.maximum_spanning_tree(graph)
        order: list[int] = []
        parent = [-1] * p.n
        for component in nx.connected_components(forest):
            root = min(component)
            order.append(root)
            for q, k in nx.bfs_edges(forest, root):
                parent[k] = q
                order.append(k)

        def one_way(a: int, b: int) -> Floats:
            if (a, b) not in flow:
                return np.zeros_like(price)
            with np.errstate(invalid="ignore"):
                # A channel without traffic needs a route as well.
                return np.where(np.isfinite(price), flow[a, b] * price, np.inf)

        hang = [k for k in order if parent[k] >= 0]
        cost = {k: one_way(k, parent[k]) + one_way(parent[k], k).T for k in hang}
        return cls(order, parent, cost)

    def solve(self, alone: Floats) -> _Solved:
        """Return the least costs, given those of single subtasks, shape (n_subtasks, n_sites)."""
        inwards = alone.copy()
        sent: dict[int, Floats] = {}
        choice: dict[int, Ints] = {}
        for k in reversed(self.order):
            look()
            q = self.parent[k]
            if q >= 0:
                both = inwards[k][:, None] + self.cost[k]
                choice[k] = both.argmin(axis=0)
                sent[k] = np.take_along_axis(both, choice[k][None, :], axis=0)[0]
                inwards[q] += sent[k]
        bound = 0.0
        site = np.zeros(len(alone), np.intp)
        for k in self.order:
            q = self.parent[k]
            if q >= 0:
                site[k] = choice[k][site[q]]
            else:
                site[k] = int(inwards[k].argmin())
                bound += float(inwards[k][site[k]])
        return _Solved(self, inwards, sent, bound, site)


def _alone(p: Problem) -> Floats:
    """Return the cost of each subtask's checkpoints at each site, infinite where it cannot be."""
    fits = p.keeps_up & (
        p.work.cores[:, p.tms.node_class] <= p.tms.node_cores[p.tms.node] * (1 + TOLERANCE)
    )
    may = np.zeros((p.n, p.network.n_sites), bool)
    k, t = np.nonzero(fits)
    may[k, p.tms.site[t]] = True
    alone = np.where(may, 0.0, np.inf)
    if p.storage_site is not None:
        writes = p.footprint.checkpoint_bytes_per_s > 0
        alone[writes] += (
            p.footprint.checkpoint_bytes_per_s[writes, None] * _prices(p)[:, p.storage_site]
        )
    return alone


def _prices(p: Problem) -> Floats:
    """Return the price of a byte from each site to each, infinite without a route."""
    n = p.network.n_sites
    a, b = np.divmod(np.arange(n**2), n)
    price = p.network.along(p.network.price, a, b)
    price[~p.network.joined_by_route(a, b)] = np.inf
    return price.reshape(n, n)
