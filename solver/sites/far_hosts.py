"""Proof that some subtasks do not run at a branch, so that these places can be removed.

Let z be a site of a tree network, b one of the branches at z, and h a TaskManager outside b that
holds all that may ever run there. Take a plan with subtask g in b, and change b to what it is in
another plan, in which g is not there: what leaves b goes to h, and what the other plan has in b
comes from wherever it is. On the links of b, `wan` was at least

    D = what g exchanges with subtasks that can never be in b, at the price of b's link to z,

and is now U, that of the other plan. Elsewhere it grows by at most M: what all that may be in b
exchanges, at the price of the way between z and h, and what all that comes to b exchanges, at the
price of the way between z and the farthest place that it may come from (the way from z is no longer
than that to the place and on from there). If D > U + M, no optimal plan of the relaxed problem has
g in b: an isolating cut (Dahlhaus et al., SIAM J. Comput. 23, 1994) that holds with capacities,
since but for b, which is as in the other plan, only h takes on more. If D > U + M + slack, a plan
with g in b costs more than slack above the optimum: what is left out is in none of the plans within
the slack.
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.evaluation.usage import bytes_on_links
from edgeplace.solver.problem.tree import Tree
from edgeplace.solver.sites.relaxation import Relaxation
from edgeplace.solver.tolerances import ROUNDING


@dataclass(frozen=True)
class Hub:
    """A site, the branches at it, and a TaskManager where everything can go.

    Attributes
    ----------
    home
        The TaskManager h.
    site_branch, tm_branch
        Branch of each site, and of each TaskManager, -1 at the hub itself.
    may_reach
        Whether a subtask may be in a branch, shape (n_subtasks, n_branches).
    """

    relaxed: Relaxation
    tree: Tree
    home: int
    site_branch: Ints
    tm_branch: Ints
    may_reach: Bools

    @classmethod
    def of(cls, relaxed: Relaxation) -> "Hub | None":
        """Return the hub at the root of the tree.

        None if no TaskManager takes everything, or if no link joins the root to another site.
        """
        look()
        p, tree = relaxed.problem, relaxed.problem.network.tree
        count = (relaxed.may & relaxed.free[:, None]).sum(axis=0) * relaxed.has_slack
        if tree is None or not (tree.parent == tree.root).any() or not count.any():
            return None
        home = int(count.argmax())
        branch = branches(tree)
        at = branch[p.tms.site]
        return cls(relaxed, tree, home, branch, at, _reach(relaxed.may, at, branch))

    def without_unrelated_branches(self, slack: float | None) -> Bools:
        """Return the allowed places without branches that a component neither reads nor writes.

        Take a connected component of subtasks with a choice, and a branch in which none of its
        partners must run. Whichever of its subtasks are in the branch, all their bytes cross the
        branch's link to the hub. At home they exchange the same bytes with no more `wan`, and leave
        room in the branch. So some optimal plan has none of them there.

        At home `wan` is less by at least one of their channels over the branch's link: one between
        subtasks in the branch and others, or, if all are in the branch, one to a subtask without a
        choice. If there is no such subtask, all may be in the branch and cost nothing.

        Parameters
        ----------
        slack
            Least saving for which a branch is removed, so that all plans within the slack are
            kept; None: one optimal plan is kept.
        """
        relaxed, p = self.relaxed, self.relaxed.problem
        if self.tm_branch[self.home] >= 0:
            return relaxed.may
        heavy = np.flatnonzero(p.channels.bytes_per_s > 0)
        part = _parts(p.n, p.channels.source[heavy], p.channels.target[heavy], relaxed.free)
        kept = self._partners(part, heavy)
        if slack is not None:
            kept |= self._saving(part, heavy) <= slack * (1 + ROUNDING)
        kept[part[relaxed.free & ~relaxed.may[:, self.home]]] = True
        there = np.concatenate([kept[part], np.ones((p.n, 1), bool)], axis=1)
        may: Bools = relaxed.may & (there[:, self.tm_branch] | ~relaxed.free[:, None])
        return may

    def _partners(self, part: Ints, heavy: Ints) -> Bools:
        """Return the branches in which a partner of each component must run.

        Shape (n_components, n_branches); components are numbered below n_subtasks.
        """
        relaxed, p = self.relaxed, self.relaxed.problem
        source, target, free = p.channels.source[heavy], p.channels.target[heavy], relaxed.free
        partners = np.zeros((p.n, self.may_reach.shape[1]), bool)
        held = np.where(free, -1, self.tm_branch[relaxed.may.argmax(axis=1)])
        for own, other in ((source, target), (target, source)):
            at = free[own] & (held[other] >= 0)
            partners[part[own[at]], held[other[at]]] = True
        if p.storage_site is not None and self.site_branch[p.storage_site] >= 0:
            writes = free & (p.footprint.checkpoint_bytes_per_s > 0)
            partners[part[writes], self.site_branch[p.storage_site]] = True
        return partners

    def _saving(self, part: Ints, heavy: Ints) -> Floats:
        """Return the least saving if a component leaves a branch, shape as of `_partners`."""
        p, free, tree = self.relaxed.problem, self.relaxed.free, self.tree
        source, target = p.channels.source[heavy], p.channels.target[heavy]
        least = np.full(p.n, np.inf)
        joined_to_fixed = np.zeros(p.n, bool)
        for own, other in ((source, target), (target, source)):
            np.minimum.at(least, part[own], p.channels.bytes_per_s[heavy])
            joined_to_fixed[part[own[free[own] & ~free[other]]]] = True
        flow = np.where(joined_to_fixed & np.isfinite(least), least, 0.0)
        tops = np.flatnonzero(tree.parent == tree.root)
        price = np.minimum(p.network.price[tree.up[tops]], p.network.price[tree.down[tops]])
        saving: Floats = flow[:, None] * price[None, :]
        return saving

    def at_home(self) -> Ints:
        """Return the plan in which all that has a choice is at home, if it may."""
        may = self.relaxed.may
        plan: Ints = may.argmax(axis=1)
        plan[self.relaxed.free & may[:, self.home]] = self.home
        return plan

    def settled(self) -> Bools:
        """Return the places of plans in which only what one branch wants is not at home.

        Shape (n_subtasks, n_tms).
        """
        may, branch = self.relaxed.may, self.tm_branch
        tight = may & ~self.relaxed.has_slack
        wanted = _reach(tight, branch, self.site_branch)
        own = wanted.argmax(axis=1)
        one = (wanted.sum(axis=1) == 1) & ~tight[:, branch < 0].any(axis=1)
        places: Bools = tight & one[:, None] & (branch == own[:, None])
        places[:, self.home] |= may[:, self.home]
        unchanged = ~self.relaxed.free | ~may[:, self.home]
        places[unchanged] = may[unchanged]
        return places

    def without_far_hosts(self, plan: Ints, slack: float = 0.0) -> Bools:
        """Return where subtasks may run without making `wan` more than `slack` worse than optimal.

        Parameters
        ----------
        plan
            The other plan, `at_home` or one of those that are `settled`.
        """
        relaxed, p, reach, branch = (
            self.relaxed,
            self.relaxed.problem,
            self.may_reach,
            self.tm_branch,
        )
        n, price, free = reach.shape[1], p.network.price, self.relaxed.free
        may = relaxed.may.copy()
        tree = self.tree
        # U: on the links of each branch, its link to the hub with them.
        cost = bytes_on_links(p, p.tms.site[plan])[0] * price
        below = np.flatnonzero(self.site_branch >= 0)
        each = cost[tree.up[below]] + cost[tree.down[below]]
        u = np.bincount(self.site_branch[below], weights=each, minlength=n)
        # M: what is sent, checkpoints too, and what is got, whichever way costs more.
        sent = p.footprint.checkpoint_bytes_per_s + np.bincount(
            p.channels.source, weights=p.channels.bytes_per_s, minlength=p.n
        )
        got = np.bincount(p.channels.target, weights=p.channels.bytes_per_s, minlength=p.n)
        hub = np.full(p.m, tree.root)
        way = np.maximum(
            p.network.along(price, p.tms.site, hub), p.network.along(price, hub, p.tms.site)
        )
        m = (sent + got) * way[self.home] @ (reach & free[:, None])
        there = branch[plan]
        elsewhere = may & (branch[None, :] != there[:, None])
        farthest = np.where(elsewhere, way[None, :], 0.0).max(axis=1, initial=0.0)
        comes = free & (there >= 0)
        m += np.bincount(there[comes], weights=((sent + got) * farthest)[comes], minlength=n)
        # Everything that may be in a branch must be free to go home.
        goes = np.array(
            [(relaxed.may[:, self.home] | ~free | ~reach[:, b]).all() for b in range(n)], bool
        )
        if branch[self.home] >= 0:
            goes[branch[self.home]] = False
        tops = np.flatnonzero(tree.parent == tree.root)  # numbered as the branches are
        up, down = price[tree.up[tops]], price[tree.down[tops]]
        least = (u + m) * (1 + ROUNDING) + slack
        for g in np.flatnonzero(free & (sent + got > 0) & (reach.sum(axis=1) > 1)).tolist():
            # D, by both ways of the link between each branch and the hub.
            sends, gets = p.channels.source == g, p.channels.target == g
            d = up * (p.channels.bytes_per_s[sends] @ ~reach[p.channels.target[sends]])
            d += down * (p.channels.bytes_per_s[gets] @ ~reach[p.channels.source[gets]])
            gone = goes & reach[g] & (d > least)
            if gone.any():
                may[g] &= ~(gone[branch] & (branch >= 0))
        return may


def _parts(n: int, source: Ints, target: Ints, free: Bools) -> Ints:
    """Return the number of each subtask's connected component over free subtasks."""
    part = np.arange(n)
    inner = free[source] & free[target]
    a, b = source[inner], target[inner]
    while True:
        before = part.copy()
        low = np.minimum(part[a], part[b])
        np.minimum.at(part, a, low)
        np.minimum.at(part, b, low)
        part = part[part]
        if (part == before).all():
            return part


def branches(tree: Tree) -> Ints:
    """Return the branch at the root that each site is in, -1 for the root."""
    branch = np.full(len(tree.parent), -1, np.intp)
    tops = np.flatnonzero(tree.parent == tree.root)
    branch[tops] = np.arange(len(tops))
    for s in tree.order[1:].tolist():
        if tree.parent[s] != tree.root:
            branch[s] = branch[tree.parent[s]]
    return branch


def _reach(may: Bools, tm_branch: Ints, site_branch: Ints) -> Bools:
    """Return whether each subtask may be in each branch."""
    reach = np.zeros((len(may), int(site_branch.max()) + 1), bool)
    k, t = np.nonzero(may[:, tm_branch >= 0])
    reach[k, tm_branch[tm_branch >= 0][t]] = True
    return reach
