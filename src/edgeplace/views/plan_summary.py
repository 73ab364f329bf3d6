"""A plan in a few lines: the kinds of sites, the gain, and the fullest limit."""

from collections.abc import Sequence
from itertools import takewhile

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import counted, factor, percent
from edgeplace.model import Cluster, Evaluation, JobGraph, ObjectiveName, Plan, Rules
from edgeplace.solver import Tight, sites_of, tightest
from edgeplace.solver.tolerances import SAME_VALUE
from edgeplace.views.terms import Terms

_MOST_KINDS = 8
_MOST_NAMES = 3
"""Sites that are named one by one."""
_MOST_LIMITS = 3
_SHORTEST_PREFIX = 3
Kind = tuple[bool, tuple[str, ...], tuple[tuple[str, str], ...]]
"""Of a site: whether it is in the cloud, the classes of its machines, (job, operator) there."""


def show_places(console: Console, jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan) -> None:
    """Print which operators run at which kind of site, and how many subtasks of each.

    Sites are of one kind if they have the same classes of machines and the same operators.
    """
    kinds = _kinds(jobs, cluster, plan)
    more = kinds[_MOST_KINDS:] if len(kinds) > _MOST_KINDS + 1 else []
    several = len(jobs) > 1
    rows = []
    for names, classes, by_job in kinds[: len(kinds) - len(more)]:
        for i, (job, operators) in enumerate(by_job.items()):
            sites = "" if i else _sites(names, classes)
            rows.append((sites, *([job] if several else []), operators))
    console.table(("sites", *(["job"] if several else []), "subtasks"), rows)
    if more:
        console.text(f"and {len(more)} more kinds of sites: --full has every subtask", style="dim")


def _kinds(
    jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan
) -> list[tuple[list[str], tuple[str, ...], dict[str, str]]]:
    """Return sites, classes of their machines, and what runs there by job; the cloud last."""
    site_of = sites_of(cluster)
    held: dict[str, dict[tuple[str, str], int]] = {}
    for job in jobs:
        for op in job.operators:
            for tm in plan.of(job.name)[op.id]:
                there = held.setdefault(site_of[tm], {})
                there[job.name, op.name] = there.get((job.name, op.name), 0) + 1
    classes: dict[str, set[str]] = {}
    for node in cluster.nodes:
        classes.setdefault(node.site, set()).add(node.node_class)
    kinds: dict[Kind, list[str]] = {}
    for site in cluster.sites:
        if site.id in held:
            kind = (site.tier == "cloud", tuple(sorted(classes[site.id])), tuple(held[site.id]))
            kinds.setdefault(kind, []).append(site.id)
    found = []
    for _, sites in sorted(kinds.items(), key=lambda each: (each[0][0], -len(each[1]))):
        total: dict[tuple[str, str], int] = {}
        for site_id in sites:
            for name, n in held[site_id].items():
                total[name] = total.get(name, 0) + n
        found.append((sites, tuple(sorted(classes[sites[0]])), _operators(total)))
    return found


def _operators(total: dict[tuple[str, str], int]) -> dict[str, str]:
    """Return job -> its operators with their subtasks: `camera 30, decode 30`."""
    by_job: dict[str, list[str]] = {}
    for (job, op), n in total.items():
        by_job.setdefault(job, []).append(f"{op} {n:,}")
    return {job: ", ".join(ops) for job, ops in by_job.items()}


def _sites(names: Sequence[str], classes: Sequence[str]) -> str:
    """Return one name for several sites: `30 depot-* (pi4)`."""
    machines = f" ({', '.join(classes)})" if classes and classes != ("default",) else ""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names) + machines
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    prefix = "".join(letter for letter, _ in same).rstrip("0123456789")
    alike = f"{prefix}*" if len(prefix) >= _SHORTEST_PREFIX else "sites"
    return f"{len(names):,} {alike}{machines}"


def gain(name: str, before: Evaluation, after: Evaluation, terms: Terms) -> str:
    """Return a sentence on the gains and losses of a plan against another placement."""
    better: list[str] = []
    worse: list[str] = []
    objectives: tuple[ObjectiveName, ...] = (terms.traffic, "latency", "server_cores")
    for objective in objectives:
        old, new = before.value(objective), after.value(objective)
        if old >= 0 and abs(new - old) > SAME_VALUE * max(abs(old), abs(new)):
            text = f"{terms.name(objective)} {terms.value(objective, new)}"
            text += f" instead of {terms.value(objective, old)}"
            if objective == terms.traffic and 0 < old > new:
                text += f" ({percent(1 - new / old)} less)"
            (better if new < old else worse).append(text)
    if factor(after.headroom) != factor(before.headroom):
        text = f"headroom {factor(after.headroom)} instead of {factor(before.headroom)}"
        (better if after.headroom > before.headroom else worse).append(text)
    said = [f"against {name}: "]
    said += [f"gains {', '.join(better)}" if better else "gains nothing"]
    if worse:
        said.append(f"; pays {', '.join(worse)}")
    if after.moves:
        said.append(
            f"; {counted(after.moves, 'subtasks')} {'move' if after.moves > 1 else 'moves'}"
        )
    return "".join(said)


def fullest(cluster: Cluster, found: Evaluation, rules: Rules | None) -> str:
    """Return the limits that are most in use, those that are used alike together."""
    alike: dict[tuple[str, str], list[Tight]] = {}
    for tight in tightest(cluster, found, rules):
        key = (tight.limit.kind, percent(tight.limit.utilisation))
        if key in alike or len(alike) < _MOST_LIMITS:
            alike.setdefault(key, []).append(tight)
    texts = []
    for (kind, share), members in alike.items():
        more = sum(t.of for t in members) - 1
        text = f"{kind} {members[0].limit.where}"
        texts.append(f"{text} and {more:,} more {share}" if more else f"{text} {share}")
    return "fullest: " + "; ".join(texts) if texts else ""
