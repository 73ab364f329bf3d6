"""Bounds of the later levels by where subtasks may run at all, once `wan` has its cap.

They need no solver: most often the cap leaves each subtask one site, and then they are exact.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgeplace.model import ObjectiveName
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import running
from edgeplace.solver.linear.model import Row
from edgeplace.solver.parallelism.choice import Member
from edgeplace.solver.parallelism.relaxed import Relaxed
from edgeplace.solver.parallelism.within import Searched
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Restriction
from edgeplace.solver.search.reduction import stated
from edgeplace.solver.search.stages import later_levels
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE

_MOST_PAIRS = 64
"""Pairs of sites of which the nearest is looked for."""


Places = tuple[Bools, ...]
"""Where subtasks may run, by operator; one row for all subtasks of an operator that are drawn."""


@dataclass(frozen=True)
class Floors:
    """Lower bounds of the terms of all plans within the cap of `wan`.

    Attributes
    ----------
    slots
        Job and operator -> slots of the TaskManagers where its subtasks may run.
    settled
        Whether each subtask has one site.
    """

    slots: Mapping[Member, int]
    settled: bool
    values: Mapping[ObjectiveName, float]


def places_within(relaxed: Relaxed, searched: Searched, cap: float) -> Places | None:
    """Return where subtasks run in plans of a box that keep a cap of `wan`, None if not known.

    All such places are kept, of all vectors of the box.

    Parameters
    ----------
    searched
        What is known of the least `wan` of the relaxed problem.
    """
    p, state = relaxed.problem, searched.state
    nowhere = tuple(np.zeros((1, p.m), bool) for _ in p.subtasks.operators)
    if searched.infeasible:
        return nowhere
    if searched.best is None or not state.proof.bounds:
        return None
    bound = state.proof.bounds[0]
    lacks = cap * (1 + TIE) - bound
    if lacks < 0:
        return nowhere
    # Draws have `lacks` more than the least on average. So none that is drawn with at least
    # `rarest` has more than this, and each subtask of a plan is in such a draw.
    state.incumbent.caps = [bound + 2 * lacks / relaxed.rarest + TIE * cap]
    may = later_levels.within_cap(state)
    if may is None:
        return None
    may = may & p.keeps_up
    _settle(state, may, searched.best.assignment)
    rows = [may[p.subtasks.range_of(o)] for o in range(len(p.subtasks.operators))]
    kept: list[Bools] = [
        np.logical_or.reduce(own, axis=0, keepdims=True)
        if relaxed.drawn[p.subtasks.first[o]]
        else own
        for o, own in enumerate(rows)
    ]
    return tuple(kept)


def narrowed(problem: Problem, places: Places) -> Problem:
    """Return a problem in which subtasks run nowhere else."""
    subtasks, more = problem.subtasks, []
    for o, own in enumerate(places):
        at = subtasks.range_of(o)
        rows, which = np.unique(own, axis=0, return_inverse=True)
        for r, row in enumerate(rows):
            chosen = at if len(own) == 1 else at[which.ravel() == r]
            more.append(Restriction("the cap of wan", chosen, row))
    return dataclasses.replace(problem, constraints=(*problem.constraints, *more))


def _settle(state: SearchState, may: Bools, home: Ints) -> None:
    """Rule out all other sites of an operator, where one subtask elsewhere costs too much."""
    task, cap = state.task, state.incumbent.caps[0]
    p = task.problem
    there = p.tms.site == p.tms.site[home][:, None]
    for o in range(len(p.subtasks.operators)):
        own = p.subtasks.range_of(o)
        if not (may[own] & ~there[own]).any():
            continue
        form = stated(state, task.levels, may=may)
        backend = task.load(form.model)
        columns = form.choices.x[own][may[own] & there[own]]
        backend.add_rows([Row({int(c): 1.0 for c in columns if c >= 0}, len(own) - 1.0)])
        left = running().left()
        elsewhere = backend.relax(
            form.model.objectives["wan"], seconds=None if left is None else left / 4
        )
        if elsewhere is not None and elsewhere[0] * (1 - OPTIMAL_GAP) > cap:
            may[own] &= there[own]


def floors(relaxed: Relaxed, places: Places) -> Floors:
    """Return the floors of a box for what is known of where its subtasks run."""
    p = relaxed.problem
    may = np.concatenate(
        [np.broadcast_to(own, (len(p.subtasks.range_of(o)), p.m)) for o, own in enumerate(places)]
    )
    slots = {
        (job, op.id): int(p.tms.slots[own.any(axis=0)].sum())
        for (job, op), own in zip(p.subtasks.operators, places, strict=True)
    }
    may = may & p.keeps_up
    if not may.any(axis=1).all():
        return Floors(dict.fromkeys(slots, 0), True, {})
    at = _sites(p, may)
    values: dict[ObjectiveName, float] = {
        "latency": _latency_ms(relaxed, may, at),
        "server_cores": _server_cores(relaxed.for_cores, may),
        "moves": _moves(relaxed, may),
    }
    return Floors(slots, bool((at.sum(axis=1) == 1).all()), values)


def _sites(p: Problem, may: Bools) -> Bools:
    """Return at which sites each subtask may run, shape (n_subtasks, n_sites)."""
    at = np.zeros((p.n, p.network.n_sites), bool)
    for t in range(p.m):
        at[:, p.tms.site[t]] |= may[:, t]
    return at


def _server_cores(p: Problem, may: Bools) -> float:
    cores = p.work.cores[:, p.tms.node_class] * p.tms.is_server
    return float(np.where(may, cores, np.inf).min(axis=1).sum())


def _moves(relaxed: Relaxed, may: Bools) -> float:
    current = relaxed.problem.current
    if current is None:
        return 0.0
    stays = (current >= 0) & may[np.arange(len(current)), current]
    return float((~stays & ~relaxed.drawn).sum())


def _latency_ms(relaxed: Relaxed, may: Bools, at: Bools) -> float:
    """Return the longest path if each subtask and channel takes the least that it may.

    Of operators that are drawn, some path leads through the busiest subtasks.
    """
    p = relaxed.problem
    service = np.where(may, relaxed.heaviest_ms[:, p.tms.node_class], np.inf).min(axis=1)
    live = np.flatnonzero(p.channels.live)
    source, target = p.channels.source[live], p.channels.target[live]
    delay = p.channels.exchange_ms[live] + _under_way(p, live, at)
    spread = p.channels.spread_ms[live]
    done = ended = service
    # As the evaluator has it, written again: a fault shared would be in the value and in its bound.
    # One round per stage of the longest path: the graph has no cycle.
    while True:
        arrival, last = np.zeros(p.n), np.zeros(p.n)
        np.maximum.at(arrival, target, done[source] + delay)
        np.maximum.at(last, target, np.maximum(ended[source], done[source] + spread) + delay)
        after, at_end = service + arrival, service + last
        if (after == done).all() and (at_end == ended).all():
            return float(ended.max(initial=0.0))
        done, ended = after, at_end


def _under_way(p: Problem, channel: Ints, at: Bools) -> Floats:
    """Return how long channels are under way between the nearest sites of their ends."""
    net = p.network
    patterns, kind = np.unique(at, axis=0, return_inverse=True)
    kind = kind.ravel()
    a, b = kind[p.channels.source[channel]], kind[p.channels.target[channel]]
    pairs, inverse = np.unique(a * len(patterns) + b, return_inverse=True)
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    delay, each = np.zeros(len(pairs)), np.zeros(len(pairs))
    for i, pair in enumerate(pairs.tolist()):
        here, there = (np.flatnonzero(patterns[k]) for k in divmod(pair, len(patterns)))
        if len(here) * len(there) > _MOST_PAIRS or np.intersect1d(here, there).size:
            continue
        x, y = np.repeat(here, len(there)), np.tile(there, len(here))
        delay[i] = net.along(net.delay_ms, x, y).min()
        each[i] = net.along(per_byte_ms, x, y).min()
    under_way: Floats = delay[inverse] + p.channels.buffer_bytes[channel] * each[inverse]
    return under_way
