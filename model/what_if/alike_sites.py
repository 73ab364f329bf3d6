"""Sites that are alike: what the loss of one means, the loss of the others means, too."""

from collections import Counter
from collections.abc import Hashable
from fnmatch import fnmatchcase

from edgeplace.model.cluster import Node, TaskManager
from edgeplace.model.job import ShipStrategy
from edgeplace.model.rules import OwnData, Pin
from edgeplace.model.what_if.case import Case


def alike_sites(case: Case) -> tuple[tuple[str, ...], ...]:
    """Return the sites of a case in groups whose members may change names: the case stays the same.

    They have the same machines, the same links to the same sites, and sources with the same rates
    are born there. A site that a rule names is alike to no other, and neither is any site where
    something runs already, sources are held otherwise than by `born_at`, or it matters which of its
    subtasks an operator has where: by a rule, or as a RESCALE stream deals out by their numbers.
    """
    rules = case.rules.rules if case.rules else ()
    numbered = any(isinstance(r, Pin) and r.subtasks for r in rules) or any(
        s.ship_strategy is ShipStrategy.RESCALE for job in case.jobs for s in job.streams
    )
    held = all(op.born_at for job in case.jobs for op in job.sources())
    if case.current is not None or numbered or not held:
        return tuple((s.id,) for s in case.cluster.sites)
    born = _births(case)
    groups: dict[Hashable, list[str]] = {}
    for site in case.cluster.sites:
        own = {site.id, *(n.id for n in case.cluster.nodes if n.site == site.id)}
        own |= {t.id for t in case.cluster.task_managers if t.node in own}
        named = any(isinstance(r, Pin) and r.to in own for r in rules)
        opened = tuple(
            fnmatchcase(site.id, p) for r in rules if isinstance(r, OwnData) for p in r.open_sites
        )
        key: Hashable = site.id
        if not named and site.id != case.cluster.checkpoint_storage:
            key = site.tier, opened, _machines(case, site.id, born), _links(case, site.id)
        groups.setdefault(key, []).append(site.id)
    return tuple(map(tuple, groups.values()))


def _births(case: Case) -> dict[str, Counter[Hashable]]:
    """Return place -> the sources with their rates that are born there."""
    born: dict[str, Counter[Hashable]] = {}
    for job in case.jobs:
        for op in job.sources():
            places = op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
            each = op.cost.demand.rates_per_s if op.cost and op.cost.demand else (0.0,)
            for i, place in enumerate(places):
                rate = each[i % len(each)]
                born.setdefault(place, Counter())[job.name, op.id, rate] += 1
    return born


def _machines(case: Case, site: str, born: dict[str, Counter[Hashable]]) -> Hashable:
    """Return the machines of a site without their names, and what is born at it and at them."""

    def plain(thing: Node | TaskManager, *names: str) -> str:
        return repr({k: v for k, v in dict(thing).items() if k not in names})

    def births(place: str) -> frozenset[tuple[Hashable, int]]:
        return frozenset(born.get(place, Counter()).items())

    nodes: Counter[Hashable] = Counter()
    for n in case.cluster.nodes:
        if n.site == site:
            tms = Counter(
                (plain(t, "id", "node", "host"), births(t.id) if t.id != n.id else frozenset())
                for t in case.cluster.task_managers
                if t.node == n.id
            )
            nodes[plain(n, "id", "site"), births(n.id), frozenset(tms.items())] += 1
    return frozenset(nodes.items()), births(site)


def _links(case: Case, site: str) -> Hashable:
    """Return the links of a site, without its name."""
    found: Counter[Hashable] = Counter()
    for a in case.cluster.directed_links():
        if site in (a.source, a.target):
            rest = {k: v for k, v in dict(a).items() if k not in ("source", "target")}
            found[a.source == site, a.target if a.source == site else a.source, repr(rest)] += 1
    return frozenset(found.items())
