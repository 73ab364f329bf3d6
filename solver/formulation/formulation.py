"""The exact formulation: a placement problem as a linear model. See docs/formulation.md."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import AMOUNTS, BOUNDS, JOB_BOUNDS, Evaluation, Limit, LimitKind, ObjectiveName
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import running
from edgeplace.solver.formulation.bundle_cuts import Bundles
from edgeplace.solver.formulation.cost_columns import cost
from edgeplace.solver.formulation.crossings import (
    Crossings,
    Entries,
    PairCrossings,
    SiteExpressions,
    TreeCrossings,
)
from edgeplace.solver.formulation.envelopes import envelopes
from edgeplace.solver.formulation.latency_rows import horizon_ms, latency
from edgeplace.solver.formulation.limit_rows import bounds, cpu, slots, space
from edgeplace.solver.formulation.link_traffic import carried, priced
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.formulation.rule_rows import moves, rules, wishes
from edgeplace.solver.formulation.units import Units
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, Row, power_of_two
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.credit_windows import round_trips_ms
from edgeplace.solver.tolerances import FEASIBILITY, HORIZON_ROOM, TOLERANCE

_CROSSING_S = 5e-7
"""Time to state what one column's crossing of one link costs and takes there, measured."""
_PLACE_S = 6e-7
"""Time to state one place of one subtask with all its limits, measured on the largest."""
CrossingForm = Callable[[Problem, LinearModel, SiteExpressions], Crossings]


@dataclass(frozen=True)
class Formulation:
    """A linear model of a problem, and how to read a placement from it.

    Attributes
    ----------
    rho
        Column of the largest utilisation; None unless `throughput` is an objective.
    rho_unit
        What one unit of that column stands for.
    crossings
        How the model states which links channels cross.
    """

    problem: Problem
    model: LinearModel
    choices: PlacementColumns
    sites: SiteExpressions
    rho: int | None
    rho_unit: float
    crossings: Crossings

    def bundles(self) -> Bundles | None:
        """Return what finds rows that tighten the model, None if it does not cut a tree."""
        if not isinstance(self.crossings, TreeCrossings):
            return None
        return Bundles(self.problem, self.model, self.choices, self.crossings)

    def assignment(self, values: Floats) -> Ints:
        """Return the TaskManager of each subtask from column values."""
        x, units = self.choices.x, self.choices.units
        chosen = np.where(x >= 0, values[np.maximum(x, 0)], -1.0)
        best: Ints = np.argmax(chosen, axis=1)[units.of]
        for u in np.flatnonzero(units.size > 1).tolist():
            counts = np.maximum(np.rint(chosen[u]), 0).astype(np.intp)
            best[units.members(u)] = np.repeat(np.arange(len(counts)), counts)
        return best

    def start(self, assignment: Ints) -> dict[int, float] | None:
        """Return the placement columns of an assignment, None if one of them does not exist."""
        chosen = self.choices.x[self.choices.units.of, assignment]
        if (chosen < 0).any():
            return None
        values = np.zeros(len(self.model.upper))
        np.add.at(values, chosen, 1.0)
        columns = self.choices.column
        return dict(zip(columns.tolist(), values[columns].tolist(), strict=True))

    def within(self, growth: Floats, slack: float) -> Bools:
        """Return where subtasks may run, given how much worse a plan may be than the relaxation.

        Reduced-cost fixing (Dantzig, Fulkerson and Johnson, Oper. Res. 2(4), 1954).

        Parameters
        ----------
        growth
            By how much the objective grows at least for each unit of a column, shape (n_columns,).

        Returns
        -------
        array
            Shape (n_subtasks, n_task_managers).
        """
        x = self.choices.x
        may: Bools = (growth[np.maximum(x, 0)] <= slack)[self.choices.units.of]
        return may

    def missed(self, values: Floats, assignment: Ints, found: Evaluation) -> list[Row] | None:
        """Return rows that hold for every true plan and cut off this solution of the model.

        They state what the model leaves out until it matters: credit windows, and limits that the
        evaluator sees exceeded by less than the tolerance of a solver. None if they cannot be
        stated in this model, but in one without counted units.
        """
        rows: list[Row] | None = []
        if self.rho is not None:
            largest = float(values[self.rho]) * self.rho_unit
            rows = self._credit_rows(assignment, largest * (1 + FEASIBILITY))
        elif any(v.kind is LimitKind.CREDIT_WINDOW for v in found.violations):
            rows = self._credit_rows(assignment, 1.0)
        if rows is None or rows or not found.violations:
            return rows
        if (self.choices.units.size > 1).any():
            return None
        covers = [
            row
            for v in found.violations
            if v.kind in AMOUNTS
            for row in self._covers(assignment, v)
        ]
        excluding = self.excluding(assignment)
        return covers or ([excluding] if excluding else [])

    def _covers(self, assignment: Ints, broken: Limit) -> Iterator[Row]:
        """Yield rows that keep these subtasks from sharing any TaskManager too small for them."""
        p, x = self.problem, self.choices.x
        a = AMOUNTS.index(broken.kind)
        room = p.tms.has[:, a]
        t = next(i for i, tm in enumerate(p.cluster.task_managers) if tm.id == broken.where)
        for peak in p.peaks:
            need = peak.footprint.takes[:, a]
            together = np.flatnonzero((assignment == t) & (need > 0))
            for small in np.flatnonzero(room < need[together].sum()).tolist():
                columns = x[together, small]
                if (columns >= 0).all():
                    yield Row({int(c): 1.0 for c in columns}, len(columns) - 1.0)

    def excluding(self, assignment: Ints) -> Row | None:
        """Return a row that cuts off one plan, None where subtasks are not told apart."""
        if (self.choices.units.size > 1).any():
            return None
        columns = self.choices.x[np.arange(self.problem.n), assignment]
        return Row({int(c): 1.0 for c in columns}, self.problem.n - 1.0)

    def _credit_rows(self, assignment: Ints, limit: float) -> list[Row] | None:
        """Return rows for all pairs of sites between which a channel that is too slow now would be.

        A channel's credit window is used to a share that its two sites fix; the share may not
        exceed `limit`. None where both ends of a channel are counted.
        """
        p, units, sites = self.problem, self.choices.units, self.sites
        a, b = p.tms.site[assignment[p.channels.source]], p.tms.site[assignment[p.channels.target]]
        used = self._credit_share(np.arange(len(a)), a, b)
        tight = np.flatnonzero(used > limit * (1 + TOLERANCE))
        rows: dict[tuple[int, int, int, int, int], Row] = {}
        for i in tight.tolist():
            k, j = int(units.of[p.channels.source[i]]), int(units.of[p.channels.target[i]])
            stream = int(p.channels.stream[i])
            if sites.size(k) > 1 and sites.size(j) > 1:
                return None
            for s in sites.of(k):
                for d in sites.of(j):
                    share = float(
                        self._credit_share(np.array([i]), np.array([s]), np.array([d]))[0]
                    )
                    if s == d or share <= limit or (k, j, s, d, stream) in rows:
                        continue
                    # All of a counted unit, or none of it, where the other end is.
                    both = Affine().add(sites.at(k, s), 1 / sites.size(k))
                    both.add(sites.at(j, d), 1 / sites.size(j))
                    if self.rho is None:
                        rows[k, j, s, d, stream] = Row(both.terms, 1.0 - both.constant)
                    else:
                        share /= self.rho_unit
                        scaled = Affine().add(both, share).add_term(self.rho, -1.0)
                        rows[k, j, s, d, stream] = Row(scaled.terms, share - scaled.constant)
        return list(rows.values())

    def _credit_share(self, channels: Ints, a: Ints, b: Ints) -> Floats:
        p = self.problem
        fullest = np.max(
            [q.channels.bytes_per_s / (1000 * q.channels.window_bytes) for q in p.peaks], axis=0
        )
        share: Floats = fullest[channels] * round_trips_ms(p, a, b)
        return np.where((a != b) & p.channels.live[channels], share, 0.0)


def formulate(
    problem: Problem,
    objective: Sequence[ObjectiveName],
    *,
    soft_rates: bool = False,
    explicit: bool = False,
    form: CrossingForm | None = None,
    counted: bool = False,
    may: Bools | None = None,
    most: Mapping[ObjectiveName, float] | None = None,
    deadline: float = np.inf,
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
    counted
        Count subtasks that are alike instead of telling them apart, where that loses nothing.
    may
        Where each subtask may run, shape (n_subtasks, n_tms), where more is known of that than
        the rules say.
    most
        What some objectives need not exceed: all plans that are wanted stay within. It bounds
        their columns, which CP-SAT cuts into steps, and gives the unit of their rows.
    deadline
        Monotonic time at which to give up building.

    Raises
    ------
    OutOfTimeError
        If the model is not built by the deadline.
    """
    p = problem
    model = LinearModel()
    candidates = np.ones((p.n, p.m), bool) if explicit else p.candidates(soft_rates)
    if may is not None:
        candidates = candidates & may
    bounded = {k.facts.bounds for k in BOUNDS if k.bound(p.rules) is not None}
    bounded |= {k.facts.of_job for k in JOB_BOUNDS if k.bounds_of_jobs(p.rules)}
    with_latency = "latency" in {*objective, *bounded}
    with_moves = "moves" in {*objective, *bounded}
    apart = explicit or with_latency or with_moves or bool({"throughput", "wishes"} & {*objective})
    units = Units.alike(p, candidates) if counted and not apart else Units.single(p.n)
    running().afford(_PLACE_S * int(candidates[units.first].sum()), deadline)
    choices = PlacementColumns.add(model, units, candidates)
    sites = SiteExpressions(p, choices)
    form = form or (PairCrossings if p.network.tree is None else TreeCrossings)
    crossings = form(p, model, sites)
    most = most or {}
    rho, unit = None, 1.0
    if "throughput" in objective:
        largest = max(map(_largest_utilisation, p.peaks)) if soft_rates else 1.0
        if most.get("throughput", 0.0) > 0:
            largest = min(largest, most["throughput"])
        unit = power_of_two(largest)
        rho = model.column(Kind.REAL, largest / unit)
        model.objectives["throughput"] = Affine({rho: unit})
    slots(p, model, choices)
    for peak in p.peaks:
        cpu(peak, model, choices, rho, unit, explicit)
        space(peak, model, choices)
    pairs, pair_of, flow = _pairs(p, units, with_latency)
    crossed = crossings.crossed(*np.divmod(pairs, len(units.size)), deadline)
    if counted and isinstance(crossings, TreeCrossings):
        envelopes(p, model, choices, crossings)
    stored = _stored(p, model, choices)
    written = _written(p, choices, stored)
    running().afford(_CROSSING_S * len(crossed.value), deadline)
    model.objectives["wan"] = priced(
        p.network.price, model, choices, crossings, crossed, flow, written
    )
    for peak in p.peaks:
        least = _flow(units, pairs, pair_of, peak.channels.least_bytes_per_s)
        traffic = carried(p, crossed, least, _written(peak, choices, stored))
        _links(p, model, crossings, traffic, rho, unit)
    rules(p, model, choices, explicit)
    if with_moves:
        moves(p, model, choices)
    if "wishes" in objective:
        wishes(p, model, choices)
    if with_latency:
        horizon = horizon_ms(p)
        if p.rules.max_latency_ms is not None and not explicit:
            horizon = min(horizon, p.rules.max_latency_ms * (1 + HORIZON_ROOM))
        wanted = most.get("latency", 0.0)
        if wanted > 0:
            horizon = min(horizon, wanted)
        slowest = power_of_two(wanted) if wanted > 0 else 1.0
        latency(p, model, choices, crossings, crossed, pair_of, horizon, slowest)
    k = units.first[choices.unit]
    cores = np.where(
        p.tms.is_server[choices.tm], p.mean_cores[k, p.tms.node_class[choices.tm]], 0.0
    )
    model.objectives["server_cores"] = Affine.of(choices.column, cores)
    if "cost" in objective:
        links = (crossings, crossed, flow, written)
        most_cost = most.get("cost", np.inf)
        model.objectives["cost"] = cost(p, model, choices, *links, most_cost)
    bounds(p, model, rho, unit)
    return Formulation(p, model, choices, sites, rho, unit, crossings)


def _largest_utilisation(p: Problem) -> float:
    """Return a utilisation that no placement exceeds."""
    cores = p.work.cores.max(axis=1, initial=0.0).sum() / p.tms.node_cores.min(initial=np.inf)
    capacity = p.network.capacity_bytes_per_s.min(initial=np.inf)
    bytes_ = (p.channels.bytes_per_s.sum() + p.footprint.checkpoint_bytes_per_s.sum()) / capacity
    transfer = 1000 * p.cluster.buffer_bytes / p.network.bandwidth_bytes_per_s
    trip = 2 * p.network.delay_ms.sum() + transfer.sum()
    credit = (p.channels.bytes_per_s * trip / (1000 * p.channels.window_bytes)).max(initial=0.0)
    return float(1 + max(cores, bytes_, credit, p.work.busy.max(initial=0.0)))


def _pairs(p: Problem, units: Units, with_latency: bool) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of units that exchange bytes, the pair of each channel, and bytes/s.

    Channels of parallel streams between the same two subtasks share their crossings.
    """
    # On a tree every channel has a route: those without traffic do not matter.
    matters = (p.channels.bytes_per_s > 0) | (with_latency & p.channels.live)
    if p.network.tree is None:
        matters[:] = True
    a, b = units.of[p.channels.source], units.of[p.channels.target]
    pair = a * len(units.size) + b
    pairs, inverse = np.unique(pair[matters], return_inverse=True)
    pair_of = np.full(len(pair), -1, np.intp)
    pair_of[matters] = inverse
    return pairs, pair_of, _flow(units, pairs, pair_of, p.channels.bytes_per_s)


def _flow(units: Units, pairs: Ints, pair_of: Ints, each: Floats) -> Floats:
    """Return the bytes/s of pairs between one subtask of one unit and one of the other.

    Parameters
    ----------
    each
        Bytes/s of each channel, shape (n_channels,).
    """
    u, v = np.divmod(pairs, len(units.size))
    matters = pair_of >= 0
    total = np.bincount(pair_of[matters], weights=each[matters], minlength=len(pairs))
    flow: Floats = total / (units.size[u] * units.size[v])
    return flow


def _links(
    p: Problem,
    model: LinearModel,
    crossings: Crossings,
    traffic: tuple[Entries, Floats],
    rho: int | None,
    unit: float,
) -> None:
    """Traffic on each link, against its bandwidth.

    Parameters
    ----------
    traffic
        Bytes/s where full links delay the timers of flush laws; see `carried`.
    """
    (link, column, value), fixed = traffic
    room = p.network.capacity_bytes_per_s
    limited = np.isfinite(room)
    number = np.cumsum(limited) - 1
    kept = limited[link]
    load = crossings.expand(number[link[kept]], column[kept], (value / room[link])[kept])
    bound = -(fixed / room)[limited]
    if rho is None:
        bound += 1.0
    else:
        rows = np.arange(len(bound))
        load = (
            np.concatenate([load[0], rows]),
            np.concatenate([load[1], np.full(len(rows), rho)]),
            np.concatenate([load[2] / unit, -np.ones(len(rows))]),
        )
        bound /= unit
    model.all_at_most(*load, bound, LimitKind.LINK_BANDWIDTH, np.flatnonzero(limited))


def _stored(p: Problem, model: LinearModel, c: PlacementColumns) -> tuple[Ints, Ints]:
    """Return links from places of what writes checkpoints to their storage, and the places.

    Both have an entry for each link on the way of a place, given as its index in `c.column`.
    """
    i = np.flatnonzero(p.footprint.checkpoint_bytes_per_s[c.units.first[c.unit]])
    if p.storage_site is None or not len(i):
        none = np.zeros(0, np.intp)
        return none, none
    site, storage = p.tms.site[c.tm[i]], np.full(len(i), p.storage_site)
    lost = i[~p.network.joined_by_route(site, storage)]
    rows = np.arange(len(lost))
    model.all_at_most(
        rows,
        c.column[lost],
        np.ones(len(lost)),
        np.zeros(len(lost)),
        LimitKind.ROUTE,
        np.zeros(len(lost), np.intp),
    )
    steps = [(links, i[which]) for which, links in p.network.steps(site, storage)]
    link = np.concatenate([np.zeros(0, np.intp), *(links for links, _ in steps)])
    which = np.concatenate([np.zeros(0, np.intp), *(at for _, at in steps)])
    return link, which


def _written(p: Problem, c: PlacementColumns, stored: tuple[Ints, Ints]) -> Entries:
    """Return bytes/s of checkpoints on links, given what `_stored` found."""
    link, which = stored
    written = p.footprint.checkpoint_bytes_per_s[c.units.first[c.unit]]
    return link, c.column[which], written[which]
