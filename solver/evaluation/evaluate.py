"""The one evaluator: every term of the objective and every limit, recomputed from a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from edgeplace.model import (
    BOUNDS,
    JOB_BOUNDS,
    Cluster,
    Evaluation,
    JobGraph,
    Limit,
    LimitKind,
    PeriodEvaluation,
    Plan,
    Rules,
    Unmet,
    with_weights,
)
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.growth import FirstLimit, first_limit, sustained_factor
from edgeplace.solver.evaluation.usage import Usage, Use, measure_usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.tolerances import TOLERANCE


def evaluate(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Evaluation:
    """Return the objective terms of a plan, and the limits that it breaks.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else job_graph
    with unhurried():
        problem = build(with_weights(jobs, cluster, plan), cluster, rules, current)
        return with_headroom(measure_usage(problem, problem.assignment(plan)))


def assess(problem: Problem, assignment: Ints) -> Evaluation:
    """Return the terms and broken limits of an assignment of TaskManagers, shape (n_subtasks,).

    Its headroom is that of `evaluation_of`.
    """
    return evaluation_of(measure_usage(problem, assignment))


def with_headroom(usage: Usage) -> Evaluation:
    """Return the usage of a plan as an `Evaluation`, with its headroom by figures at grown rates.

    That takes some ten or twenty times as long where rates and figures are not proportional.

    Raises
    ------
    OutOfTimeError
        If the time of the call that runs is over.
    """
    if usage.periods:
        each = tuple(map(with_headroom, usage.periods))
        return _with_least_headroom(evaluation_of(usage), each)
    first = first_limit(usage)
    headroom = first.factor if first else _proportional(usage.utilisation)
    return evaluation_of(usage, first, sustained_factor(usage, headroom))


def _with_least_headroom(whole: Evaluation, each: Sequence[Evaluation]) -> Evaluation:
    """Return the evaluation of a day with the headroom of the period in which it is least."""
    least = min(each, key=lambda e: e.headroom)
    return whole.model_copy(
        update={
            "headroom": least.headroom,
            "sustained": min(e.sustained for e in each),
            "binding": least.binding,
            "periods": tuple(
                old.model_copy(update={"evaluation": new})
                for old, new in zip(whole.periods, each, strict=True)
            ),
        }
    )


def with_headroom_in_time(usage: Usage) -> tuple[Evaluation, tuple[str, ...]]:
    """Return `with_headroom` and no note; without the time for it, `evaluation_of` and a note."""
    try:
        return with_headroom(usage), ()
    except OutOfTimeError:
        note = (
            "headroom and sustained rate are taken to be proportional to the rates, without queues "
            "at processors, for want of time"
        )
        return evaluation_of(usage), (note,)


def evaluation_of(
    usage: Usage, first: FirstLimit | None = None, sustained: float | None = None
) -> Evaluation:
    """Return the usage of a plan as an `Evaluation`, with the name of every limit.

    Parameters
    ----------
    first
        The limit that grown rates reach first; None: it is the fullest one, and the headroom is
        that of figures which are proportional to the rates.
    sustained
        Factor of the rates at which sources are held back; None: it is the headroom.
    """
    routes, slots, *others = usage.fixed
    listed = {use.kind: _listed(usage, use) for use in (*usage.rated, slots)}
    rated = [limit for use in usage.rated for limit in listed[use.kind]]
    headroom = first.factor if first else _proportional(usage.utilisation)
    binding = max(rated, key=lambda limit: limit.utilisation, default=None)
    if first is not None:
        binding = next(
            limit_at(usage, use, first.index) for use in usage.rated if use.kind is first.kind
        )
    return Evaluation(
        rates_in=usage.problem.cluster.rates_in,
        currency=usage.problem.cluster.currency,
        wan_cost=usage.value("wan"),
        wan_bytes_per_s=float(usage.link_bytes.sum()),
        cost_per_month=usage.value("cost") if usage.problem.cluster.currency else None,
        checkpoint_bytes_per_s=float(usage.checkpoint_bytes.sum()),
        latency_ms=usage.value("latency"),
        server_cores=usage.value("server_cores"),
        moves=int(usage.value("moves")),
        moved_state_bytes=float(usage.problem.footprint.state_bytes[usage.moved].sum()),
        utilisation=usage.value("throughput"),
        headroom=headroom,
        sustained=headroom if sustained is None else sustained,
        binding=binding if binding and binding.used > 0 else None,
        links=_listed(usage, replace(usage.rated[0], used=usage.carried_bytes)),
        nodes=listed[LimitKind.NODE_CPU],
        task_managers=listed[LimitKind.SLOTS],
        jobs=tuple(
            limit for use in others if use.kind in JOB_BOUNDS for limit in _listed(usage, use)
        ),
        wishes=usage.value("wishes"),
        unmet=tuple(
            Unmet(wish=wish.title, at=i, subtasks=n, weight=wish.weight)
            for i, (wish, n) in enumerate(zip(usage.problem.wishes, usage.unmet, strict=True))
            if n
        ),
        violations=tuple(
            limit_at(usage, use, i)
            for use in (routes, *usage.rated, slots, *others)
            for i in np.flatnonzero(use.over).tolist()
        ),
        notes=tuple(
            dict.fromkeys(
                (*_unknown(usage), *(n for u in usage.periods or (usage,) for n in _delayed(u)))
            )
        ),
        periods=tuple(
            PeriodEvaluation(name=of.name, share=of.share, evaluation=evaluation_of(own))
            for of, own in zip(usage.problem.day, usage.periods, strict=True)
        ),
    )


def _proportional(utilisation: float) -> float:
    return 1 / utilisation if utilisation > 0 else float("inf")


def _listed(usage: Usage, use: Use) -> tuple[Limit, ...]:
    """Return all limits of a kind; for subtasks and channels, only the fullest one."""
    which = range(len(use.used))
    if use.kind in (LimitKind.SUBTASK_BUSY, LimitKind.CREDIT_WINDOW) and which:
        fullest = int(np.argmax(use.share))
        which = range(fullest, fullest + 1)
    return tuple(limit_at(usage, use, i) for i in which)


def limit_at(usage: Usage, use: Use, i: int) -> Limit:
    """Return limit i of a kind, by its name."""
    where, subject = _named(usage, use.kind, i)
    used, room = float(use.used[i]), float(use.room[i])
    spread = 0.0
    if use.over[i] and use.kind is LimitKind.NODE_CPU:
        # The cores in use are those of the period in which they are most.
        most = max(usage.periods or (usage,), key=lambda each: float(each.cores[i]))
        spread = _spread(most, np.flatnonzero(usage.problem.tms.node[usage.assignment] == i))
    elif use.over[i] and use.kind is LimitKind.SUBTASK_BUSY:
        most = max(usage.periods or (usage,), key=lambda each: float(each.busy[i]))
        spread = _spread(most, np.array([i]))
    return Limit.of(use.kind, where, used, room if room < float("inf") else None, subject, spread)


def _named(usage: Usage, kind: LimitKind, i: int) -> tuple[str, tuple[str, ...]]:
    """Return what limit i of a kind is at, as a person calls it and by ids."""
    p = usage.problem
    match kind:
        case LimitKind.LINK_BANDWIDTH:
            a, b = p.network.ends[i]
            return p.network.names[i], (p.cluster.sites[a].id, p.cluster.sites[b].id)
        case LimitKind.ROUTE:
            ends = [p.cluster.sites[s].id for s in sorted(usage.unreachable)[i]]
            return " -> ".join(ends), tuple(ends)
        case LimitKind.NODE_CPU:
            node = p.cluster.nodes[i].id
            return node, (node,)
        case LimitKind.SUBTASK_BUSY:
            tm = p.cluster.task_managers[usage.assignment[i]].id
            return f"{p.subtasks.title(i)} on {tm}", p.subtasks.ids(i)
        case LimitKind.CREDIT_WINDOW:
            channel = usage.far[i]
            a, b = int(p.channels.source[channel]), int(p.channels.target[channel])
            where = f"{p.subtasks.title(a)} -> {p.subtasks.title(b)}"
            return where, (*p.subtasks.ids(a), *p.subtasks.ids(b))
        case LimitKind.RULE:
            broken, _ = usage.rules[i]
            return broken.title, (broken.rule.title() if broken.rule else broken.title,)
    if kind in BOUNDS:
        return kind.facts.where, ()
    if kind in JOB_BOUNDS:
        job = list(kind.bounds_of_jobs(p.rules))[i]
        return job, (job,)
    tm = p.cluster.task_managers[i].id
    return tm, (tm,)


def _unknown(v: Usage) -> Iterator[str]:
    """Yield what of the flow control of the plan is not known, and so not counted."""
    p, net = v.problem, v.problem.network
    if net.tree is not None:
        return  # Its links lead both ways.
    site, ids = p.tms.site[v.assignment], [s.id for s in p.cluster.sites]
    a, b = np.unique(
        np.stack([site[p.channels.source[v.far]], site[p.channels.target[v.far]]]), axis=1
    )
    there = net.joined_by_route(a, b)
    back = net.joined_by_route(b, a)
    for i in np.flatnonzero(there & ~back).tolist():
        x, y = ids[a[i]], ids[b[i]]
        yield (
            f"no route leads from {y} back to {x}: what credit lets through from {x} to {y} is not "
            "known, and not counted"
        )
    crossed = [links for _, links in net.steps(a[back], b[back])]
    for e in np.unique(np.concatenate([np.zeros(0, np.intp), *crossed])).tolist():
        if net.turn_ms[e] == -np.inf:
            yield (
                f"no link leads straight back over {net.names[e]}: what buffers wait for credit "
                "there is not known, and not in the latency"
            )


def _delayed(v: Usage) -> Iterator[str]:
    """Yield the links that are full because combiners send as much as they can."""
    room = v.problem.network.capacity_bytes_per_s * (1 + TOLERANCE)
    for e in np.flatnonzero((v.link_bytes > room) & (v.least_bytes <= room)).tolist():
        yield (
            f"{v.problem.network.names[e]} is full: operators that gather records flush later than "
            "their timers say, and results come as much later"
        )


def _spread(v: Usage, subtasks: Ints) -> float:
    """Return the relative spread of the measured costs of some subtasks together.

    Errors of an operator's cost are those of all its subtasks, so they add up.
    """
    p = v.problem
    own = v.assignment[subtasks]
    each = []
    for k, t in zip(subtasks.tolist(), own.tolist(), strict=True):
        _, op = p.subtasks.operators[p.subtasks.operator_of[k]]
        cost = op.cost.on(p.cluster.nodes[p.tms.node[t]].node_class) if op.cost else None
        measured = cost and cost.origin == "measured" and cost.relative_spread
        each.append(measured or 0.0)
    cores = p.work.cores[subtasks, p.tms.node_class[own]]
    whole = float(cores.sum())
    return float(cores @ np.array(each)) / whole if whole > 0 else 0.0
