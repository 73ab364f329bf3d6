"""Other places of one subtask: the cost of each, and the limits it would break or cure.

TaskManagers of a site and a node class cost the same; those where the subtask would break the same
limits are tried as one.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    OBJECTIVES,
    Cluster,
    Evaluation,
    InvalidInputError,
    JobGraph,
    Limit,
    ObjectiveLevel,
    ObjectiveName,
    Plan,
    Rules,
    nearest,
    no_such_operator,
    objective_levels,
    operators_of,
)
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.evaluate import evaluation_of
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.constraints import Alone, Capped, Constraint, Restriction, Together
from edgeplace.solver.problem.subtasks import Subtasks
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE

Terms = dict[ObjectiveName, float]

_MOST_TRIED = 200
"""Places that the evaluator judges."""
_TITLE = re.compile(r".* \((\d+)/\d+\)", re.DOTALL)


@dataclass(frozen=True)
class Move:
    """The effect of moving one subtask to one of some equal places."""

    sites: tuple[str, ...]
    node_class: str
    task_managers: int
    """How many this speaks of."""
    tried: str
    """The TaskManager that the figures are of."""
    terms: Terms
    """Each term of the objective after the move."""
    breaks: tuple[Limit, ...]
    """Limits that would no longer hold."""
    cures: tuple[Limit, ...]
    """Limits that do not hold now and then would, as they are now."""


@dataclass(frozen=True)
class Moves:
    """One subtask, and every other place."""

    job: str
    operator: str
    """Operator id."""
    subtask: str
    """Flink's name of it."""
    index: int
    """From 0, among the operator's."""
    task_manager: str
    site: str
    terms: Terms
    """Each term of the objective now; `cost` only if the cluster has a currency."""
    options: tuple[Move, ...]
    """Best first: by the objective, level by level, then those that break nothing."""
    left_out: int
    """TaskManagers of no option: they rank behind, or were not tried. Of more than 200 places, some
    of each kind are: with the least WAN traffic, and of places that send as much and would be
    as full the first."""


def moves(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    subtask: str,
    rules: Rules | None = None,
    current: Plan | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
    most: int = 20,
) -> Moves:
    """Return what moving one subtask to any other place would do, as the evaluator judges it.

    Parameters
    ----------
    subtask
        Flink's name, such as `filter (2/4)`; the operator alone where it has one subtask.
    most
        Options to return.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, the plan does not belong to them, or there is no such subtask.
    """
    with unhurried():
        p = build(job_graph, cluster, rules, current)
    levels = [level.name for level in objective_levels(objective, cluster)]
    k = _numbered(p.subtasks, subtask)
    assignment = p.assignment(plan)
    now = measure_usage(p, assignment)
    tms, cell, marks = _cells(p, k, now, by_load="throughput" in levels)
    # Of each cell, its first TaskManager stands for all.
    first = tms[np.unique(cell, return_index=True)[1]]
    order = _each_kind_first(_wan_cost(p, k, assignment, p.tms.site[first]), marks[1:])[
        :_MOST_TRIED
    ]
    ranked = sorted(
        (
            (_rank(judged, levels), i, judged)
            for i in order.tolist()
            for judged in [measure_usage(p, _moved(assignment, k, int(first[i])))]
        ),
        key=lambda r: r[:2],
    )
    same: dict[tuple[object, ...], list[int]] = {}
    verdicts: dict[int, Usage] = {}
    for rank, i, judged in ranked:
        verdicts[i] = judged
        same.setdefault((rank, marks[1:, i].tobytes()), []).append(i)
    size = np.bincount(cell)
    said = evaluation_of(now)
    options = []
    for members in list(same.values())[:most]:
        t = int(first[members[0]])
        then = evaluation_of(verdicts[members[0]])
        options.append(
            Move(
                sites=tuple(p.cluster.sites[p.tms.site[first[i]]].id for i in members),
                node_class=p.cluster.nodes[p.tms.node[t]].node_class,
                task_managers=int(size[members].sum()),
                tried=p.cluster.task_managers[t].id,
                terms=_terms(then),
                breaks=newly(then.violations, said.violations),
                cures=newly(said.violations, then.violations),
            )
        )
    t = int(assignment[k])
    job, op = p.subtasks.operators[int(p.subtasks.operator_of[k])]
    shown = sum(o.task_managers for o in options)
    return Moves(
        job=job,
        operator=op.id,
        subtask=p.subtasks.title(k),
        index=k - int(p.subtasks.first[p.subtasks.operator_of[k]]),
        task_manager=p.cluster.task_managers[t].id,
        site=p.cluster.sites[p.tms.site[t]].id,
        terms=_terms(said),
        options=tuple(options),
        left_out=len(tms) - shown,
    )


def _terms(found: Evaluation) -> Terms:
    names = (n for n in OBJECTIVES if n != "cost" or found.cost_per_month is not None)
    return {name: found.value(name) for name in names}


def newly(then: Sequence[Limit], before: Sequence[Limit]) -> tuple[Limit, ...]:
    """Return the limits that are broken then and were not before."""
    known = {(v.kind, v.where) for v in before}
    return tuple(v for v in then if (v.kind, v.where) not in known)


def _numbered(subtasks: Subtasks, text: str) -> int:
    """Return the number of the subtask that a text names."""
    hit = _TITLE.fullmatch(text)
    if hit:
        for o in range(len(subtasks.operators)):
            k = int(subtasks.first[o]) + int(hit[1]) - 1
            if subtasks.first[o] <= k < subtasks.first[o + 1] and subtasks.title(k) == text:
                return k
    # An operator's name may look like that of a subtask.
    alone = not hit or any(text in (op.id, op.name) for _, op in subtasks.operators)
    operator = text if alone else text.rpartition(" (")[0]
    index = int(hit[1]) - 1 if hit else 0
    having = [o for o, (_, op) in enumerate(subtasks.operators) if operator in (op.id, op.name)]
    if not having:
        error = no_such_operator(subtasks.jobs, operator)
        raise InvalidInputError(error.what, _meant(subtasks, operator, index))
    jobs = list(dict.fromkeys(subtasks.operators[o][0] for o in having))
    if len(jobs) > 1:
        raise InvalidInputError(
            f"operator {operator!r} is in several jobs: {jobs}",
            f"say which: {' or '.join(repr(_title(subtasks, o, index)) for o in having)}",
        )
    own = subtasks.of(operator)
    if not alone or len(own) > 1:
        raise InvalidInputError(
            f"there is no subtask {text!r}",
            f"name one from {subtasks.title(int(own[0]))!r} to {subtasks.title(int(own[-1]))!r}",
        )
    return int(own[0])


def _meant(subtasks: Subtasks, operator: str, index: int) -> str:
    """Return a cure with the subtask of the operator whose title is nearest, or with all names."""
    titles: dict[str, int] = {}
    for o, (_, op) in enumerate(subtasks.operators):
        titles.setdefault(_title(subtasks, o, index).rpartition(" (")[0], o)
        titles.setdefault(op.name, o)
    near = nearest(operator, titles)
    listed = operators_of(subtasks.jobs)
    return f"did you mean {_title(subtasks, titles[near], index)!r}? {listed}" if near else listed


def _title(subtasks: Subtasks, o: int, index: int) -> str:
    """Return the title of a subtask of an operator, of the first if it has not so many."""
    own = subtasks.range_of(o)
    return subtasks.title(int(own[index if index < len(own) else 0]))


def _moved(assignment: Ints, k: int, t: int) -> Ints:
    moved = assignment.copy()
    moved[k] = t
    return moved


def _rank(v: Usage, levels: Sequence[ObjectiveName]) -> tuple[object, ...]:
    """Return what options are sorted by, and taken as one by: figures without float noise."""
    others = [name for name in OBJECTIVES if name not in levels and name != "throughput"]
    values = tuple(float(f"{v.value(name):.9g}") for name in [*levels, *others])
    return bool(v.unreachable), values, not (v.rated_hold and v.fixed_hold)


def _cells(p: Problem, k: int, now: Usage, by_load: bool) -> tuple[Ints, Ints, Ints]:
    """Return all other TaskManagers, the cell of each, from 0, and what marks the cells.

    Parameters
    ----------
    by_load
        Whether it matters how full a node is, not only whether it is.

    Returns
    -------
    tuple
        Marks have the shape (n_marks, n_cells): the site, then the class and what would break.
    """
    a, here = now.assignment, int(now.assignment[k])
    elsewhere = p.tms.node != p.tms.node[here]
    # Over a day, a place may be full in one period and not in another one.
    each = now.periods or (now,)
    loads = [
        u.cores[p.tms.node] + elsewhere * u.problem.work.cores[k, p.tms.node_class] for u in each
    ]
    o = int(p.subtasks.operator_of[k])
    count = np.bincount(a[p.subtasks.range_of(o)], minlength=p.m)
    most = np.zeros(p.m, np.intp)
    for other in np.flatnonzero(p.subtasks.group == p.subtasks.group[o]).tolist():
        np.maximum(most, np.bincount(a[p.subtasks.range_of(other)], minlength=p.m), out=most)
    room = p.tms.node_cores[p.tms.node]
    unused = np.bincount(p.tms.node[np.delete(a, k)], minlength=len(p.tms.node_cores)) == 0
    marks = [
        p.tms.site,
        p.tms.node_class,
        np.unique(p.tms.core_price, return_inverse=True)[1],
        np.unique(p.tms.node_price * unused, return_inverse=True)[1][p.tms.node],
        np.arange(p.m) == (p.current[k] if p.current is not None else -1),
        now.slots + (count + 1 > most) > p.tms.slots,
        *(
            full
            for u in each
            for full in (
                u.taken + u.problem.footprint.takes[k] > p.tms.has * (1 + BYTES_TOLERANCE)
            ).T
        ),
        *(cores > room * (1 + TOLERANCE) for cores in loads),
        *(wrong for c in p.constraints for wrong in _breaking(c, k, a)),
    ]
    if by_load:
        marks += [np.unique(cores / room, return_inverse=True)[1] for cores in loads]
    others = np.flatnonzero(np.arange(p.m) != here)
    table = np.stack([np.asarray(m, np.intp)[others] for m in marks])
    cells, inverse = np.unique(table, axis=1, return_inverse=True)
    return others, inverse.reshape(-1), cells


def _each_kind_first(cost: Floats, marks: Ints) -> Ints:
    """Return places in the order to try them: the cheapest of each kind, the next of each, ..."""
    alike = np.stack([np.unique(cost.round(6), return_inverse=True)[1].reshape(-1), *marks])
    kind = np.unique(alike, axis=1, return_inverse=True)[1].reshape(-1)
    by_kind = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[by_kind], kind[by_kind])
    turn = np.empty(len(kind), np.intp)
    turn[by_kind] = np.arange(len(kind)) - starts
    order: Ints = np.lexsort((cost, turn))
    return order


def _breaking(c: Constraint, k: int, a: Ints) -> list[Bools]:
    """Return where subtask k would break a constraint, shape (n_tms,); [] if it has no part."""
    match c:
        case Restriction():
            return [~c.allowed] if k in c.subtasks else []
        case Together():
            with_k = [*c.second[c.first == k].tolist(), *c.first[c.second == k].tolist()]
            return [c.place != c.place[a[other]] for other in with_k if other != k]
        case Capped():
            if k not in c.subtasks:
                return []
            rest = a[c.subtasks[c.subtasks != k]]
            held = np.bincount(c.place[rest], minlength=int(c.place.max()) + 1)
            return [held[c.place] >= c.count]
        case Alone():
            sides = ((c.subtasks, c.others), (c.others, c.subtasks))
            return [np.isin(c.place, c.place[a[far]]) for near, far in sides if k in near]


def _wan_cost(p: Problem, k: int, assignment: Ints, at: Ints) -> Floats:
    """Return what subtask k alone sends and gets over links, by price, at each of some sites."""
    site = p.tms.site[assignment]
    n = p.network.n_sites
    into, out = p.channels.target == k, p.channels.source == k
    got, sent = np.zeros(n), np.zeros(n)
    np.add.at(got, site[p.channels.source[into]], p.channels.bytes_per_s[into])
    np.add.at(sent, site[p.channels.target[out]], p.channels.bytes_per_s[out])
    if p.storage_site is not None:
        sent[p.storage_site] += p.footprint.checkpoint_bytes_per_s[k]
    sites, inverse = np.unique(at, return_inverse=True)

    def priced(flows: Floats, along: Callable[[Ints, Ints], Floats]) -> Floats:
        far = np.flatnonzero(flows)
        one, other = np.repeat(sites, len(far)), np.tile(far, len(sites))
        cost: Floats = along(one, other).reshape(len(sites), len(far)) @ flows[far]
        return cost

    price = p.network.price
    cost = priced(got, lambda here, far: p.network.along(price, far, here))
    cost += priced(sent, lambda here, far: p.network.along(price, here, far))
    total: Floats = cost[inverse]
    return total
