"""One problem that bounds all vectors of a box from below; docs/formulation.md has the argument.

Of a plan with n subtasks of an operator, m are drawn, each with a probability in proportion to its
share of the records. What is drawn is a plan of the relaxed problem, in which each of the m
subtasks uses of every limit what the least of any n uses, and carries 1/m of the records. Its bytes
over links, and its cores where only the objective counts them, are at most those of the plan on
average, so some draw has no more. All else holds for every draw.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from edgeplace.model import (
    AMOUNTS,
    Case,
    Cluster,
    JobGraph,
    LimitKind,
    OwnData,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    StayOnSite,
    Stream,
    StreamCost,
)
from edgeplace.model.what_if.parallelism import meant
from edgeplace.solver.arrays import Bools, Floats
from edgeplace.solver.parallelism.choice import Member
from edgeplace.solver.parallelism.splits import Splits
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.buffering import held_ms
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.footprint import Footprint
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.wire import checkpoint_on_wire
from edgeplace.solver.problem.work import Work
from edgeplace.solver.tolerances import CANCELLATION, ROUNDING

Box = tuple[tuple[int, ...], ...]
"""The parallelisms of each group, ascending."""
_ROUNDING = 1 - ROUNDING
"""Factor on what is a quotient of sums: the bound is a bound in spite of rounding."""


@dataclass(frozen=True)
class Relaxed:
    """A problem that bounds all vectors of a box.

    Attributes
    ----------
    problem
        Its optimum bounds each term, but for `server_cores` and `cost`.
    for_cores
        The same without limits of cores, in which subtasks have all of theirs: it bounds
        `server_cores` and `cost`.
    moves
        Of its moves, those of subtasks that stand for others: they count nothing.
    drawn
        Subtasks that stand for others, shape (n_subtasks,).
    rarest
        Least probability with which a subtask is drawn.
    heaviest_ms
        Service time of the busiest subtask of each operator that is drawn, of each subtask of the
        others, shape (n_subtasks, n_classes).
    """

    problem: Problem
    for_cores: Problem
    moves: int
    drawn: Bools
    rarest: float
    heaviest_ms: Floats


@dataclass(frozen=True)
class _Drawn:
    """Bounds for the subtasks drawn of the groups, for all vectors of a box.

    Attributes
    ----------
    count
        m of each group.
    load
        Operator -> factor on what its drawn subtask uses of a thread and a node.
    own
        Operator -> factor on its cores in the objective, and on what it sends.
    heaviest
        Operator -> as `load`, of its busiest subtask.
    """

    count: tuple[int, ...]
    load: dict[Member, float]
    own: dict[Member, float]
    heaviest: dict[Member, float]

    @classmethod
    def of(cls, splits: Splits, box: Box, one: bool) -> Self:
        """Draw as many as any vector of the box has enough for, or one of each operator."""
        active = set(splits.free.values())
        count = tuple(
            max(1, min(int(1 / splits.at(g, n).top * (1 + CANCELLATION)) for n in ns))
            if g in active
            else 0
            for g, ns in enumerate(box)
        )
        if one:
            count = tuple(min(m, 1) for m in count)
        load = dict.fromkeys(splits.odd, 0.0)
        own = dict.fromkeys(splits.odd, 0.0)
        heaviest = {}
        for m, g in splits.free.items():
            each = [splits.at(g, n) for n in box[g]]
            own[m] = min(s.of[m] for s in each) * _ROUNDING
            load[m] = min(s.of[m] * s.least for s in each) * count[g] * _ROUNDING
            heaviest[m] = min(s.of[m] * s.heaviest for s in each) * count[g] * _ROUNDING
        return cls(count, load, own, heaviest)


def relaxed(case: Case, splits: Splits, box: Box, one: bool = False) -> Relaxed:
    """Return the problem that bounds all vectors of a box.

    Parameters
    ----------
    one
        Draw one subtask of each operator: a far smaller problem that says less of capacities.
    """
    drawn = _Drawn.of(splits, box, one)
    cluster, count = case.cluster, drawn.count
    swollen = {j.name for j in case.jobs if swells(j, splits)}
    few = [_job(j, splits, count, j.name in swollen) for j in case.jobs]
    rules = _rules(case.jobs, case.rules or Rules(), splits, count)
    whole = build(few, cluster, rules, _plan(case.current, splits))
    problem = dataclasses.replace(
        whole,
        work=_work(whole, drawn.load),
        footprint=_footprint(whole, cluster, splits, box, drawn),
        channels=_channels(few, whole, splits, box, drawn, swollen),
        network=dataclasses.replace(
            whole.network,
            capacity_bytes_per_s=np.full_like(whole.network.capacity_bytes_per_s, np.inf),
            # What is beyond a volume is convex in the bytes: on average draws may have more of it.
            volumes=tuple(
                dataclasses.replace(v, bytes_per_s=np.inf) for v in whole.network.volumes
            ),
        ),
    )
    moves = 0 if case.current is None else sum(count[g] for g in splits.free.values())
    members = [(job, op.id) in splits.free for job, op in problem.subtasks.operators]
    active = set(splits.free.values())
    rarest = min((splits.at(g, n).least * count[g] for g in active for n in box[g]), default=1.0)
    return Relaxed(
        problem,
        _for_cores(problem, whole.work.cores * _by_subtask(whole, drawn.own)[:, None]),
        moves,
        np.array(members)[problem.subtasks.operator_of],
        rarest,
        _work(whole, {**drawn.load, **drawn.heaviest}).service_ms,
    )


def _for_cores(problem: Problem, cores: Floats) -> Problem:
    """Return the problem without limits of cores, with what subtasks take of them."""
    unlimited = np.full_like(problem.tms.node_cores, np.inf)
    return dataclasses.replace(
        problem,
        work=dataclasses.replace(problem.work, cores=cores),
        tms=dataclasses.replace(problem.tms, node_cores=unlimited),
    )


def swells(job: JobGraph, splits: Splits) -> bool:
    """Return whether the records of a job depend on its parallelism."""
    free = {op for name, op in splits.free if name == job.name}
    return any(
        (s.ship_strategy is ShipStrategy.BROADCAST and s.target in free)
        or (
            s.cost is not None
            and s.cost.by_rate
            and (s.source in free or (job.name, s.source) in splits.odd)
        )
        for s in job.streams
    )


def _least_selectivity(cost: StreamCost) -> float:
    """Return a selectivity that a stream measured at several rates has at no rate less than."""
    law = cost.flush_law
    if law is None:
        return min(at.selectivity for at in cost.by_rate)
    least = law.least_selectivity()
    return least * min(at.selectivity / law.selectivity(at.rate_per_s) for at in cost.by_rate)


def _job(job: JobGraph, splits: Splits, count: Sequence[int], swells: bool) -> JobGraph:
    """Return a job with only the subtasks drawn, among which records divide evenly."""

    def stream(s: Stream) -> Stream:
        if s.cost is None:
            return s
        update: dict[str, object] = {}
        if (job.name, s.target) in splits.free:
            update["shares"] = None
        if swells and s.cost.by_rate:
            update["by_rate"] = ()
            update["flush_law"] = None
            update["selectivity"] = _least_selectivity(s.cost)
            update["bytes_per_record"] = min(at.bytes_per_record for at in s.cost.by_rate)
        return s.model_copy(update={"cost": s.cost.model_copy(update=update)})

    operators = []
    for op in job.operators:
        g = splits.free.get((job.name, op.id))
        if g is not None:
            few = {"parallelism": count[g], "max_parallelism": count[g]}
            op = op.model_copy(update=few)
        if op.cost and op.cost.state_law:
            # It is about the records of all subtasks, and these are fewer.
            op = op.model_copy(update={"cost": op.cost.model_copy(update={"state_law": None})})
        operators.append(op)
    streams = tuple(map(stream, job.streams))
    return job.model_copy(update={"operators": tuple(operators), "streams": streams})


def _rules(jobs: Sequence[JobGraph], rules: Rules, splits: Splits, count: Sequence[int]) -> Rules:
    """Return the rules that every draw keeps."""
    loose = {(name, by_index(jobs, name, i).target) for name, i in splits.loose}
    kept = []
    for rule in rules.rules:
        without: set[Member] = set()
        if isinstance(rule, Pin) and rule.subtasks:
            without = set(splits.free)
        elif isinstance(rule, StayOnSite):
            without = loose
        elif isinstance(rule, OwnData) and splits.free:
            # What is upstream of a subtask may change with any of the numbers.
            without = {(j.name, op.id) for j, op in meant(jobs, rule)}
        left = [(j, op) for j, op in meant(jobs, rule) if (j.name, op.id) not in without]
        if len(left) == len(meant(jobs, rule)):
            kept.append(rule)
        else:
            kept += [
                rule.model_copy(update={"operators": (op.id,), "job": j.name}) for j, op in left
            ]
    most = rules.max_moves
    if most is not None:
        most += sum(count[g] for g in splits.free.values())
    required = tuple(
        own
        if own.max_moves is None
        else own.model_copy(
            update={
                "max_moves": own.max_moves
                + sum(count[g] for (job, _), g in splits.free.items() if job == own.job)
            }
        )
        for own in rules.jobs
    )
    return rules.model_copy(update={"rules": tuple(kept), "max_moves": most, "jobs": required})


def by_index(jobs: Sequence[JobGraph], name: str, i: int) -> Stream:
    """Return a stream of a job."""
    return next(j for j in jobs if j.name == name).streams[i]


def _plan(current: Plan | None, splits: Splits) -> Plan | None:
    """Return where subtasks run now, without those that are drawn."""
    if current is None:
        return None
    kept = {
        job: {op: tms for op, tms in own.items() if (job, op) not in splits.free}
        for job, own in current.jobs.items()
    }
    return current.model_copy(update={"jobs": kept})


def _by_subtask(problem: Problem, factor: dict[Member, float]) -> Floats:
    each = [factor.get((job, op.id), 1.0) for job, op in problem.subtasks.operators]
    of_subtask: Floats = np.array(each)[problem.subtasks.operator_of]
    return of_subtask


def _work(problem: Problem, load: dict[Member, float]) -> Work:
    work, factor = problem.work, _by_subtask(problem, load)
    rate = work.rate_per_s[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        busy_s = np.where(rate > 0, work.busy / rate, 0.0)
        cpu_s = np.where(rate > 0, work.cores / rate, 0.0)
    return Work.of(work.rate_per_s * factor, busy_s, cpu_s)


def _footprint(
    problem: Problem, cluster: Cluster, splits: Splits, box: Box, drawn: _Drawn
) -> Footprint:
    """Return what subtasks keep at least, and what they write on average at least."""
    subtasks, footprint = problem.subtasks, problem.footprint
    takes, written = footprint.takes.copy(), footprint.checkpoint_bytes_per_s.copy()
    state = footprint.state_bytes.copy()
    jobs = {j.name: j for j in subtasks.jobs}
    for o, (name, op) in enumerate(subtasks.operators):
        g = splits.free.get((name, op.id))
        if g is None or op.cost is None:
            continue
        own, job = subtasks.range_of(o), jobs[name]
        keeper = AMOUNTS.index(LimitKind.MEMORY if job.state_backend == "heap" else LimitKind.DISK)
        stated = AMOUNTS[keeper].facts.takes
        # As `Footprint.of` has it, to the last bit.
        state[own] = (op.cost.state_bytes or 0.0) / max(box[g])
        takes[own, keeper] = (getattr(op, stated) if stated else 0) + state[own]
        if job.checkpoint_interval_ms:
            least = min(
                checkpoint_on_wire(
                    (op.cost.checkpointed_bytes or 0.0) / n, False, cluster.mtu_bytes
                )
                / splits.at(g, n).heaviest
                for n in box[g]
            )
            seconds = job.checkpoint_interval_ms / 1000
            written[own] = least / drawn.count[g] / seconds * _ROUNDING
    return Footprint(takes, state, written)


def _channels(
    jobs: Sequence[JobGraph],
    problem: Problem,
    splits: Splits,
    box: Box,
    drawn: _Drawn,
    swollen: set[str],
) -> Channels:
    """Return the channels between subtasks drawn: what each carries and how long it waits at
    least.
    """
    channels, cluster = problem.channels, problem.cluster
    operators = [(job, op.id) for job, op in problem.subtasks.operators]
    a = problem.subtasks.operator_of[channels.source]
    stream = channels.stream.copy()
    answers = np.arange(len(stream)) >= channels.n_feeding
    stream[answers] -= channels.stream[: channels.n_feeding].max(initial=0) + 1
    a[answers] = problem.subtasks.operator_of[channels.target[answers]]
    job_of = {j.name: i for i, j in enumerate(jobs)}
    widest = max((len(j.streams) for j in jobs), default=0) + 1
    key = np.array([job_of[job] for job, _ in operators], np.intp)[a] * widest + stream
    n = len(jobs) * widest
    carried, least = np.ones(n), np.ones(n)
    dropped, near, odd = (np.zeros(n, bool) for _ in range(3))
    for j, job in enumerate(jobs):
        for i, s in enumerate(job.streams):
            at = j * widest + i
            source, target = (job.name, s.source), (job.name, s.target)
            out, into = drawn.own.get(source, 1.0), 1.0
            low = drawn.load.get(source, 1.0)
            g = splits.free.get(target)
            same = g is not None and splits.free.get(source) == g
            if g is not None and s.ship_strategy is not ShipStrategy.FORWARD:
                each = [splits.at(g, k) for k in box[g]]
                into = min(x.into[job.name, i] for x in each) * _ROUNDING
                low *= min(x.into[job.name, i] * x.least for x in each) * drawn.count[g]
                if s.ship_strategy is ShipStrategy.BROADCAST:
                    into = 1.0
                if same:
                    # They are drawn together, not each by itself.
                    into = 0.0
            carried[at], least[at] = out * min(into, 1.0), low * _ROUNDING
            dropped[at] = (job.name, i) in splits.loose
            near[at] = source in splits.free or target in splits.free or job.name in swollen
            odd[at] = job.name in swollen or (out * into == 0.0 and not same)
    flow = Traffic.of(jobs)
    sent = channels.buffer_bytes.copy()
    feeding = slice(0, channels.n_feeding)
    low = least[key[feeding]]
    bytes_, records = flow.bytes_per_s * low, flow.records_per_s * low
    held = held_ms(flow.timeout_ms, bytes_, records, cluster.buffer_bytes)
    with np.errstate(invalid="ignore"):
        little = np.minimum(np.where(bytes_ > 0, bytes_ * held / 1000, 0.0), cluster.buffer_bytes)
    sent[feeding] = np.maximum(little, flow.record_bytes)
    silent: Bools = odd[key] & ~np.isin(key, np.flatnonzero(carried > 0))
    changed = Channels(
        source=channels.source,
        target=channels.target,
        records_per_s=channels.records_per_s,
        bytes_per_s=channels.bytes_per_s * carried[key],
        least_bytes_per_s=channels.least_bytes_per_s * carried[key],
        n_feeding=channels.n_feeding,
        live=channels.live & ~silent,
        exchange_ms=np.where(odd[key], 0.0, channels.exchange_ms),
        spread_ms=np.where(odd[key], 0.0, channels.spread_ms),
        buffer_bytes=np.where(near[key], sent, channels.buffer_bytes),
        fill_ms=np.where(near[key], np.inf, channels.fill_ms),
        window_bytes=np.where(near[key], np.inf, channels.window_bytes),
        stream=channels.stream,
    )
    keep = ~dropped[key]
    if keep.all():
        return changed
    kept = {
        f.name: getattr(changed, f.name)[keep]
        for f in dataclasses.fields(Channels)
        if f.name != "n_feeding"
    }
    return Channels(n_feeding=int(keep[feeding].sum()), **kept)
