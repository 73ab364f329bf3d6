"""The loss of a site: nothing runs there, and the data of its sources is lost, too.

What only this site joins to the rest is lost with it: none of its records and checkpoints arrive.
"""

from collections.abc import Collection, Sequence, Set

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import SourceDemand
from edgeplace.model.job import JobGraph, Operator
from edgeplace.model.plan import Plan
from edgeplace.model.rules import AnyRule, Match, NeverMove, Pin, Rules
from edgeplace.model.text import digits, some
from edgeplace.model.what_if.cluster_changes import (
    hanging_on,
    without_links,
    without_node,
    without_site,
)

Left = tuple[tuple[JobGraph, ...], Cluster, Rules | None, tuple[str, ...], tuple[str, ...]]
"""Jobs, cluster and rules without a site, the sites that are lost, and notes on the loss."""


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
    without_site(cluster, site)
    return _without_sites(
        jobs, cluster, rules, current, f"site {site!r}", (site,), hanging_on(cluster, site)
    )


def without_links_and_what_they_join(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    current: Plan | None,
    ways: Collection[tuple[str, str]],
) -> Left:
    """Return a case without some links, given as (source, target); see `Case.without_links`."""
    parts = hanging_on(cluster, ways=ways)
    lost = some([f"{a} -> {b}" for a, b in ways])
    left = without_links(cluster, ways)
    return _without_sites(jobs, left, rules, current, f"link {lost}", (), parts)


def without_node_and_its_data(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    current: Plan | None,
    node: str,
) -> Left:
    """Return a case without a lost node; see `Case.without_node`.

    Raises
    ------
    InvalidInputError
        If there is no such node.
    """
    left = without_node(cluster, node)
    gone = {node, *(t.id for t in cluster.task_managers if t.node == node)}
    silent, kept, notes = _without_data(jobs, cluster, rules, current, gone, f"at {node!r}")
    return silent, left, kept, (), (f"node {node!r} is lost", *notes)


def _without_sites(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    current: Plan | None,
    what: str,
    sites: tuple[str, ...],
    parts: tuple[tuple[str, ...], ...],
) -> Left:
    """Return a case without some sites and without the parts that nothing joins to the rest."""
    lost_sites = (*sites, *(s for part in parts for s in part))
    left = cluster
    for each in lost_sites:
        left = without_site(left, each)
    nodes = {n.id for n in cluster.nodes if n.site in lost_sites}
    gone = {*lost_sites, *nodes, *(t.id for t in cluster.task_managers if t.node in nodes)}
    notes = [f"{what} is lost"]
    if parts:
        links = "a link" if len(parts) == 1 else f"{len(parts)} links, one for each part,"
        notes.append(
            f"lost with {what}, as no other way joins them to the rest: "
            f"{some(lost_sites[len(sites) :])}. To keep them takes {links} to the rest; fewer are "
            "not enough"
        )
    own = [f"at {s!r}" for s in sites]
    where = " or ".join([*own, "at what is lost with it"] if parts else own)
    silent, kept, data = _without_data(jobs, cluster, rules, current, gone, where)
    return silent, left, kept, lost_sites, (*notes, *data)


def _without_data(
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None,
    current: Plan | None,
    gone: Set[str],
    where: str,
) -> tuple[tuple[JobGraph, ...], Rules | None, tuple[str, ...]]:
    """Return jobs whose sources at lost places are silent, rules without their pins, and notes."""
    notes, revised, kept = [], [], rules
    for job in jobs:
        operators = []
        sources = {op.id for op in job.sources()}
        for op in job.operators:
            births = _births(op, job, cluster, rules, current) if op.id in sources else ()
            lost = {i for i, place in enumerate(births) if place in gone}
            if lost:
                silent, rate, total = _without(op, births, lost)
                operators.append(silent)
                notes.append(
                    f"the data of {len(lost)} of the {op.parallelism} subtasks of source "
                    f"{op.name!r} is born {where}: {digits(rate)} of {digits(total)} records/s are "
                    "lost with it; these subtasks send nothing, and run anywhere"
                )
                kept = kept and _unpinned(kept, op, job, gone)
            else:
                operators.append(op)
        revised.append(job.revised(operators=tuple(operators)))
    return tuple(revised), kept, tuple(notes)


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


def _without(
    op: Operator, births: tuple[str, ...], lost: Set[int]
) -> tuple[Operator, float, float]:
    """Return a source with some silent subtasks, the lost records/s, and all of them."""
    changes: dict[str, object] = {
        "born_at": tuple("anywhere" if i in lost else b for i, b in enumerate(births))
    }
    rate = total = 0.0
    if op.cost and op.cost.demand:
        each = op.cost.demand.rates_per_s
        rates = [each[i % len(each)] for i in range(op.parallelism)]
        rate, total = sum(rates[i] for i in lost), sum(rates)
        left = tuple(0.0 if i in lost else r for i, r in enumerate(rates))
        demand = SourceDemand(rates_per_s=left, origin="stated")
        changes["cost"] = op.cost.model_copy(update={"demand": demand})
    return op.model_copy(update=changes), rate, total


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
