"""The best plan of the relaxed problem, block by block.

For every setting of the few linking subtasks each block takes its best pattern; the best setting
of all is the optimum (elimination of variables: Bertelè and Brioschi, "Nonserial Dynamic
Programming", 1972).
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.problem import Problem
from edgeplace.solver.sites.blocks import Blocks, blocks
from edgeplace.solver.sites.far_hosts import Hub
from edgeplace.solver.sites.patterns import Stack, stacks
from edgeplace.solver.sites.relaxation import Relaxation
from edgeplace.solver.tolerances import ROUNDING, ZERO


@dataclass(frozen=True)
class RelaxedOptimum:
    """An optimal plan of the relaxed problem.

    Attributes
    ----------
    assignment
        TaskManager of each subtask, shape (n_subtasks,).
    bound
        Its `wan`: no plan of the problem has less.
    """

    assignment: Ints
    bound: float
    _relaxed: Relaxation
    _blocks: Blocks
    _stacks: list[Stack]
    _total: Floats
    """`wan` of the best plan for each setting of the linking subtasks."""

    @property
    def complete(self) -> bool:
        """True if the relaxed problem kept the limits of all machines."""
        return self._relaxed.unlimited < 0

    def within(self, cap: float) -> Bools:
        """Return where subtasks may run in plans with at most this `wan`, and maybe elsewhere.

        Shape (n_subtasks, n_tms); of the plans that the relaxed problem had when this was decided.
        """
        found = self._blocks
        most = cap * (1 + ROUNDING) + ZERO
        may = self._relaxed.may.copy()
        for g, k in enumerate(found.linking):
            others = tuple(i for i in range(len(found.linking)) if i != g)
            self._drop(may, k, self._total.min(axis=others) > most)
        for stack in self._stacks:
            axes = [
                len(found.places[k]) if g in stack.linked else 1
                for g, k in enumerate(found.linking)
            ]
            n_blocks = len(stack.members)
            with np.errstate(invalid="ignore"):  # where no pattern holds: nothing is ruled out
                rest = self._total - stack.value.reshape(n_blocks, *axes)
            for i, least in enumerate(stack.least):
                width = least.shape[1]
                whole = rest[:, None] + least.reshape(n_blocks, width, *axes)
                over = whole.reshape(n_blocks, width, -1).min(axis=2) > most
                for b in np.flatnonzero(over.any(axis=1)).tolist():
                    self._drop(may, int(stack.members[b, i]), over[b])
        return may

    def _drop(self, may: Bools, k: int, gone: Bools) -> None:
        """Rule out places of a subtask, and what those with room stand for."""
        p, has_slack = self._relaxed.problem, self._relaxed.has_slack
        for t in self._blocks.places[k][gone].tolist():
            may[k, t] = False
            if has_slack[t]:
                may[k, p.tms.site == p.tms.site[t]] = False


def decide(problem: Problem, may: Bools, slack: float | None = None) -> RelaxedOptimum | None:
    """Return the optimum of the relaxed problem, None if it is not of a kind that is solved here.

    Parameters
    ----------
    may
        Where each subtask may run, shape (n_subtasks, n_tms).
    slack
        How much worse than the optimum the plans may be that `RelaxedOptimum.within` is to speak
        of; None: it will not be asked.
    """
    if problem.network.tree is None or not may.any(axis=1).all():
        return None
    relaxed = Relaxation.of(problem, may)
    found = _decide(relaxed, slack)
    if found is None and (home := relaxed.full_home()) >= 0:
        # Too much hangs together by a machine that all share: its limits are left out, too.
        found = _decide(Relaxation.of(problem, may, unlimited=home), slack)
    return found


def _decide(relaxed: Relaxation, slack: float | None) -> RelaxedOptimum | None:
    wanted = slack is not None
    slack = slack or 0.0
    hub = Hub.of(relaxed)
    if hub is None:
        return _best(relaxed, wanted)
    relaxed = relaxed.narrowed(hub.without_unrelated_branches(slack if wanted else None))
    hub = Hub.of(relaxed) or hub
    relaxed = relaxed.narrowed(hub.without_far_hosts(hub.at_home(), slack))
    best = _best(relaxed, wanted)
    if best is None and (hub := Hub.of(relaxed)) is not None:
        # A better yardstick: the best plan with all at home that several branches might have.
        settled = _best(relaxed.narrowed(hub.settled()), False)
        if settled is not None:
            narrowed = relaxed.narrowed(hub.without_far_hosts(settled.assignment, slack))
            best = _best(narrowed, wanted)
    return best


def _best(relaxed: Relaxation, with_least: bool) -> RelaxedOptimum | None:
    """Return the optimum of a relaxed problem, None if it falls into no small blocks."""
    problem = relaxed.problem
    found = blocks(relaxed)
    if found is None:
        return None
    alone, constant = unary(problem, found)
    look()
    stacked = stacks(problem, found, relaxed.has_slack, alone, with_least)
    total = _linking(problem, found, alone)
    n = len(found.linking)
    for stack in stacked:
        each = stack.value.sum(axis=0)
        axes = [
            len(found.places[k]) if g in stack.linked else 1 for g, k in enumerate(found.linking)
        ]
        total = total + each.reshape(axes)
    setting = np.unravel_index(int(total.argmin()), total.shape)
    bound = constant + float(total[setting])
    if not np.isfinite(bound):
        return None
    assignment = np.array([t[0] for t in found.places], np.intp)
    for g in range(n):
        assignment[found.linking[g]] = found.places[found.linking[g]][setting[g]]
    for stack in stacked:
        # One index after the other: the first axis is the blocks.
        taken = stack.pattern
        for g in stack.linked:
            taken = taken[:, setting[g]]
        chosen = np.take_along_axis(stack.places, taken[:, :, None], axis=2)[:, :, 0]
        assignment[stack.members] = chosen
    return RelaxedOptimum(assignment, bound, relaxed, found, stacked, constant + total)


def unary(p: Problem, found: Blocks) -> tuple[list[Floats], float]:
    """Return the cost of each place of each subtask alone, and the cost of fixed subtasks."""
    net = p.network
    width = np.array([len(t) for t in found.places])
    first = np.concatenate([[0], np.cumsum(width)])
    site = p.tms.site[np.concatenate(found.places)]
    cost = np.zeros(len(site))
    if p.storage_site is not None:
        written = np.repeat(p.footprint.checkpoint_bytes_per_s, width)
        storage = np.full(len(site), p.storage_site)
        cost += written * net.along(net.price, site, storage)
    where = site[first[:-1]]
    for own, other, out in (
        (p.channels.source, p.channels.target, True),
        (p.channels.target, p.channels.source, False),
    ):
        # Between two fixed subtasks the channel is charged once, to its producer.
        one = (width[other] == 1) & ((width[own] > 1) | out) & (p.channels.bytes_per_s > 0)
        k, ends = own[one], where[other[one]]
        count = width[k]
        start = np.repeat(first[k] - np.cumsum(count) + count, count)
        at = start + np.arange(count.sum())
        ends, flow = np.repeat(ends, count), np.repeat(p.channels.bytes_per_s[one], count)
        price = (
            net.along(net.price, site[at], ends) if out else net.along(net.price, ends, site[at])
        )
        cost += np.bincount(at, weights=flow * price, minlength=len(cost))
    each = np.split(cost, first[1:-1])
    inside = np.zeros(p.n, bool)
    inside[[k for m in found.members for k in m.tolist()]] = True
    inside[list(found.linking)] = True
    constant = sum(float(each[k][0]) for k in np.flatnonzero(~inside).tolist())
    return each, constant


def _linking(p: Problem, found: Blocks, unary: list[Floats]) -> Floats:
    """Return the cost of each setting of the linking subtasks among themselves."""
    n = len(found.linking)
    total = np.zeros([len(found.places[k]) for k in found.linking])
    position = {k: g for g, k in enumerate(found.linking)}
    for g, k in enumerate(found.linking):
        total = total + unary[k].reshape([-1 if i == g else 1 for i in range(n)])
    for k, j, w in zip(
        p.channels.source.tolist(),
        p.channels.target.tolist(),
        p.channels.bytes_per_s.tolist(),
        strict=True,
    ):
        look()
        if k in position and j in position:
            a, b = p.tms.site[found.places[k]], p.tms.site[found.places[j]]
            pairs = np.repeat(a, len(b)), np.tile(b, len(a))
            price = p.network.along(p.network.price, *pairs).reshape(len(a), len(b))
            axes = [-1 if i in (position[k], position[j]) else 1 for i in range(n)]
            if position[k] > position[j]:
                price = price.T
            shape = [total.shape[i] if axes[i] == -1 else 1 for i in range(n)]
            total = total + w * price.reshape(shape)
    return total
