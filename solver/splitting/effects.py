"""The effect of each weight on links, cores and task threads, with all subtasks in their places.

A weight w_sj is the share of the records of source site s that worker j gets. Behind the workers
jobs are proportional to their input (`made_linear`), so every amount is affine in the weights: its
value if the workers put out nothing, and what each worker adds with its share of the records. What
a worker puts out for a record falls with its rate, so it counts as at the highest rate that the
worker bears. So do the bytes on the wire that a record takes, on each channel. So no weights use
less than this.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import JobGraph
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.problem import with_jobs
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.wire import on_wire
from edgeplace.solver.splitting.operators import (
    SplitOperator,
    even_rows,
    made_linear,
    with_rows,
)


@dataclass(frozen=True)
class Amounts:
    """Amounts that are affine in the weights: ``constant + of_weight @ w``.

    Attributes
    ----------
    constant
        Shape (n_amounts,).
    of_weight
        Shape (n_amounts, n_weights).
    """

    constant: Floats
    of_weight: Floats


@dataclass(frozen=True)
class Effects:
    """The weights as columns, and what depends on them.

    Attributes
    ----------
    operator, site, worker
        Of each weight: index among the split operators, source site, subtask of the operator;
        shape (n_weights,).
    joined
        Whether a route leads from the site to the worker, shape (n_weights,).
    links, least_links
        Bytes/s of each link, and what is left of them where full links delay the timers of flush
        laws: what they must have room for.
    cores, busy
        Cores of each node, busy share of each subtask.
    """

    operator: Ints
    site: Ints
    worker: Ints
    joined: Bools
    links: Amounts
    least_links: Amounts
    cores: Amounts
    busy: Amounts


def effects(
    problem: Problem,
    jobs: Sequence[JobGraph],
    ops: Sequence[SplitOperator],
    assignment: Ints,
    checkpoint_bytes: Floats,
    most_per_s: Floats,
) -> Effects:
    """Return the effects of the weights.

    Parameters
    ----------
    assignment
        TaskManager of each subtask, shape (n_subtasks,).
    checkpoint_bytes
        Bytes/s of checkpoints on each link, shape (n_links,).
    most_per_s
        Records/s that each subtask may get at most, shape (n_subtasks,).
    """
    p = with_jobs(problem, with_rows(jobs, even_rows(ops)))
    site = p.tms.site[assignment]
    workers = [p.subtasks.of(op.id, jobs[op.job].name) for op in ops]
    flows = _Flows.of(jobs, ops, workers, most_per_s, delayed=False)
    columns = [
        (o, s, j)
        for o, own in enumerate(workers)
        for s in np.unique(site[flows.base.source[flows.raw_of == o]]).tolist()
        for j in range(len(own))
    ]
    links, part = _on_links(p, site, flows, workers, columns, most_per_s)
    least = links
    if any(s.cost and s.cost.flush_law for job in jobs for s in job.streams):
        held = _Flows.of(jobs, ops, workers, most_per_s, delayed=True)
        least, _ = _on_links(p, site, held, workers, columns, most_per_s)
    of_weight = np.stack(
        [
            each * (flows.probes[o][j].rate_per_s - flows.base.rate_per_s)
            for (o, _, j), each in zip(columns, part.tolist(), strict=True)
        ],
        axis=1,
    )
    operator, of_site, worker_of = (np.array(v, np.intp) for v in zip(*columns, strict=True))
    there = np.array([site[workers[o][j]] for o, _, j in columns])
    node_class = p.tms.node_class[assignment]
    k = np.arange(p.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        used, rate = p.work.rate_per_s > 0, p.work.rate_per_s
        cores_each = np.where(used, p.work.cores[k, node_class] / rate, 0.0)
        busy_each = np.where(used, p.work.busy[k, node_class] / rate, 0.0)
    nodes = np.zeros((len(p.tms.node_cores), p.n))
    nodes[p.tms.node[assignment], k] = cores_each
    rate_per_s = flows.base.rate_per_s
    return Effects(
        operator=operator,
        site=of_site,
        worker=worker_of,
        joined=p.network.joined_by_route(of_site, there),
        links=Amounts(links.constant + checkpoint_bytes, links.of_weight),
        least_links=Amounts(least.constant + checkpoint_bytes, least.of_weight),
        cores=Amounts(nodes @ rate_per_s, nodes @ of_weight),
        busy=Amounts(busy_each * rate_per_s, busy_each[:, None] * of_weight),
    )


@dataclass(frozen=True)
class _Flows:
    """The traffic if the workers put out nothing, and if one worker gets all records.

    Attributes
    ----------
    raw_of
        Split operator that each channel feeds, -1 for the rest; shape (n_channels,).
    probes
        Of each worker of each operator.
    delayed
        Whether full links delay the timers of flush laws.
    """

    base: Traffic
    raw_of: Ints
    probes: list[list[Traffic]]
    delayed: bool

    @classmethod
    def of(
        cls,
        jobs: Sequence[JobGraph],
        ops: Sequence[SplitOperator],
        workers: Sequence[Ints],
        most_per_s: Floats,
        delayed: bool,
    ) -> "_Flows":
        rows = even_rows(ops)
        base = Traffic.of(with_rows(made_linear(jobs, ops, {}, delayed), rows))
        raw_of = np.full(len(base.source), -1)
        for o, own in enumerate(workers):
            # Only the router feeds it.
            raw_of[np.isin(base.target, own)] = o
        probes = [
            [
                Traffic.of(
                    with_rows(
                        made_linear(jobs, ops, {op: float(most_per_s[worker])}, delayed),
                        rows | {op: np.eye(op.parallelism)[j]},
                    )
                )
                for j, worker in enumerate(own.tolist())
            ]
            for op, own in zip(ops, workers, strict=True)
        ]
        return cls(base, raw_of, probes, delayed)

    def records_per_s(self, traffic: Traffic) -> Floats:
        return traffic.records_per_s * (traffic.held_back if self.delayed else 1.0)


def _on_links(
    p: Problem,
    site: Ints,
    flows: _Flows,
    workers: Sequence[Ints],
    columns: Sequence[tuple[int, int, int]],
    most_per_s: Floats,
) -> tuple[Amounts, Floats]:
    """Return bytes/s on each link, without checkpoints, and what sites have of the records.

    Returns
    -------
    The share of each weight's site of all records of its operator has the shape (n_weights,).
    """
    base, raw_of = flows.base, flows.raw_of
    rest, records = raw_of < 0, flows.records_per_s(base)
    more = [[flows.records_per_s(t) - records for t in each] for each in flows.probes]
    # Each channel at its highest rate.
    all_of_it = records * np.array([len(w) for w in workers])[raw_of]
    highest = np.where(rest, records, np.minimum(all_of_it, most_per_s[base.target]))
    for each in more:
        highest[rest] += np.maximum(np.max(each, axis=0), 0.0)[rest]
    forth, back = _bytes_of_a_record(p, base, highest)

    def loads(records: Floats) -> Floats:
        return _loads(p, base, site, records, forth, back)

    behind = [[loads(np.where(rest, m, 0.0)) for m in each] for each in more]
    on_links: list[Floats] = []
    parts: list[float] = []
    for o, s, j in columns:
        here = (raw_of == o) & (site[base.source] == s)
        # Each producer has a channel to each worker.
        total = float(all_of_it[raw_of == o].sum())
        parts.append(float(all_of_it[here].sum()) / total if total > 0 else 0.0)
        raw = loads(np.where(here & (base.target == workers[o][j]), all_of_it, 0.0))
        on_links.append(parts[-1] * behind[o][j] + raw)
    constant = loads(np.where(rest, records, 0.0))
    return Amounts(constant, np.stack(on_links, axis=1)), np.array(parts)


def _bytes_of_a_record(p: Problem, base: Traffic, highest: Floats) -> tuple[Floats, Floats]:
    """Return the bytes on the wire of a record on each channel, forth and back, at these rates."""
    wire = on_wire(
        highest * base.record_bytes,
        highest,
        base.watermarks_per_s,
        base.timeout_ms,
        base.flushes_per_s,
        p.cluster.buffer_bytes,
        p.cluster.mtu_bytes,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        forth = np.where(highest > 0, wire.forward / highest, 0.0)
        back = np.where(highest > 0, wire.back / highest, 0.0)
    return forth, back


def _loads(
    p: Problem, base: Traffic, site: Ints, records: Floats, forth: Floats, back: Floats
) -> Floats:
    """Return bytes/s on each link of records/s on channels; they may be negative."""
    total = np.zeros(len(p.network.price))
    used = np.flatnonzero((records != 0) & (site[base.source] != site[base.target]))
    a, b = site[base.source[used]], site[base.target[used]]
    for start, end, each in ((a, b, forth), (b, a, back)):
        for which, links in p.network.steps(start, end):
            np.add.at(total, links, (records * each)[used[which]])
    return total
