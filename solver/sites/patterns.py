"""All placements of many small blocks at once.

Blocks of one shape (as many places for each subtask, the same channels, the same machines shared in
the same way) are stacked, and every way to place them, a pattern, is priced and checked for all of
them in one go: exact packing by enumeration.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem
from edgeplace.solver.sites.blocks import Blocks
from edgeplace.solver.slots import SlotCounter
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE

_CELLS = 1_000_000
"""Patterns times settings that are priced in one go."""


@dataclass(frozen=True)
class Stack:
    """Blocks of one shape, B of them, of m members each, with their best patterns.

    Attributes
    ----------
    members
        Subtasks, shape (B, m).
    places
        TaskManagers of each member, shape (B, m, most places), -1 beyond the last.
    linked
        Linking subtasks that the blocks exchange with, by their position in `Blocks.linking`.
    value
        `wan` of the best pattern for each setting of `linked`, shape (B, *places of linked).
    pattern
        That pattern: which place each member takes, shape (B, *places of linked, m).
    least
        `wan` of the best pattern in which a member takes a place, for each setting; of each member,
        shape (B, places of the member, *places of linked). Empty unless it was asked for.
    """

    members: Ints
    places: Ints
    linked: tuple[int, ...]
    value: Floats
    pattern: Ints
    least: tuple[Floats, ...]


@dataclass(frozen=True)
class Shape:
    """The common structure of the blocks of a stack, by numbers of members."""

    width: tuple[int, ...]
    inner: tuple[tuple[int, int], ...]
    """(producer, consumer) of each channel inside."""
    outer: tuple[tuple[int, int, bool], ...]
    """(member, linking subtask, whether the member is the producer)."""
    tm_of_member: tuple[tuple[int, ...], ...]
    """TaskManager of each place of each member, counted within the block; -1: there is room."""
    node_of_tm: tuple[int, ...]
    """Node of each such TaskManager, counted within the block."""
    operator: tuple[int, ...]
    group: tuple[int, ...]

    @property
    def linked(self) -> tuple[int, ...]:
        """Linking subtasks that such a block exchanges with."""
        return tuple(sorted({g for _, g, _ in self.outer}))


def stacks(
    p: Problem, found: Blocks, has_slack: Bools, unary: Sequence[Floats], with_least: bool
) -> list[Stack]:
    """Return all blocks with their best patterns, infinite `value` where none holds.

    Parameters
    ----------
    unary
        `wan` that each place of each subtask costs by itself.
    with_least
        Fill `Stack.least`, which takes as long as all the rest.
    """
    return [
        _priced(p, found, shape, members, flow, unary, with_least)
        for shape, members, flow in by_shape(p, found, has_slack)
    ]


def by_shape(p: Problem, found: Blocks, has_slack: Bools) -> Iterator[tuple[Shape, Ints, Floats]]:
    """Yield blocks of one shape, as many as can be priced in one go.

    Yields
    ------
    tuple
        The shape, the members, shape (B, m), and bytes/s of their channels, shape (B, n_channels).
    """
    position = {k: i for i, k in enumerate(found.linking)}
    channels = _channels(p, found, position)
    grouped: dict[Shape, list[tuple[Ints, Floats]]] = {}
    for members, (inner, outer, flow) in zip(found.members, channels, strict=True):
        look()
        shape = _shape(p, found, has_slack, members, inner, outer)
        grouped.setdefault(shape, []).append((members, flow))
    for shape, own in grouped.items():
        cells = np.prod(shape.width, dtype=float)
        for g in shape.linked:
            cells *= len(found.places[found.linking[g]])
        step = max(int(_CELLS // cells), 1)
        for i in range(0, len(own), step):
            part = own[i : i + step]
            yield shape, np.stack([m for m, _ in part]), np.stack([w for _, w in part])


def _channels(
    p: Problem, found: Blocks, position: dict[int, int]
) -> list[tuple[list[tuple[int, int]], list[tuple[int, int, bool]], Floats]]:
    """Return the channels of each block: inside, to linking subtasks, and the bytes/s of both."""
    block = np.full(p.n, -1, np.intp)
    local = np.full(p.n, -1, np.intp)
    for b, members in enumerate(found.members):
        block[members] = b
        local[members] = np.arange(len(members))
    free = np.array([len(t) > 1 for t in found.places], bool)
    inner: list[list[tuple[int, int, float]]] = [[] for _ in found.members]
    outer: list[list[tuple[int, int, bool, float]]] = [[] for _ in found.members]
    matters = np.flatnonzero(
        free[p.channels.source] & free[p.channels.target] & (p.channels.bytes_per_s > 0)
    )
    for k, j, w in zip(
        p.channels.source[matters].tolist(),
        p.channels.target[matters].tolist(),
        p.channels.bytes_per_s[matters].tolist(),
        strict=True,
    ):
        look()
        if k in position and j in position:
            continue
        if j in position:
            outer[block[k]].append((int(local[k]), position[j], True, w))
        elif k in position:
            outer[block[j]].append((int(local[j]), position[k], False, w))
        else:
            inner[block[k]].append((int(local[k]), int(local[j]), w))
    result = []
    for own, others in zip(inner, outer, strict=True):
        own.sort()
        others.sort()
        flow = np.array([c[-1] for c in (*own, *others)], float)
        result.append(([c[:2] for c in own], [c[:3] for c in others], flow))
    return result


def _shape(
    p: Problem,
    found: Blocks,
    has_slack: Bools,
    members: Ints,
    inner: list[tuple[int, int]],
    outer: list[tuple[int, int, bool]],
) -> Shape:
    tm_of: dict[int, int] = {}
    tm_of_member = tuple(
        tuple(
            -1 if has_slack[t] else tm_of.setdefault(t, len(tm_of))
            for t in found.places[k].tolist()
        )
        for k in members.tolist()
    )
    operator = p.subtasks.operator_of[members]
    return Shape(
        width=tuple(len(found.places[k]) for k in members.tolist()),
        inner=tuple(inner),
        outer=tuple(outer),
        tm_of_member=tm_of_member,
        node_of_tm=_counted(p.tms.node[list(tm_of)].tolist()),
        operator=_counted(operator.tolist()),
        group=_counted(p.subtasks.group[operator].tolist()),
    )


def _counted(names: Sequence[int]) -> tuple[int, ...]:
    """Return names as numbers from 0, in the order in which they come."""
    index: dict[int, int] = {}
    return tuple(index.setdefault(n, len(index)) for n in names)


def _priced(
    p: Problem,
    found: Blocks,
    shape: Shape,
    members: Ints,
    flow: Floats,
    unary: Sequence[Floats],
    with_least: bool,
) -> Stack:
    n_blocks, m = members.shape
    places, pattern, cost = costs(p, found, shape, members, flow, unary)
    site, linked = p.tms.site[places], shape.linked
    sizes = [len(found.places[found.linking[g]]) for g in linked]
    total = cost.reshape(n_blocks, -1, *(1 for _ in linked))
    for c, (i, g, sends) in enumerate(shape.outer, start=len(shape.inner)):
        look()
        there = p.tms.site[found.places[found.linking[g]]]
        there = np.broadcast_to(there, (n_blocks, len(there)))
        own = site[:, i, : shape.width[i]]
        table = _price(p, own, there) if sends else _price(p, there, own).swapaxes(1, 2)
        share = flow[:, c, None, None] * table[:, pattern[:, i]]
        axes = [len(there[0]) if other == g else 1 for other in linked]
        total = total + share.reshape(n_blocks, len(pattern), *axes)
    total = np.broadcast_to(total, (n_blocks, len(pattern), *sizes))
    best = total.argmin(axis=1)
    value = np.take_along_axis(total, best[:, None], axis=1)[:, 0]
    if not with_least:
        return Stack(members, places, linked, value, pattern[best], ())
    by_place = total.reshape(n_blocks, *shape.width, *sizes)
    least = tuple(by_place.min(axis=tuple(i + 1 for i in range(m) if i != own)) for own in range(m))
    return Stack(members, places, linked, value, pattern[best], least)


def costs(
    p: Problem,
    found: Blocks,
    shape: Shape,
    members: Ints,
    flow: Floats,
    unary: Sequence[Floats],
) -> tuple[Ints, Ints, Floats]:
    """Return the cost of all patterns without channels to linking subtasks.

    Returns
    -------
    places
        TaskManagers of each member, shape (B, m, most places), -1 beyond the last.
    pattern
        Which place each member takes, shape (n_patterns, m).
    cost
        Infinite where the machines do not hold a pattern, shape (B, n_patterns).
    """
    n_blocks, m = members.shape
    most = max(shape.width)
    places = np.full((n_blocks, m, most), -1, np.intp)
    alone = np.zeros((n_blocks, m, most))
    for i in range(m):
        look()
        own = members[:, i].tolist()
        places[:, i, : shape.width[i]] = [found.places[k] for k in own]
        alone[:, i, : shape.width[i]] = [unary[k] for k in own]
    pattern = np.stack(np.unravel_index(np.arange(np.prod(shape.width)), shape.width), axis=1)
    site = p.tms.site[places]
    cost = np.zeros((n_blocks, len(pattern)))
    for i in range(m):
        cost += alone[:, i, pattern[:, i]]
    for c, (i, j) in enumerate(shape.inner):
        look()
        table = _price(p, site[:, i, : shape.width[i]], site[:, j, : shape.width[j]])
        cost += flow[:, c, None] * table[:, pattern[:, i], pattern[:, j]]
    return places, pattern, np.where(_holds(p, shape, members, places, pattern), cost, np.inf)


def _price(p: Problem, a: Ints, b: Ints) -> Floats:
    """Return the price of a byte from each of sites a to each of sites b, shape (B, a, b)."""
    shape = (*a.shape, b.shape[1])
    a = np.broadcast_to(a[:, :, None], shape).ravel()
    b = np.broadcast_to(b[:, None, :], shape).ravel()
    pairs, inverse = np.unique(a * p.network.n_sites + b, return_inverse=True)
    a, b = np.divmod(pairs, p.network.n_sites)
    prices: Floats = p.network.along(p.network.price, a, b)[inverse].reshape(shape)
    return prices


def _holds(p: Problem, shape: Shape, members: Ints, places: Ints, pattern: Ints) -> Bools:
    """Return which patterns the machines hold, shape (B, n_patterns)."""
    n_blocks = len(members)
    ok = np.ones((n_blocks, len(pattern)), bool)
    node_of_tm = np.array([*shape.node_of_tm, -1])
    tm_of = [
        np.array(tm_of_member)[pattern[:, i]] for i, tm_of_member in enumerate(shape.tm_of_member)
    ]
    for v in range(len(set(shape.node_of_tm))):
        look()
        cores = np.zeros(ok.shape)
        room = np.zeros(n_blocks)
        for i, tm_of_member in enumerate(shape.tm_of_member):
            here = np.flatnonzero(node_of_tm[list(tm_of_member)] == v)
            if len(here):
                tm = places[:, i, here[0]]
                room = p.tms.node_cores[p.tms.node[tm]]
                share = p.work.cores[members[:, i], p.tms.node_class[tm]]
                cores += share[:, None] * (node_of_tm[tm_of[i]] == v)
        ok &= cores <= room[:, None] * (1 + TOLERANCE)
    group = np.zeros(max(shape.operator) + 1, np.intp)
    group[list(shape.operator)] = shape.group
    counter = SlotCounter.of(group)
    for t in range(len(shape.node_of_tm)):
        look()
        taken = np.zeros((p.tms.has.shape[1], *ok.shape))
        tms = np.zeros(n_blocks, np.intp)
        held = np.zeros((len(pattern), len(group)), np.intp)
        for i, tm_of_member in enumerate(shape.tm_of_member):
            if t not in tm_of_member:
                continue
            tms = places[:, i, tm_of_member.index(t)]
            there = tm_of[i] == t
            taken += p.footprint.takes[members[:, i]].T[:, :, None] * there
            held[:, shape.operator[i]] += there
        ok &= counter.slots(held)[None, :] <= p.tms.slots[tms, None]
        ok &= (taken <= p.tms.has[tms].T[:, :, None] * (1 + BYTES_TOLERANCE)).all(axis=0)
    return ok
