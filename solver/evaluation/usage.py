"""What a placement uses and breaks, as arrays: the evaluator's arithmetic.

It is written apart from the formulations and has the last word on what they answer. Its checks
allow `TOLERANCE` for the rounding of sums of floats, and nothing for slots and counts.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgeplace.model import BOUNDS, RATED, LimitKind, ObjectiveName
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Alone, Capped, Constraint, Restriction, Together
from edgeplace.solver.problem.credit_windows import round_trips_ms, waits_ms
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE


@dataclass(frozen=True)
class Usage:
    """Every term of the objective and every limit of one assignment.

    Attributes
    ----------
    assignment
        TaskManager of each subtask, shape (n_subtasks,).
    link_bytes, checkpoint_bytes
        Bytes/s on each link, and the checkpoints' part of it, shape (n_links,).
    unreachable
        (site, site) without a route -> channels and checkpoints between them.
    cores
        Of each node, shape (n_nodes,).
    busy
        Busy share of each subtask's thread, shape (n_subtasks,).
    far, window_room
        Channels with traffic between two sites, and bytes/s that the credit window of each lets
        through, shape (n_far,).
    slots
        Used of each TaskManager, shape (n_task_managers,).
    taken
        Used of each amount of `AMOUNTS` of each TaskManager, shape (n_task_managers, n_amounts).
    rules
        Rules that are broken, and by how many subtasks.
    latency_ms
        Longest path over channels with traffic; a missing route counts nothing.
    moved
        Subtasks that leave their current TaskManager, shape (n_subtasks,).
    """

    problem: Problem
    assignment: Ints
    link_bytes: Floats
    checkpoint_bytes: Floats
    unreachable: dict[tuple[int, int], int]
    cores: Floats
    busy: Floats
    far: Ints
    window_room: Floats
    slots: Ints
    taken: Floats
    rules: tuple[tuple[Constraint, int], ...]
    latency_ms: float
    moved: Bools

    @cached_property
    def server_cores(self) -> float:
        """Busy cores at cloud sites."""
        p = self.problem
        k = np.flatnonzero(p.tms.is_server[self.assignment])
        return float(p.work.cores[k, p.tms.node_class[self.assignment[k]]].sum())

    @cached_property
    def window_share(self) -> Floats:
        """Share in use of the credit windows of `far`, shape (n_far,)."""
        flow = self.problem.channels.bytes_per_s[self.far]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(flow > 0, flow / self.window_room, 0.0)

    @cached_property
    def utilisation(self) -> float:
        """Largest share in use of any limit that grows with the rates."""
        p = self.problem
        return float(
            max(
                (self.link_bytes / p.network.capacity_bytes_per_s).max(initial=0.0),
                (self.cores / p.tms.node_cores).max(initial=0.0),
                self.busy.max(initial=0.0),
                self.window_share.max(initial=0.0),
                *(self._share_of(kind) for kind in BOUNDS if kind in RATED),
            )
        )

    def value(self, objective: ObjectiveName) -> float:
        """Return one objective term."""
        match objective:
            case "wan":
                return float(self.link_bytes @ self.problem.network.price)
            case "latency":
                return -1.0 if self.unreachable else self.latency_ms
            case "server_cores":
                return self.server_cores
            case "moves":
                return float(self.moved.sum())
            case "throughput":
                return self.utilisation

    def bounded(self, kind: LimitKind) -> float:
        """Return what a bound on a term of the objective limits; a missing route counts nothing."""
        term = kind.facts.bounds
        return self.latency_ms if term is None or term == "latency" else self.value(term)

    def _share_of(self, kind: LimitKind) -> float:
        """Return the share in use of a bound on a term, 0 where there is none."""
        most, used = kind.bound(self.problem.rules), self.bounded(kind)
        if most is None or used <= 0:
            return 0.0
        return used / most if most > 0 else float("inf")

    def _within(self, kind: LimitKind) -> bool:
        most = kind.bound(self.problem.rules)
        return most is None or self.bounded(kind) <= most * (1 + TOLERANCE)

    @cached_property
    def rated_hold(self) -> bool:
        """Whether all limits that grow with the rates hold."""
        p = self.problem
        return bool(
            (self.link_bytes <= p.network.capacity_bytes_per_s * (1 + TOLERANCE)).all()
            and (self.cores <= p.tms.node_cores * (1 + TOLERANCE)).all()
            and (self.busy <= 1 + TOLERANCE).all()
            and (p.channels.bytes_per_s[self.far] <= self.window_room * (1 + TOLERANCE)).all()
            and all(self._within(kind) for kind in BOUNDS if kind in RATED)
        )

    @cached_property
    def fixed_hold(self) -> bool:
        """Whether all other limits and the rules hold."""
        p = self.problem
        return bool(
            not self.unreachable
            and (self.slots <= p.tms.slots).all()
            and (self.taken <= p.tms.has * (1 + BYTES_TOLERANCE)).all()
            and not self.rules
            and all(self._within(kind) for kind in BOUNDS if kind not in RATED)
        )


def measure_usage(problem: Problem, assignment: Ints) -> Usage:
    """Return what an assignment of TaskManagers, shape (n_subtasks,), uses and breaks."""
    p = problem
    k = np.arange(p.n)
    site = p.tms.site[assignment]
    cls = p.tms.node_class[assignment]
    link_bytes, checkpoint_bytes, unreachable = bytes_on_links(p, site)
    cores = _total(p.work.cores[k, cls], p.tms.node[assignment], len(p.tms.node_cores))
    apart = site[p.channels.source] != site[p.channels.target]
    far = np.flatnonzero(apart & p.channels.live)
    with np.errstate(divide="ignore"):
        room = (
            1000
            * p.channels.window_bytes[far]
            / round_trips_ms(p, site[p.channels.source[far]], site[p.channels.target[far]])
        )
    moved = (p.current != assignment) if p.current is not None else np.zeros(p.n, bool)
    return Usage(
        problem=p,
        assignment=assignment,
        link_bytes=link_bytes,
        checkpoint_bytes=checkpoint_bytes,
        unreachable=unreachable,
        cores=cores,
        busy=p.work.busy[k, cls],
        far=far,
        window_room=room,
        slots=_slots(p, assignment),
        taken=np.stack([_total(t, assignment, p.m) for t in p.footprint.takes.T], axis=1),
        rules=tuple(_broken(p, assignment)),
        latency_ms=_latency_ms(p, site, cls, np.flatnonzero(apart & p.channels.live)),
        moved=moved,
    )


def _total(amounts: Floats, at: Ints, n: int) -> Floats:
    """Return the sum of the amounts at each of n places."""
    return np.bincount(at, weights=amounts, minlength=n).astype(float, copy=False)


def bytes_on_links(p: Problem, site: Ints) -> tuple[Floats, Floats, dict[tuple[int, int], int]]:
    """Return bytes/s on each link, the checkpoint part, and unreachable site pairs in use.

    Parameters
    ----------
    site
        Where each subtask runs, shape (n_subtasks,).
    """
    net = p.network
    n_sites = net.n_sites
    a, b = site[p.channels.source], site[p.channels.target]
    apart = a != b
    pairs, inverse, count = np.unique(
        (a * n_sites + b)[apart], return_inverse=True, return_counts=True
    )
    flows = _total(p.channels.bytes_per_s[apart], inverse, len(pairs))
    total = _on_links(p, pairs // n_sites, pairs % n_sites, flows)
    unreachable = _lost(p, pairs // n_sites, pairs % n_sites, count)
    checkpoints = np.zeros(len(net.price))
    if p.storage_site is not None:
        written = _total(p.footprint.checkpoint_bytes_per_s, site, n_sites)
        writers = np.flatnonzero(written)
        storage = np.full(len(writers), p.storage_site)
        checkpoints = _on_links(p, writers, storage, written[writers])
        for pair, n in _lost(p, writers, storage, np.ones(len(writers), np.intp)).items():
            unreachable[pair] = unreachable.get(pair, 0) + n
    return total + checkpoints, checkpoints, unreachable


def _on_links(p: Problem, a: Ints, b: Ints, flows: Floats) -> Floats:
    total = np.zeros(len(p.network.price))
    for which, links in p.network.steps(a, b):
        total += _total(flows[which], links, len(total))
    return total


def _lost(p: Problem, a: Ints, b: Ints, count: Ints) -> dict[tuple[int, int], int]:
    lost = np.flatnonzero(~p.network.joined_by_route(a, b))
    return {(int(a[i]), int(b[i])): int(count[i]) for i in lost}


def _slots(p: Problem, assignment: Ints) -> Ints:
    """Return slots used on each TaskManager: per sharing group, the largest operator's number."""
    pairs, count = np.unique(p.subtasks.operator_of * p.m + assignment, return_counts=True)
    group, tm = p.subtasks.group[pairs // p.m], pairs % p.m
    groups, inverse = np.unique(group * p.m + tm, return_inverse=True)
    most = np.zeros(len(groups), np.intp)
    np.maximum.at(most, inverse, count)
    used = np.zeros(p.m, np.intp)
    np.add.at(used, groups % p.m, most)
    return used


def _broken(p: Problem, assignment: Ints) -> list[tuple[Constraint, int]]:
    broken = []
    for c in p.constraints:
        match c:
            case Restriction():
                wrong = int((~c.allowed[assignment[c.subtasks]]).sum())
            case Together():
                wrong = int((c.place[assignment[c.first]] != c.place[assignment[c.second]]).sum())
            case Capped():
                most = np.bincount(c.place[assignment[c.subtasks]])
                wrong = int(np.maximum(most - c.count, 0).sum())
            case Alone():
                taken = np.unique(c.place[assignment[c.subtasks]])
                wrong = int(np.isin(c.place[assignment[c.others]], taken).sum())
        if wrong:
            broken.append((c, wrong))
    return broken


def _latency_ms(p: Problem, site: Ints, cls: Ints, far: Ints) -> float:
    """Return the longest path over channels with traffic; a missing route counts nothing."""
    net = p.network
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    delay = p.channels.exchange_ms.copy()
    a, b = site[p.channels.source[far]], site[p.channels.target[far]]
    delay[far] += net.along(net.delay_ms, a, b)
    delay[far] += p.channels.buffer_bytes[far] * net.along(per_byte_ms, a, b)
    for which, links in net.steps(a, b):
        delay[far[which]] += waits_ms(p, far[which], links)
    live = np.flatnonzero(p.channels.live)
    source, target, delay = p.channels.source[live], p.channels.target[live], delay[live]
    spread = p.channels.spread_ms[live]
    service = p.work.service_ms[np.arange(p.n), cls]
    done = ended = service
    """The longest path to a subtask, before and after it had its longest exchange."""
    # One round per stage of the longest path: the graph has no cycle.
    while True:
        arrival, last = np.zeros(p.n), np.zeros(p.n)
        np.maximum.at(arrival, target, done[source] + delay)
        np.maximum.at(last, target, np.maximum(ended[source], done[source] + spread) + delay)
        after, at_end = service + arrival, service + last
        if (after == done).all() and (at_end == ended).all():
            return float(ended.max(initial=0.0))
        done, ended = after, at_end
