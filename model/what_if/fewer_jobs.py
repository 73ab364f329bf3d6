"""Some of the jobs that share a cluster, and what is left of the rules of all."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from edgeplace.model.job import JobGraph
from edgeplace.model.rules import AnyRule, AnyWish, Period, Rules, SourceFactor

OfOperators = TypeVar("OfOperators", AnyRule, AnyWish, SourceFactor)


def rules_of_jobs(rules: Rules, jobs: Sequence[JobGraph]) -> Rules:
    """Return what rules say of some of their jobs; a rule keeps the operators that are left."""
    names = {job.name for job in jobs}
    return rules.model_copy(
        update={
            "rules": _left(rules.rules, jobs),
            "wishes": _left(rules.wishes, jobs),
            "jobs": tuple(own for own in rules.jobs if own.job in names),
            "demand": tuple(_of_period(period, jobs) for period in rules.demand),
        }
    )


def without_jobs(rules: Rules, names: Collection[str]) -> Rules:
    """Return rules without the entries that are about some jobs, given by their names."""
    return rules.model_copy(
        update={
            "rules": tuple(rule for rule in rules.rules if rule.job not in names),
            "wishes": tuple(wish for wish in rules.wishes if wish.job not in names),
            "jobs": tuple(own for own in rules.jobs if own.job not in names),
        }
    )


def _of_period(period: Period, jobs: Sequence[JobGraph]) -> Period:
    return period.model_copy(update={"sources": _left(period.sources, jobs)})


def _left(entries: Iterable[OfOperators], jobs: Sequence[JobGraph]) -> tuple[OfOperators, ...]:
    found = []
    for entry in entries:
        own = [job for job in jobs if entry.job in ("", job.name)]
        known = {name for job in own for op in job.operators for name in (op.id, op.name)}
        left = tuple(ref for ref in entry.operators if ref in known)
        if left:
            found.append(entry.model_copy(update={"operators": left}))
    return tuple(found)
