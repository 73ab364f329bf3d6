"""The one evaluator: every term of the objective and every limit, recomputed from a plan.

It is written apart from the formulations and has the last word on what they answer. Its checks
allow a relative 1e-9 for the rounding of sums of floats, and nothing for slots and counts.
"""

from collections.abc import Sequence
from typing import Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, Evaluation, JobGraph, Limit, Plan, Rules
from edgeplace.solver.constraints import Alone, Capped, Restriction, Together
from edgeplace.solver.problem import Problem, build

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

TOLERANCE = 1e-9


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
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    problem = build(jobs, cluster, rules, current)
    return assess(problem, problem.assignment(plan))


def assess(problem: Problem, assignment: Ints) -> Evaluation:
    """Return what an assignment of TaskManagers, shape (n_subtasks,), costs and breaks."""
    p, net = problem, problem.network
    k = np.arange(p.n)
    site = p.tm_site[assignment]
    cls = p.tm_class[assignment]
    violations: list[Limit] = []

    link_bytes, checkpoint_bytes, unreachable = _link_bytes(p, site)
    for a, b in sorted(unreachable):
        names = [s.id for s in p.cluster.sites]
        violations.append(
            Limit(
                kind="route",
                where=f"{names[a]} -> {names[b]}",
                used=unreachable[a, b],
                capacity=0,
                unit="channels",
            )
        )
    rated: list[Limit] = []
    links = []
    for i, name in enumerate(net.names):
        room = float(net.capacity_bytes_per_s[i])
        links.append(
            Limit(
                kind="link bandwidth",
                where=name,
                used=link_bytes[i],
                capacity=room if np.isfinite(room) else None,
                unit="bytes/s",
            )
        )
    rated += links
    cores = np.bincount(p.tm_node[assignment], weights=p.cores[k, cls], minlength=len(p.node_cores))
    nodes = [
        Limit(kind="node cpu", where=n.id, used=cores[i], capacity=p.node_cores[i], unit="cores")
        for i, n in enumerate(p.cluster.nodes)
    ]
    rated += nodes
    busy = p.busy[k, cls]
    rated += [
        Limit(
            kind="subtask busy", where=_on(p, i, assignment), used=busy[i], capacity=1, unit="s/s"
        )
        for i in _largest(busy)
    ]
    rated += _credit_windows(p, site)
    violations += [r for r in rated if _over(r)]

    task_managers = _slots(p, assignment)
    violations += [t for t in task_managers if t.shortfall]
    violations += _bytes(p, "memory", p.memory_bytes, p.tm_memory, assignment)
    violations += _bytes(p, "disk", p.disk_bytes, p.tm_disk, assignment)
    violations += _rules(p, assignment)

    latency = _latency_ms(p, site, cls)
    if p.rules.max_latency_ms is not None:
        limit = Limit(
            kind="latency",
            where="worst path",
            used=latency,
            capacity=p.rules.max_latency_ms,
            unit="ms",
        )
        violations += [limit] if _over(limit) else []
    moved = (p.current != assignment) if p.current is not None else np.zeros(p.n, bool)
    if p.rules.max_moves is not None and moved.sum() > p.rules.max_moves:
        violations.append(
            Limit(
                kind="moves",
                where="plan",
                used=int(moved.sum()),
                capacity=p.rules.max_moves,
                unit="subtasks",
            )
        )
    binding = max(rated, key=lambda r: r.utilisation, default=None)
    return Evaluation(
        wan_cost=float(link_bytes @ net.price),
        wan_bytes_per_s=float(link_bytes.sum()),
        checkpoint_bytes_per_s=float(checkpoint_bytes.sum()),
        latency_ms=-1.0 if unreachable else latency,
        server_cores=float(p.cores[k, cls][p.is_server[assignment]].sum()),
        moves=int(moved.sum()),
        moved_state_bytes=float(p.state_bytes[moved].sum()),
        utilisation=binding.utilisation if binding else 0.0,
        binding=binding if binding and binding.used > 0 else None,
        links=tuple(links),
        nodes=tuple(nodes),
        task_managers=tuple(task_managers),
        violations=tuple(violations),
    )


def _over(limit: Limit) -> bool:
    return limit.capacity is not None and limit.used > limit.capacity * (1 + TOLERANCE)


def _on(p: Problem, k: int, assignment: Ints) -> str:
    return f"{p.subtasks.title(k)} on {p.cluster.task_managers[assignment[k]].id}"


def _largest(values: Floats) -> list[int]:
    """Return the indices of all values above 1, and of the largest."""
    above: list[int] = np.flatnonzero(values > 1).tolist()
    return above or ([int(np.argmax(values))] if len(values) else [])


def _link_bytes(p: Problem, site: Ints) -> tuple[Floats, Floats, dict[tuple[int, int], int]]:
    """Return bytes/s on each link, the checkpoint part, and unreachable site pairs in use."""
    total = np.zeros(len(p.network.names))
    checkpoints = np.zeros(len(p.network.names))
    unreachable: dict[tuple[int, int], int] = {}
    n_sites = p.network.n_sites
    a, b = site[p.source], site[p.target]
    apart = a != b
    pairs, inverse, count = np.unique(
        (a * n_sites + b)[apart], return_inverse=True, return_counts=True
    )
    flows = np.bincount(inverse, weights=p.bytes_per_s[apart], minlength=len(pairs))
    for pair, flow, channels in zip(pairs.tolist(), flows, count, strict=True):
        route = p.network.route(pair // n_sites, pair % n_sites)
        if route is None:
            unreachable[pair // n_sites, pair % n_sites] = int(channels)
        else:
            total[list(route)] += flow
    if p.storage_site is not None:
        written = np.bincount(site, weights=p.checkpoint_bytes_per_s, minlength=n_sites)
        for s in np.flatnonzero(written):
            route = p.network.route(int(s), p.storage_site)
            if route is None:
                unreachable[int(s), p.storage_site] = (
                    unreachable.get((int(s), p.storage_site), 0) + 1
                )
            else:
                checkpoints[list(route)] += written[s]
    return total + checkpoints, checkpoints, unreachable


def _credit_windows(p: Problem, site: Ints) -> list[Limit]:
    """Return the channels whose flow exceeds their credit window, and the fullest one."""
    a, b = site[p.source], site[p.target]
    apart = np.flatnonzero((a != b) & p.live)
    if not len(apart):
        return []
    round_trip = round_trips_ms(p, a[apart], b[apart])
    with np.errstate(divide="ignore"):
        room = 1000 * p.window_bytes[apart] / round_trip
    share = p.bytes_per_s[apart] / room
    names = p.subtasks
    return [
        Limit(
            kind="credit window",
            where=f"{names.title(p.source[apart[i]])} -> {names.title(p.target[apart[i]])}",
            used=p.bytes_per_s[apart[i]],
            capacity=room[i],
            unit="bytes/s",
        )
        for i in _largest(share)
        if np.isfinite(room[i])
    ]


def round_trips_ms(p: Problem, a: Ints, b: Ints) -> Floats:
    """Return the round-trip time between pairs of sites."""
    n = p.network.n_sites
    pairs, inverse = np.unique(a * n + b, return_inverse=True)
    times = [
        p.network.delay(int(i // n), int(i % n)) + p.network.delay(int(i % n), int(i // n))
        for i in pairs
    ]
    # A pair without a route is reported as such, not as a slow one.
    reached: Floats = np.nan_to_num(np.array(times), posinf=0.0)[inverse]
    return reached


def _slots(p: Problem, assignment: Ints) -> list[Limit]:
    """Return slots used on each TaskManager: per sharing group, the largest operator's number."""
    n_ops, n_groups = len(p.group), int(p.group.max()) + 1
    count = np.zeros((n_ops, p.m), np.intp)
    np.add.at(count, (p.subtasks.operator_of, assignment), 1)
    per_group = np.zeros((n_groups, p.m), np.intp)
    np.maximum.at(per_group, p.group, count)
    used = per_group.sum(axis=0)
    return [
        Limit(
            kind="slots", where=t.id, used=int(used[i]), capacity=int(p.tm_slots[i]), unit="slots"
        )
        for i, t in enumerate(p.cluster.task_managers)
    ]


def _bytes(
    p: Problem, kind: Literal["memory", "disk"], need: Floats, room: Floats, at: Ints
) -> list[Limit]:
    used = np.zeros(p.m)
    np.add.at(used, at, need)
    over = np.flatnonzero(used > room * (1 + 1e-15))
    return [
        Limit(
            kind=kind,
            where=p.cluster.task_managers[t].id,
            used=used[t],
            capacity=room[t],
            unit="bytes",
        )
        for t in over
    ]


def _rules(p: Problem, assignment: Ints) -> list[Limit]:
    broken = []
    for c in p.constraints:
        match c:
            case Restriction():
                wrong = int((~c.allowed[assignment[c.subtasks]]).sum())
            case Together():
                wrong = int((c.place[assignment[c.first]] != c.place[assignment[c.second]]).sum())
            case Capped():
                most = np.bincount(c.place[assignment[c.subtasks]])
                wrong = int(np.maximum(most - c.count, 0).sum())
            case Alone():
                taken = np.unique(c.place[assignment[c.subtasks]])
                wrong = int(np.isin(c.place[assignment[c.others]], taken).sum())
        if wrong:
            broken.append(
                Limit(kind="rule", where=c.title, used=wrong, capacity=0, unit="subtasks")
            )
    return broken


def _latency_ms(p: Problem, site: Ints, cls: Ints) -> float:
    """Return the longest path over channels with traffic; a missing route counts nothing."""
    net = p.network
    with np.errstate(divide="ignore"):
        per_byte_ms = 1000 / net.bandwidth_bytes_per_s
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from(zip(p.source[p.live].tolist(), p.target[p.live].tolist(), strict=True))
    delay = p.exchange_ms.copy()
    for i, (a, b) in enumerate(zip(site[p.source].tolist(), site[p.target].tolist(), strict=True)):
        if a != b and p.live[i]:
            route = list(net.route(a, b) or ())
            delay[i] += net.delay_ms[route].sum() + p.buffer_bytes[i] * per_byte_ms[route].sum()
    done = p.service_ms[np.arange(p.n), cls].copy()
    arrivals: dict[int, list[int]] = {}
    for i in np.flatnonzero(p.live).tolist():
        arrivals.setdefault(int(p.target[i]), []).append(i)
    for k in nx.topological_sort(graph):
        if k in arrivals:
            done[k] += max(done[p.source[i]] + delay[i] for i in arrivals[k])
    return float(done.max(initial=0.0))
