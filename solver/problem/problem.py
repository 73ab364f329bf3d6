"""Jobs, cluster and rules as indexed arrays: what the evaluator and every back end share."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from edgeplace.model import Cluster, InvalidInputError, JobGraph, NeverMove, Plan, Rules
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import afford, look
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.constraints import Constraint, allowed_by, compile_rule
from edgeplace.solver.problem.network import Network
from edgeplace.solver.problem.places import Places
from edgeplace.solver.problem.source_places import source_restrictions
from edgeplace.solver.problem.subtasks import Subtasks, assignment_of
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.work import Work, class_costs, kept
from edgeplace.solver.tolerances import TOLERANCE

_PAIR_S = 3e-9
"""Time to tell whether a subtask may run on a TaskManager, measured."""


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
        Channels, shape (n_channels,); bytes as a link carries them, see `wire`. What a receiver
        answers on the wire is a channel of its own, from it to the sender, behind all others.
    n_feeding
        Number of channels of records.
    live
        Channels with records, shape (n_channels,); answers have none.
    exchange_ms
        How long a record waits until its buffer is sent, filled or at the buffer timeout: half of
        that time, and the other half where it is longer than all before it.
    spread_ms
        That other half where paths to the channel differ in what is before it: a path has it of
        one of its channels. 0 everywhere if `exchange_ms` says all.
    buffer_bytes
        Bytes of the channel that are sent at once: what a buffer then holds, at least a record.
    fill_ms
        How long the channel takes to fill a buffer; infinite without traffic.
    window_bytes
        Credit window of the channel: bytes in flight before the receiver must answer, as a link
        carries them.
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
    n_feeding: int
    live: Bools
    exchange_ms: Floats
    spread_ms: Floats
    buffer_bytes: Floats
    fill_ms: Floats
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
    def feeding(self) -> tuple[Ints, Ints]:
        """Producer and consumer of each channel of records: they form no cycle."""
        return self.source[: self.n_feeding], self.target[: self.n_feeding]

    @property
    def n(self) -> int:
        """Number of subtasks."""
        return self.subtasks.count

    @property
    def m(self) -> int:
        """Number of TaskManagers."""
        return len(self.tm_slots)

    def allowed(self) -> Bools:
        """Return where each subtask may run by its restrictions, shape (n_subtasks, n_tms).

        It is one array for all who ask, not to be written to.
        """
        return self._allowed

    @cached_property
    def keeps_up(self) -> Bools:
        """Where each subtask may run, its thread keeps up, and the node has the cores for it alone.

        Shape (n_subtasks, n_tms).
        """
        afford(_PAIR_S * self.n * self.m)
        # Machines of one class and size are alike: there are few such kinds.
        machines = np.stack([self.tm_class, self.node_cores[self.tm_node]])
        (of, room), kind = np.unique(machines, axis=1, return_inverse=True)
        node_class = of.astype(np.intp)
        fits = self.busy[:, node_class] <= 1 + TOLERANCE
        fits &= self.cores[:, node_class] <= room * (1 + TOLERANCE)
        mask = self._allowed & fits[:, kind.ravel()]
        mask.flags.writeable = False
        return mask

    @cached_property
    def _allowed(self) -> Bools:
        mask = allowed_by(self.constraints, self.n, self.m)
        mask.flags.writeable = False
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
            raise self._homeless(plan, int(np.argmin(found)))
        return found

    def _homeless(self, plan: Plan, k: int) -> InvalidInputError:
        """Return why a plan has no place for a subtask."""
        job, op = self.subtasks.operators[self.subtasks.operator_of[k]]
        title = self.subtasks.title(k)
        if job not in plan.jobs:
            theirs = ", ".join(map(repr, plan.jobs)) or "no job"
            return InvalidInputError(
                f"the plan is for {theirs}, and this job is {job!r}: it has no TaskManager for "
                f"{title}",
                "give the plan of this job, or the job of this plan",
            )
        if op.id not in plan.jobs[job]:
            return InvalidInputError(
                f"the plan has no TaskManager for {title}",
                "make the plan for this job and this cluster",
            )
        name = plan.jobs[job][op.id][k - self.subtasks.first[self.subtasks.operator_of[k]]]
        ids = [t.id for t in self.cluster.task_managers]
        near = ", ".join(map(repr, get_close_matches(name, ids) or ids[:3])) or "none"
        return InvalidInputError(
            f"the plan has {title} on TaskManager {name!r}, which the cluster does not have",
            f"the cluster has {near}{' and others' if len(ids) > 3 else ''}: correct the name, or "
            "make the plan for this cluster",
        )


def assumptions(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> tuple[str, ...]:
    """Return what every plan rests on that is an estimate, a weak measurement or a lower bound.

    Raises
    ------
    InvalidInputError
        As for `build`.
    """
    return build(job_graph, cluster, rules, current).notes


def build(
    job_graph: JobGraph | Sequence[JobGraph],
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
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else list(job_graph)
    rules = rules or Rules()
    subtasks = Subtasks.number(jobs)
    look()
    traffic = Traffic.of(jobs)
    look()
    notes = list(traffic.notes)
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
    places = Places(cluster)
    fed = {(j.name, s.target) for j in jobs for s in j.streams}
    for o, (job, op) in enumerate(subtasks.operators):
        look()
        if (job, op.id) not in fed:
            constraints += source_restrictions(subtasks, o, job, op, places, rules, now, notes)
    for rule in rules.rules:
        look()
        constraints += compile_rule(rule, subtasks, places, now, (traffic.source, traffic.target))
    classes = sorted({n.node_class for n in cluster.nodes})
    class_index = {c: i for i, c in enumerate(classes)}
    tms = cluster.task_managers
    afford(_PAIR_S * subtasks.count * len(tms))
    node_class = np.array([class_index[n.node_class] for n in cluster.nodes], np.intp)
    tm_class = node_class[places.node]
    allowed = allowed_by(constraints, subtasks.count, len(tms))
    reached = np.zeros((subtasks.count, len(classes)), bool)
    for c in range(len(classes)):
        reached[:, c] = allowed[:, tm_class == c].any(axis=1)
    needed = np.logical_or.reduceat(reached, subtasks.first[:-1], axis=0)
    per_operator = [
        class_costs(op, cluster, classes, set(np.flatnonzero(needed[o]).tolist()), notes)
        for o, (_, op) in enumerate(subtasks.operators)
    ]
    shape = (len(subtasks.operators), len(classes))
    busy_s = np.array([c[0] for c in per_operator]).reshape(shape)
    cpu_s = np.array([c[1] for c in per_operator]).reshape(shape)
    op_of = subtasks.operator_of
    look()
    work = Work.of(traffic.rate_per_s, busy_s[op_of], cpu_s[op_of])
    channels = Channels.of(traffic, cluster)
    state, checkpointed, memory, disk = kept(subtasks, cluster.mtu_bytes)
    groups = [(job, op.slot_sharing_group) for job, op in subtasks.operators]
    group_index = {g: i for i, g in enumerate(sorted(set(groups)))}
    sites = [s.id for s in cluster.sites]
    tiers = np.array([s.tier == "cloud" for s in cluster.sites])
    return Problem(
        subtasks=subtasks,
        cluster=cluster,
        rules=rules,
        network=Network.of(cluster),
        constraints=tuple(constraints),
        rate_per_s=traffic.rate_per_s,
        **vars(work),
        memory_bytes=memory,
        disk_bytes=disk,
        state_bytes=state,
        checkpoint_bytes_per_s=checkpointed,
        group=np.array([group_index[g] for g in groups], np.intp),
        **vars(channels),
        tm_slots=np.array([t.slots for t in tms], np.intp),
        tm_memory=np.array([np.inf if t.memory_bytes is None else t.memory_bytes for t in tms]),
        tm_disk=np.array([np.inf if t.disk_bytes is None else t.disk_bytes for t in tms]),
        tm_node=places.node,
        tm_site=places.site,
        tm_class=tm_class,
        node_cores=np.array([n.cores * cluster.cpu_target for n in cluster.nodes]),
        is_server=tiers[places.site],
        storage_site=(
            sites.index(cluster.checkpoint_storage) if cluster.checkpoint_storage else None
        ),
        current=now,
        notes=tuple(dict.fromkeys(notes)),
    )
