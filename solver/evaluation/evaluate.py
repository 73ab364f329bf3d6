"""The one evaluator: every term of the objective and every limit, recomputed from a plan."""

from collections.abc import Iterator, Sequence

import numpy as np

from edgeplace.model import Cluster, Evaluation, JobGraph, Limit, Plan, Rules
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
        Limit(kind="slots", where=t.id, used=used, capacity=room, unit="slots")
        for t, used, room in zip(
            p.cluster.task_managers, v.slots.tolist(), p.tm_slots.tolist(), strict=True
        )
    )
    rated = [*links, *nodes, *_busy(v), *_credit_windows(v)]
    binding = max(rated, key=lambda r: r.utilisation, default=None)
    violations = [
        *_routes(v),
        *(r for r in rated if _over(r)),
        *(t for t in task_managers if t.shortfall),
        *_bytes(v),
        *(
            Limit(kind="rule", where=c.title, used=wrong, capacity=0, unit="subtasks")
            for c, wrong in v.rules
        ),
        *_whole(v),
    ]
    return Evaluation(
        wan_cost=v.value("wan"),
        wan_bytes_per_s=float(v.link_bytes.sum()),
        checkpoint_bytes_per_s=float(v.checkpoint_bytes.sum()),
        latency_ms=v.value("latency"),
        server_cores=v.server_cores,
        moves=int(v.moved.sum()),
        moved_state_bytes=float(p.state_bytes[v.moved].sum()),
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
    site, ids = p.tm_site[v.assignment], [s.id for s in p.cluster.sites]
    a, b = np.unique(np.stack([site[p.source[v.far]], site[p.target[v.far]]]), axis=1)
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
        cost = op.cost.on(p.cluster.nodes[p.tm_node[t]].node_class) if op.cost else None
        measured = cost and cost.origin == "measured" and cost.relative_spread
        each.append(measured or 0.0)
    cores = p.cores[subtasks, p.tm_class[own]]
    whole = float(cores.sum())
    return float(cores @ np.array(each)) / whole if whole > 0 else 0.0


def _largest(values: Floats) -> list[int]:
    """Return the indices of all values above 1, and of the largest."""
    above: list[int] = np.flatnonzero(values > 1).tolist()
    return above or ([int(np.argmax(values))] if len(values) else [])


def _links(v: Usage) -> Iterator[Limit]:
    net = v.problem.network
    rooms = net.capacity_bytes_per_s
    for name, used, room in zip(net.names, v.link_bytes.tolist(), rooms.tolist(), strict=True):
        capacity = room if room < float("inf") else None
        yield Limit(kind="link bandwidth", where=name, used=used, capacity=capacity, unit="bytes/s")


def _nodes(v: Usage) -> Iterator[Limit]:
    p = v.problem
    rooms = zip(p.cluster.nodes, v.cores.tolist(), p.node_cores.tolist(), strict=True)
    for i, (node, used, room) in enumerate(rooms):
        limit = Limit(kind="node cpu", where=node.id, used=used, capacity=room, unit="cores")
        if _over(limit):
            own = np.flatnonzero(p.tm_node[v.assignment] == i)
            limit = limit.model_copy(update={"spread": _spread(v, own)})
        yield limit


def _busy(v: Usage) -> Iterator[Limit]:
    p = v.problem
    for k in _largest(v.busy):
        where = f"{p.subtasks.title(k)} on {p.cluster.task_managers[v.assignment[k]].id}"
        spread = _spread(v, np.array([k])) if v.busy[k] > 1 else 0.0
        yield Limit(
            kind="subtask busy", where=where, used=v.busy[k], capacity=1, unit="s/s", spread=spread
        )


def _credit_windows(v: Usage) -> Iterator[Limit]:
    """Yield the channels whose flow exceeds their credit window, and the fullest one."""
    p = v.problem
    for i in _largest(v.window_share):
        if np.isfinite(v.window_room[i]):
            channel = v.far[i]
            a, b = int(p.source[channel]), int(p.target[channel])
            yield Limit(
                kind="credit window",
                where=f"{p.subtasks.title(a)} -> {p.subtasks.title(b)}",
                used=p.bytes_per_s[channel],
                capacity=v.window_room[i],
                unit="bytes/s",
            )


def _routes(v: Usage) -> Iterator[Limit]:
    sites = v.problem.cluster.sites
    for a, b in sorted(v.unreachable):
        where = f"{sites[a].id} -> {sites[b].id}"
        yield Limit(
            kind="route", where=where, used=v.unreachable[a, b], capacity=0, unit="channels"
        )


def _bytes(v: Usage) -> Iterator[Limit]:
    p = v.problem
    for t in np.flatnonzero(v.memory > p.tm_memory * (1 + BYTES_TOLERANCE)):
        where = p.cluster.task_managers[t].id
        yield Limit(
            kind="memory", where=where, used=v.memory[t], capacity=p.tm_memory[t], unit="bytes"
        )
    for t in np.flatnonzero(v.disk > p.tm_disk * (1 + BYTES_TOLERANCE)):
        where = p.cluster.task_managers[t].id
        yield Limit(kind="disk", where=where, used=v.disk[t], capacity=p.tm_disk[t], unit="bytes")


def _whole(v: Usage) -> Iterator[Limit]:
    """Yield the limits on the plan as a whole that do not hold."""
    rules = v.problem.rules
    if rules.max_latency_ms is not None:
        limit = Limit(
            kind="latency",
            where="worst path",
            used=v.latency_ms,
            capacity=rules.max_latency_ms,
            unit="ms",
        )
        if _over(limit):
            yield limit
    moves = int(v.moved.sum())
    if rules.max_moves is not None and moves > rules.max_moves:
        yield Limit(
            kind="moves", where="plan", used=moves, capacity=rules.max_moves, unit="subtasks"
        )
