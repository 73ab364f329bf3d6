"""Jobs, cluster and rules as indexed arrays, for the evaluator and every back end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from edgeplace.model import (
    Cluster,
    InvalidInputError,
    InvalidRuleError,
    JobGraph,
    NeverMove,
    Period,
    Plan,
    Rules,
    did_you_mean,
)
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import afford, look
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.constraints import (
    Constraint,
    Wanted,
    allowed_by,
    compile_rule,
    compile_wish,
)
from edgeplace.solver.problem.day import PeriodOfDay, peaks, periods_of_day, whole_day
from edgeplace.solver.problem.footprint import Footprint, with_state_at_demand
from edgeplace.solver.problem.network import Network
from edgeplace.solver.problem.places import Places
from edgeplace.solver.problem.source_places import own_data_restrictions, source_restrictions
from edgeplace.solver.problem.subtasks import Subtasks, assignment_of
from edgeplace.solver.problem.task_managers import TaskManagers, node_classes
from edgeplace.solver.problem.work import Work
from edgeplace.solver.tolerances import TOLERANCE

_PAIR_S = 3e-9
"""Time to tell whether a subtask may run on a TaskManager, or on a class, measured."""


@dataclass(frozen=True)
class Problem:
    """Everything a placement is judged by.

    Attributes
    ----------
    work, footprint
        What subtasks take of their machines: by node class, and wherever they run.
    channels
        What subtasks send to one another.
    tms
        The TaskManagers, and the nodes that they run on.
    storage_site
        Where checkpoints are written to; None: that is not stated.
    current
        TaskManager index of each subtask now, -1 where unknown; None without a placement.
    notes
        What every plan rests on that is an estimate, a weak measurement or a lower bound.
    day
        The periods of a demand that varies over a day; empty: it does not. With periods, bytes of
        channels and checkpoints are means over the day, since they are paid for, and the rest of
        `work`, `footprint` and `channels` is that of the busiest period: see `demands`.
    """

    subtasks: Subtasks
    cluster: Cluster
    rules: Rules
    network: Network
    constraints: tuple[Constraint, ...]
    wishes: tuple[Wanted, ...]
    work: Work
    footprint: Footprint
    channels: Channels
    tms: TaskManagers
    storage_site: int | None
    current: Ints | None
    notes: tuple[str, ...]
    day: tuple[PeriodOfDay, ...] = ()

    @property
    def n(self) -> int:
        """Number of subtasks."""
        return self.subtasks.count

    @property
    def m(self) -> int:
        """Number of TaskManagers."""
        return len(self.tms.slots)

    @cached_property
    def demands(self) -> tuple["Problem", ...]:
        """The problem of each period of the day by itself; this one, where demand is the same."""
        return tuple(self._at(period) for period in self.day) or (self,)

    @cached_property
    def peaks(self) -> tuple["Problem", ...]:
        """Those of `demands` in which limits that grow with the rates, memory and disk hold for
        all others, too.
        """
        return tuple(self.demands[i] for i in peaks(self.day)) or (self,)

    def _at(self, period: PeriodOfDay) -> "Problem":
        return replace(
            self,
            subtasks=period.subtasks,
            work=period.work,
            footprint=period.footprint,
            channels=period.channels,
            day=(),
        )

    @cached_property
    def mean_cores(self) -> Floats:
        """Cores of each subtask on each node class on average, shape (n_subtasks, n_classes)."""
        if not self.day:
            return self.work.cores
        mean: Floats = sum(
            (period.share * period.work.cores for period in self.day),
            np.zeros(self.work.cores.shape),
        )
        return mean

    def allowed(self) -> Bools:
        """Return where each subtask may run by its restrictions, shape (n_subtasks, n_tms).

        It is one array for all who ask, not to be written to.
        """
        return self._allowed

    @cached_property
    def keeps_up(self) -> Bools:
        """True where a slot exists, a subtask is allowed, its thread and the node's cores suffice.

        Shape (n_subtasks, n_tms).
        """
        afford(_PAIR_S * self.n * self.m)
        # Machines of one class and size are alike: there are few such kinds.
        machines = np.stack([self.tms.node_class, self.tms.node_cores[self.tms.node]])
        (of, room), kind = np.unique(machines, axis=1, return_inverse=True)
        node_class = of.astype(np.intp)
        fits = np.ones((self.n, len(room)), bool)
        for p in self.peaks:
            fits &= p.work.busy[:, node_class] <= 1 + TOLERANCE
            fits &= p.work.cores[:, node_class] <= room * (1 + TOLERANCE)
        mask = self._allowed & fits[:, kind.ravel()] & (self.tms.slots > 0)
        mask.flags.writeable = False
        return mask

    def candidates(self, soft: bool) -> Bools:
        """Return where each subtask may run in a plan that holds, shape (n_subtasks, n_tms).

        Parameters
        ----------
        soft
            Limits that grow with the rates may be exceeded.
        """
        return self._allowed & (self.tms.slots > 0) if soft else self.keeps_up

    def without_idle_sites(self) -> "Problem":
        """Return the problem with a tree of sites, if they form one but for those that are lost.

        A site is lost where it has no links and no slots. No plan that holds has a subtask there.
        """
        idle = set(range(self.network.n_sites)) - {self.storage_site}
        idle -= set(self.tms.site[self.tms.slots > 0].tolist())
        return replace(self, network=self.network.without_idle(idle))

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
            raise self._no_place(plan, int(np.argmin(found)))
        return found

    def _no_place(self, plan: Plan, k: int) -> InvalidInputError:
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
    jobs, traffic = with_state_at_demand(jobs)
    look()
    subtasks = Subtasks.number(jobs)
    look()
    notes = list(traffic.notes)
    _check_jobs(subtasks, rules)
    now = _placed_now(subtasks, cluster, rules, current, notes)
    if rules.survive:
        notes.append(
            f"whether the loss of {', '.join(rules.survive)} is survived is judged by "
            "`edgeplace solve`, each loss by itself; no room is reserved"
        )
    places = Places(cluster)
    channels = (traffic.source, traffic.target)
    constraints = _constraints(subtasks, channels, places, rules, now, notes)
    constraints += own_data_restrictions(rules, cluster, subtasks, places, channels, constraints)
    afford(2 * _PAIR_S * subtasks.count * len(cluster.task_managers))
    tms = TaskManagers.of(cluster, places)
    allowed = allowed_by(constraints, subtasks.count, len(tms.slots))
    reached = _reached(allowed, tms, len(node_classes(cluster)))
    work = Work.measured(subtasks, cluster, traffic, reached, notes)
    sites = [s.id for s in cluster.sites]
    problem = Problem(
        subtasks=subtasks,
        cluster=cluster,
        rules=rules,
        network=Network.of(cluster),
        constraints=tuple(constraints),
        wishes=tuple(compile_wish(w, subtasks, places, channels, tms.slots) for w in rules.wishes),
        work=work,
        footprint=Footprint.of(subtasks, cluster),
        channels=Channels.of(traffic, cluster),
        tms=tms,
        storage_site=(
            sites.index(cluster.checkpoint_storage) if cluster.checkpoint_storage else None
        ),
        current=now,
        notes=tuple(dict.fromkeys(notes)),
    )
    return _over_the_day(problem, reached) if rules.demand else problem


def build_as_placed(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    demand: Sequence[Period] = (),
) -> Problem:
    """Index jobs and cluster with all subtasks held where a plan has them.

    What subtasks cost at other places need not be known.

    Raises
    ------
    InvalidInputError
        As for `build`.
    """
    jobs = [job_graph] if isinstance(job_graph, JobGraph) else job_graph
    stay = (NeverMove(job=j.name, operators=tuple(op.id for op in j.operators)) for j in jobs)
    return build(jobs, cluster, Rules(rules=tuple(stay), demand=tuple(demand)), current=plan)


def with_jobs(problem: Problem, jobs: Sequence[JobGraph]) -> Problem:
    """Return the problem with other costs of its jobs: the same subtasks, sources and rules."""
    p = problem
    jobs, traffic = with_state_at_demand(jobs)
    subtasks = Subtasks.number(jobs)
    reached = _reached(p.allowed(), p.tms, len(node_classes(p.cluster)))
    changed = replace(
        p,
        subtasks=subtasks,
        work=Work.measured(subtasks, p.cluster, traffic, reached, []),
        footprint=Footprint.of(subtasks, p.cluster),
        channels=Channels.of(traffic, p.cluster),
    )
    return _over_the_day(changed, reached) if p.day else changed


def _over_the_day(problem: Problem, reached: Bools) -> Problem:
    """Return the problem with the periods of the demand, given the jobs at their stated rates."""
    p = problem
    day = periods_of_day(p.rules.demand, p.subtasks.jobs, p.subtasks, p.cluster, reached)
    work, footprint, channels = whole_day(day)
    return replace(p, work=work, footprint=footprint, channels=channels, day=day)


def _placed_now(
    subtasks: Subtasks, cluster: Cluster, rules: Rules, current: Plan | None, notes: list[str]
) -> Ints | None:
    """Return the current placement by index; None without one."""
    now = None
    if current is not None:
        now = assignment_of(subtasks, cluster, current)
        if not (now >= 0).any():
            notes.append("no subtask of the current placement is on a TaskManager of this cluster")
    if now is None and rules.limit_moves:
        of_job = (own for own in rules.jobs if own.max_moves is not None)
        raise InvalidRuleError(
            "max_moves" if rules.max_moves is not None else next(of_job),
            "max_moves needs a current placement, and none is given",
            "give one (--current), or drop max_moves",
        )
    return now


def _check_jobs(subtasks: Subtasks, rules: Rules) -> None:
    """Refuse requirements of a job that is not there."""
    names = [job.name for job in subtasks.jobs]
    for own in rules.jobs:
        if own.job not in names:
            raise InvalidRuleError(
                own,
                f"the rules require something of job {own.job!r}, and there is no such job",
                did_you_mean(own.job, names, f"the jobs are {names}"),
            )


def _constraints(
    subtasks: Subtasks,
    channels: tuple[Ints, Ints],
    places: Places,
    rules: Rules,
    now: Ints | None,
    notes: list[str],
) -> list[Constraint]:
    """Return where sources are held, and the rules, by index."""
    constraints: list[Constraint] = []
    fed = {(j.name, s.target) for j in subtasks.jobs for s in j.streams}
    for o, (job, op) in enumerate(subtasks.operators):
        look()
        if (job, op.id) not in fed:
            constraints += source_restrictions(subtasks, o, job, op, places, rules, now, notes)
    for rule in rules.rules:
        look()
        constraints += compile_rule(rule, subtasks, places, now, channels)
    return constraints


def _reached(allowed: Bools, tms: TaskManagers, n_classes: int) -> Bools:
    """Return whether each subtask may run on each node class, shape (n_subtasks, n_classes)."""
    reached = np.zeros((len(allowed), n_classes), bool)
    for c in range(n_classes):
        reached[:, c] = allowed[:, tms.node_class == c].any(axis=1)
    return reached
