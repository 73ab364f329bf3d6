"""Places and weights in one linear model: the formulation of `solve` with shares beside the places.

Of each source site's records a share is combined at each TaskManager: a column per pair. The
workers there bear it by their number, their threads and the node's cores, together with all else
that is placed. What a site's workers put out is a flow to each site of a consumer: a product of
shares and places, exact as a transport, since what leaves all sites and what a consumer gets are
known (its share of the keys). Workers of one TaskManager are alike, so their shares are.

Combiners put out the least that workers may put out for a record (`made_linear`), headers do not
count, a link has room for the records and partials of split operators alone (for what is left of
them where it delays the timers of flush laws), and limits on latency and moves are left out. So the
minimum is a bound of `wan` over all places and all weights. Its places are worth a try: `split`
finds the weights for them, and the evaluator judges both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgeplace.model import Cluster, JobGraph, Plan, Rules
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.formulation.formulation import Formulation, formulate
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.linear.model import Affine, Kind
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.splitting.operators import SplitOperator, made_linear
from edgeplace.solver.tolerances import NO_UNIT


def joint_places(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    current: Plan | None,
    ops: Sequence[SplitOperator],
    records_per_s: Mapping[SplitOperator, Mapping[str, float]],
    raw_bytes: Mapping[SplitOperator, float],
    seconds: float | None,
) -> tuple[float, Plan | None]:
    """Return a bound of `wan` over all places and weights, and the places found.

    The bound is infinite if there are no places.

    Parameters
    ----------
    jobs
        With even weights.
    records_per_s
        Of each source site of an operator.
    raw_bytes
        Least size of a record that its router sends.
    seconds
        For the search; its bound counts, proved or not.
    """
    # HiGHS loads when a split is asked for.
    from edgeplace.solver.linear.highs import Milp

    most = {op: sum(records_per_s[op].values()) for op in ops}
    linear = made_linear(jobs, ops, most)
    wide = cluster.model_copy(update={"mtu_bytes": None})
    kept = rules and rules.model_copy(
        update={"max_latency_ms": None, "max_moves": None, "jobs": ()}
    )
    p = build(linear, wide, kept, current)
    held = Traffic.of(made_linear(jobs, ops, most, delayed=True))
    bare, feeds = _without(p, Traffic.of(linear), held, jobs, ops)
    of_unit = formulate(bare, ["wan"], counted=True)
    if not all(_alike(of_unit, sent) for of_op in feeds for sent in of_op):
        of_unit = formulate(bare, ["wan"])
    model, goal = of_unit.model, Affine().add(of_unit.model.objectives["wan"])
    cores = [Affine() for _ in p.tms.node_cores]
    x, k = of_unit.choices, of_unit.choices.units.first[of_unit.choices.unit]
    for column, node, each in zip(
        x.column.tolist(),
        p.tms.node[x.tm].tolist(),
        bare.work.cores[k, p.tms.node_class[x.tm]].tolist(),
        strict=True,
    ):
        cores[node].add_term(column, each)
    links = [Affine() for _ in p.network.price]
    for op, (taken, least) in zip(ops, feeds, strict=True):
        shares = _Shares(of_unit, p, jobs[op.job].name, op, records_per_s[op], cores)
        own = np.isin(held.target, p.subtasks.of(op.id, jobs[op.job].name))
        share = float(held.held_back[own].min(initial=1.0))
        _send_raw(shares, raw_bytes[op], share, goal, links)
        _send_partials(shares, taken, {c: share * v for c, v in least.items()}, goal, links)
    rooms = zip([*cores, *links], [*p.tms.node_cores, *p.network.capacity_bytes_per_s], strict=True)
    for used, room in rooms:
        if used.terms and np.isfinite(room):
            unit = float(room) if room > 0 else 1.0
            model.at_most(Affine().add(used, 1 / unit), float(room) / unit)
    unit = max((abs(v) for v in goal.terms.values()), default=0.0) or NO_UNIT
    answer = Milp(model).minimise(
        Affine().add(goal, 1 / unit), seconds=seconds, gap=0.0, start=None
    )
    if answer.outcome is Outcome.INFEASIBLE:
        return np.inf, None
    bound = max(unit * answer.bound, 0.0) if np.isfinite(answer.bound) else 0.0
    if answer.values is None:
        return bound, None
    return bound, p.plan(of_unit.assignment(answer.values))


def _without(
    p: Problem,
    traffic: Traffic,
    held: Traffic,
    jobs: Sequence[JobGraph],
    ops: Sequence[SplitOperator],
) -> tuple[Problem, list[tuple[dict[int, float], dict[int, float]]]]:
    """Return the problem without what depends on weights, and what each consumer is sent.

    Parameters
    ----------
    held
        The traffic where full links delay the timers of flush laws.

    Returns
    -------
    For each operator: consumer subtask -> bytes that it gets for each record of the operator; and
    what is left of them where timers are delayed.
    """
    cores, busy = p.work.cores.copy(), p.work.busy.copy()
    carried = p.channels.bytes_per_s.copy()
    feeds: list[tuple[dict[int, float], dict[int, float]]] = []
    for op in ops:
        own = p.subtasks.of(op.id, jobs[op.job].name)
        cores[own], busy[own] = 0.0, 0.0
        carried[np.isin(p.channels.source, own) | np.isin(p.channels.target, own)] = 0.0
        feeds.append((_fed(traffic, own), _fed(held, own)))
    bare = replace(
        p,
        work=replace(p.work, cores=cores, busy=busy),
        channels=replace(
            p.channels,
            bytes_per_s=carried,
            least_bytes_per_s=np.minimum(Channels.of(held, p.cluster).least_bytes_per_s, carried),
        ),
    )
    return bare, feeds


def _fed(traffic: Traffic, workers: Ints) -> dict[int, float]:
    """Return the bytes that each consumer gets for each record of some workers."""
    records = float(traffic.rate_per_s[workers].sum())
    sent = np.isin(traffic.source, workers)
    bytes_per_s = np.bincount(traffic.target[sent], weights=traffic.bytes_per_s[sent])
    to = np.flatnonzero(bytes_per_s).tolist()
    return {c: float(bytes_per_s[c]) / records for c in to} if records > 0 else {}


def _alike(of_unit: Formulation, taken: Mapping[int, float]) -> bool:
    """Return whether consumers that are counted together get as much each."""
    units = of_unit.choices.units
    return all(
        len({round(taken.get(int(k), 0.0), 12) for k in units.members(u)}) == 1
        for u in {int(units.of[c]) for c in taken}
        if units.size[u] > 1
    )


class _Shares:
    """Columns of one operator: the share of each source site at each TaskManager."""

    def __init__(
        self,
        of_unit: Formulation,
        p: Problem,
        job: str,
        op: SplitOperator,
        records_per_s: Mapping[str, float],
        cores: list[Affine],
    ) -> None:
        self.of_unit, self.p = of_unit, p
        ids = [s.id for s in p.cluster.sites]
        self.sources = np.array([ids.index(s) for s in records_per_s])
        self.rates = np.array(list(records_per_s.values()))
        model, choices = of_unit.model, of_unit.choices
        own = p.subtasks.of(op.id, job)
        workers = [
            choices.x[u][choices.x[u] >= 0] for u in np.unique(choices.units.of[own]).tolist()
        ]
        tm_of = dict(zip(choices.column.tolist(), choices.tm.tolist(), strict=True))
        at: list[list[int]] = [[] for _ in range(p.m)]
        for column in np.concatenate(workers).tolist():
            at[tm_of[column]].append(column)
        k = int(own[np.argmax(p.work.rate_per_s[own])])
        rate = float(p.work.rate_per_s[k])
        busy, each = p.work.busy[k, p.tms.node_class], p.work.cores[k, p.tms.node_class]
        used = np.array([bool(columns) for columns in at])
        there = p.network.joined_by_route(
            np.repeat(self.sources, p.m), np.tile(p.tms.site, len(self.sources))
        ).reshape(-1, p.m)
        self.columns = model.columns(Kind.REAL, (there & used).ravel().astype(float)).reshape(
            there.shape
        )
        for row in self.columns:
            model.equal(Affine(dict.fromkeys(row.tolist(), 1.0)), 1.0)
        for t in np.flatnonzero(used).tolist():
            number = Affine(dict.fromkeys(at[t], -1.0))
            # What a site's share is, and what the threads bear, are at most the workers there.
            for column in self.columns[:, t].tolist():
                model.at_most(Affine().add(number).add_term(column, 1.0), 0.0)
            if rate > 0:
                by_thread = Affine.of(self.columns[:, t], self.rates / rate * busy[t])
                model.at_most(by_thread.add(number), 0.0)
                cores[int(p.tms.node[t])].add(
                    Affine.of(self.columns[:, t], self.rates / rate * each[t])
                )

    def at_site(self, site: int) -> Affine:
        """Return the records/s that the workers of a site get."""
        found = Affine()
        for t in np.flatnonzero(self.p.tms.site == site).tolist():
            found.add(Affine.of(self.columns[:, t], self.rates))
        return found


def _send_raw(shares: _Shares, size: float, held: float, goal: Affine, links: list[Affine]) -> None:
    p = shares.p
    for i, s in enumerate(shares.sources.tolist()):
        a = np.full(p.m, s)
        sent = np.where(p.network.joined_by_route(a, p.tms.site), size * shares.rates[i], 0.0)
        _send(p, shares.columns[i], a, p.tms.site, sent, held * sent, goal, links)


def _send_partials(
    shares: _Shares,
    taken: Mapping[int, float],
    least: Mapping[int, float],
    goal: Affine,
    links: list[Affine],
) -> None:
    """Add the flow from the workers of each site to each site of each consumer, in shares.

    Parameters
    ----------
    taken, least
        Bytes that a consumer gets for a record, and what a link must have room for of them.
    """
    p, of_unit = shares.p, shares.of_unit
    model, units, x = of_unit.model, of_unit.choices.units, of_unit.choices.x
    total = float(shares.rates.sum())
    sites = np.unique(p.tms.site)
    if total == 0:
        return
    # As shares of all records: so rows have numbers around 1.
    made = [Affine().add(shares.at_site(a), 1 / total) for a in sites.tolist()]
    from_, to = np.repeat(sites, len(sites)), np.tile(sites, len(sites))
    joined = p.network.joined_by_route(from_, to)
    for u in sorted({int(units.of[c]) for c in taken}):
        size, room = (
            total * sum(of.get(c, 0.0) for c in units.members(u).tolist()) for of in (taken, least)
        )
        flow = model.columns(Kind.REAL, joined.astype(float))
        for i, out in enumerate(made):
            leaving = Affine(dict.fromkeys(flow[from_ == sites[i]].tolist(), 1.0))
            model.equal(leaving.add(out, -1.0), 0.0)
        for b in sites.tolist():
            here = x[u][(x[u] >= 0) & (p.tms.site == b)]
            arriving = Affine(dict.fromkeys(flow[to == b].tolist(), 1.0))
            part = 1 / float(units.size[u])
            model.equal(arriving.add(Affine(dict.fromkeys(here.tolist(), -part))), 0.0)
        sent = joined.astype(float)
        _send(p, flow, from_, to, size * sent, room * sent, goal, links)


def _send(
    p: Problem,
    columns: Ints,
    a: Ints,
    b: Ints,
    bytes_of_one: Floats,
    least_of_one: Floats,
    goal: Affine,
    links: list[Affine],
) -> None:
    """Add what a unit of each column sends from a site to another to `wan`, the least to links."""
    used = np.flatnonzero(bytes_of_one)
    for which, at in p.network.steps(a[used], b[used]):
        for i, link in zip(used[which].tolist(), at.tolist(), strict=True):
            links[link].add_term(int(columns[i]), float(least_of_one[i]))
            price = float(p.network.price[link])
            goal.add_term(int(columns[i]), price * float(bytes_of_one[i]))
