"""The one evaluator: every term of the objective and every limit, recomputed from a plan."""

from collections.abc import Iterator, Sequence

import numpy as np

from edgeplace.model import (
    BOUNDS,
    Cluster,
    Evaluation,
    JobGraph,
    Limit,
    LimitKind,
    Plan,
    Rules,
)
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.growth import FirstLimit, first_limit
from edgeplace.solver.evaluation.usage import Usage, Use, measure_usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, build


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
    with unhurried():
        problem = build(job_graph, cluster, rules, current)
        return with_headroom(measure_usage(problem, problem.assignment(plan)))


def assess(problem: Problem, assignment: Ints) -> Evaluation:
    """Return the terms and broken limits of an assignment of TaskManagers, shape (n_subtasks,).

    Its headroom is that of `evaluation_of`.
    """
    return evaluation_of(measure_usage(problem, assignment))


def with_headroom(usage: Usage) -> Evaluation:
    """Return the usage of a plan as an `Evaluation`, with its headroom by figures at grown rates.

    That takes some ten times as long where rates and figures are not proportional.

    Raises
    ------
    OutOfTimeError
        If the time of the call that runs is over.
    """
    return evaluation_of(usage, first_limit(usage))


def with_headroom_in_time(usage: Usage) -> tuple[Evaluation, tuple[str, ...]]:
    """Return `with_headroom` and no note; without the time for it, `evaluation_of` and a note."""
    try:
        return with_headroom(usage), ()
    except OutOfTimeError:
        note = "the headroom is taken to be proportional to the rates, for want of time"
        return evaluation_of(usage), (note,)


def evaluation_of(usage: Usage, first: FirstLimit | None = None) -> Evaluation:
    """Return the usage of a plan as an `Evaluation`, with the name of every limit.

    Parameters
    ----------
    first
        The limit that grown rates reach first; None: it is the fullest one, and the headroom is
        that of figures which are proportional to the rates.
    """
    routes, slots, *others = usage.fixed
    listed = {use.kind: _listed(usage, use) for use in (*usage.rated, slots)}
    rated = (limit for use in usage.rated for limit in listed[use.kind])
    binding = max(rated, key=lambda limit: limit.utilisation, default=None)
    if first is not None:
        binding = next(
            _limit(usage, use, first.index) for use in usage.rated if use.kind is first.kind
        )
    return Evaluation(
        wan_cost=usage.value("wan"),
        wan_bytes_per_s=float(usage.link_bytes.sum()),
        cost_per_month=usage.value("cost") if usage.problem.cluster.currency else None,
        checkpoint_bytes_per_s=float(usage.checkpoint_bytes.sum()),
        latency_ms=usage.value("latency"),
        server_cores=usage.value("server_cores"),
        moves=int(usage.value("moves")),
        moved_state_bytes=float(usage.problem.footprint.state_bytes[usage.moved].sum()),
        utilisation=usage.value("throughput"),
        headroom=first.factor if first else _proportional(usage.utilisation),
        binding=binding if binding and binding.used > 0 else None,
        links=listed[LimitKind.LINK_BANDWIDTH],
        nodes=listed[LimitKind.NODE_CPU],
        task_managers=listed[LimitKind.SLOTS],
        violations=tuple(
            _limit(usage, use, i)
            for use in (routes, *usage.rated, slots, *others)
            for i in np.flatnonzero(use.over).tolist()
        ),
        notes=tuple(_unknown(usage)),
    )


def _proportional(utilisation: float) -> float:
    return 1 / utilisation if utilisation > 0 else float("inf")


def _listed(usage: Usage, use: Use) -> tuple[Limit, ...]:
    """Return all limits of a kind; for subtasks and channels, only the fullest one."""
    which = range(len(use.used))
    if use.kind in (LimitKind.SUBTASK_BUSY, LimitKind.CREDIT_WINDOW) and which:
        fullest = int(np.argmax(use.share))
        which = range(fullest, fullest + 1)
    return tuple(_limit(usage, use, i) for i in which)


def _limit(usage: Usage, use: Use, i: int) -> Limit:
    """Return limit i of a kind, by its name."""
    where, subject = _named(usage, use.kind, i)
    used, room = float(use.used[i]), float(use.room[i])
    spread = 0.0
    if use.over[i] and use.kind is LimitKind.NODE_CPU:
        spread = _spread(usage, np.flatnonzero(usage.problem.tms.node[usage.assignment] == i))
    elif use.over[i] and use.kind is LimitKind.SUBTASK_BUSY:
        spread = _spread(usage, np.array([i]))
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
