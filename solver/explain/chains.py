"""Reasons for a plan by kind of site: what if a chain of operators left it, or came to it.

An operator alone is seldom the question: with `detect` left behind, `decode` in the cloud only
makes traffic. So all of a chain that would move is moved, at all sites of the kind at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import networkx as nx
import numpy as np

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    Evaluation,
    JobGraph,
    Limit,
    LimitKind,
    ObjectiveLevel,
    ObjectiveName,
    Plan,
    Rules,
    objective_levels,
)
from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.clock import look, unhurried
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.explain.reasons import main_sites
from edgeplace.solver.explain.site_kinds import KindOfSites, site_kinds
from edgeplace.solver.explain.tightness import tightest
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.tolerances import SAME_VALUE, TOLERANCE

Judged = tuple[Ints, Evaluation]
"""A plan, and what the evaluator says of it."""
_LONGEST_CHAIN = 6
_FULL = 0.95
"""Share of a limit in use from which it is said to keep more away."""


@dataclass(frozen=True)
class TooSlow:
    """An operator whose subtasks a class of machines cannot keep up with."""

    operator: str
    node_class: str
    carries_per_s: float
    """Records/s that a subtask gets through on this class at most."""
    needed_per_s: float
    elsewhere: tuple[tuple[str, float], ...]
    """What other classes get through where the operator runs at other kinds of sites."""


@dataclass(frozen=True)
class Chain:
    """The effect of moving a chain of operators to a kind of sites, or away from it."""

    job: str
    operators: tuple[str, ...]
    """Names, in the order of the data."""
    subtasks: int
    """How many move, at all sites of the kind together."""
    objective: ObjectiveName | None
    """The first level that changes by more than rounding; None: no level changes."""
    before: float
    after: float
    breaks: tuple[Limit, ...]
    """Limits that hold now and not then: those first that no purchase of slots would cure."""
    too_slow: TooSlow | None
    plan: Plan


@dataclass(frozen=True)
class KindReason:
    """Why a kind of sites runs what it runs.

    Attributes
    ----------
    held
        Names of the operators that may run at no other site.
    away, here
        Of each job: the chain that would cost least if it left, and the chain that would gain most
        if it came. In the cloud, nothing is asked.
    along
        Of each operator that may leave: all from it to the end of its chain.
    full
        The limits at these sites that are full, the fullest first: one of each kind.
    """

    kind: KindOfSites
    held: tuple[str, ...]
    away: tuple[Chain, ...]
    here: tuple[Chain, ...]
    along: tuple[Chain, ...]
    full: tuple[Limit, ...]


def why_by_kind(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
) -> tuple[KindReason, ...]:
    """Return a reason for each kind of sites, from plans that the evaluator computed.

    If the time of the call ends early, only the first kinds have reasons.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    jobs = (job_graph,) if isinstance(job_graph, JobGraph) else tuple(job_graph)
    with unhurried():
        problem = build(jobs, cluster, rules, current)
    levels = [level.name for level in objective_levels(objective, cluster)]
    asked = _Asked(problem, jobs, problem.assignment(plan), levels)
    kinds = site_kinds(jobs, cluster, plan)
    found: list[KindReason] = []
    with suppress(OutOfTimeError):
        for kind in kinds:
            found.append(asked.reason(kind, [k for k in kinds if k is not kind]))
    return tuple(found)


class _Asked:
    """A plan that is asked about."""

    def __init__(
        self,
        problem: Problem,
        jobs: Sequence[JobGraph],
        assignment: Ints,
        levels: Sequence[ObjectiveName],
    ) -> None:
        p = self._p = problem
        self._now, self._levels = assignment, levels
        self._found = assess(p, assignment)
        self._known = {(v.kind, v.where) for v in self._found.violations}
        self._site: Ints = p.tms.site
        self._allowed = p.allowed()
        order: list[tuple[str, str]] = []
        for job in jobs:
            graph: nx.DiGraph[str] = nx.DiGraph()
            graph.add_nodes_from(op.id for op in job.operators)
            graph.add_edges_from((s.source, s.target) for s in job.streams)
            order += [(job.name, op) for op in nx.lexicographical_topological_sort(graph)]
        numbers = {(job, op.id): o for o, (job, op) in enumerate(p.subtasks.operators)}
        self._in_order = [numbers[each] for each in order]

    def reason(self, kind: KindOfSites, others: Sequence[KindOfSites]) -> KindReason:
        """Return why a kind of sites runs what it runs."""
        p = self._p
        ids = {s.id: i for i, s in enumerate(p.cluster.sites)}
        there = np.isin(self._site, [ids[s] for s in kind.sites])
        here = there[self._now]
        own_site = self._site[None, :] == self._site[self._now][:, None]
        stuck = here & ~(self._allowed & ~own_site).any(axis=1)
        operator = p.subtasks.operator_of
        free = here & ~stuck
        held = [
            p.subtasks.operators[o][1].name
            for o in self._in_order
            if (stuck & (operator == o)).any() and not (free & (operator == o)).any()
        ]
        away, come, along = list[Chain](), list[Chain](), list[Chain]()
        for job in dict.fromkeys(p.subtasks.operators[o][0] for o in self._in_order):
            own = [o for o in self._in_order if p.subtasks.operators[o][0] == job]
            if kind.is_cloud:
                continue
            leave = [best for plans in self._leaving(own, free) if (best := self._least(plans))]
            along += [self._chain(best, others) for best in leave]
            if leave:
                away.append(self._chain(self._best(leave), others))
            if comes := self._least(self._coming(own, here, there)):
                come.append(self._chain(comes, others))
        return KindReason(
            kind, tuple(held), tuple(away), tuple(come), tuple(along), self._full(kind)
        )

    def _leaving(self, own: Sequence[int], free: Bools) -> Iterator[Iterator[Ints]]:
        """Yield, for each end of a chain, the plans in which it leaves its sites.

        The ends are all of it, all but the first operator, and so on to the last one; they go to
        servers, or to the sites beside.
        """
        p, operator = self._p, self._p.subtasks.operator_of
        chain = [o for o in own if (free & (operator == o)).any()][-_LONGEST_CHAIN:]
        beside = np.zeros((p.network.n_sites, p.network.n_sites), bool)
        for a, b in p.network.ends:
            beside[a, b] = beside[b, a] = True
        for i in range(len(chain)):
            yield self._leave(np.flatnonzero(free & np.isin(operator, chain[i:])), beside)

    def _leave(self, moved: Ints, beside: Bools) -> Iterator[Ints]:
        p = self._p
        near = beside[self._site[self._now[moved]]][:, self._site]
        for where in (np.broadcast_to(p.tms.is_server, near.shape), near):
            options = self._allowed[moved] & where & (p.tms.slots > 0)
            options &= self._site[None, :] != self._site[self._now[moved]][:, None]
            if options.any(axis=1).all():
                yield self._placed(moved, options)

    def _coming(self, own: Sequence[int], here: Bools, there: Bools) -> Iterator[Ints]:
        """Yield plans in which what these sites send most of the input comes to them: the next
        operator, the next two, and so on.
        """
        p, plan = self._p, self._now
        for _ in range(_LONGEST_CHAIN):
            came = False
            for o in own:
                subtasks = p.subtasks.range_of(o)
                main = main_sites(p, subtasks, plan, most_of_it=True)
                at = self._site[plan[subtasks]]
                comes = (main >= 0) & (main != at) & there[np.maximum(self._first_at(main), 0)]
                comes &= ~here[subtasks]
                moved = subtasks[comes]
                options = self._allowed[moved] & (self._site[None, :] == main[comes][:, None])
                options &= p.tms.slots > 0
                some = options.any(axis=1)
                if some.any():
                    plan = self._placed(moved[some], options[some], plan)
                    came = True
                    yield plan
                    break
            if not came:
                return

    def _first_at(self, sites: Ints) -> Ints:
        """Return a TaskManager at each site, -1 where there is none or no site."""
        first = np.full(self._p.network.n_sites + 1, -1, np.intp)
        first[self._site[::-1]] = np.arange(self._p.m)[::-1]
        return first[sites]

    def _placed(self, moved: Ints, options: Bools, base: Ints | None = None) -> Ints:
        look()
        base = self._now if base is None else base
        filler = Filler(self._p)
        filler.hold(np.setdiff1d(np.arange(self._p.n), moved), base)
        for k, row in zip(moved.tolist(), options, strict=True):
            filler.place(k, np.flatnonzero(row).tolist())
        return filler.assignment

    def _least(self, plans: Iterator[Ints]) -> Judged | None:
        """Return the best of some plans, None if there are none."""
        judged = [(moved, assess(self._p, moved)) for moved in plans]
        return self._best(judged) if judged else None

    def _best(self, judged: Sequence[Judged]) -> Judged:
        """Return the best plan: of those better than now if limits did not matter, or of those that
        break least.
        """
        now = self._worth(self._found)
        better = [j for j in judged if self._worth(j[1]) < now]
        if better:
            return min(better, key=lambda j: self._worth(j[1]))
        return min(judged, key=lambda j: (len(self._broken(j[1])), self._worth(j[1])))

    def _worth(self, found: Evaluation) -> tuple[float, ...]:
        return tuple(float(f"{found.value(name):.9g}") for name in self._levels)

    def _broken(self, found: Evaluation) -> list[Limit]:
        broken = [v for v in found.violations if (v.kind, v.where) not in self._known]
        return sorted(broken, key=lambda v: v.kind is not LimitKind.SUBTASK_BUSY)

    def _chain(self, judged: Judged, others: Sequence[KindOfSites]) -> Chain:
        p, (moved, found) = self._p, judged
        changed = np.flatnonzero(moved != self._now)
        numbers = set(p.subtasks.operator_of[changed].tolist())
        operators = [p.subtasks.operators[o] for o in self._in_order if o in numbers]
        name, before, after = None, 0.0, 0.0
        for level in self._levels:
            before, after = self._found.value(level), found.value(level)
            if abs(after - before) > SAME_VALUE * max(abs(before), abs(after)):
                name = level
                break
        return Chain(
            job=operators[0][0],
            operators=tuple(op.name for _, op in operators),
            subtasks=len(changed),
            objective=name,
            before=before if name else 0.0,
            after=after if name else 0.0,
            breaks=tuple(self._broken(found)),
            too_slow=self._too_slow(changed, moved, others),
            plan=p.plan(moved),
        )

    def _too_slow(
        self, changed: Ints, moved: Ints, others: Sequence[KindOfSites]
    ) -> TooSlow | None:
        """Return the moved operator that lacks most speed where it would run."""
        p = self._p
        busy = p.work.busy[changed, p.tms.node_class[moved[changed]]]
        if not len(changed) or busy.max() <= 1 + TOLERANCE:
            return None
        k = int(changed[busy.argmax()])
        job, op = p.subtasks.operators[p.subtasks.operator_of[k]]
        names = [n.node_class for n in p.cluster.nodes]
        classes = {int(c): names[v] for c, v in zip(p.tms.node_class, p.tms.node, strict=True)}
        rate, slow = float(p.work.rate_per_s[k]), int(p.tms.node_class[moved[k]])
        known = {name for kind in others if (job, op.id) in kind.runs for name in kind.classes}
        elsewhere = tuple(
            (name, rate / float(p.work.busy[k, c]))
            for c, name in sorted(classes.items(), key=lambda each: each[1])
            if name in known and c != slow and p.work.busy[k, c] > 0
        )
        return TooSlow(op.name, classes[slow], rate / float(busy.max()), rate, elsewhere)

    def _full(self, kind: KindOfSites) -> tuple[Limit, ...]:
        """Return the limits at these sites that are full, one of each kind."""
        p, found = self._p, dict[str, Limit]()
        for tight in tightest(p.cluster, self._found, p.rules):
            limit = tight.limit
            at = {tight.site, *limit.subject} & set(kind.sites)
            if at and limit.utilisation >= _FULL and limit.kind is not LimitKind.SUBTASK_BUSY:
                found.setdefault(limit.kind, limit)
        return tuple(found.values())
