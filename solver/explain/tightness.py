"""The limits of a plan, sorted by the share of each that is in use."""

from collections.abc import Iterable
from dataclasses import dataclass

from edgeplace.model import BOUNDS, Cluster, Evaluation, Limit, LimitKind, Place, Rules


@dataclass(frozen=True)
class Tight:
    """A limit, and how many more like it are at its place."""

    limit: Limit
    site: str
    """Where its machine is; empty for limits of no machine."""
    of: int
    """Limits of the kind at the site that are in use, this one included; it is the fullest."""


def tightest(
    cluster: Cluster, evaluation: Evaluation, rules: Rules | None = None
) -> tuple[Tight, ...]:
    """Return the limits of a plan, the fullest first; of each kind at a site, only the fullest.

    Limits that are not stated, and such that nothing uses, are left out.
    """
    site_of = sites_of_limits(cluster)
    found: dict[tuple[str, str], tuple[Limit, int]] = {}
    for v in limits_in_use(evaluation, rules):
        key = v.kind, site_of.get((v.kind, v.where), v.where)
        first, more = found.get(key, (v, 0))
        found[key] = first, more + 1
    return tuple(Tight(v, site_of.get((v.kind, v.where), ""), more) for v, more in found.values())


def limits_in_use(evaluation: Evaluation, rules: Rules | None = None) -> tuple[Limit, ...]:
    """Return each stated limit that something uses, the fullest first."""
    # What is exceeded comes first: without a route, the latency of an evaluation is none.
    stated = [
        *evaluation.violations,
        *evaluation.links,
        *evaluation.nodes,
        *evaluation.task_managers,
        *evaluation.jobs,
        *([evaluation.binding] if evaluation.binding else []),
    ]
    for kind in BOUNDS:
        most = kind.bound(rules) if rules else None
        if most is not None and kind.facts.bounds:
            used = max(evaluation.value(kind.facts.bounds), 0.0)
            stated.append(Limit.of(kind, kind.facts.where, used, most, ()))
    limits: dict[tuple[str, str], Limit] = {}
    for v in stated:
        limits.setdefault((v.kind, v.where), v)
    in_use = [v for v in limits.values() if v.utilisation > 0]
    return tuple(sorted(in_use, key=lambda v: -v.utilisation))


def sites_of_limits(cluster: Cluster) -> dict[tuple[str, str], str]:
    """Return (kind, name) of each limit of a machine -> its site."""
    node_site = {n.id: n.site for n in cluster.nodes}
    places: dict[Place, Iterable[tuple[str, str]]] = {
        Place.NODE: node_site.items(),
        Place.TASK_MANAGER: [(t.id, node_site[t.node]) for t in cluster.task_managers],
    }
    return {
        (kind, name): site for kind in LimitKind for name, site in places.get(kind.facts.at, ())
    }
