"""The exact formulation: a placement problem as a linear model. See docs/formulation.md."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Evaluation, Limit, ObjectiveName
from edgeplace.solver.constraints import Alone, Capped, Restriction, Together
from edgeplace.solver.crossings import Crossings, PairCrossings, Sites, TreeCrossings
from edgeplace.solver.linear_model import Affine, Kind, LinearModel, Row, power_of_two
from edgeplace.solver.problem import Problem
from edgeplace.solver.verdict import Verdict, round_trips_ms

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
_ROOM = 1.0 + 1e-6
CrossingForm = Callable[[Problem, LinearModel, Sites], Crossings]


@dataclass(frozen=True)
class Formulation:
    """A linear model of a problem, and how to read a placement from it.

    Attributes
    ----------
    x
        Column of "subtask k runs on TaskManager t", -1 where it cannot, shape
        (n_subtasks, n_task_managers).
    rho
        Column of the largest utilisation; None unless `throughput` is an objective.
    """

    problem: Problem
    model: LinearModel
    x: Ints
    sites: Sites
    crossings: Crossings
    rho: int | None

    def assignment(self, values: Floats) -> Ints:
        """Return the TaskManager of each subtask from column values."""
        chosen = np.where(self.x >= 0, values[np.maximum(self.x, 0)], -1.0)
        best: Ints = np.argmax(chosen, axis=1)
        return best

    def start(self, assignment: Ints) -> dict[int, float] | None:
        """Return the placement columns of an assignment, None if one of them does not exist."""
        if (self.x[np.arange(self.problem.n), assignment] < 0).any():
            return None
        values = {int(c): 0.0 for c in self.x[self.x >= 0]}
        for k, t in enumerate(assignment.tolist()):
            values[int(self.x[k, t])] = 1.0
        return values

    def missed(self, values: Floats, assignment: Ints, found: Evaluation) -> list[Row]:
        """Return rows that hold for every true plan and cut off this solution of the model.

        They state what the model leaves out until it matters: credit windows, and limits that the
        evaluator sees exceeded by less than the tolerance of a solver.
        """
        rows: list[Row] = []
        if self.rho is not None:
            rows += self._credit_rows(assignment, float(values[self.rho]) * (1 + 1e-7) + 1e-9)
        elif any(v.kind == "credit window" for v in found.violations):
            rows += self._credit_rows(assignment, 1.0)
        if rows or not found.violations:
            return rows
        covers = [
            row
            for v in found.violations
            if v.kind in ("memory", "disk")
            for row in self._covers(assignment, v)
        ]
        return covers or [self._exclude(assignment)]

    def _covers(self, assignment: Ints, broken: Limit) -> Iterator[Row]:
        """Yield rows that keep these subtasks from sharing any TaskManager too small for them."""
        p = self.problem
        need, room = (
            (p.memory_bytes, p.tm_memory) if broken.kind == "memory" else (p.disk_bytes, p.tm_disk)
        )
        t = next(i for i, tm in enumerate(p.cluster.task_managers) if tm.id == broken.where)
        together = np.flatnonzero((assignment == t) & (need > 0))
        for small in np.flatnonzero(room < need[together].sum()).tolist():
            columns = self.x[together, small]
            if (columns >= 0).all():
                yield Row({int(c): 1.0 for c in columns}, len(columns) - 1.0)

    def _exclude(self, assignment: Ints) -> Row:
        columns = self.x[np.arange(self.problem.n), assignment]
        return Row({int(c): 1.0 for c in columns}, self.problem.n - 1.0)

    def _credit_rows(self, assignment: Ints, limit: float) -> list[Row]:
        """Return rows for all pairs of sites between which a channel that is too slow now would be.

        A channel's credit window is used to a share that its two sites fix; the share may not
        exceed `limit`.
        """
        p = self.problem
        a, b = p.tm_site[assignment[p.source]], p.tm_site[assignment[p.target]]
        used = self._credit_share(np.arange(len(a)), a, b)
        tight = np.flatnonzero(used > limit * (1 + 1e-9))
        rows = []
        for i in tight.tolist():
            k, j = int(p.source[i]), int(p.target[i])
            for s in self.sites.of(k):
                for d in self.sites.of(j):
                    share = float(
                        self._credit_share(np.array([i]), np.array([s]), np.array([d]))[0]
                    )
                    if s == d or share <= limit:
                        continue
                    both = Affine().add(self.sites.at(k, s)).add(self.sites.at(j, d))
                    if self.rho is None:
                        rows.append(Row(both.terms, 1.0 - both.constant))
                    else:
                        scaled = Affine().add(both, share).add_term(self.rho, -1.0)
                        rows.append(Row(scaled.terms, share - scaled.constant))
        return rows

    def _credit_share(self, channels: Ints, a: Ints, b: Ints) -> Floats:
        p = self.problem
        share: Floats = (
            p.bytes_per_s[channels] * round_trips_ms(p, a, b) / (1000 * p.window_bytes[channels])
        )
        return np.where((a != b) & p.live[channels], share, 0.0)


def formulate(
    problem: Problem,
    objective: Sequence[ObjectiveName],
    *,
    soft_rates: bool = False,
    explicit: bool = False,
    form: CrossingForm | None = None,
    known: Verdict | None = None,
    deadline: float | None = None,
) -> Formulation:
    """Return the linear model of a problem.

    Parameters
    ----------
    objective
        The terms that the model must be able to minimise.
    soft_rates
        Let limits that grow with the rates be exceeded; the largest utilisation says by how much.
    explicit
        State restrictions as rows, instead of leaving the columns out, so that they can be
        relaxed one by one.
    form
        How crossings are linearised; None: tree-cut where the sites form a tree, else by pairs.
    known
        A plan's verdict. What the first objective need not exceed bounds its column, which
        CP-SAT cuts into steps.
    deadline
        Monotonic time at which to give up building; None: never.

    Raises
    ------
    TimeoutError
        If the model is not built by the deadline.
    """
    p = problem
    model = LinearModel()
    candidates = np.ones((p.n, p.m), bool) if explicit else p.allowed().copy()
    if not explicit and not soft_rates:
        candidates &= p.busy[:, p.tm_class] <= 1 + 1e-9
    x = np.full((p.n, p.m), -1, np.intp)
    for k, t in np.argwhere(candidates).tolist():
        x[k, t] = model.column(Kind.BINARY)
    for k in range(p.n):
        model.equal(_sum(x[k]), 1.0)
    sites = Sites(p, x)
    form = form or (PairCrossings if p.network.cuts is None else TreeCrossings)
    crossings = _Timed(form(p, model, sites), deadline)
    rho = None
    if "throughput" in objective:
        largest = _largest_utilisation(p) if soft_rates else 1.0
        if known and objective[0] == "throughput":
            largest = min(largest, known.utilisation * _ROOM)
        rho = model.column(Kind.REAL, largest)
        model.objectives["throughput"] = Affine({rho: 1.0})
    _slots(p, model, x)
    _cpu(p, model, x, rho, explicit)
    _bytes(p, model, x)
    _links(p, model, sites, crossings, rho)
    _rules(p, model, x, explicit)
    _moves(p, model, x)
    if "latency" in objective or p.rules.max_latency_ms is not None:
        horizon = _horizon_ms(p)
        if p.rules.max_latency_ms is not None and not explicit:
            horizon = min(horizon, p.rules.max_latency_ms * _ROOM)
        if known and objective[0] == "latency":
            horizon = min(horizon, known.latency_ms * _ROOM)
        _latency(p, model, x, crossings, horizon)
    model.objectives["server_cores"] = _weighted(
        x[:, p.is_server], p.cores[:, p.tm_class[p.is_server]]
    )
    return Formulation(p, model, x, sites, crossings, rho)


class _Timed:
    """Crossings that stop at a deadline: all-to-all streams have very many."""

    def __init__(self, inner: Crossings, deadline: float | None) -> None:
        self._inner = inner
        self._deadline = float("inf") if deadline is None else deadline

    def of(self, source: int, target: int) -> dict[int, Affine]:
        """Return the crossings of a channel; see `Crossings`."""
        if time.monotonic() > self._deadline:
            raise TimeoutError("the model is too large to be built in time")
        return self._inner.of(source, target)


def _sum(columns: Ints) -> Affine:
    return Affine({int(c): 1.0 for c in columns.ravel() if c >= 0})


def _weighted(columns: Ints, weights: Floats) -> Affine:
    pairs = zip(columns.ravel().tolist(), weights.ravel().tolist(), strict=True)
    return Affine({c: w for c, w in pairs if c >= 0 and w})


def _largest_utilisation(p: Problem) -> float:
    """Return a utilisation that no placement exceeds."""
    cores = p.cores.max(axis=1, initial=0.0).sum() / p.node_cores.min(initial=np.inf)
    capacity = p.network.capacity_bytes_per_s.min(initial=np.inf)
    sent = p.bytes_per_s.sum() + p.return_bytes_per_s.sum() + p.checkpoint_bytes_per_s.sum()
    bytes_ = sent / capacity
    transfer = 1000 * p.cluster.buffer_bytes / p.network.bandwidth_bytes_per_s
    trip = 2 * p.network.delay_ms.sum() + transfer.sum()
    credit = (p.bytes_per_s * trip / (1000 * p.window_bytes)).max(initial=0.0)
    return float(1 + max(cores, bytes_, credit, p.busy.max(initial=0.0)))


def _slots(p: Problem, model: LinearModel, x: Ints) -> None:
    """Slots: sum over sharing groups of the largest number of subtasks of one operator."""
    for t in range(p.m):
        used = Affine()
        here: dict[int, dict[int, Affine]] = {}
        for k in np.flatnonzero(x[:, t] >= 0).tolist():
            o = int(p.subtasks.operator_of[k])
            operators = here.setdefault(int(p.group[o]), {})
            operators.setdefault(o, Affine()).add_term(int(x[k, t]), 1.0)
        for operators in here.values():
            if len(operators) == 1:
                used.add(next(iter(operators.values())))
                continue
            most = model.column(Kind.IMPLIED, max(len(e.terms) for e in operators.values()))
            used.add_term(most, 1.0)
            for e in operators.values():
                model.at_most(e.add_term(most, -1.0), 0.0)
        if used.terms:
            model.at_most(used, float(p.tm_slots[t]), ("slots", t))


def _cpu(p: Problem, model: LinearModel, x: Ints, rho: int | None, explicit: bool) -> None:
    """CPU: busy share of each task thread, and cores of each node, against their limits."""
    for v, room in enumerate(p.node_cores.tolist()):
        on = np.flatnonzero(p.tm_node == v)
        load = _weighted(x[:, on], p.cores[:, p.tm_class[on]] / room)
        _rated(model, load, rho, ("node cpu", v))
    for k in range(p.n):
        busy = p.busy[k, p.tm_class]
        if rho is not None or (explicit and busy.max(initial=0.0) > 1):
            _rated(model, _weighted(x[k], busy), rho, ("subtask busy", k))


def _rated(model: LinearModel, share: Affine, rho: int | None, limit: tuple[str, int]) -> None:
    """Require a utilisation to be at most rho, or 1 where rho is no column."""
    if rho is None:
        model.at_most(share, 1.0, limit)
    elif share.terms or share.constant:
        model.at_most(share.add_term(rho, -1.0), 0.0, limit)


def _bytes(p: Problem, model: LinearModel, x: Ints) -> None:
    """Memory and disk of each TaskManager.

    Scaled to about 1, since HiGHS can run in circles over rows of billions. Limits hold to the
    byte all the same: `Formulation.missed` forbids what the scaling lets in.
    """
    for kind, need, room in (
        ("memory", p.memory_bytes, p.tm_memory),
        ("disk", p.disk_bytes, p.tm_disk),
    ):
        for t in np.flatnonzero(np.isfinite(room)).tolist():
            unit = power_of_two(max(float(room[t]), 1.0))
            used = _weighted(x[:, t], need / unit)
            if used.terms:
                model.at_most(used, float(room[t]) / unit, (kind, t))


def _links(
    p: Problem, model: LinearModel, sites: Sites, crossings: Crossings, rho: int | None
) -> None:
    """Traffic on each link, against its bandwidth and into the WAN objective."""
    net = p.network
    load = [Affine() for _ in net.names]
    # Channels of parallel streams between the same two subtasks share their crossings.
    flows: dict[tuple[int, int], tuple[float, float]] = {}
    for k, j, w, answer in zip(
        p.source.tolist(),
        p.target.tolist(),
        p.bytes_per_s.tolist(),
        p.return_bytes_per_s.tolist(),
        strict=True,
    ):
        before = flows.get((k, j), (0.0, 0.0))
        flows[k, j] = before[0] + w, before[1] + answer
    routed = net.cuts is None
    for (k, j), (w, answer) in flows.items():
        if w > 0 or routed:
            for link, share in crossings.of(k, j).items():
                load[link].add(share, w)
                back = int(net.opposite[link])
                if answer and back >= 0:
                    load[back].add(share, answer)
    if p.storage_site is not None:
        for k in np.flatnonzero(p.checkpoint_bytes_per_s).tolist():
            for s in sites.of(k):
                route = net.route(s, p.storage_site)
                if route is None:
                    model.at_most(sites.at(k, s), 0.0, ("route", 0))
                for link in route or ():
                    load[link].add(sites.at(k, s), float(p.checkpoint_bytes_per_s[k]))
    wan = model.objectives["wan"] = Affine()
    for link, e in enumerate(load):
        wan.add(e, float(net.price[link]))
        room = float(net.capacity_bytes_per_s[link])
        if np.isfinite(room):
            _rated(model, Affine().add(e, 1 / room), rho, ("link bandwidth", link))


def _rules(p: Problem, model: LinearModel, x: Ints, explicit: bool) -> None:
    """Rules, in their four compiled forms."""
    for r, c in enumerate(p.constraints):
        limit = ("rule", r)
        match c:
            case Restriction():
                if explicit:
                    outside = _sum(x[np.ix_(c.subtasks, np.flatnonzero(~c.allowed))])
                    model.at_most(outside, 0.0, limit)
            case Together():
                for a, b in zip(c.first.tolist(), c.second.tolist(), strict=True):
                    for q in np.unique(c.place):
                        here = c.place == q
                        model.equal(_sum(x[a, here]).add(_sum(x[b, here]), -1.0), 0.0, limit)
            case Capped():
                for q in np.unique(c.place):
                    model.at_most(_sum(x[np.ix_(c.subtasks, c.place == q)]), float(c.count), limit)
            case Alone():
                for q in np.unique(c.place):
                    here = c.place == q
                    taken = model.column(Kind.IMPLIED)
                    for k in c.subtasks.tolist():
                        model.at_most(_sum(x[k, here]).add_term(taken, -1.0), 0.0)
                    for k in c.others.tolist():
                        model.at_most(_sum(x[k, here]).add_term(taken, 1.0), 1.0, limit)


def _moves(p: Problem, model: LinearModel, x: Ints) -> None:
    """Moves: subtasks that are not on their current TaskManager."""
    moves = model.objectives["moves"] = Affine()
    if p.current is None:
        return
    for k, t in enumerate(p.current.tolist()):
        moves.constant += 1.0
        if t >= 0 and x[k, t] >= 0:
            moves.add_term(int(x[k, t]), -1.0)
    if p.rules.max_moves is not None:
        model.at_most(moves, float(p.rules.max_moves), ("moves", 0))


def _latency(p: Problem, model: LinearModel, x: Ints, crossings: Crossings, horizon: float) -> None:
    """Latency: potentials along channels with traffic; O(channels) rows instead of paths."""
    net = p.network
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    worst = model.column(Kind.REAL, horizon)
    model.objectives["latency"] = Affine({worst: 1.0})
    if p.rules.max_latency_ms is not None:
        model.at_most(Affine({worst: 1.0}), p.rules.max_latency_ms, ("latency", 0))
    done = {k: model.column(Kind.REAL, horizon) for k in range(p.n)}
    fed = set(p.target[p.live].tolist())
    feeds = set(p.source[p.live].tolist())
    for k in range(p.n):
        if k not in fed:
            service = _weighted(x[k], p.service_ms[k, p.tm_class])
            model.at_most(service.add_term(done[k], -1.0), 0.0)
        if k not in feeds:
            model.at_most(Affine({done[k]: 1.0, worst: -1.0}), 0.0)
    for i in np.flatnonzero(p.live).tolist():
        k, j = int(p.source[i]), int(p.target[i])
        step = Affine({done[k]: 1.0, done[j]: -1.0}, float(p.exchange_ms[i]))
        for link, share in crossings.of(k, j).items():
            step.add(share, float(net.delay_ms[link] + p.buffer_bytes[i] * per_byte_ms[link]))
        step.add(_weighted(x[j], p.service_ms[j, p.tm_class]))
        model.at_most(step, 0.0)


def _horizon_ms(p: Problem) -> float:
    """Return a latency that no path exceeds: every stage at its worst."""
    net = p.network
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    service = p.service_ms.max(axis=1, initial=0.0)
    stages = sum(
        float(service[p.subtasks.range_of(o)].max()) for o in range(len(p.subtasks.operators))
    )
    longest = float(net.delay_ms.sum() + p.buffer_bytes.max(initial=0.0) * per_byte_ms.sum())
    exchange = float(p.exchange_ms.max(initial=0.0))
    return 1.0 + stages + len(p.subtasks.operators) * (exchange + longest)
