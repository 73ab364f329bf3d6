"""A partial placement: its use of resources, and the effect of one more step.

Greedy methods, random draws, local search and tabu search take their steps here. Loads and prices
are kept up to date from step to step, so that all places of a subtask are weighed at once, without
the evaluator, which judges the whole placement in the end.
"""

from copy import copy

import numpy as np

from edgeplace.model import LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.baselines.routes import Routes
from edgeplace.solver.baselines.slots_taken import SlotsTaken
from edgeplace.solver.clock import look
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Alone, Capped, Restriction, Together
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TIE, TOLERANCE, ZERO

Relation = Together | Capped | Alone
"""Rules about where subtasks run relative to others."""
_ROOM = 1 + TOLERANCE
_BYTES_ROOM = 1 + BYTES_TOLERANCE


class State:
    """A placement of some or all subtasks.

    A step breaks a limit if one that the subtask itself touches does not hold after it; so steps
    that break none never add a broken limit, and mend those that are left behind. The limit on
    latency is no subtask's own: it is looked at once the placement is whole.

    Attributes
    ----------
    assignment
        TaskManager of each subtask, -1 where not placed yet, shape (n_subtasks,).
    routes
        The routes between the sites of TaskManagers.
    at_site
        `wan` of a subtask's channels to placed subtasks and of its checkpoints, were it at each
        site, shape (n_subtasks, n_sites).
    """

    def __init__(self, problem: Problem, assignment: Ints | None = None) -> None:
        p = problem
        self._p = p
        sites = set(np.unique(p.tms.site).tolist())
        if p.storage_site is not None:
            sites.add(p.storage_site)
        self.routes = Routes.between(p.network, sorted(sites))
        self._may = p.allowed() & (p.work.busy[:, p.tms.node_class] <= _ROOM)
        self._rules: list[list[Relation]] = [[] for _ in range(p.n)]
        for c in p.constraints:
            if not isinstance(c, Restriction):  # restrictions are in `allowed`
                for k in _touched(c):
                    self._rules[k].append(c)
        self._most_moves = np.inf if p.rules.max_moves is None else p.rules.max_moves
        self._most_moves_of = np.full(len(p.subtasks.jobs), np.inf)
        of_jobs = LimitKind.JOB_MOVES.bounds_of_jobs(p.rules)
        self._most_moves_of[p.subtasks.job_numbers(of_jobs)] = list(of_jobs.values())
        self._channels = _channels_of(p)
        self._slots = SlotsTaken(p)
        self._clear()
        if assignment is not None:
            for k, t in enumerate(assignment.tolist()):
                self.put(k, t)

    def _clear(self) -> None:
        p = self._p
        self._slots = self._slots.cleared()
        self._cores = np.zeros(len(p.tms.node_cores))
        self._taken = np.zeros(p.tms.has.T.shape)
        self._links = np.zeros(len(p.network.names))
        self._moved = np.zeros(len(p.subtasks.jobs), np.intp)
        self.assignment = np.full(p.n, -1, np.intp)
        self.at_site = np.zeros((p.n, p.network.n_sites))
        self._cut_off = np.zeros((p.n, p.network.n_sites), np.intp)
        if p.storage_site is not None:
            to_storage = self.routes.price[:, p.storage_site]
            self.at_site += p.footprint.checkpoint_bytes_per_s[:, None] * to_storage
            lost = self.routes.missing[:, p.storage_site]
            self._cut_off += (p.footprint.checkpoint_bytes_per_s[:, None] > 0) & lost

    def cleared(self) -> "State":
        """Return a state of the same problem with nothing placed."""
        other = copy(self)
        other._clear()
        return other

    @property
    def wan(self) -> float:
        """Bytes per second over links, weighted by price; checkpoints of placed subtasks too."""
        return float(self._links @ self._p.network.price)

    def price(self, k: int) -> Floats:
        """Return what subtask k would add to `wan` on each TaskManager."""
        at: Floats = self.at_site[k, self._p.tms.site]
        return at

    def put(self, k: int, t: int) -> None:
        """Place subtask k on TaskManager t, or move it there."""
        if self.assignment[k] >= 0:
            self.take(k)
        self.assignment[k] = t
        self._load(k, t, 1)
        self._tell_neighbours(k, int(self._p.tms.site[t]), 1)
        self._links += self._own_bytes(k, int(self._p.tms.site[t]))

    def take(self, k: int) -> None:
        """Take subtask k off its TaskManager."""
        t = int(self.assignment[k])
        self._links -= self._own_bytes(k, int(self._p.tms.site[t]))
        self._tell_neighbours(k, int(self._p.tms.site[t]), -1)
        self._load(k, t, -1)
        self.assignment[k] = -1

    def fits(self, k: int) -> Bools:
        """Return the TaskManagers where subtask k breaks no rule and overloads no machine.

        The others stay where they are.
        """
        look()
        p = self._p
        here = int(self.assignment[k])
        if here >= 0:
            self._load(k, here, -1)
            self.assignment[k] = -1
        ok: Bools = self._may[k] & (self._slots.used + self._slots.needed(k) <= p.tms.slots)
        cores = self._cores[p.tms.node] + p.work.cores[k, p.tms.node_class]
        ok &= cores <= p.tms.node_cores[p.tms.node] * _ROOM
        for taken, takes, has in zip(self._taken, p.footprint.takes[k], p.tms.has.T, strict=True):
            ok &= taken + takes <= has * _BYTES_ROOM
        ok &= self._cut_off[k, p.tms.site] == 0
        if p.current is not None and p.rules.limit_moves:
            job = p.subtasks.job_of[k]
            leaves = p.current[k] != np.arange(p.m)
            ok &= self._moved.sum() + leaves <= self._most_moves
            ok &= self._moved[job] + leaves <= self._most_moves_of[job]
        for c in self._rules[k]:
            ok &= _obeys(c, k, self.assignment)
        if here >= 0:
            self.assignment[k] = here
            self._load(k, here, 1)
        return ok

    def carried(self, k: int, t: int) -> bool:
        """Return True if the network carries subtask k's traffic, were it on TaskManager t."""
        p = self._p
        site = int(p.tms.site[t])
        channels, a, b = self._ends(k, site)
        room = 1000 * p.channels.window_bytes[channels] * _ROOM
        used = p.channels.bytes_per_s[channels] * self.routes.round_trip_ms(a, b)
        if ((a != b) & p.channels.live[channels] & (used > room)).any():
            return False
        capacity = p.network.capacity_bytes_per_s
        if np.isfinite(capacity).any():
            own = self._own_bytes(k, site)
            links = self._links + own
            if self.assignment[k] >= 0:
                links -= self._own_bytes(k, int(p.tms.site[self.assignment[k]]))
            if ((own > 0) & (links > capacity * _ROOM)).any():
                return False
        return self._in_time(k, t)

    def _in_time(self, k: int, t: int) -> bool:
        if not self._p.rules.limit_latency:
            return True
        trial = self.assignment.copy()
        trial[k] = t
        if (trial < 0).any():
            return True
        late = {v.kind for v in assess(self._p, trial).violations}
        return late.isdisjoint((LimitKind.LATENCY, LimitKind.JOB_LATENCY))

    def holds(self, k: int) -> bool:
        """Return True if subtask k breaks no limit where it is."""
        here = int(self.assignment[k])
        return bool(self.fits(k)[here]) and self.carried(k, here)

    def cheaper(self, k: int) -> int | None:
        """Return the TaskManager where subtask k costs least and breaks no limit.

        None if it costs no less there than where it is. A place that breaks a limit, or none,
        costs more than any.
        """
        price = self.price(k)
        here = int(self.assignment[k])
        worth = self.fits(k)
        if here >= 0 and worth[here] and self.carried(k, here):
            worth &= price < price[here] * (1 - TIE) - ZERO
        for t in self.by_price(k, worth):
            if t != here and self.carried(k, t):
                return t
        return None

    def by_price(self, k: int, among: Bools) -> list[int]:
        """Return one TaskManager for each site and node class, the cheapest for k first."""
        tms = np.flatnonzero(among)
        kinds = (
            self._p.tms.site[tms] * (int(self._p.tms.node_class.max()) + 1)
            + self._p.tms.node_class[tms]
        )
        first: Ints = tms[np.unique(kinds, return_index=True)[1]]
        ranked: list[int] = first[np.argsort(self.price(k)[first], kind="stable")].tolist()
        return ranked

    def _load(self, k: int, t: int, sign: int) -> None:
        p = self._p
        if sign > 0:
            self._slots.add(k, t)
        else:
            self._slots.take(k, t)
        self._cores[p.tms.node[t]] += sign * p.work.cores[k, p.tms.node_class[t]]
        self._taken[:, t] += sign * p.footprint.takes[k]
        if p.current is not None:
            self._moved[p.subtasks.job_of[k]] += sign * int(p.current[k] != t)

    def _ends(self, k: int, site: int) -> tuple[Ints, Ints, Ints]:
        """Return k's channels to placed subtasks, and the sites of their ends, with k at a site."""
        p = self._p
        channels = self._channels[k]
        out = p.channels.source[channels] == k
        other = self.assignment[
            np.where(out, p.channels.target[channels], p.channels.source[channels])
        ]
        channels, out, other = channels[other >= 0], out[other >= 0], other[other >= 0]
        theirs = p.tms.site[other]
        return channels, np.where(out, site, theirs), np.where(out, theirs, site)

    def _own_bytes(self, k: int, site: int) -> Floats:
        p = self._p
        channels, a, b = self._ends(k, site)
        flow = p.channels.least_bytes_per_s[channels]
        crossing = (a != b) & (flow > 0)
        a, b, flow = a[crossing], b[crossing], flow[crossing]
        if p.storage_site is not None and p.footprint.checkpoint_bytes_per_s[k] > 0:
            a, b = np.append(a, site), np.append(b, p.storage_site)
            flow = np.append(flow, p.footprint.checkpoint_bytes_per_s[k])
        return self.routes.bytes_on_links(a, b, flow)

    def _tell_neighbours(self, k: int, site: int, sign: int) -> None:
        """Add what subtask k at a site makes of the prices of its neighbours, or take it off."""
        p = self._p
        channels = self._channels[k]
        feeds = p.channels.source[channels] == k
        for own, ends, price, missing in (
            (feeds, p.channels.target, self.routes.price[site], self.routes.missing[site]),
            (~feeds, p.channels.source, self.routes.price[:, site], self.routes.missing[:, site]),
        ):
            rows = ends[channels[own]]
            flow = sign * p.channels.bytes_per_s[channels[own]]
            np.add.at(self.at_site, rows, flow[:, None] * price)
            if missing.any():
                np.add.at(self._cut_off, rows, sign * missing.astype(np.intp))


def _channels_of(p: Problem) -> list[Ints]:
    ends = np.concatenate([p.channels.source, p.channels.target])
    order = np.argsort(ends, kind="stable")
    cuts = np.searchsorted(ends[order], np.arange(1, p.n))
    channel = np.tile(np.arange(len(p.channels.source)), 2)
    return list(np.split(channel[order], cuts))


def _touched(c: Relation) -> list[int]:
    match c:
        case Together():
            members = np.concatenate([c.first, c.second])
        case Capped():
            members = c.subtasks
        case Alone():
            members = np.concatenate([c.subtasks, c.others])
    found: list[int] = np.unique(members).tolist()
    return found


def _obeys(c: Relation, k: int, assignment: Ints) -> Bools:
    """Return the TaskManagers where subtask k, not placed now, obeys a rule."""

    def places(subtasks: Ints) -> Ints:
        at = assignment[subtasks]
        taken: Ints = c.place[at[at >= 0]]
        return taken

    ok: Bools
    match c:
        case Together():
            partners = np.concatenate([c.second[c.first == k], c.first[c.second == k]])
            ok = np.ones(len(c.place), bool)
            for q in places(partners):
                ok &= c.place == q
        case Capped():
            there = np.bincount(places(c.subtasks), minlength=int(c.place.max()) + 1)
            ok = there[c.place] + (c.subtasks == k).sum() <= c.count
        case Alone():
            apart = c.others if (c.subtasks == k).any() else c.subtasks
            ok = ~np.isin(c.place, places(apart))
    return ok
