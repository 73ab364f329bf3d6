"""The loss of a site: nothing runs there, and the data of its sources is lost, too."""

from collections.abc import Sequence, Set

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import SourceDemand
from edgeplace.model.job import JobGraph, Operator
from edgeplace.model.plan import Plan
from edgeplace.model.rules import AnyRule, Match, NeverMove, Pin, Rules
from edgeplace.model.text import digits
from edgeplace.model.what_if.cluster_changes import without_site

Left = tuple[tuple[JobGraph, ...], Cluster, Rules | None, tuple[str, ...]]
"""Jobs, cluster and rules without a site, and notes on the loss."""


def without_site_and_its_data(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    current: Plan | None,
    site: str,
) -> Left:
    """Return a case without a lost site; see `Case.without_site`.

    Raises
    ------
    InvalidInputError
        If there is no such site, or checkpoints are stored there.
    """
    left = without_site(cluster, site)
    nodes = {n.id for n in cluster.nodes if n.site == site}
    gone = {site, *nodes, *(t.id for t in cluster.task_managers if t.node in nodes)}
    notes = [f"site {site!r} is lost"]
    revised, kept = [], rules
    for job in jobs:
        operators = []
        sources = {op.id for op in job.sources()}
        for op in job.operators:
            births = _births(op, job, cluster, rules, current) if op.id in sources else ()
            lost = {i for i, place in enumerate(births) if place in gone}
            if lost:
                silent, rate = _without(op, births, lost)
                operators.append(silent)
                notes.append(
                    f"the data of {len(lost)} of the {op.parallelism} subtasks of source "
                    f"{op.name!r} is born at {site!r}: {digits(rate)} records/s are lost with it"
                )
                kept = kept and _unpinned(kept, op, job, gone)
            else:
                operators.append(op)
        revised.append(job.revised(operators=tuple(operators)))
    return tuple(revised), left, kept, tuple(notes)


def _births(
    op: Operator, job: JobGraph, cluster: Cluster, rules: Rules | None, current: Plan | None
) -> tuple[str, ...]:
    """Return the places where the data of each subtask of a source is produced; `anywhere` if
    unknown.
    """
    if op.born_at:
        return op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
    places = ["anywhere"] * op.parallelism
    own = [r for r in (rules.rules if rules else ()) if _speaks_of(r, op, job)]
    if current and not any(isinstance(r, Match | NeverMove) for r in own):
        node = {t.id: t.node for t in cluster.task_managers}
        now = current.jobs.get(job.name, {}).get(op.id, ())
        places = [node.get(t, "anywhere") for t in now] or places
    for rule in own:
        if isinstance(rule, Pin):
            for i in rule.subtasks or range(op.parallelism):
                if i < op.parallelism:
                    places[i] = rule.to
    return tuple(places)


def _speaks_of(rule: AnyRule, op: Operator, job: JobGraph) -> bool:
    return rule.job in ("", job.name) and bool({op.id, op.name} & set(rule.operators))


def _without(op: Operator, births: tuple[str, ...], lost: Set[int]) -> tuple[Operator, float]:
    """Return a source with some silent subtasks, and the lost records/s."""
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


def _unpinned(rules: Rules, op: Operator, job: JobGraph, gone: Set[str]) -> Rules:
    """Return the rules without those that hold a source at a lost place."""
    kept: list[AnyRule] = []
    for rule in rules.rules:
        if not isinstance(rule, Pin) or rule.to not in gone or rule.job not in ("", job.name):
            kept.append(rule)
            continue
        others = tuple(ref for ref in rule.operators if ref not in (op.id, op.name))
        if others:
            kept.append(rule.model_copy(update={"operators": others}))
    return rules.model_copy(update={"rules": tuple(kept)})
