"""Reasons why no plan exists: the limits that conflict, the amounts, and changes that cure it.

What no plan does without is looked up first (`shortages`), then the nearest plan is found and what
it exceeds. A cure is what lets it hold; each part that is not needed is left out of it, and the
figures are tried as they are printed. Last, a clashing set comes from QuickXplain (Junker, AAAI
2004): it is told only if it was narrowed down.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from edgeplace.model import (
    AMOUNTS,
    RATED,
    Change,
    Conflict,
    Limit,
    LimitKind,
    OwnData,
    Place,
)
from edgeplace.solver.clock import limited, running
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.formulation import Formulation, formulate
from edgeplace.solver.infeasibility.nearest import (
    Nearest,
    any_plan,
    kept,
    nearest,
    patient,
    refuse_large,
    rule_of_thumb,
)
from edgeplace.solver.infeasibility.repair import applied, changes, describe, merged
from edgeplace.solver.infeasibility.shortages import Shortages, overloaded
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.linear.model import Affine, Limited
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem

_NEAREST_SHARE, _CURE_SHARE = 0.5, 0.5
"""Of the time left: for the nearest plan, and then for leaving out parts of its cure."""
_PLACE_S = 2e-6
"""Time to state one place of one subtask with all its limits, measured."""
_QUESTIONS = 2e11
"""Questions which limits conflict, where the call has no limit, times columns of the model twice:
20 for the largest model, and no fewer than needed for one of 10,000 columns."""
_ROUNDS = 6
"""How often a cure may show what it lacks: a link that did not exist has a credit window, too, and
what helps other kinds of limits is changed before them, three steps deep."""


def find_conflict(problem: Problem, needed: Shortages, soft: bool) -> Conflict | None:
    """Return why a problem has no plan; None if time ran out before anything was found.

    Parameters
    ----------
    needed
        What no plan does without, as far as it is seen without a search.
    soft
        Limits that grow with the rates may be exceeded, so they are no part of a conflict.
    """
    if not problem.m:
        return _no_task_managers(problem)
    if not needed.members and not soft:
        needed = overloaded(problem)
    form, found = _nearest(problem, needed, soft)
    if found is None:
        return _only_shortages(needed, problem) if needed.members else None
    parts, found, minimal = _cured(problem, needed, found, soft)
    members, irreducible, unknown = _told(problem, needed, form, soft)
    return Conflict(
        members=members,
        irreducible=irreducible,
        shortfalls=_shortfalls(problem, parts, found, soft),
        cure=describe(parts, problem.subtasks.jobs, problem.cluster.rates_in),
        confirmed=not kept(assess(applied(problem, parts), found.assignment), soft),
        changes=parts,
        nearest=found.proved,
        minimal=minimal,
        not_narrowed=unknown,
        rates_in=problem.cluster.rates_in,
    )


def _nearest(
    problem: Problem, needed: Shortages, soft: bool
) -> tuple[Formulation | None, Nearest | None]:
    """Return a model of all limits, if there was time for one, and the nearest plan."""
    left = running().left()
    base = applied(problem, needed.changes)
    form: Formulation | None = None
    with limited(None if left is None else left * _NEAREST_SHARE):
        try:
            if needed.members:
                plan, _ = any_plan(base, soft)
                if plan is not None:
                    lost = sum(v.kind is LimitKind.ROUTE for v in assess(problem, plan).violations)
                    return None, Nearest(plan, needed.fewest and lost == needed.cut_off)
            # What no link joins cannot be weighed against anything.
            form = _explicit(base if needed.cut_off else problem, soft)
            found = nearest(form, soft)
            if found is not None:
                proved = found.proved and not needed.cut_off
                return form, dataclasses.replace(found, proved=proved)
        except OutOfTimeError:
            pass
    # The model is too large to be solved in time: what others would do may be near.
    plan = rule_of_thumb(base, soft)
    return form, None if plan is None else Nearest(plan, False)


def _explicit(problem: Problem, soft: bool) -> Formulation:
    """Return the model of a problem with all that may be at fault as rows."""
    running().afford(_PLACE_S * problem.n * problem.m)
    refuse_large(problem.n * problem.m)
    form = formulate(problem, (), explicit=True)
    if not soft:
        return form
    rated = {r.limit for r in form.model.rows if r.limit and r.limit[0] in RATED}
    return dataclasses.replace(form, model=form.model.without(rated))


def _cured(
    problem: Problem, needed: Shortages, found: Nearest, soft: bool
) -> tuple[tuple[Change, ...], Nearest, bool]:
    """Return a cure without what it does not need, a plan that it lets hold, and whether so proved.

    Returns
    -------
    tuple
        The changes; a plan that holds with them; whether each part is known to be needed.
    """
    parts = _mended(problem, needed.changes, found, soft)
    if _breaks_least(problem, parts, needed, found):
        return parts, found, True
    left = running().left()
    with limited(None if left is None else left * _CURE_SHARE):
        minimal, tried = False, len(parts) + 1
        # It ends: each round has fewer parts. With a part less, others may help that did not.
        while len(parts) < tried:
            tried = len(parts)
            doubtful = _doubtful(parts, needed)
            parts, found, minimal = _without_needless(problem, parts, doubtful, found, soft)
        return parts, found, minimal


def _breaks_least(
    problem: Problem, parts: Sequence[Change], needed: Shortages, found: Nearest
) -> bool:
    """Return whether a plan would break less than the one that breaks least, with a part less.

    The nearest plan breaks the fewest limits. A rule may be one for each of its subtasks, and
    another one of its subtasks' own sites where less holds their sources.
    """
    routes = sum(c.kind is LimitKind.ROUTE for c in parts)
    rules = {c.where for c in parts if c.kind is LimitKind.RULE}
    limits = Counter(c.rule.title() if c.rule else c.title for c in problem.constraints)
    joint = any(limits[rule] > 1 for rule in rules)
    joint |= len(rules) > 1 and bool(rules & _own_data(problem))
    least = found.proved and not joint and _apart(parts) and routes <= max(needed.cut_off, 1)
    return len(parts) == 1 or least


def _apart(parts: Sequence[Change]) -> bool:
    """Return whether no change helps a limit of another one."""
    kinds = {c.kind for c in parts}
    return not any(kinds.intersection(kind.facts.helps) for kind in kinds)


def _doubtful(parts: Sequence[Change], needed: Shortages) -> list[Change]:
    """Return the changes that a cure may do without.

    Without the rules that hold it somewhere, what was short there need not be. Of links that join
    a part of the network, one direction may be enough.
    """
    held = all(c.kind is not LimitKind.RULE for c in parts)
    certain = {(c.kind, c.where) for c in needed.changes if held and c.kind is not LimitKind.ROUTE}
    return [c for c in parts if (c.kind, c.where) not in certain]


def _without_needless(
    problem: Problem,
    parts: tuple[Change, ...],
    doubtful: Sequence[Change],
    found: Nearest,
    soft: bool,
) -> tuple[tuple[Change, ...], Nearest, bool]:
    """Leave out changes as long as a plan holds: all of one kind at once, then one by one.

    Returns
    -------
    tuple
        As `_cured`.
    """
    kinds = {c.kind for c in parts}
    minimal, first = _apart(parts) or LimitKind.SUBTASK_BUSY not in kinds, parts
    alike = [[c for c in doubtful if c.kind == kind] for kind in sorted(kinds)]
    for out in [own for own in alike if len(own) > 1] + [[c] for c in doubtful]:
        rest = tuple(c for c in parts if c not in out)
        if not rest or len(rest) == len(parts):
            continue
        try:
            plan, none = any_plan(applied(problem, rest), soft)
        except OutOfTimeError:
            plan, none = None, False
        if plan is not None:
            found = Nearest(plan, False)
            parts = _mended(problem, rest, found, soft)
        elif len(out) == 1 and not none:
            minimal = False
    # What was needed beside other amounts may not be beside these.
    return parts, found, minimal and parts == first


def _mended(
    problem: Problem, parts: Sequence[Change], found: Nearest, soft: bool
) -> tuple[Change, ...]:
    """Return the changes that let a plan hold.

    Parameters
    ----------
    parts
        A cure. Of its links those are taken that the plan needs, also where others might do.
    """
    joins = tuple(c for c in parts if c.kind is LimitKind.ROUTE)
    parts = joins
    cut_off = _cut_off(problem, parts, found)
    for c in joins:
        rest = tuple(other for other in parts if other != c)
        if _cut_off(problem, rest, found) <= cut_off:
            parts = rest
    for _ in range(_ROUNDS):
        short = kept(assess(applied(problem, parts), found.assignment), soft)
        if not short:
            break
        parts = merged((*parts, *changes(applied(problem, parts), _first(problem, short))))
    return tuple(parts)


def _first(problem: Problem, short: Sequence[Limit]) -> list[Limit]:
    """Return the limits to help first: with that, the others may need less, or nothing.

    Whose data a subtask has depends on what holds its sources, so `own_data` comes after the rules.
    """
    kinds = {v.kind for v in short}
    first = [v for v in short if not any(v.kind in kind.facts.helps for kind in kinds)]
    own_data = _own_data(problem)
    others = [v for v in first if not (v.kind is LimitKind.RULE and v.where in own_data)]
    return others if any(v.kind is LimitKind.RULE for v in others) else first


def _own_data(problem: Problem) -> set[str]:
    """Return the titles of the rules on whose data sites serve."""
    return {r.title() for r in problem.rules.rules if isinstance(r, OwnData)}


def _cut_off(problem: Problem, parts: Sequence[Change], found: Nearest) -> int:
    """Return how many routes a plan lacks."""
    limits = assess(applied(problem, parts), found.assignment).violations
    return sum(v.kind is LimitKind.ROUTE for v in limits)


def _shortfalls(
    problem: Problem, parts: Sequence[Change], found: Nearest, soft: bool
) -> tuple[Limit, ...]:
    """Return what a plan exceeds, also of the limits that show once there is a route."""
    joins = [c for c in parts if c.kind is LimitKind.ROUTE]
    short = kept(assess(problem, found.assignment), soft)
    if not joins:
        return short
    known = {(v.kind, v.where) for v in short}
    later = kept(assess(applied(problem, joins), found.assignment), soft)
    return (*short, *(v for v in later if (v.kind, v.where) not in known))


def _only_shortages(needed: Shortages, problem: Problem) -> Conflict:
    """Return the conflict for a case in which not even a plan that breaks limits was found."""
    return Conflict(
        members=needed.members,
        irreducible=needed.irreducible,
        shortfalls=needed.limits,
        cure=describe(needed.changes, problem.subtasks.jobs, problem.cluster.rates_in),
        confirmed=False,
        changes=needed.changes,
        rates_in=problem.cluster.rates_in,
    )


def _told(
    problem: Problem, needed: Shortages, form: Formulation | None, soft: bool
) -> tuple[tuple[str, ...], bool, int]:
    """Return the clashing limits in words, whether each is needed, and how many are not told.

    Parameters
    ----------
    form
        The model of all limits, if there was time for one, of the problem without shortages.
    """
    if needed.irreducible or needed.thin:
        return needed.members, needed.irreducible, 0
    try:
        if needed.cut_off or (needed.members and form is None):
            form = _explicit(problem, soft)
    except OutOfTimeError:
        form = None
    members, narrowed = ([], False) if form is None else _clash(form)
    if narrowed:
        return tuple(_title(problem, m) for m in members), True, 0
    if needed.members:
        return needed.members, False, 0
    return (), False, len(members)


def _no_task_managers(problem: Problem) -> Conflict:
    need = Limit.of(LimitKind.SLOTS, "cluster", problem.n, 0, ())
    return Conflict(
        members=("the cluster has no TaskManagers",),
        irreducible=True,
        shortfalls=(need,),
        cure="add nodes with slots to the cluster",
        confirmed=False,
    )


def _clash(form: Formulation) -> tuple[list[Limited], bool]:
    """Return limits that cannot all hold, and whether each was shown to be needed."""
    limits = list(dict.fromkeys(r.limit for r in form.model.rows if r.limit is not None))
    # Earlier ones are preferred in the answer: what people can change most easily comes first.
    order = [kind.value for kind in LimitKind]
    limits.sort(key=lambda limit: order.index(limit[0]))

    left = np.inf if running().limited else _QUESTIONS / max(len(form.model.upper), 1) ** 2

    def infeasible(kept: Sequence[Limited]) -> bool | None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OutOfTimeError("too many questions which limits conflict")
        loaded = patient(form.model.without(set(limits) - set(kept)))
        tm = {t.id: i for i, t in enumerate(form.problem.cluster.task_managers)}
        stated = set(kept)
        while True:
            answer = loaded.minimise(Affine(), seconds=None, gap=1.0, start=None)
            if answer.values is None:
                return True if answer.outcome is Outcome.INFEASIBLE else None
            assignment = form.assignment(answer.values)
            found = assess(form.problem, assignment)
            # What a solver's tolerance let in, although it is stated.
            short = tuple(
                v for v in found.violations if v.kind in AMOUNTS and (v.kind, tm[v.where]) in stated
            )
            if not short:
                return False
            short_only = found.model_copy(update={"violations": short})
            loaded.add_rows(form.missed(answer.values, assignment, short_only) or ())

    try:
        refuse_large(len(form.model.upper))
        if not infeasible(limits):
            return [], False
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
    kind, i = LimitKind.named(limit[0]), limit[1]
    where, room = _thing(p, kind, i)
    target = getattr(p.cluster, kind.facts.target) if kind.facts.target else 1.0
    return kind.in_words(where, room, room / target, p.cluster.rates_in)


def _thing(p: Problem, kind: LimitKind, i: int) -> tuple[str, float]:
    """Return what a limit is at, by its kind and its index among those of the kind, and how much.

    Nothing is to be said of how much where the limit is no amount.
    """
    match kind.facts.at:
        case Place.TASK_MANAGER:
            slots = kind is LimitKind.SLOTS
            room = p.tms.slots[i] if slots else p.tms.has[i, AMOUNTS.index(kind)]
            return p.cluster.task_managers[i].id, float(room)
        case Place.NODE:
            return p.cluster.nodes[i].id, float(p.tms.node_cores[i])
        case Place.LINK:
            return p.network.names[i], float(p.network.capacity_bytes_per_s[i])
        case Place.SUBTASK:
            return p.subtasks.title(i), 1.0
        case Place.PLAN:
            return kind.facts.where, kind.bound(p.rules) or 0.0
        case Place.JOB:
            return list(kind.bounds_of_jobs(p.rules).items())[i]
        case Place.RULE:
            return p.constraints[i].title, 0.0
        case _:
            return "", 0.0
