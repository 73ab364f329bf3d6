"""A plan in a few lines: the kinds of sites, the gain, and the fullest limit."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import counted, factor, instead_of, percent
from edgeplace.model import (
    Cluster,
    Evaluation,
    JobGraph,
    LimitKind,
    ObjectiveName,
    Plan,
    Rules,
)
from edgeplace.solver import KindOfSites, limits_in_use, site_kinds, tightest
from edgeplace.solver.tolerances import SAME_VALUE
from edgeplace.views.tables import holding
from edgeplace.views.terms import Terms

_MOST_KINDS = 8
_MOST_NAMES = 3
"""Sites that are named one by one."""
_MOST_LIMITS = 3
_SHORTEST_PREFIX = 3


def show_places(console: Console, jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan) -> None:
    """Print which operators run at which kind of site, and how many subtasks of each.

    Sites are of one kind if they have the same classes of machines and the same operators.
    """
    kinds = site_kinds(jobs, cluster, plan)
    more = kinds[_MOST_KINDS:] if len(kinds) > _MOST_KINDS + 1 else ()
    several = len(jobs) > 1
    rows = []
    for kind in kinds[: len(kinds) - len(more)]:
        for i, (job, operators) in enumerate(operators_of(kind, jobs).items()):
            sites = "" if i else name_of(kind)
            rows.append((sites, *([job] if several else []), operators))
    console.table(("sites", *(["job"] if several else []), "subtasks"), rows)
    if more:
        console.text(f"and {len(more)} more kinds of sites: --full has every subtask", style="dim")


def operators_of(kind: KindOfSites, jobs: Sequence[JobGraph]) -> dict[str, str]:
    """Return job -> its operators there, with their subtasks: `camera 30, decode 30`."""
    names = {(job.name, op.id): op.name for job in jobs for op in job.operators}
    by_job: dict[str, list[str]] = {}
    for (job, op), n in kind.runs.items():
        by_job.setdefault(job, []).append(f"{names[job, op]} {n:,}")
    return {job: ", ".join(ops) for job, ops in by_job.items()}


def name_of(kind: KindOfSites) -> str:
    """Return one name for the sites of a kind, with their machines: `30 depot-* (pi4)`."""
    classes = kind.classes
    machines = f" ({', '.join(classes)})" if classes and classes != ("default",) else ""
    return one_name(kind.sites) + machines


def one_name(sites: Sequence[str]) -> str:
    """Return one name for several sites: `30 depot-*`."""
    if len(sites) <= _MOST_NAMES:
        return ", ".join(sites)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(sites), max(sites), strict=False))
    prefix = "".join(letter for letter, _ in same).rstrip("0123456789")
    alike = f"{prefix}*" if len(prefix) >= _SHORTEST_PREFIX else "sites"
    return f"{len(sites):,} {alike}"


def gain(name: str, before: Evaluation, after: Evaluation, terms: Terms) -> str:
    """Return a sentence on the gains and losses of a plan against another placement."""
    better: list[str] = []
    worse: list[str] = []
    objectives: tuple[ObjectiveName, ...] = (terms.traffic, "latency", "server_cores")
    for objective in objectives:
        old, new = before.value(objective), after.value(objective)
        if old >= 0 and abs(new - old) > SAME_VALUE * max(abs(old), abs(new)):
            now, then = terms.value(objective, new), terms.value(objective, old)
            text = f"{terms.name(objective)} {instead_of(now, then)}"
            if objective == terms.traffic and 0 < old > new:
                text += f" ({percent(1 - new / old)} less)"
            (better if new < old else worse).append(text)
    if factor(after.headroom) != factor(before.headroom):
        text = f"headroom {instead_of(factor(after.headroom), factor(before.headroom))}"
        (better if after.headroom > before.headroom else worse).append(text)
    but = ", which does not hold" if holding(name, before) == "no" else ""
    said = [f"against {name}{but}: "]
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
    alike = Counter((v.kind, percent(v.utilisation)) for v in limits_in_use(found, rules))
    shown: dict[tuple[LimitKind, str], str] = {}
    for tight in tightest(cluster, found, rules):
        key = (tight.limit.kind, percent(tight.limit.utilisation))
        if len(shown) < _MOST_LIMITS:
            shown.setdefault(key, tight.limit.where)
    texts = []
    for (kind, share), where in shown.items():
        more = alike[kind, share] - 1
        others = f" and {more:,} more" if more else ""
        texts.append(f"{kind} {where}{others} {share}")
    return "fullest: " + "; ".join(texts) if texts else ""
