"""Why no plan exists: which limits clash, by how much, and what would cure it.

The nearest plan is found by letting limits slip at a price (an elastic model: Chinneck,
"Feasibility and Infeasibility in Optimization", 2008, ch. 6): first as few rules as possible, then
as few limits, then by as little as possible. What it exceeds is read off by the evaluator, so the
figures are exact. The cure is confirmed by solving the cured problem: the evaluator finds nothing
to object to in that plan there. The clashing set comes from QuickXplain (Junker, AAAI 2004) over
the same rows.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import RATED, Conflict, Evaluation, Limit
from edgeplace.solver.backend import Outcome
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.cure import cured, describe
from edgeplace.solver.evaluate import assess
from edgeplace.solver.formulation import Formulation, formulate
from edgeplace.solver.linear_model import Affine, Kind, Limited, LinearModel, Row
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem

Ints = NDArray[np.intp]

_SECONDS = 60.0
"""Time for the whole analysis where the caller sets no limit."""
_PLACE_S = 2e-6
"""Time to state one place of one subtask with all its limits, measured."""
_PREFERRED = (
    "rule",
    "moves",
    "latency",
    "route",
    "slots",
    "memory",
    "disk",
    "subtask busy",
    "node cpu",
    "link bandwidth",
)


def find_conflict(problem: Problem, soft: bool, seconds: float | None) -> Conflict | None:
    """Return why a problem has no plan; None if time ran out before anything was found.

    Parameters
    ----------
    soft
        Limits that grow with the rates may be exceeded, so they are no part of a conflict.
    """
    if not problem.m:
        return _no_task_managers(problem)
    given = _SECONDS if seconds is None else max(seconds, 1.0)
    if _PLACE_S * problem.n * problem.m > given:
        return None
    deadline = time.monotonic() + given
    try:
        form = formulate(problem, (), explicit=True, deadline=deadline)
    except OutOfTimeError:
        return None
    if soft:
        rated = {r.limit for r in form.model.rows if r.limit and r.limit[0] in RATED}
        form = dataclasses.replace(form, model=form.model.without(rated))
    nearest = _nearest(form, deadline, soft)
    if nearest is None:
        return None
    shortfalls = _kept(assess(problem, nearest), soft)
    mended = cured(problem, shortfalls)
    # A link that did not exist has a credit window too, which shows once the link is there.
    later = _kept(assess(mended, nearest), soft)
    if later:
        shortfalls += later
        mended = cured(mended, later)
    members, irreducible = _clash(form, deadline)
    return Conflict(
        members=tuple(_title(problem, m) for m in members),
        irreducible=irreducible,
        shortfalls=shortfalls,
        cure=describe(problem, shortfalls),
        confirmed=not _kept(assess(mended, nearest), soft),
    )


def _kept(found: Evaluation, soft: bool) -> tuple[Limit, ...]:
    """Return the violations that count."""
    return tuple(v for v in found.violations if not (soft and v.kind in RATED))


def _no_task_managers(problem: Problem) -> Conflict:
    need = Limit(kind="slots", where="cluster", used=problem.n, capacity=0, unit="slots")
    return Conflict(
        members=("the cluster has no TaskManagers",),
        irreducible=True,
        shortfalls=(need,),
        cure="add nodes with slots to the cluster",
        confirmed=False,
    )


def _nearest(form: Formulation, deadline: float, soft: bool) -> Ints | None:
    """Return the assignment that breaks the fewest rules, then limits, those by the least share."""
    from edgeplace.solver.milp import Milp

    model, count, amount = _elastic(form.model)
    best: Ints | None = None
    least: tuple[int, int] | None = None
    solved = False
    while (left := deadline - time.monotonic()) > 0:
        loaded = Milp(model)
        first = loaded.minimise(count, seconds=left, gap=0.0, start=None)
        if first.values is None:
            break
        solved = first.outcome is Outcome.OPTIMAL
        few = round(sum(v * first.values[c] for c, v in count.terms.items()))
        loaded.add_rows([Row(count.terms, few + 1e-6)])
        left = max(deadline - time.monotonic(), 0.1)
        start = dict(enumerate(first.values.tolist()))
        second = loaded.minimise(amount, seconds=left, gap=1e-4, start=start)
        values = first.values if second.values is None else second.values
        assignment = form.assignment(values)
        found = assess(form.problem, assignment)
        broken = _broken(form.problem, assignment, soft)
        if least is None or broken < least:
            best, least = assignment, broken
        # Credit windows are stated only where they are met: let the model know and try again.
        windows = tuple(v for v in found.violations if v.kind == "credit window")
        if soft or not windows:
            break
        met = found.model_copy(update={"violations": windows})
        model.single.extend(form.missed(values, assignment, met))
    if not solved:
        # The model is too large to be solved in time: what others would do may be nearer.
        for baseline in BASELINES.values():
            assignment = baseline(form.problem)
            broken = _broken(form.problem, assignment, soft)
            if least is None or broken < least:
                best, least = assignment, broken
    return best


def _broken(problem: Problem, assignment: Ints, soft: bool) -> tuple[int, int]:
    """Return how many rules an assignment breaks, and how many limits in all."""
    found = _kept(assess(problem, assignment), soft)
    return sum(v.kind == "rule" for v in found), len(found)


def _elastic(rigid: LinearModel) -> tuple[LinearModel, Affine, Affine]:
    """Return the model with slack in the rows of limits, a weighted count of it, and its amount."""
    model = LinearModel(list(rigid.upper), list(rigid.kinds))
    exceeded: dict[Limited, int] = {}
    amount = Affine()
    for row in rigid.rows:
        if row.limit is None:
            model.single.append(row)
            continue
        if row.limit not in exceeded:
            exceeded[row.limit] = model.column(Kind.BINARY)
        most = sum(abs(v) * model.upper[c] for c, v in row.terms.items()) + abs(row.bound)
        terms = dict(row.terms)
        for sign in (-1.0, 1.0) if row.equality else (-1.0,):
            slack = model.column(Kind.REAL, most)
            terms[slack] = sign
            amount.add_term(slack, 1 / max(abs(row.bound), 1.0))
            model.at_most(Affine({slack: 1.0, exceeded[row.limit]: -most}), 0.0)
        model.single.append(dataclasses.replace(row, terms=terms))
    # A rule states what users know of the world; capacity can be bought. So a rule weighs more
    # than all other limits together.
    others = sum(limit[0] != "rule" for limit in exceeded)
    count = Affine({c: 1.0 if n[0] != "rule" else others + 1.0 for n, c in exceeded.items()})
    return model, count, amount


def _clash(form: Formulation, deadline: float) -> tuple[list[Limited], bool]:
    """Return limits that cannot all hold, and whether each was shown to be needed."""
    limits = list(dict.fromkeys(r.limit for r in form.model.rows if r.limit is not None))
    # Earlier ones are preferred in the answer: what people can change most easily comes first.
    limits.sort(key=lambda limit: _PREFERRED.index(limit[0]))

    def infeasible(kept: Sequence[Limited]) -> bool | None:
        from edgeplace.solver.milp import Milp

        loaded = Milp(form.model.without(set(limits) - set(kept)))
        tm = {t.id: i for i, t in enumerate(form.problem.cluster.task_managers)}
        stated = set(kept)
        while (left := deadline - time.monotonic()) > 0:
            answer = loaded.minimise(Affine(), seconds=left, gap=1.0, start=None)
            if answer.values is None:
                return True if answer.outcome is Outcome.INFEASIBLE else None
            assignment = form.assignment(answer.values)
            found = assess(form.problem, assignment)
            # What a solver's tolerance let in, although it is stated.
            short = tuple(
                v
                for v in found.violations
                if v.kind in ("memory", "disk") and (v.kind, tm[v.where]) in stated
            )
            if not short:
                return False
            short_only = found.model_copy(update={"violations": short})
            loaded.add_rows(form.missed(answer.values, assignment, short_only))
        return None

    if not infeasible(limits):
        return [], False
    try:
        return _quick_xplain([], limits, infeasible), True
    except OutOfTimeError:
        return limits, False


def _quick_xplain(
    background: list[Limited],
    candidates: list[Limited],
    infeasible: Callable[[Sequence[Limited]], bool | None],
    check: bool = False,
) -> list[Limited]:
    """Return a subset of candidates that clashes with the background, none of it superfluous."""
    if check:
        clashes = infeasible(background)
        if clashes is None:
            raise OutOfTimeError
        if clashes:
            return []
    if len(candidates) == 1:
        return candidates
    half = len(candidates) // 2
    first, second = candidates[:half], candidates[half:]
    of_second = _quick_xplain(background + first, second, infeasible, check=bool(first))
    of_first = _quick_xplain(background + of_second, first, infeasible, check=bool(of_second))
    return of_first + of_second


def _title(p: Problem, limit: Limited) -> str:
    kind, i = limit
    match kind:
        case "slots" | "memory" | "disk":
            tm = p.cluster.task_managers[i]
            room = {"slots": p.tm_slots, "memory": p.tm_memory, "disk": p.tm_disk}[kind][i]
            unit = "slots" if kind == "slots" else f"bytes of {kind}"
            return f"TaskManager {tm.id} has {room:,.0f} {unit}"
        case "node cpu":
            node = p.cluster.nodes[i]
            return (
                f"node {node.id} has {node.cores:g} cores, of which plans may use "
                f"{p.node_cores[i]:g}"
            )
        case "subtask busy":
            return f"a thread of {p.subtasks.title(i)} is busy at most all of the time"
        case "link bandwidth":
            room = p.network.capacity_bytes_per_s[i]
            return f"link {p.network.names[i]} carries {room:,.0f} bytes/s"
        case "latency":
            return f"the worst path takes at most {p.rules.max_latency_ms:g} ms"
        case "moves":
            return f"at most {p.rules.max_moves} subtasks move"
        case "route":
            return "streams run only between sites that a route joins"
        case _:
            return p.constraints[i].title
