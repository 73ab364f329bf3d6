"""Advice on machines: what one more would save, and which could be given back.

Each is a case that differs in one thing, solved at the largest rates that the next day may have.
Nothing is done about it: machines are people's.
"""

import dataclasses
from collections.abc import Iterator

from edgeplace.control.loop.events import MachineAdvice
from edgeplace.model import Cluster, Evaluation, OwnData, Plan
from edgeplace.model.what_if.case import Case
from edgeplace.model.what_if.cluster_changes import with_node_like, with_slots
from edgeplace.solver import solve_case

LEAST = 0.05
"""Share of the WAN bytes that advice is given for; what is given back may cost as much."""
_MOST = 24
_MORE_MEMORY = 1.5
Numbers = dict[str, tuple[int, ...]] | None


def advised(case: Case, numbers: Numbers, limit_s: float) -> tuple[MachineAdvice, ...]:
    """Return advice, what is worth most first.

    Parameters
    ----------
    case
        At the rates to be borne; what runs is its `current`.
    numbers
        Of subtasks to choose from, by operator.
    limit_s
        Of all searches together.
    """
    tried = list(_tried(case, _in_use(case)))[:_MOST]
    each_s = max(1.0, limit_s / (len(tried) + 1))
    now = _best(case, numbers, each_s)
    found: list[MachineAdvice] = []
    for kind, what, changed in tried:
        then = _best(changed, numbers, each_s)
        if then is not None:
            found += _worth(kind, what, now, then, case.cluster.currency or "")
    return tuple(sorted(found, key=_rank))


def _rank(advice: MachineAdvice) -> tuple[bool, float, float]:
    return not advice.fits_then, -(advice.saves_per_month or 0.0), -advice.saves_bytes_per_s


def _best(case: Case, numbers: Numbers, limit_s: float) -> Evaluation | None:
    """Return the evaluation of the best plan; None: none was found."""
    return solve_case(case, time_limit_s=limit_s, parallelism=numbers).evaluation


def _in_use(case: Case) -> frozenset[str]:
    """Return the nodes of sources: their data is born there."""
    node = {t.id: t.node for t in case.cluster.task_managers}
    plan = case.current or Plan(jobs={})
    return frozenset(
        node[tm]
        for job in case.jobs
        for op in job.sources()
        for tm in plan.jobs.get(job.name, {}).get(op.id, ())
        if tm in node
    )


def _tried(case: Case, kept: frozenset[str]) -> Iterator[tuple[str, str, Case]]:
    """Yield cases that differ in one thing: what kind of thing, and the words for it."""
    for site, node_class in dict.fromkeys((n.site, n.node_class) for n in case.cluster.nodes):
        apart, named = _named_apart(case, site)
        more = with_node_like(apart.cluster, node_class, named)
        what = f"one more node of class {node_class} at {site}"
        yield "add", what, dataclasses.replace(apart, cluster=more)
    for kind, what, cluster in _with_the_same_nodes(case.cluster, kept):
        yield kind, what, dataclasses.replace(case, cluster=cluster)


def _named_apart(case: Case, site: str) -> tuple[Case, str]:
    """Return the case with a name of its own for a site, and that name.

    Where a site is called as its only machine, the name means both until there is a second one.
    What is held there by this name is taken to be held at that machine.
    """
    cluster = case.cluster
    if site not in {n.id for n in cluster.nodes} | {t.id for t in cluster.task_managers}:
        return case, site
    # Patterns that match the old name match this one.
    named = f"{site}-site"
    while named in {s.id for s in cluster.sites}:
        named += "-"
    new = {site: named}

    def renamed(name: str) -> str:
        return new.get(name, name)

    cluster = cluster.model_copy(
        update={
            "sites": tuple(s.model_copy(update={"id": renamed(s.id)}) for s in cluster.sites),
            "nodes": tuple(n.model_copy(update={"site": renamed(n.site)}) for n in cluster.nodes),
            "links": tuple(
                a.model_copy(update={"source": renamed(a.source), "target": renamed(a.target)})
                for a in cluster.links
            ),
            "checkpoint_storage": cluster.checkpoint_storage
            and renamed(cluster.checkpoint_storage),
        }
    )
    rules = case.rules and case.rules.model_copy(
        update={
            "rules": tuple(
                rule.model_copy(update={"open_sites": tuple(map(renamed, rule.open_sites))})
                if isinstance(rule, OwnData)
                else rule
                for rule in case.rules.rules
            )
        }
    )
    return dataclasses.replace(case, cluster=cluster, rules=rules), named


def _with_the_same_nodes(
    cluster: Cluster, kept: frozenset[str]
) -> Iterator[tuple[str, str, Cluster]]:
    by_place = dict.fromkeys((n.site, n.node_class) for n in cluster.nodes)
    for node in cluster.nodes:
        if node.id not in kept:
            yield "give back", f"node {node.id} at {node.site}", _without(cluster, node.id)
    for site, node_class in by_place:
        own = {n.id for n in cluster.nodes if (n.site, n.node_class) == (site, node_class)}
        tms = [t for t in cluster.task_managers if t.node in own]
        wider = cluster
        for tm in tms:
            wider = with_slots(wider, tm.id, 1)
        where = f"on each {node_class} at {site}"
        yield "slots", f"one more slot {where}", wider
        if any(t.memory_bytes for t in tms):
            yield "memory", f"half as much memory again {where}", _with_memory(cluster, own)
    if cluster.checkpoint_storage is not None:
        for place in cluster.sites:
            if place.id != cluster.checkpoint_storage:
                moved = cluster.model_copy(update={"checkpoint_storage": place.id})
                yield "storage", f"checkpoints stored at {place.id}", moved


def _without(cluster: Cluster, node: str) -> Cluster:
    tms = tuple(
        t.model_copy(update={"slots": 0}) if t.node == node else t for t in cluster.task_managers
    )
    return cluster.model_copy(update={"task_managers": tms})


def _with_memory(cluster: Cluster, nodes: set[str]) -> Cluster:
    tms = tuple(
        t.model_copy(update={"memory_bytes": t.memory_bytes * _MORE_MEMORY})
        if t.node in nodes and t.memory_bytes
        else t
        for t in cluster.task_managers
    )
    return cluster.model_copy(update={"task_managers": tms})


def _worth(
    kind: str, what: str, now: Evaluation | None, then: Evaluation, currency: str
) -> Iterator[MachineAdvice]:
    """Yield the advice, if it is worth a word."""
    before, sent = (now.wan_cost, now.wan_bytes_per_s) if now else (0.0, 0.0)
    saves = before - then.wan_cost if now else 0.0
    money = None
    if currency and now and now.cost_per_month is not None and then.cost_per_month is not None:
        money = now.cost_per_month - then.cost_per_month
    small = LEAST * before
    if kind == "give back":
        worth = now is not None and then.feasible and (saves >= -small or (money or 0.0) > 0)
    else:
        worth = saves > small or (now is None and then.feasible)
    if worth:
        yield MachineAdvice(
            what=what,
            kind=kind,
            saves_bytes_per_s=sent - then.wan_bytes_per_s if now else 0.0,
            share=1 - then.wan_bytes_per_s / sent if sent > 0 else 0.0,
            saves_per_month=money,
            currency=currency if money is not None else "",
            fits_now=now is not None,
            fits_then=then.feasible,
            headroom=min(then.headroom, 1e9),
        )
