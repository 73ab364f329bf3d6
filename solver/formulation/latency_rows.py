"""The longest path as rows of a linear model."""

import numpy as np

from edgeplace.model import LimitKind
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.formulation.crossings import Crossed, Crossings
from edgeplace.solver.formulation.placement_columns import PlacementColumns
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, merged
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.credit_windows import waits_ms


def latency(
    p: Problem,
    model: LinearModel,
    c: PlacementColumns,
    crossings: Crossings,
    crossed: Crossed,
    pair_of: Ints,
    horizon: float,
    unit: float,
) -> None:
    """State potentials along channels with traffic: O(channels) rows instead of paths.

    Parameters
    ----------
    pair_of
        Pair in `crossed` of each channel, shape (n_channels,). Subtasks are told apart here.
    horizon
        A latency that no path exceeds, ms.
    unit
        What one unit of a column stands for, ms: about as much as plans come to, so that a solver's
        absolute tolerance is a relative one.
    """
    worst = model.column(Kind.REAL, horizon / unit)
    model.objectives["latency"] = Affine({worst: unit})
    for own in p.demands:
        _potentials(own, model, c, crossings, crossed, pair_of, horizon / unit, unit, worst)


def _potentials(
    p: Problem,
    model: LinearModel,
    c: PlacementColumns,
    crossings: Crossings,
    crossed: Crossed,
    pair_of: Ints,
    horizon: float,
    unit: float,
    worst: int,
) -> None:
    """State the potentials at the rates of a problem, each at most the column `worst`.

    Those of a job with a limit of its own are at most this limit, too.
    """
    # What alone takes longer is ruled out as well by this, which is no large number.
    longest = 2 * horizon
    net = p.network
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    live = np.flatnonzero(p.channels.live)
    source, target = p.channels.source[live], p.channels.target[live]
    service = np.minimum(p.work.service_ms[c.unit, p.tms.node_class[c.tm]] / unit, longest)
    done = model.columns(Kind.REAL, np.full(p.n, horizon))
    ended = done
    if p.channels.spread_ms.any():
        # Paths to a subtask before, and after, they had their longest exchange.
        ended = model.columns(Kind.REAL, np.full(p.n, horizon))
    layers = (done,) if ended is done else (done, ended)

    first = np.setdiff1d(np.arange(p.n), target)
    number = np.full(p.n, -1, np.intp)
    number[first] = np.arange(len(first))
    own = number[c.unit] >= 0
    for layer in layers:
        model.all_at_most(
            np.concatenate([number[c.unit[own]], np.arange(len(first))]),
            np.concatenate([c.column[own], layer[first]]),
            np.concatenate([service[own], -np.ones(len(first))]),
            np.zeros(len(first)),
        )
    last = np.setdiff1d(np.arange(p.n), source)
    row = np.arange(len(last))
    model.all_at_most(
        np.concatenate([row, row]),
        np.concatenate([ended[last], np.full(len(last), worst)]),
        np.concatenate([np.ones(len(last)), -np.ones(len(last))]),
        np.zeros(len(last)),
    )

    kind = LimitKind.JOB_LATENCY
    most = kind.bounds_of_jobs(p.rules)
    for i, (job, limit) in enumerate(zip(p.subtasks.job_numbers(most), most.values(), strict=True)):
        for end in ended[last[p.subtasks.job_of[last] == job]].tolist():
            model.at_most(Affine({end: 1.0}), limit / unit, (kind, i))

    def on_link(at: Ints, link: Ints) -> Floats:
        """Return how long channels take over links, in units."""
        ms = net.delay_ms[link] + p.channels.buffer_bytes[live[at]] * per_byte_ms[link]
        ms += waits_ms(p, live[at], link)
        return np.minimum(ms / unit, longest)

    row = np.arange(len(live))
    # Crossings of a link are differences of terms, so all of them take the same, shortened or not.
    at, which = _repeated(crossed.pair, pair_of[live])
    value = crossed.value[which] * on_link(at, crossed.link[which])
    way = crossings.expand(*merged(at, crossed.column[which], value))
    served, of = _repeated(c.unit, target)
    at, which = _repeated(crossed.fixed_pair, pair_of[live])
    still = crossed.fixed[which] * on_link(at, crossed.fixed_link[which])
    fixed = np.bincount(at, weights=still, minlength=len(live))
    steps = [(layer, layer, np.zeros(len(live))) for layer in layers]
    if ended is not done:
        steps.append((done, ended, p.channels.spread_ms[live]))
    for before, after, spread in steps:
        model.all_at_most(
            np.concatenate([way[0], served, row, row]),
            np.concatenate([way[1], c.column[of], before[source], after[target]]),
            np.concatenate([way[2], service[of], np.ones(len(live)), -np.ones(len(live))]),
            -(p.channels.exchange_ms[live] + spread) / unit - fixed,
        )


def _repeated(of: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return (place, index in `of` of its value) for each place in `wanted`."""
    order = np.argsort(of, kind="stable")
    begin = np.searchsorted(of[order], wanted)
    count = np.searchsorted(of[order], wanted, side="right") - begin
    place = np.repeat(np.arange(len(wanted)), count)
    start = np.repeat(begin - np.cumsum(count) + count, count)
    return place, order[start + np.arange(len(place))]


def horizon_ms(p: Problem) -> float:
    """Return a latency that no path exceeds: every stage at its worst."""
    if p.day:
        return max(map(horizon_ms, p.demands))
    net = p.network
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    worst = np.zeros(len(p.subtasks.operators))
    np.maximum.at(worst, p.subtasks.operator_of, p.work.service_ms.max(axis=1, initial=0.0))
    # A buffer waits for two round trips at most; see `waits_ms`.
    trips = np.maximum(net.turn_ms, 0) + p.cluster.buffer_bytes * per_byte_ms
    longest = float((net.delay_ms + 2 * trips).sum())
    longest += float(p.channels.buffer_bytes.max(initial=0.0) * per_byte_ms.sum())
    exchange = float((p.channels.exchange_ms + p.channels.spread_ms).max(initial=0.0))
    return 1.0 + float(worst.sum()) + len(worst) * (exchange + longest)
