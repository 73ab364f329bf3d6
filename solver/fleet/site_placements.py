"""Patterns: placements of the subtasks of one site, and their resources as linear terms.

The use of each resource by a replica is linear in its features: the bytes/s of each channel on the
wire, the same where full links delay the timers of flush laws (if there are such), the rate factor
of each job, and 1. A term is a matrix of shape (n_features, n_patterns). The
replicas' features times this matrix is the use by each pattern at each replica.
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.model import AMOUNTS, InvalidInputError, LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.fleet.layout import Layout, SiteKind
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.slots import SlotCounter

MOST_PATTERNS = 4096
"""Ways to place what is copied with one site."""

Shared = tuple[LimitKind, int]
"""A limit on what all replicas share: its kind, and the index of the thing in the template."""


@dataclass(frozen=True)
class Leg:
    """A channel between two sites of the template."""

    channel: int
    """Counted within a replica; answers come behind the channels of records."""
    source: int
    target: int
    links: tuple[int, ...]


@dataclass(frozen=True)
class SitePlacements:
    """Every way to place the subtasks of a kind by who may run where, Q of them.

    Attributes
    ----------
    places
        Index into `SiteKind.places` of each subtask, shape (Q, n_subtasks).
    channels
        Producer and consumer of each channel of a replica, answers last, shape (2, n_channels).
    n_feeding
        Channels of records.
    up, down
        Terms of bytes/s on the replica's own links.
    least_up, least_down
        The same where full links delay the timers of flush laws: they count for the links' limits.
    priced
        Term of bytes/s on shared links, weighted by their price.
    cores
        Terms of cores on the replica's own nodes.
    shared
        Terms of what replicas share, by limit.
    slots
        Used of each of the replica's own TaskManagers, shape (Q, n_tms).
    taken
        Used of each amount of `AMOUNTS` of these, shape (n_amounts, Q, n_tms).
    busiest
        Largest busy share of any subtask of each job at a factor of 1, shape (Q, n_jobs).
    legs, crossing
        What leaves a site in some pattern, and in which; shape (n_legs, Q).
    """

    places: Ints
    channels: Ints
    n_feeding: int
    up: Floats
    down: Floats
    least_up: Floats
    least_down: Floats
    priced: Floats
    cores: tuple[Floats, ...]
    shared: dict[Shared, Floats]
    slots: Ints
    taken: Floats
    busiest: Floats
    legs: tuple[Leg, ...]
    crossing: Bools

    @classmethod
    def of(cls, layout: Layout, kind: SiteKind, carried: Channels) -> "SitePlacements":
        """Return the patterns of a kind.

        Raises
        ------
        InvalidInputError
            If there are too many.
        """
        width = kind.may.sum(axis=1)
        if np.prod(width, dtype=float) > MOST_PATTERNS:
            raise InvalidInputError(
                f"there are {np.prod(width, dtype=float):.3g} ways to place what is copied with "
                f"site {kind.name!r}, and fleets try all of up to {MOST_PATTERNS}",
                "pin subtasks that have no real choice, or place such sites by solve",
            )
        options = [np.flatnonzero(may) for may in kind.may]
        # Not by np.indices: an array has 64 axes at most.
        number = np.arange(width.prod())
        step = width.prod() // np.cumprod(width)
        places = np.stack([o[number // s % len(o)] for o, s in zip(options, step, strict=True)], 1)
        # The channels of the first replica, answers last.
        n_feeding = carried.n_feeding // kind.count
        n_answers = len(carried.source) // kind.count - n_feeding
        own = np.r_[:n_feeding, carried.n_feeding : carried.n_feeding + n_answers]
        ends = np.stack([carried.source[own], carried.target[own]])
        return _terms(layout, kind, places, ends, n_feeding, delayed(carried))

    def only(self, kept: Bools) -> "SitePlacements":
        """Return some of the patterns."""
        return SitePlacements(
            places=self.places[kept],
            channels=self.channels,
            n_feeding=self.n_feeding,
            up=self.up[:, kept],
            down=self.down[:, kept],
            least_up=self.least_up[:, kept],
            least_down=self.least_down[:, kept],
            priced=self.priced[:, kept],
            cores=tuple(v[:, kept] for v in self.cores),
            shared={limit: v[:, kept] for limit, v in self.shared.items()},
            slots=self.slots[kept],
            taken=self.taken[:, kept],
            busiest=self.busiest[kept],
            legs=self.legs,
            crossing=self.crossing[:, kept],
        )


def delayed(carried: Channels) -> bool:
    """Return whether full links delay timers, so that features have the least bytes, too."""
    return bool((carried.least_bytes_per_s != carried.bytes_per_s).any())


def _terms(
    layout: Layout, kind: SiteKind, places: Ints, ends: Ints, n_feeding: int, late: bool
) -> SitePlacements:
    p, net = layout.template, layout.template.network
    n_channels, n_jobs, count = ends.shape[1], kind.rate.shape[1], len(places)
    # The least bytes of channel c are a feature of their own, or those of the channel.
    first_least = n_channels if late else 0
    n_features = first_least + n_channels + n_jobs + 1
    tm = kind.places[places]
    site, cls = p.tms.site[tm], p.tms.node_class[tm]
    links = {int(i): np.zeros((n_features, count)) for i in [*kind.links, *layout.shared_links]}
    least = {i: np.zeros((n_features, count)) for i in links}
    legs: list[Leg] = []
    crossing: list[Bools] = []
    for c in range(n_channels):
        a, b = site[:, ends[0, c]], site[:, ends[1, c]]
        for x, y in sorted(set(zip(a.tolist(), b.tolist(), strict=True))):
            if x == y:
                continue
            taken = (a == x) & (b == y)
            route = net.route(x, y) or ()
            for i in route:
                links[i][c] += taken
                least[i][first_least + c] += taken
            legs.append(Leg(c, x, y, route))
            crossing.append(taken)
    if p.storage_site is not None:
        for k, each in enumerate(p.footprint.checkpoint_bytes_per_s[kind.subtasks].tolist()):
            for x in set(site[:, k].tolist()) - {p.storage_site}:
                for i in net.route(x, p.storage_site) or ():
                    links[i][-1] += each * (site[:, k] == x)
                    least[i][-1] += each * (site[:, k] == x)
    cores = p.work.cores[kind.subtasks, :][np.arange(len(kind.subtasks)), cls]

    def cores_at(node: int) -> Floats:
        term = np.zeros((n_features, count))
        there = np.where(p.tms.node[tm] == node, cores, 0.0)
        for j in range(n_jobs):
            term[-1 - n_jobs + j] = there[:, kind.job == j].sum(axis=1)
        return term

    def constant(each: Floats) -> Floats:
        term = np.zeros((n_features, count))
        term[-1] = each
        return term

    takes = p.footprint.takes[kind.subtasks]
    shared: dict[Shared, Floats] = {}
    for i in layout.shared_links.tolist():
        shared[LimitKind.LINK_BANDWIDTH, i] = least[i]
    for v in layout.shared_nodes.tolist():
        shared[LimitKind.NODE_CPU, v] = cores_at(v)
    for t in layout.shared_task_managers.tolist():
        there = tm == t
        shared[LimitKind.SLOTS, t] = constant(_slots(layout, kind, there).astype(float))
        for amount, taken_each in zip(AMOUNTS, (there @ takes).T, strict=True):
            shared[amount, t] = constant(taken_each)
    busy = p.work.busy[kind.subtasks, :][np.arange(len(kind.subtasks)), cls]
    # One at least: its sources are born there.
    own = [tm == t for t in kind.task_managers.tolist()]
    priced = np.zeros((n_features, count))
    for i in layout.shared_links.tolist():
        priced += net.price[i] * links[i]
    return SitePlacements(
        places=places,
        channels=ends,
        n_feeding=n_feeding,
        up=links[kind.up],
        down=links[kind.down],
        least_up=least[kind.up],
        least_down=least[kind.down],
        priced=priced,
        cores=tuple(cores_at(v) for v in kind.nodes.tolist()),
        shared=shared,
        slots=np.stack([_slots(layout, kind, here) for here in own], axis=1),
        taken=np.stack([here @ p.footprint.takes[kind.subtasks] for here in own]).transpose(
            2, 1, 0
        ),
        busiest=np.stack(
            [busy[:, kind.job == j].max(axis=1, initial=0.0) for j in range(n_jobs)], axis=1
        ),
        legs=tuple(legs),
        crossing=np.array(crossing, bool).reshape(len(legs), count),
    )


def _slots(layout: Layout, kind: SiteKind, there: Bools) -> Ints:
    """Return the slots of one TaskManager that each pattern uses, shape (Q,)."""
    p = layout.template
    operators, of = np.unique(p.subtasks.operator_of[kind.subtasks], return_inverse=True)
    held = [there[:, of == o].sum(axis=1) for o in range(len(operators))]
    return SlotCounter.of(p.subtasks.group[operators]).slots(np.stack(held, axis=-1))
