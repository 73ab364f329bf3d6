"""All replicas of a fleet, divided into parts of bounded size, and their shared limits."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import AMOUNTS, LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.fleet.conditions import Conditions
from edgeplace.solver.fleet.layout import Layout, SiteKind
from edgeplace.solver.fleet.part import Part, PriceTerms
from edgeplace.solver.fleet.site_placements import Shared, SitePlacements
from edgeplace.solver.fleet.tiled import carried
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.work import Work
from edgeplace.solver.tolerances import BYTES_TOLERANCE, ROUNDING, TOLERANCE

_REPLICAS = 50_000
"""In one part."""


class NoPlaceError(Exception):
    """A replica has no pattern that keeps its own limits."""


@dataclass(frozen=True)
class Parts:
    """All replicas, and the limits of the shared resources.

    Attributes
    ----------
    parts, kind
        The replicas, and the kind of those of each part. Their patterns are groups: which of a
        site's machines takes a subtask makes no difference to what is shared.
    patterns, group
        Of each kind, and the group of each of its patterns.
    fits
        Which patterns hold at the replicas of each part, shape (n_replicas, Q).
    loads
        `carried` of each kind.
    limits
        Limits that replicas share and that may bind.
    room
        Of each of these, rounding allowed for, shape (n_limits,).
    most
        No plan has more `wan`.
    unit
        A price of each limit that is much, shape (n_limits,).
    """

    layout: Layout
    parts: tuple[Part, ...]
    kind: tuple[int, ...]
    patterns: tuple[SitePlacements, ...]
    group: tuple[Ints, ...]
    fits: tuple[Bools, ...]
    loads: tuple[tuple[Channels, Work], ...]
    limits: tuple[Shared, ...]
    room: Floats
    most: float
    unit: Floats

    @classmethod
    def of(cls, layout: Layout) -> "Parts":
        """Price and check every pattern of every replica.

        Raises
        ------
        InvalidInputError
            If there are too many patterns.
        NoPlaceError
            If a replica has none that keeps its own limits.
        """
        loads = tuple(carried(layout, k) for k in layout.kinds)
        patterns = [
            SitePlacements.of(layout, k, c) for k, (c, _) in zip(layout.kinds, loads, strict=True)
        ]
        room = {
            limit: capacity
            for limit, capacity in _rooms(layout.template, patterns[0]).items()
            if np.isfinite(capacity)
        }
        made: list[tuple[int, Part, Bools]] = []
        groups = []
        most, most_used = 0.0, np.zeros(len(room))
        for i, kind in enumerate(layout.kinds):
            own = [
                _held(layout, kind, patterns[i], loads[i], first)
                for first in range(0, kind.count, _REPLICAS)
            ]
            held = np.any([fits.any(axis=0) for _, fits in own], axis=0)
            patterns[i] = patterns[i].only(held)
            terms, group = _grouped(patterns[i], list(room))
            groups.append(group)
            order = np.argsort(group, kind="stable")
            firsts = np.searchsorted(group[order], np.arange(group.max() + 1))
            for first, (features, every) in zip(range(0, kind.count, _REPLICAS), own, strict=True):
                fits = every[:, held]
                price = kind.price[first : first + _REPLICAS]
                one_of = np.logical_or.reduceat(fits[:, order], firsts, axis=1)
                part = Part(terms, features, price, one_of)
                cost, used = part.most()
                most += cost
                most_used += used
                made.append((i, part, fits))
        # A limit that no plan can reach needs no price.
        capacity = np.array(list(room.values()))
        binds = most_used > capacity
        kept = tuple(limit for limit, b in zip(room, binds.tolist(), strict=True) if b)
        parts = tuple(
            replace(p, terms=replace(p.terms, shared=p.terms.shared[binds])) for _, p, _ in made
        )
        return cls(
            layout=layout,
            parts=parts,
            kind=tuple(i for i, _, _ in made),
            patterns=tuple(patterns),
            group=tuple(groups),
            fits=tuple(fits for _, _, fits in made),
            loads=loads,
            limits=kept,
            room=capacity[binds],
            most=most * (1 + ROUNDING),
            unit=most / most_used[binds],
        )

    @property
    def n_replicas(self) -> int:
        """Replicas of all kinds."""
        return sum(k.count for k in self.layout.kinds)

    @property
    def n_patterns(self) -> list[int]:
        """Groups of patterns of each kind."""
        return [int(group.max()) + 1 for group in self.group]

    def by_part(self, replicas: Ints) -> list[Ints]:
        """Return replicas, numbered through all parts and in order, as those of each part."""
        ends = np.cumsum([len(p.fits) for p in self.parts])
        each = np.split(replicas, np.searchsorted(replicas, ends[:-1]))
        return [own - end + len(p.fits) for own, end, p in zip(each, ends, self.parts, strict=True)]

    def places(self, chosen: list[NDArray[np.integer]]) -> list[NDArray[np.integer]]:
        """Return the places of each kind's replicas, shape (count, n_subtasks), by their groups."""
        found: list[list[NDArray[np.integer]]] = [[] for _ in self.patterns]
        for i, own, fits in zip(self.kind, chosen, self.fits, strict=True):
            # Of a group, the first pattern that holds.
            pattern = (fits & (self.group[i][None, :] == own[:, None])).argmax(axis=1)
            found[i].append(self.patterns[i].places.astype(np.int16)[pattern])
        return [np.concatenate(own) for own in found]

    def named(self, prices: Floats) -> dict[str, float]:
        """Return the prices above 0, by resource."""
        return {
            _name(self.layout.template, limit): price
            for limit, price in zip(self.limits, prices.tolist(), strict=True)
            if price > 0
        }

    def shortage(self, prices: Floats | None = None) -> str:
        """Return which shared limits the replicas exceed together, by prices that prove it."""
        scarce = np.ones(len(self.room), bool) if prices is None else prices > 0
        limits = ", ".join(
            f"{_name(self.layout.template, limit)} of {room:,.6g}"
            for limit, room, of_them in zip(
                self.limits, self.room.tolist(), scarce.tolist(), strict=True
            )
            if of_them
        )
        return f"whatever is placed where, the replicas together exceed {limits}"


def _held(
    layout: Layout,
    kind: SiteKind,
    patterns: SitePlacements,
    loads: tuple[Channels, Work],
    first: int,
) -> tuple[Floats, Bools]:
    """Return the features of some replicas, and which patterns hold at each."""
    look()
    replicas = slice(first, min(first + _REPLICAS, kind.count))
    conditions = Conditions(layout, kind, patterns, loads, replicas)
    fits = np.ones((len(conditions.features), len(patterns.places)), bool)
    for _, holds in conditions.each():
        fits &= holds
    without = ~fits.any(axis=1)
    if without.any():
        i = int(without.argmax())
        alone = [name for name, holds in conditions.each() if not holds[i].any()]
        why = " and ".join(dict.fromkeys(alone)) or "its limits together"
        raise NoPlaceError(
            f"replica {first + i} of site {kind.name!r} has no placement that keeps {why}, "
            f"whatever the others do ({int(without.sum())} such among replicas {replicas.start} "
            f"to {replicas.stop - 1})"
        )
    return conditions.features, fits


def _grouped(patterns: SitePlacements, limits: list[Shared]) -> tuple[PriceTerms, Ints]:
    """Return what groups of patterns that take the same take, and the group of each pattern."""
    shared = [patterns.shared[limit] for limit in limits]
    terms = PriceTerms(
        patterns.up,
        patterns.down,
        patterns.priced,
        np.stack(shared) if shared else np.zeros((0, *patterns.up.shape)),
    )
    taken = np.concatenate([terms.up, terms.down, terms.priced, *shared])
    _, first, group = np.unique(taken, axis=1, return_index=True, return_inverse=True)
    return terms.only(first), group.ravel()


def _rooms(p: Problem, patterns: SitePlacements) -> dict[Shared, float]:
    """Return the capacity of everything that replicas share.

    With half of what the evaluator allows for rounding: sums of as many floats in another order
    then agree about what is exactly full.
    """
    rated, bytes_ = 1 + TOLERANCE / 2, 1 + BYTES_TOLERANCE
    of = {
        LimitKind.LINK_BANDWIDTH: p.network.capacity_bytes_per_s * rated,
        LimitKind.NODE_CPU: p.tms.node_cores * rated,
        LimitKind.SLOTS: p.tms.slots,
        **dict(zip(AMOUNTS, p.tms.has.T * bytes_, strict=True)),
    }
    return {(what, i): float(of[what][i]) for what, i in patterns.shared}


def _name(p: Problem, limit: Shared) -> str:
    what, i = limit
    where = {
        LimitKind.LINK_BANDWIDTH: lambda: p.network.names[i],
        LimitKind.NODE_CPU: lambda: p.cluster.nodes[i].id,
    }.get(what, lambda: p.cluster.task_managers[i].id)()
    return f"{what} {where}"
