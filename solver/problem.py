"""Jobs, cluster and rules as indexed arrays: what the evaluator and every back end share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    NeverMove,
    Operator,
    Plan,
    Rules,
)
from edgeplace.solver.constraints import (
    Alone,
    Capped,
    Constraint,
    Restriction,
    Together,
    compile_rule,
    place_of,
)
from edgeplace.solver.network import Network
from edgeplace.solver.traffic import propagate

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

MAX_QUEUE_FACTOR = 20.0
"""Queueing is capped at this many service times: M/M/1 waiting at 95 % busy."""


@dataclass(frozen=True)
class Subtasks:
    """Subtasks of all jobs, numbered job by job and operator by operator."""

    jobs: tuple[JobGraph, ...]
    operators: tuple[tuple[str, Operator], ...]
    """(job name, operator)"""
    first: Ints
    """First subtask of each operator, and the total; shape (n_operators + 1,)."""
    operator_of: Ints
    """Operator of each subtask, shape (n_subtasks,)."""

    @classmethod
    def number(cls, jobs: Sequence[JobGraph]) -> "Subtasks":
        """Number the subtasks of some jobs.

        Raises
        ------
        InvalidInputError
            If there is no job, or two have one name.
        """
        names = [j.name for j in jobs]
        if not jobs or len(set(names)) < len(names):
            raise InvalidInputError(
                f"the jobs to place are named {names}", "give at least one, each with its own name"
            )
        operators = tuple((j.name, op) for j in jobs for op in j.operators)
        counts = np.array([op.parallelism for _, op in operators])
        return cls(
            tuple(jobs),
            operators,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
            np.repeat(np.arange(len(operators)), counts),
        )

    @property
    def count(self) -> int:
        """Number of subtasks."""
        return int(self.first[-1])

    def range_of(self, operator: int) -> Ints:
        """Return the subtasks of an operator, by index."""
        return np.arange(self.first[operator], self.first[operator + 1], dtype=np.intp)

    def of(self, ref: str, job: str = "") -> Ints:
        """Return the subtasks of an operator, by id or unique name, in one job or in any.

        Raises
        ------
        InvalidInputError
            If no operator or several are meant.
        """
        jobs = [j for j in self.jobs if job in ("", j.name)]
        if not jobs:
            raise InvalidInputError(
                f"there is no job {job!r}", f"the jobs are {[j.name for j in self.jobs]}"
            )
        found: list[tuple[str, str]] = []
        failures = []
        for j in jobs:
            try:
                found.append((j.name, j.operator(ref).id))
            except InvalidInputError as e:
                failures.append(e)
        if not found:
            raise failures[0]
        if len(found) > 1:
            raise InvalidInputError(
                f"operator {ref!r} is in several jobs: {[f[0] for f in found]}",
                "say which with `job:`",
            )
        at = next(i for i, (name, op) in enumerate(self.operators) if (name, op.id) == found[0])
        return self.range_of(at)

    def title(self, k: int) -> str:
        """Return Flink's name of a subtask: ``name (i/n)``."""
        o = int(self.operator_of[k])
        job, op = self.operators[o]
        prefix = f"{job}: " if len(self.jobs) > 1 else ""
        return f"{prefix}{op.name} ({k - self.first[o] + 1}/{op.parallelism})"


@dataclass(frozen=True)
class Problem:
    """Everything a placement is judged by.

    Attributes
    ----------
    rate_per_s
        Records in (out, for sources) of each subtask, shape (n_subtasks,).
    busy, cores
        Busy share of the task thread, and cores used, of each subtask on each node class, shape
        (n_subtasks, n_classes). 0 where the cost is not known (see notes).
    service_ms
        Service and M/M/1 queueing time of a record, shape (n_subtasks, n_classes).
    memory_bytes, disk_bytes, state_bytes, checkpoint_bytes_per_s
        Of each subtask, shape (n_subtasks,).
    group
        Slot sharing group of each operator, shape (n_operators,).
    source, target, bytes_per_s, stream
        Channels, shape (n_channels,).
    exchange_ms
        Time until a buffer of the channel is sent: filled, or the buffer timeout.
    buffer_bytes
        Bytes of the channel that are sent at once.
    window_bytes
        Credit window of the channel: bytes in flight before the receiver must answer.
    tm_slots, tm_memory, tm_disk, tm_node, tm_site, tm_class
        Of each TaskManager, shape (n_task_managers,).
    node_cores
        Cores times target of each node, shape (n_nodes,).
    current
        TaskManager index of each subtask now, -1 where unknown; None without a placement.
    """

    subtasks: Subtasks
    cluster: Cluster
    rules: Rules
    network: Network
    constraints: tuple[Constraint, ...]
    rate_per_s: Floats
    busy: Floats
    cores: Floats
    service_ms: Floats
    memory_bytes: Floats
    disk_bytes: Floats
    state_bytes: Floats
    checkpoint_bytes_per_s: Floats
    group: Ints
    source: Ints
    target: Ints
    bytes_per_s: Floats
    live: Bools
    exchange_ms: Floats
    buffer_bytes: Floats
    window_bytes: Floats
    stream: Ints
    tm_slots: Ints
    tm_memory: Floats
    tm_disk: Floats
    tm_node: Ints
    tm_site: Ints
    tm_class: Ints
    node_cores: Floats
    is_server: Bools
    storage_site: int | None
    current: Ints | None
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of subtasks."""
        return self.subtasks.count

    @property
    def m(self) -> int:
        """Number of TaskManagers."""
        return len(self.tm_slots)

    def allowed(self) -> Bools:
        """Return where each subtask may run by its restrictions, shape (n_subtasks, n_tms)."""
        mask = np.ones((self.n, self.m), bool)
        for c in self.constraints:
            if isinstance(c, Restriction):
                mask[c.subtasks] &= c.allowed
        return mask

    def plan(self, assignment: Ints) -> Plan:
        """Return an assignment, TaskManager indices of shape (n_subtasks,), as a plan."""
        ids = [t.id for t in self.cluster.task_managers]
        jobs: dict[str, dict[str, tuple[str, ...]]] = {}
        for o, (job, op) in enumerate(self.subtasks.operators):
            places = tuple(ids[t] for t in assignment[self.subtasks.range_of(o)])
            jobs.setdefault(job, {})[op.id] = places
        return Plan(jobs=jobs)

    def assignment(self, plan: Plan) -> Ints:
        """Return a plan as TaskManager indices of shape (n_subtasks,).

        Raises
        ------
        InvalidInputError
            If the plan misses a subtask or names an unknown TaskManager.
        """
        found = assignment_of(self.subtasks, self.cluster, plan)
        if (found < 0).any():
            k = int(np.argmin(found))
            raise InvalidInputError(
                f"the plan has no known TaskManager for {self.subtasks.title(k)}",
                "make the plan for this job and this cluster",
            )
        return found


def assignment_of(subtasks: Subtasks, cluster: Cluster, plan: Plan) -> Ints:
    """Return TaskManager indices of shape (n_subtasks,), -1 where the plan or cluster has none.

    Raises
    ------
    InvalidInputError
        If the plan has another number of subtasks for an operator.
    """
    index = {t.id: i for i, t in enumerate(cluster.task_managers)}
    found = np.full(subtasks.count, -1, np.intp)
    for o, (job, op) in enumerate(subtasks.operators):
        places = plan.jobs.get(job, {}).get(op.id)
        if places is None:
            continue
        if len(places) != op.parallelism:
            raise InvalidInputError(
                f"the placement of {op.name!r} has {len(places)} subtasks, the job has "
                f"{op.parallelism}",
                "use a placement of this job at this parallelism",
            )
        found[subtasks.range_of(o)] = [index.get(p, -1) for p in places]
    return found


def build(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Problem:
    """Index jobs, cluster and rules.

    Raises
    ------
    InvalidInputError
        If costs are missing, names do not resolve, or the parts do not fit together.
    """
    rules = rules or Rules()
    subtasks = Subtasks.number(jobs)
    traffic = [propagate(j) for j in jobs]
    offsets = np.cumsum([0, *[len(t.rate_per_s) for t in traffic]])
    notes = [n for t in traffic for n in t.notes]
    rate = np.concatenate([t.rate_per_s for t in traffic])

    def joined(field: str) -> NDArray[np.float64]:
        return np.concatenate([getattr(t, field) for t in traffic])

    source = np.concatenate([t.source + o for t, o in zip(traffic, offsets, strict=False)])
    target = np.concatenate([t.target + o for t, o in zip(traffic, offsets, strict=False)])
    now = None
    if current is not None:
        now = assignment_of(subtasks, cluster, current)
        if not (now >= 0).any():
            notes.append("no subtask of the current placement is on a TaskManager of this cluster")
    if now is None and (
        rules.max_moves is not None or any(isinstance(r, NeverMove) for r in rules.rules)
    ):
        raise InvalidInputError(
            "max_moves and never_move need a current placement, and none is given",
            "give one (--current), or drop the rule",
        )
    constraints: list[Constraint] = []
    for o, (job, op) in enumerate(subtasks.operators):
        constraints += _born(subtasks, o, job, op, cluster, rules, now, notes)
    for rule in rules.rules:
        constraints += compile_rule(rule, subtasks, cluster, now, (source, target))
    classes = sorted({n.node_class for n in cluster.nodes})
    node_index = {n.id: i for i, n in enumerate(cluster.nodes)}
    tms = cluster.task_managers
    tm_node = np.array([node_index[t.node] for t in tms], np.intp)
    tm_class = np.array([classes.index(cluster.nodes[i].node_class) for i in tm_node], np.intp)
    tm_site = place_of(cluster, "site")
    per_operator = [
        _class_costs(op, cluster, classes, _needed(subtasks, o, constraints, tm_class), notes)
        for o, (_, op) in enumerate(subtasks.operators)
    ]
    shape = (len(subtasks.operators), len(classes))
    busy_s = np.array([c[0] for c in per_operator]).reshape(shape)
    cpu_s = np.array([c[1] for c in per_operator]).reshape(shape)
    op_of = subtasks.operator_of
    busy = rate[:, None] * busy_s[op_of]
    queue = np.minimum(1 / np.maximum(1 - busy, 1e-12), MAX_QUEUE_FACTOR)
    state, checkpointed, memory, disk = _state(subtasks)
    job_of = np.concatenate([np.full(len(t.source), j) for j, t in enumerate(traffic)])
    timeout = np.array([j.buffer_timeout_ms for j in jobs])[job_of.astype(int)]
    flow = joined("bytes_per_s")
    with np.errstate(divide="ignore"):
        exchange = np.minimum(timeout, 1000 * cluster.buffer_bytes / flow)
    sent = np.clip(flow * exchange / 1000, joined("record_bytes"), cluster.buffer_bytes)
    fan_in = np.maximum(joined("fan_in"), 1)
    groups = [(job, op.slot_sharing_group) for job, op in subtasks.operators]
    sites = [s.id for s in cluster.sites]
    tiers = np.array([s.tier == "cloud" for s in cluster.sites])
    return Problem(
        subtasks=subtasks,
        cluster=cluster,
        rules=rules,
        network=Network.of(cluster),
        constraints=tuple(constraints),
        rate_per_s=rate,
        busy=busy,
        cores=rate[:, None] * cpu_s[op_of],
        service_ms=np.where(rate[:, None] > 0, 1000 * busy_s[op_of] * queue, 0.0),
        memory_bytes=memory,
        disk_bytes=disk,
        state_bytes=state,
        checkpoint_bytes_per_s=checkpointed,
        group=np.array([sorted(set(groups)).index(g) for g in groups], np.intp),
        source=source,
        target=target,
        bytes_per_s=flow,
        live=joined("records_per_s") > 0,
        exchange_ms=exchange,
        buffer_bytes=sent,
        window_bytes=cluster.buffer_bytes
        * (cluster.buffers_per_channel + cluster.floating_buffers_per_gate / fan_in),
        stream=np.concatenate([t.stream for t in traffic]),
        tm_slots=np.array([t.slots for t in tms], np.intp),
        tm_memory=np.array([np.inf if t.memory_bytes is None else t.memory_bytes for t in tms]),
        tm_disk=np.array([np.inf if t.disk_bytes is None else t.disk_bytes for t in tms]),
        tm_node=tm_node,
        tm_site=tm_site,
        tm_class=tm_class,
        node_cores=np.array([n.cores * cluster.cpu_target for n in cluster.nodes]),
        is_server=tiers[tm_site] if len(tms) else np.zeros(0, bool),
        storage_site=(
            sites.index(cluster.checkpoint_storage) if cluster.checkpoint_storage else None
        ),
        current=now,
        notes=tuple(dict.fromkeys(notes)),
    )


def _born(
    subtasks: Subtasks,
    o: int,
    job: str,
    op: Operator,
    cluster: Cluster,
    rules: Rules,
    now: Ints | None,
    notes: list[str],
) -> list[Constraint]:
    """Return what holds a source where its data is born."""
    graph = next(j for j in subtasks.jobs if j.name == job)
    if op.id not in {s.id for s in graph.sources()}:
        return []
    own = subtasks.range_of(o)
    if op.born_at:
        places = op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
        held = []
        for place in dict.fromkeys(p for p in places if p != "anywhere"):
            try:
                tms = set(cluster.task_managers_at(place))
            except InvalidInputError as e:
                raise InvalidInputError(f"source {op.name!r}: born_at: {e.what}", e.cure) from e
            held.append(
                Restriction(
                    f"source {op.name} is born at {place}",
                    own[[i for i, p in enumerate(places) if p == place]],
                    np.array([t.id in tms for t in cluster.task_managers], bool),
                )
            )
        return list(held)
    pinned: set[int] = set()
    for rule in rules.rules:
        if rule.kind in ("pin", "match", "never_move"):
            for ref in rule.operators:
                if ref in (op.id, op.name) and rule.job in ("", job):
                    chosen = getattr(rule, "subtasks", ())
                    pinned |= {int(own[i]) for i in chosen if i < len(own)} or set(own.tolist())
    free = [k for k in own.tolist() if k not in pinned]
    unknown = [k for k in free if now is None or now[k] < 0]
    if unknown:
        raise InvalidInputError(
            f"source {subtasks.title(unknown[0])} has no place where its data is born",
            "say born_at in the job file, pin it by a rule, or give the current placement; "
            "`born_at: [anywhere]` lets it run on any node",
        )
    if free:
        notes.append(f"source {op.name!r} is held on the nodes where it runs now")
    at = np.arange(len(cluster.task_managers))
    node = place_of(cluster, "node")
    return [
        Restriction(f"source {subtasks.title(k)} stays on its node", np.array([k]), where)
        for k in free
        if now is not None
        for where in [node[at] == node[now[k]]]
    ]


def _needed(subtasks: Subtasks, o: int, constraints: list[Constraint], tm_class: Ints) -> set[int]:
    """Return the node classes where an operator may run."""
    allowed = np.ones((subtasks.count, len(tm_class)), bool)
    for c in constraints:
        if isinstance(c, Restriction):
            allowed[c.subtasks] &= c.allowed
    return set(tm_class[allowed[subtasks.range_of(o)].any(axis=0)].tolist())


def _class_costs(
    op: Operator, cluster: Cluster, classes: list[str], needed: set[int], notes: list[str]
) -> tuple[list[float], list[float]]:
    """Return busy seconds and core-seconds a record on each class, estimated where never seen."""
    known = op.cost.classes if op.cost else ()
    if not known:
        notes.append(f"the CPU cost of {op.name!r} is not known: it is not counted")
        return [0.0] * len(classes), [0.0] * len(classes)
    speed = {c.id: c.speed for c in cluster.node_classes}
    busy_s, cpu_s = [], []
    for i, name in enumerate(classes):
        seen = op.cost.on(name) if op.cost else None
        factor = 1.0
        if seen is None:
            based = [c for c in known if c.node_class in speed]
            if name in speed and based:
                # The longest measured one is the best known.
                seen = max(based, key=lambda c: (c.busy_s, c.node_class))
                factor = speed[seen.node_class] / speed[name]
                if i in needed:
                    notes.append(
                        f"the CPU cost of {op.name!r} on {name!r} is an estimate: never seen "
                        f"there, taken from {seen.node_class!r} by the ratio of their speeds"
                    )
            elif i in needed:
                raise InvalidInputError(
                    f"operator {op.name!r} was never seen on node class {name!r}, only on "
                    f"{[c.node_class for c in known]}, and the cluster gives no speeds to "
                    "estimate it from",
                    f"measure it there, state its cost, or give `node_classes` with a speed for "
                    f"{name!r} and {known[0].node_class!r}",
                )
            else:
                busy_s.append(0.0)
                cpu_s.append(0.0)
                continue
        busy_s.append(factor / seen.true_rate_per_s)
        cpu_s.append(factor * (seen.cpu_ms_per_record or 1000 / seen.true_rate_per_s) / 1000)
    return busy_s, cpu_s


def _state(subtasks: Subtasks) -> tuple[Floats, Floats, Floats, Floats]:
    """Return state bytes, checkpoint bytes/s, memory and disk of each subtask."""
    state = np.zeros(subtasks.count)
    written = np.zeros(subtasks.count)
    memory = np.zeros(subtasks.count)
    disk = np.zeros(subtasks.count)
    jobs = {j.name: j for j in subtasks.jobs}
    for o, (job, op) in enumerate(subtasks.operators):
        own = subtasks.range_of(o)
        cost = op.cost
        state[own] = (cost.state_bytes or 0.0) / op.parallelism if cost else 0.0
        interval = jobs[job].checkpoint_interval_ms
        if cost and interval:
            bytes_each = cost.checkpointed_bytes or 0.0
            written[own] = bytes_each / op.parallelism / (interval / 1000)
        memory[own] = op.memory_bytes
        (memory if jobs[job].state_backend == "heap" else disk)[own] += state[own]
    return state, written, memory, disk


__all__ = ["Alone", "Capped", "Problem", "Restriction", "Subtasks", "Together", "build"]
