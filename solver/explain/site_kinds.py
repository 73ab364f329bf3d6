"""Kinds of sites: those with the same classes of machines, where the same operators run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeplace.model import Cluster, JobGraph, Plan
from edgeplace.solver.explain.differences import sites_of


@dataclass(frozen=True)
class KindOfSites:
    """Sites of one kind, and what a plan runs there.

    Attributes
    ----------
    runs
        (name of the job, id of the operator) -> subtasks at all these sites together, in the
        order of the jobs.
    """

    sites: tuple[str, ...]
    is_cloud: bool
    classes: tuple[str, ...]
    runs: Mapping[tuple[str, str], int]


def site_kinds(jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan) -> tuple[KindOfSites, ...]:
    """Return the kinds of sites where a plan runs anything, the cloud last."""
    site_of = sites_of(cluster)
    held: dict[str, Counter[tuple[str, str]]] = {}
    for job in jobs:
        for op in job.operators:
            for tm in plan.of(job.name)[op.id]:
                held.setdefault(site_of[tm], Counter())[job.name, op.id] += 1
    classes: dict[str, set[str]] = {}
    for node in cluster.nodes:
        classes.setdefault(node.site, set()).add(node.node_class)
    kinds: dict[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]], list[str]] = {}
    for site in cluster.sites:
        if site.id in held:
            key = (site.tier, tuple(sorted(classes[site.id])), tuple(held[site.id]))
            kinds.setdefault(key, []).append(site.id)
    found = [
        KindOfSites(tuple(sites), tier == "cloud", own, sum((held[s] for s in sites), Counter()))
        for (tier, own, _), sites in kinds.items()
    ]
    return tuple(sorted(found, key=lambda kind: (kind.is_cloud, -len(kind.sites))))
