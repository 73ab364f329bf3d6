"""The use of every limit by a placement, as arrays: the arithmetic of the evaluator.

It is written apart from the formulations and has the last word on what they answer. Its checks
allow `TOLERANCE` for the rounding of sums of floats, and nothing for slots and counts. `Usage` says
what is used of which limit; `evaluate.evaluation_of` gives the names to it, for people.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgeplace.model import (
    AMOUNTS,
    BOUNDS,
    HOUR_S,
    JOB_BOUNDS,
    MONTH_S,
    LimitKind,
    ObjectiveName,
)
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.evaluation.credit_loops import windows_in_use
from edgeplace.solver.evaluation.latency import LongestPaths
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import (
    Alone,
    Capped,
    Constraint,
    Evened,
    Restriction,
    Together,
)
from edgeplace.solver.problem.credit_windows import round_trips_ms
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE

LATE_CHECKPOINTS_SHARE = 1 / 3
"""Share of a full link that a checkpoint takes which is not done when the next one is due: Flink
waits with that one. Its state and the records are two TCP connections, half of the link each, and
before the state the barriers wait behind records. Measured: `benchmarks/sustained.py`."""


@dataclass(frozen=True)
class Use:
    """The use and the capacity of all limits of one kind; arrays of shape (n,).

    Attributes
    ----------
    tolerance
        Relative to `room`: by so much more a limit is kept.
    """

    kind: LimitKind
    used: Floats | Ints
    room: Floats | Ints
    tolerance: float = 0.0

    @property
    def over(self) -> Bools:
        """True for limits that are exceeded."""
        over: Bools = self.used > self.room * (1 + self.tolerance)
        return over

    @property
    def share(self) -> Floats:
        """The share in use: infinite where nothing is allowed and something is used."""
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = np.where(self.used > 0, np.inf, 0.0)
            return np.where(self.room > 0, self.used / self.room, beyond)


@dataclass(frozen=True)
class Usage:
    """Every term of the objective and every limit of one assignment.

    Attributes
    ----------
    assignment
        TaskManager of each subtask, shape (n_subtasks,).
    link_bytes, checkpoint_bytes
        Bytes/s on each link, and the checkpoints' part of it, shape (n_links,).
    least_bytes
        What is left of `link_bytes` where full links delay the timers of flush laws: a link that
        is too thin for this is a limit, shape (n_links,).
    unreachable
        (site, site) without a route -> channels and checkpoints between them.
    cores
        Of each node, shape (n_nodes,).
    busy
        Busy share of each subtask's thread, shape (n_subtasks,).
    far, far_bytes, window_room
        Channels with traffic between two sites, bytes/s on each, and bytes/s that its credit window
        lets through, shape (n_far,).
    slots
        Used of each TaskManager, shape (n_task_managers,).
    taken
        Used of each amount of `AMOUNTS` of each TaskManager, shape (n_task_managers, n_amounts).
    rules
        Rules that are broken, and by how many subtasks.
    latencies_ms
        Longest path of each job over channels with traffic, shape (n_jobs,); a missing route counts
        nothing.
    moved
        Subtasks that leave their current TaskManager, shape (n_subtasks,).
    periods
        The usage in each period of a demand that varies over the day. Bytes on links and the
        checkpoints' part of them are then means over the day, as server cores and money are; all
        that limits restrict is that of the period in which it is most.
    """

    problem: Problem
    assignment: Ints
    link_bytes: Floats
    checkpoint_bytes: Floats
    least_bytes: Floats
    unreachable: dict[tuple[int, int], int]
    cores: Floats
    busy: Floats
    far: Ints
    far_bytes: Floats
    window_room: Floats
    slots: Ints
    taken: Floats
    rules: tuple[tuple[Constraint, int], ...]
    latencies_ms: Floats
    moved: Bools
    periods: tuple["Usage", ...] = ()

    @property
    def latency_ms(self) -> float:
        """Longest path of all jobs; a missing route counts nothing."""
        return float(self.latencies_ms.max())

    @cached_property
    def server_cores(self) -> float:
        """Busy cores at cloud sites."""
        p = self.problem
        k = np.flatnonzero(p.tms.is_server[self.assignment])
        return float(p.mean_cores[k, p.tms.node_class[self.assignment[k]]].sum())

    @cached_property
    def cost_per_month(self) -> float:
        """What links, busy cores and used nodes cost in a month; 0 without a currency."""
        p, net = self.problem, self.problem.network
        if p.cluster.currency is None:
            return 0.0
        per_s = float(self.link_bytes @ net.price_without_volume)
        for volume in net.volumes:
            carried = float(self.link_bytes[list(volume.links)].sum())
            per_s += volume.price * max(0.0, carried - volume.bytes_per_s)
        k = np.flatnonzero(p.tms.core_price[self.assignment])
        t = self.assignment[k]
        per_hour = float(p.mean_cores[k, p.tms.node_class[t]] @ p.tms.core_price[t])
        per_hour += float(p.tms.node_price[np.unique(p.tms.node[self.assignment])].sum())
        return MONTH_S * per_s + MONTH_S / HOUR_S * per_hour

    @cached_property
    def unmet(self) -> tuple[int, ...]:
        """Of each wish, by how many subtasks it is not met."""
        return tuple(
            sum(_breaches(part, self.assignment) for part in wish.parts)
            for wish in self.problem.wishes
        )

    @cached_property
    def rated(self) -> tuple[Use, ...]:
        """The use of the limits that grow with the rates."""
        p = self.problem
        return (
            Use(
                LimitKind.LINK_BANDWIDTH,
                self.least_bytes,
                p.network.capacity_bytes_per_s,
                TOLERANCE,
            ),
            Use(LimitKind.NODE_CPU, self.cores, p.tms.node_cores, TOLERANCE),
            Use(LimitKind.SUBTASK_BUSY, self.busy, np.ones(p.n), TOLERANCE),
            Use(LimitKind.CREDIT_WINDOW, self.far_bytes, self.window_room, TOLERANCE),
        )

    @cached_property
    def carried_bytes(self) -> Floats:
        """Bytes/s on each link, where a full one delays the timers of flush laws; (n_links,)."""
        if self.periods:
            most: Floats = np.max([u.carried_bytes for u in self.periods], axis=0)
            return most
        room = self.problem.network.capacity_bytes_per_s
        return np.minimum(self.link_bytes, np.maximum(self.least_bytes, room))

    @cached_property
    def sustained_utilisation(self) -> float:
        """Largest share in use as far as it holds sources back.

        Records and a checkpoint that is late share a link; see `LATE_CHECKPOINTS_SHARE`. Buffers
        of a credit window wait for busy processors; see `windows_in_use`.
        """
        links, cpu, threads, windows = self.rated
        most = np.where(np.isfinite(links.room), LATE_CHECKPOINTS_SHARE * links.room, np.inf)
        late = np.maximum(self.checkpoint_bytes - most, 0.0)
        must = replace(links, used=links.used - late)
        loops = windows_in_use(
            self.problem, self.assignment, self.far, windows.share, self.cores, self.busy
        )
        shares = (must.share, cpu.share, threads.share, loops)
        return float(max(share.max(initial=0.0) for share in shares))

    @cached_property
    def fixed(self) -> tuple[Use, ...]:
        """The use of all other limits; for rules, the number of subtasks that break them."""
        p = self.problem
        return (
            _none_allowed(LimitKind.ROUTE, [self.unreachable[k] for k in sorted(self.unreachable)]),
            Use(LimitKind.SLOTS, self.slots, p.tms.slots),
            *(
                Use(kind, taken, has, BYTES_TOLERANCE)
                for kind, taken, has in zip(AMOUNTS, self.taken.T, p.tms.has.T, strict=True)
            ),
            _none_allowed(LimitKind.RULE, [wrong for _, wrong in self.rules]),
            *self._bounds(),
            *self._bounds_of_jobs(),
        )

    def _bounds(self) -> Iterator[Use]:
        """Yield the use of bounds on terms of the objective."""
        for kind in BOUNDS:
            most, term = kind.bound(self.problem.rules), kind.facts.bounds
            if most is not None:
                # A missing route counts nothing: it is a limit of its own.
                known = self.latency_ms if term is None or term == "latency" else self.value(term)
                yield Use(kind, np.array([known]), np.array([most]), TOLERANCE)

    def _bounds_of_jobs(self) -> Iterator[Use]:
        """Yield the use of bounds on what single jobs add to terms of the objective."""
        of = self.problem.subtasks
        added = {
            "latency": self.latencies_ms,
            "moves": np.bincount(of.job_of[self.moved], minlength=len(of.jobs)),
        }
        for kind in JOB_BOUNDS:
            stated, term = kind.bounds_of_jobs(self.problem.rules), kind.facts.of_job
            if stated and term:
                used = added[term].astype(float)[of.job_numbers(stated)]
                yield Use(kind, used, np.array(list(stated.values()), float), TOLERANCE)

    @cached_property
    def utilisation(self) -> float:
        """Largest share in use of any limit that grows with the rates."""
        return float(max(use.share.max(initial=0.0) for use in self.rated))

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
            case "cost":
                return self.cost_per_month
            case "wishes":
                wanted = zip(self.problem.wishes, self.unmet, strict=True)
                return float(sum(wish.weight * n for wish, n in wanted))

    @cached_property
    def rated_hold(self) -> bool:
        """Whether all limits that grow with the rates hold."""
        return not any(use.over.any() for use in self.rated)

    @cached_property
    def fixed_hold(self) -> bool:
        """Whether all other limits and the rules hold."""
        return not any(use.over.any() for use in self.fixed)


def _none_allowed(kind: LimitKind, broken: list[int]) -> Use:
    return Use(kind, np.array(broken, np.intp), np.zeros(len(broken), np.intp))


def measure_usage(problem: Problem, assignment: Ints) -> Usage:
    """Return the use of every limit by an assignment of TaskManagers, shape (n_subtasks,)."""
    found = _measured(problem, assignment)
    if not problem.day:
        return found
    each = tuple(_measured(p, assignment) for p in problem.demands)
    sent, room = _fullest_windows(found.far, each)
    return replace(
        found,
        least_bytes=np.max([u.least_bytes for u in each], axis=0),
        cores=np.max([u.cores for u in each], axis=0),
        busy=np.max([u.busy for u in each], axis=0),
        far_bytes=sent,
        window_room=room,
        taken=np.max([u.taken for u in each], axis=0),
        latencies_ms=np.max([u.latencies_ms for u in each], axis=0),
        periods=each,
    )


def _fullest_windows(far: Ints, each: Sequence[Usage]) -> tuple[Floats, Floats]:
    """Return bytes/s and room of each channel in the period in which its window is fullest."""
    sent, room, share = np.zeros(len(far)), np.full(len(far), np.inf), np.zeros(len(far))
    for u in each:
        # A channel without traffic in the period is not among its `far`.
        own = np.searchsorted(far, u.far)
        now = Use(LimitKind.CREDIT_WINDOW, u.far_bytes, u.window_room).share
        more = own[now > share[own]]
        at = np.searchsorted(u.far, far[more])
        sent[more], room[more], share[more] = u.far_bytes[at], u.window_room[at], now[at]
    return sent, room


def _measured(problem: Problem, assignment: Ints) -> Usage:
    """Return the usage at the rates of a problem, whatever its periods are."""
    p = problem
    k = np.arange(p.n)
    site = p.tms.site[assignment]
    cls = p.tms.node_class[assignment]
    link_bytes, checkpoint_bytes, unreachable = bytes_on_links(p, site)
    least_bytes, least = link_bytes, p.channels.least_bytes_per_s
    if (least < p.channels.bytes_per_s).any():
        least_bytes = channels_on_links(p, site, least)[0] + checkpoint_bytes
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
        least_bytes=least_bytes,
        unreachable=unreachable,
        cores=cores,
        busy=p.work.busy[k, cls],
        far=far,
        far_bytes=p.channels.bytes_per_s[far],
        window_room=room,
        slots=_slots(p, assignment),
        taken=np.stack([_total(t, assignment, p.m) for t in p.footprint.takes.T], axis=1),
        rules=tuple(_broken(p, assignment)),
        latencies_ms=LongestPaths.of(p, site, cls, far).worst_ms(
            p.subtasks.job_of, len(p.subtasks.jobs)
        ),
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
    total, unreachable = channels_on_links(p, site, p.channels.bytes_per_s)
    checkpoints = np.zeros(len(p.network.price))
    if p.storage_site is not None:
        written = _total(p.footprint.checkpoint_bytes_per_s, site, p.network.n_sites)
        writers = np.flatnonzero(written)
        storage = np.full(len(writers), p.storage_site)
        checkpoints = _on_links(p, writers, storage, written[writers])
        for pair, n in _lost(p, writers, storage, np.ones(len(writers), np.intp)).items():
            unreachable[pair] = unreachable.get(pair, 0) + n
    return total + checkpoints, checkpoints, unreachable


def channels_on_links(
    p: Problem, site: Ints, bytes_per_s: Floats
) -> tuple[Floats, dict[tuple[int, int], int]]:
    """Return bytes/s on each link, and unreachable site pairs, for bytes/s on each channel."""
    n_sites = p.network.n_sites
    a, b = site[p.channels.source], site[p.channels.target]
    apart = a != b
    pairs, inverse, count = np.unique(
        (a * n_sites + b)[apart], return_inverse=True, return_counts=True
    )
    flows = _total(bytes_per_s[apart], inverse, len(pairs))
    total = _on_links(p, pairs // n_sites, pairs % n_sites, flows)
    return total, _lost(p, pairs // n_sites, pairs % n_sites, count)


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
    counted = ((c, _breaches(c, assignment)) for c in p.constraints)
    return [(c, wrong) for c, wrong in counted if wrong]


def _breaches(c: Constraint | Evened, assignment: Ints) -> int:
    """Return how many subtasks break a rule."""
    match c:
        case Restriction():
            return int((~c.allowed[assignment[c.subtasks]]).sum())
        case Together():
            return int((c.place[assignment[c.first]] != c.place[assignment[c.second]]).sum())
        case Capped():
            most = np.bincount(c.place[assignment[c.subtasks]])
            return int(np.maximum(most - c.count, 0).sum())
        case Alone():
            taken = np.unique(c.place[assignment[c.subtasks]])
            return int(np.isin(c.place[assignment[c.others]], taken).sum())
        case Evened():
            most = np.bincount(c.place[assignment[c.subtasks]])
            return int(max(most.max() - c.fair, 0))
