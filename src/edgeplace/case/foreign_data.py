"""Edge sites that serve the data of others: closed in a project unless a rule opens them, and named
in other cases.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from edgeplace.case.starter import own_data_text
from edgeplace.cli.quantities import counted
from edgeplace.model import (
    PROJECT_FILE,
    Case,
    Cluster,
    JobGraph,
    LimitKind,
    NeverMove,
    OwnData,
    Pin,
    Plan,
    Rules,
)


def own_data_rules(jobs: Sequence[JobGraph], cluster: Cluster | None) -> tuple[OwnData, ...]:
    """Return rules that keep data away from edge sites where other data is born.

    Edge sites where nothing is born serve others: regional servers, for one. Without an open site
    there is no such rule: what gets data of several sites would have no place.
    """
    if cluster is None or any(not op.born_at for job in jobs for op in job.sources()):
        return ()
    site_of = {n.id: n.site for n in cluster.nodes}
    there = [s for s in cluster.sites if s.id in site_of.values()]
    site_of |= {t.id: site_of[t.node] for t in cluster.task_managers} | {s.id: s.id for s in there}
    named = {p for job in jobs for op in job.sources() for p in op.born_at}
    births = {s for place, s in site_of.items() if any(fnmatchcase(place, p) for p in named)}
    opened = tuple(s.id for s in there if s.tier == "edge" and s.id not in births)
    if not opened and all(s.tier == "edge" for s in there):
        return ()
    found = []
    for job in jobs:
        sources = {op.id for op in job.sources()}
        names = [op.name for op in job.operators]
        others = tuple(
            op.name if names.count(op.name) == 1 else op.id
            for op in job.operators
            if op.id not in sources
        )
        name = job.name if len(jobs) > 1 else ""
        if others:
            found.append(OwnData(operators=others, job=name, open_sites=opened))
    return tuple(found)


class _ByDefault(OwnData):
    """A rule of no file."""

    def title(self) -> str:
        """Return the rule in a few words, with the rule that replaces it."""
        return f"{super().title()} (default of {PROJECT_FILE}; own_data with open_sites opens more)"


def closed(case: Case) -> Case:
    """Return the case of a project, with its edge sites closed to the data of others."""
    more = tuple(_ByDefault(**dict(rule)) for rule in _unruled(case))
    if not more:
        return case
    rules = case.rules or Rules()
    rules = rules.model_copy(update={"rules": (*rules.rules, *more)})
    said = (
        f"each edge site serves its own data only, the default of {PROJECT_FILE}; a rule own_data "
        "with open_sites opens sites"
    )
    return dataclasses.replace(case, rules=rules, notes=(*case.notes, said))


def foreign_data(case: Case, plan: Plan) -> str | None:
    """Return a sentence if a plan uses an edge site for others' data, with the rule against it.

    The rules of `_unruled` are judged.
    """
    from edgeplace.solver import evaluate

    for own in _unruled(case):
        # Without the other rules, costs would have to be known wherever these do not lead.
        rules = Rules(rules=(*(case.rules.rules if case.rules else ()), own))
        judged = evaluate(case.jobs, case.cluster, plan, rules, case.current)
        # Those of this rule: a plan may break others.
        broken = [
            v for v in judged.violations if v.kind is LimitKind.RULE and own.title() in v.subject
        ]
        if broken:
            foreign = counted(sum(v.used for v in broken), "subtasks")
            said = (
                f"{foreign} at edge sites serve data that is born at another site, and no rule "
                f"says that they may: {own_data_text(own)} in the rules keeps each edge site to "
                "its own data"
            )
            return (
                f"{said}; sites that are lost are not among those it opens" if case.lost else said
            )
    return None


def _unruled(case: Case) -> Iterator[OwnData]:
    """Yield the rules that `edgeplace init` would write, but for operators that a rule `own_data`
    names or a rule puts at one place: what that leaves open is meant to be. No lost site is open.
    """
    named = [
        r
        for r in (case.rules.rules if case.rules else ())
        # A pattern leaves a choice, which the data may still restrict.
        if isinstance(r, OwnData | NeverMove) or (isinstance(r, Pin) and "*" not in r.to)
    ]
    for rule in own_data_rules(list(case.jobs), case.cluster):
        rule = rule.model_copy(
            update={"open_sites": tuple(s for s in rule.open_sites if s not in case.lost)}
        )
        job = next(j for j in case.jobs if rule.job in ("", j.name))
        ids = {op.name: op.id for op in job.operators} | {op.id: op.id for op in job.operators}
        ruled = {ids.get(ref) for r in named if r.job in ("", job.name) for ref in r.operators}
        free = tuple(ref for ref in rule.operators if ids[ref] not in ruled)
        if free:
            yield rule.model_copy(update={"operators": free})
