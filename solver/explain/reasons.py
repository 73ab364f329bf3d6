"""Reasons for a plan: the effect of other places of each operator on objective and limits."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    Evaluation,
    JobGraph,
    Limit,
    ObjectiveLevel,
    ObjectiveName,
    Plan,
    Rules,
    objective_levels,
)
from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.clock import look, unhurried
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.constraints import Restriction
from edgeplace.solver.tolerances import SAME_VALUE, SILENT_BYTES_PER_S

_MOST_TITLES = 4
_MOST_SITES = 8
_MOST_JUDGED, _JUDGED_SUBTASKS = 200, 200_000
"""Limits for each operator: single moves that are evaluated, and subtasks of all these plans."""


@dataclass(frozen=True)
class Alternative:
    """The effect of placing one operator elsewhere."""

    place: str
    """`on servers`, `beside its input`, or `at other sites` if it is there as far as it may be."""
    objective: ObjectiveName | None
    """The first level that changes by more than rounding; None: no level changes."""
    before: float
    after: float
    breaks: Limit | None
    """A limit that the move would break; None: no limit."""
    plan: Plan
    """The plan with the operator there, which the evaluator computed."""


@dataclass(frozen=True)
class Reason:
    """The sites of an operator, and the reason for them."""

    job: str
    operator: str
    """Operator id."""
    name: str
    sites: tuple[str, ...]
    held_by: str
    """The rules that allow no other site; empty: other sites are allowed."""
    alternatives: tuple[Alternative, ...]
    """Empty if other sites are allowed, but not for each of its subtasks."""


def why(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
) -> tuple[Reason, ...]:
    """Return one reason for each operator, from plans that the evaluator computed.

    If the time of the call ends early, only the first operators have reasons.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plan does not belong to them.
    """
    with unhurried():
        problem = build(job_graph, cluster, rules, current)
    levels = [level.name for level in objective_levels(objective, cluster)]
    assignment = problem.assignment(plan)
    found = assess(problem, assignment)
    reasons: list[Reason] = []
    with suppress(OutOfTimeError):
        for o in range(len(problem.subtasks.operators)):
            reasons.append(_reason(problem, o, assignment, found, levels))
    return tuple(reasons)


def _reason(
    p: Problem, o: int, assignment: Ints, found: Evaluation, levels: list[ObjectiveName]
) -> Reason:
    own = p.subtasks.range_of(o)
    job, op = p.subtasks.operators[o]
    names = [s.id for s in p.cluster.sites]
    sites = tuple(names[s] for s in dict.fromkeys(p.tms.site[assignment[own]].tolist()))
    allowed = p.allowed()[own]
    one_site = p.tms.site == p.tms.site[allowed.argmax(axis=1)][:, None] if p.m else allowed
    only_site = bool(allowed.any(axis=1).all() and (one_site | ~allowed).all())
    alternatives = []
    if not only_site:
        for place, moved in _elsewhere(p, own, assignment, found, levels):
            if (p.tms.site[moved] != p.tms.site[assignment]).any():
                alternatives.append(_compare(p, place, moved, found, levels))
        if not alternatives and (others := _other_sites(p, own, assignment)):
            moved = _cheapest(p, own, assignment, others, found, levels)
            alternatives.append(_compare(p, "at other sites", moved, found, levels))
    return Reason(
        job, op.id, op.name, sites, _holder(p, own) if only_site else "", tuple(alternatives)
    )


def _holder(p: Problem, own: Ints) -> str:
    titles = [
        c.title
        for c in p.constraints
        if isinstance(c, Restriction) and np.isin(own, c.subtasks).any()
    ]
    different = list(dict.fromkeys(titles))
    more = len(different) - _MOST_TITLES
    text = "; ".join(different[:_MOST_TITLES] if more > 1 else different)
    return f"{text}; and {more:,} more such" if more > 1 else text or "the cluster has one site"


def _elsewhere(
    p: Problem, own: Ints, assignment: Ints, found: Evaluation, levels: list[ObjectiveName]
) -> list[tuple[str, Ints]]:
    """Return plans with the operator on servers, and at the sites that send it the most bytes.

    Each has its name: `on servers` or `beside its input`.
    """
    allowed = p.allowed()
    places = []
    servers = [np.flatnonzero(allowed[k] & p.tms.is_server) for k in own]
    if all(len(s) for s in servers):
        places.append(("on servers", servers))
    sites = main_sites(p, own, assignment)
    if (sites >= 0).all():
        near = [
            np.flatnonzero(allowed[k] & (p.tms.site == s)) for k, s in zip(own, sites, strict=True)
        ]
        if all(len(s) for s in near):
            places.append(("beside its input", near))
    return [
        (place, _cheapest(p, own, assignment, options, found, levels)) for place, options in places
    ]


def _other_sites(p: Problem, own: Ints, assignment: Ints) -> list[Ints]:
    """Return the TaskManagers at other sites that may run each subtask; empty if one has none."""
    allowed = p.allowed()[own] & (p.tms.site != p.tms.site[assignment[own]][:, None])
    others = [np.flatnonzero(row & (p.tms.slots > 0)) for row in allowed]
    return others if all(len(tms) for tms in others) else []


def _cheapest(
    p: Problem,
    own: Ints,
    assignment: Ints,
    options: list[Ints],
    found: Evaluation,
    levels: list[ObjectiveName],
) -> Ints:
    """Return the best of some plans with the operator on the given TaskManagers.

    Best is the plan with the fewest new violations, then with the lowest objective. The plans are
    an even spread over all TaskManagers, an even spread at each site alone, and then moves of
    single subtasks from the best of these.

    Parameters
    ----------
    options
        For each subtask of the operator, the TaskManagers to try.
    """
    known = {(v.kind, v.where) for v in found.violations}

    def worth(moved: Ints) -> tuple[float, ...]:
        look()
        other = assess(p, moved)
        broken = sum((v.kind, v.where) not in known for v in other.violations)
        return broken, *(float(f"{other.value(name):.9g}") for name in levels)

    sites = set.intersection(*(set(p.tms.site[tms].tolist()) for tms in options))
    tried = [options]
    if len(sites) > 1:
        alone = sorted(sites)[:_MOST_SITES]
        tried += [[tms[p.tms.site[tms] == s] for tms in options] for s in alone]
    spread = [_spread(p, own, assignment, each) for each in tried]
    best, least = min(((moved, worth(moved)) for moved in spread), key=lambda each: each[1])
    left = min(_MOST_JUDGED, _JUDGED_SUBTASKS // p.n)
    for k, tms in zip(own.tolist(), options, strict=True):
        for t in tms.tolist():
            if left <= 0:
                return best
            if t != best[k]:
                left -= 1
                moved = best.copy()
                moved[k] = t
                after = worth(moved)
                if after < least:
                    best, least = moved, after
    return best


def _spread(p: Problem, own: Ints, assignment: Ints, options: list[Ints]) -> Ints:
    filler = Filler(p)
    filler.hold(np.setdiff1d(np.arange(p.n), own), assignment)
    for k, tms in zip(own.tolist(), options, strict=True):
        filler.place(k, tms.tolist())
    return filler.assignment


def main_sites(p: Problem, own: Ints, assignment: Ints, most_of_it: bool = False) -> Ints:
    """Return the site that sends the most bytes to each subtask of an operator; -1: no site.

    Parameters
    ----------
    most_of_it
        Only a site that sends more than all others together.
    """
    source, target = p.channels.feeding
    # The subtasks of an operator have consecutive numbers.
    into = np.flatnonzero((target >= own[0]) & (target <= own[-1]))
    subtask = target[into] - own[0]
    weights = p.channels.bytes_per_s[into] + SILENT_BYTES_PER_S
    pairs, inverse = np.unique(
        subtask * p.network.n_sites + p.tms.site[assignment[source[into]]],
        return_inverse=True,
    )
    sent = np.bincount(inverse, weights=weights, minlength=len(pairs))
    subtask, site = np.divmod(pairs, p.network.n_sites)
    if most_of_it:
        total = np.bincount(subtask, weights=sent, minlength=len(own))
        much = sent > total[subtask] / 2
        sent, subtask, site = sent[much], subtask[much], site[much]
    main = np.full(len(own), -1, np.intp)
    # The largest is written last; of equal ones, the site with the lowest number.
    order = np.lexsort((-site, sent))
    main[subtask[order]] = site[order]
    return main


def _compare(
    p: Problem, place: str, moved: Ints, found: Evaluation, levels: list[ObjectiveName]
) -> Alternative:
    other = assess(p, moved)
    known = {(v.kind, v.where) for v in found.violations}
    broken = [v for v in other.violations if (v.kind, v.where) not in known]
    breaks = broken[0] if broken else None
    for name in levels:
        before, after = found.value(name), other.value(name)
        if abs(after - before) > SAME_VALUE * max(abs(before), abs(after)):
            return Alternative(place, name, before, after, breaks, p.plan(moved))
    return Alternative(place, None, 0.0, 0.0, breaks, p.plan(moved))
