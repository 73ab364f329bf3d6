"""Rules that hold subtasks at lost sites: then no plan exists, and no capacity would cure it."""

import numpy as np

from edgeplace.model import Case, Conflict, Limit, LimitKind, Result, Status, StoppedBy, some
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.constraints import Restriction


def held_at_lost_sites(case: Case, backend: str = "milp") -> Result | None:
    """Return why there is no plan where rules leave a subtask only TaskManagers of lost sites.

    None where there is no such subtask. It is to be asked before solving: the solver knows of a
    lost site only that its TaskManagers have no slots.

    Parameters
    ----------
    backend
        What the result names as its back end.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or contradict one another.
    """
    if not case.lost:
        return None
    problem = build(case.jobs, case.cluster, case.rules, case.current)
    conflict = _conflict(problem, case.lost)
    if conflict is None:
        return None
    return Result(
        status=Status.INFEASIBLE,
        stopped_by=StoppedBy.PROOF,
        runtime_s=0.0,
        backend=backend,
        conflict=conflict,
    )


def _conflict(p: Problem, lost: tuple[str, ...]) -> Conflict | None:
    names = np.array([s.id for s in p.cluster.sites])[p.tms.site]
    # A node that a later setting added at the site works.
    works = ~np.isin(names, lost) | (p.tms.slots > 0)
    # A subtask that rules leave no place at all is no matter of lost sites.
    stuck = p.allowed().any(axis=1) & ~p.allowed()[:, works].any(axis=1)
    held: dict[tuple[str, ...], list[int]] = {}
    for k in np.flatnonzero(stuck).tolist():
        own = [c for c in p.constraints if isinstance(c, Restriction) and k in c.subtasks]
        # Where no rule is enough by itself, those that take away a place that works are together.
        alone = [c.title for c in own if not c.allowed[works].any()][:1]
        rules = alone or [c.title for c in own if not c.allowed[works].all()]
        held.setdefault(tuple(dict.fromkeys(rules)), []).append(k)
    if not held:
        return None
    sites = {
        rules: [s for s in lost if (p.allowed()[own][:, names == s]).any()]
        for rules, own in held.items()
    }
    gone = [s for s in lost if any(s in there for there in sites.values())]
    members = dict.fromkeys(rule for rules in held for rule in rules)
    return Conflict(
        members=(*members, *(f"site {s!r} is lost" for s in gone)),
        irreducible=len(members) == len(gone) == 1,
        shortfalls=tuple(
            Limit.of(LimitKind.RULE, rules[0], len(own), 0) for rules, own in held.items()
        ),
        cure="; ".join(
            f"drop or move {_rules(rules)}: {some([p.subtasks.title(k) for k in own])} may run "
            f"only at {', '.join(map(repr, sites[rules]))}, which is lost"
            for rules, own in held.items()
        ),
        confirmed=False,
    )


def _rules(titles: tuple[str, ...]) -> str:
    quoted = ", ".join(f"“{title}”" for title in titles)
    return f"the rule {quoted}" if len(titles) == 1 else f"one of the rules {quoted}"
