"""The one evaluator: every term of the objective and every limit, recomputed from a plan."""

from collections.abc import Iterator, Sequence

import numpy as np

from edgeplace.model import (
    AMOUNTS,
    BOUNDS,
    RATED,
    Cluster,
    Evaluation,
    JobGraph,
    Limit,
    LimitKind,
    Plan,
    Rules,
)
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE


def evaluate(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Evaluation:
    """Return what a plan costs and which limits it breaks.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    with unhurried():
        problem = build(job_graph, cluster, rules, current)
    return assess(problem, problem.assignment(plan))


def assess(problem: Problem, assignment: Ints) -> Evaluation:
    """Return what an assignment of TaskManagers, shape (n_subtasks,), costs and breaks."""
    return report(measure_usage(problem, assignment))


def report(verdict: Usage) -> Evaluation:
    """Return a verdict in the model's words, every limit by its name."""
    p, v = verdict.problem, verdict
    links = tuple(_links(v))
    nodes = tuple(_nodes(v))
    task_managers = tuple(
        Limit.of(LimitKind.SLOTS, t.id, used, room)
        for t, used, room in zip(
            p.cluster.task_managers, v.slots.tolist(), p.tms.slots.tolist(), strict=True
        )
    )
    whole = list(_whole(v))
    rated = [*links, *nodes, *_busy(v), *_credit_windows(v)]
    rated += [limit for limit in whole if limit.kind in RATED]
    binding = max(rated, key=lambda r: r.utilisation, default=None)
    violations = [
        *_routes(v),
        *(r for r in rated if _over(r)),
        *(t for t in task_managers if t.shortfall),
        *_amounts(v),
        *_rules(v),
        *(limit for limit in whole if limit.kind not in RATED and _over(limit)),
    ]
    return Evaluation(
        wan_cost=v.value("wan"),
        wan_bytes_per_s=float(v.link_bytes.sum()),
        checkpoint_bytes_per_s=float(v.checkpoint_bytes.sum()),
        latency_ms=v.value("latency"),
        server_cores=v.server_cores,
        moves=int(v.moved.sum()),
        moved_state_bytes=float(p.footprint.state_bytes[v.moved].sum()),
        utilisation=binding.utilisation if binding else 0.0,
        binding=binding if binding and binding.used > 0 else None,
        links=links,
        nodes=nodes,
        task_managers=task_managers,
        violations=tuple(violations),
        notes=tuple(_unknown(v)),
    )


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


def _over(limit: Limit) -> bool:
    return limit.capacity is not None and limit.used > limit.capacity * (1 + TOLERANCE)


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


def _largest(values: Floats) -> list[int]:
    """Return the indices of all values above 1, and of the largest."""
    above: list[int] = np.flatnonzero(values > 1).tolist()
    return above or ([int(np.argmax(values))] if len(values) else [])


def _links(v: Usage) -> Iterator[Limit]:
    net = v.problem.network
    sites = [s.id for s in v.problem.cluster.sites]
    rooms = net.capacity_bytes_per_s
    found = zip(net.names, net.ends, v.link_bytes.tolist(), rooms.tolist(), strict=True)
    for name, (a, b), used, room in found:
        capacity = room if room < float("inf") else None
        yield Limit.of(LimitKind.LINK_BANDWIDTH, name, used, capacity, (sites[a], sites[b]))


def _nodes(v: Usage) -> Iterator[Limit]:
    p = v.problem
    rooms = zip(p.cluster.nodes, v.cores.tolist(), p.tms.node_cores.tolist(), strict=True)
    for i, (node, used, room) in enumerate(rooms):
        limit = Limit.of(LimitKind.NODE_CPU, node.id, used, room)
        if _over(limit):
            own = np.flatnonzero(p.tms.node[v.assignment] == i)
            limit = limit.model_copy(update={"spread": _spread(v, own)})
        yield limit


def _busy(v: Usage) -> Iterator[Limit]:
    p = v.problem
    for k in _largest(v.busy):
        where = f"{p.subtasks.title(k)} on {p.cluster.task_managers[v.assignment[k]].id}"
        spread = _spread(v, np.array([k])) if v.busy[k] > 1 else 0.0
        subject = p.subtasks.ids(k)
        yield Limit.of(LimitKind.SUBTASK_BUSY, where, v.busy[k], 1, subject, spread)


def _credit_windows(v: Usage) -> Iterator[Limit]:
    """Yield the channels whose flow exceeds their credit window, and the fullest one."""
    p = v.problem
    for i in _largest(v.window_share):
        if np.isfinite(v.window_room[i]):
            channel = v.far[i]
            a, b = int(p.channels.source[channel]), int(p.channels.target[channel])
            where = f"{p.subtasks.title(a)} -> {p.subtasks.title(b)}"
            subject = (*p.subtasks.ids(a), *p.subtasks.ids(b))
            used, room = p.channels.bytes_per_s[channel], v.window_room[i]
            yield Limit.of(LimitKind.CREDIT_WINDOW, where, used, room, subject)


def _routes(v: Usage) -> Iterator[Limit]:
    sites = v.problem.cluster.sites
    for a, b in sorted(v.unreachable):
        ends = sites[a].id, sites[b].id
        yield Limit.of(LimitKind.ROUTE, " -> ".join(ends), v.unreachable[a, b], 0, ends)


def _amounts(v: Usage) -> Iterator[Limit]:
    """Yield what is taken of TaskManagers beyond what they have."""
    p = v.problem
    for kind, taken, has in zip(AMOUNTS, v.taken.T, p.tms.has.T, strict=True):
        for t in np.flatnonzero(taken > has * (1 + BYTES_TOLERANCE)):
            yield Limit.of(kind, p.cluster.task_managers[t].id, taken[t], has[t])


def _rules(v: Usage) -> Iterator[Limit]:
    for c, wrong in v.rules:
        rule = c.rule.title() if c.rule else c.title
        yield Limit.of(LimitKind.RULE, c.title, wrong, 0, (rule,))


def _whole(v: Usage) -> Iterator[Limit]:
    """Yield the limits on the plan as a whole that are stated."""
    for kind in BOUNDS:
        most = kind.bound(v.problem.rules)
        if most is not None:
            yield Limit.of(kind, kind.facts.where, v.bounded(kind), most, ())
