"""What if a site is lost: nothing runs there, and what its sources would have read is lost too."""

import dataclasses
from collections.abc import Set

from edgeplace.case.files import Case
from edgeplace.cli.quantities import count
from edgeplace.model import AnyRule, JobGraph, Match, NeverMove, Operator, Pin, Rules, SourceDemand
from edgeplace.model.cluster_changes import without_site


def lose(case: Case, site: str) -> tuple[Case, tuple[str, ...]]:
    """Return the case without a site, and what was lost with it in words.

    Subtasks of sources whose data is born there send nothing and run anywhere: Flink deploys all
    subtasks of a job or none. Whatever else is held there by a rule has no place left.

    Raises
    ------
    InvalidInputError
        If there is no such site, or checkpoints are stored there.
    """
    cluster = without_site(case.cluster, site)
    nodes = {n.id for n in cluster.nodes if n.site == site}
    gone = {site, *nodes, *(t.id for t in cluster.task_managers if t.node in nodes)}
    notes = [f"site {site!r} is lost"]
    jobs, rules = [], case.rules
    for job in case.jobs:
        operators = []
        sources = {op.id for op in job.sources()}
        for op in job.operators:
            births = _births(op, job, case) if op.id in sources else ()
            lost = {i for i, place in enumerate(births) if place in gone}
            if lost:
                silent, rate = _without(op, births, lost)
                operators.append(silent)
                notes.append(
                    f"the data of {len(lost)} of the {op.parallelism} subtasks of source "
                    f"{op.name!r} is born at {site!r}: {count(rate)} records/s are lost with it"
                )
                if rules:
                    rules = _unheld(rules, op, job, gone)
            else:
                operators.append(op)
        jobs.append(job.revised(operators=tuple(operators)))
    lost_sites = tuple(dict.fromkeys((*case.lost, site)))
    without = dataclasses.replace(
        case, jobs=tuple(jobs), cluster=cluster, rules=rules, lost=lost_sites
    )
    return without, tuple(notes)


def _unheld(rules: Rules, op: Operator, job: JobGraph, gone: Set[str]) -> Rules:
    """Return rules that hold a source no longer at a place that is gone."""
    held = (
        _unpinned(r, op, gone) if isinstance(r, Pin) and r.job in ("", job.name) else r
        for r in rules.rules
    )
    return rules.model_copy(update={"rules": tuple(r for r in held if r)})


def _births(op: Operator, job: JobGraph, case: Case) -> tuple[str, ...]:
    """Return where the data of each subtask of a source is born, `anywhere` if nothing says."""
    if op.born_at:
        return op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
    places = ["anywhere"] * op.parallelism
    rules = [r for r in (case.rules.rules if case.rules else ()) if _speaks_of(r, op, job)]
    if case.current and not any(isinstance(r, Match | NeverMove) for r in rules):
        node = {t.id: t.node for t in case.cluster.task_managers}
        now = case.current.jobs.get(job.name, {}).get(op.id, ())
        places = [node.get(t, "anywhere") for t in now] or places
    for rule in rules:
        if isinstance(rule, Pin):
            for i in rule.subtasks or range(op.parallelism):
                if i < op.parallelism:
                    places[i] = rule.to
    return tuple(places)


def _speaks_of(rule: AnyRule, op: Operator, job: JobGraph) -> bool:
    return rule.job in ("", job.name) and bool({op.id, op.name} & set(rule.operators))


def _without(op: Operator, births: tuple[str, ...], lost: Set[int]) -> tuple[Operator, float]:
    """Return a source of which some subtasks send nothing, and the records/s that are lost."""
    changes: dict[str, object] = {
        "born_at": tuple("anywhere" if i in lost else b for i, b in enumerate(births))
    }
    rate = 0.0
    if op.cost and op.cost.demand:
        each = op.cost.demand.rates_per_s
        rates = [each[i % len(each)] for i in range(op.parallelism)]
        rate = sum(rates[i] for i in lost)
        left = tuple(0.0 if i in lost else r for i, r in enumerate(rates))
        demand = SourceDemand(rates_per_s=left, origin="stated")
        changes["cost"] = op.cost.model_copy(update={"demand": demand})
    return op.model_copy(update=changes), rate


def _unpinned(rule: Pin, op: Operator, gone: Set[str]) -> Pin | None:
    """Return a rule without a source that it held at a place that is gone; None: nothing left."""
    if rule.to not in gone:
        return rule
    others = tuple(ref for ref in rule.operators if ref not in (op.id, op.name))
    return rule.model_copy(update={"operators": others}) if others else None
