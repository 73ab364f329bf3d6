"""The use of links, nodes and TaskManagers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgeplace.cli.quantities import count, percent, size
from edgeplace.model import AMOUNTS, Cluster, Evaluation, Limit, LimitKind, RateUnit
from edgeplace.report.markup import Markup, fragment
from edgeplace.report.parts import bar, long_table, paragraph, table
from edgeplace.report.placement import Placement
from edgeplace.solver import Usage
from edgeplace.solver.arrays import Floats
from edgeplace.solver.tolerances import TOLERANCE


def links(
    cluster: Cluster,
    placed: Placement,
    found: Evaluation,
    before: tuple[str, Evaluation] | None,
) -> Markup:
    """Return bytes on each directed link with a plan, and with the placement to compare with."""
    if not found.links:
        return paragraph("The cluster has no links: all sites stand alone.")
    name, other = before or ("", None)
    rate = cluster.rates_in.text
    was = {a.where: a for a in other.links} if other else {}
    before_column = [f">{name}"] if other else []

    def fullness(link: Limit) -> tuple[float, ...]:
        return (link.utilisation, link.used, was[link.where].used if was else 0.0)

    ordered = sorted(found.links, key=fullness, reverse=True)
    rows = [
        (
            a.where,
            *([_before(was[a.where], cluster.rates_in)] if was else []),
            rate(a.used),
            "unlimited" if a.capacity is None else rate(a.capacity),
            "-" if a.capacity is None else bar(a.utilisation),
        )
        for a in ordered
    ]
    said = f"{rate(found.wan_bytes_per_s)} over all links"
    if found.checkpoint_bytes_per_s:
        said += f", {rate(found.checkpoint_bytes_per_s)} of it checkpoints"
    if other:
        said += f"; {name}: {rate(other.wan_bytes_per_s)}"
    grouped = len(placed.box_of) > len(placed.boxes)
    return fragment(
        [
            paragraph(f"{said}. A byte counts on every link that it crosses."),
            _together(cluster, placed, found, name, was) if grouped else "",
            long_table(
                "Traffic on each link, one direction a row",
                ("link", *before_column, ">this plan", ">plans may use", "in use"),
                rows,
                ["broken" if _over(a) else "" for a in ordered],
            ),
        ]
    )


def _together(
    cluster: Cluster, placed: Placement, found: Evaluation, name: str, was: Mapping[str, Limit]
) -> Markup:
    """Return the links between the boxes of the picture as sums, the fullest link of each.

    Parameters
    ----------
    name, was
        The placement to compare with, and what it has on each link; empty: none.
    """
    titles = {site: placed.boxes[i].title for site, i in placed.box_of.items()}
    ends = {
        f"{a.source} -> {a.target}": (
            titles.get(a.source, a.source),
            titles.get(a.target, a.target),
        )
        for a in cluster.directed_links()
    }
    rate = cluster.rates_in.text
    lots: dict[tuple[str, str], list[Limit]] = {}
    for a in found.links:
        lots.setdefault(ends[a.where], []).append(a)
    ordered = sorted(lots.items(), key=lambda item: -sum(a.used for a in item[1]))
    rows = [
        (
            f"{start} -> {end}",
            f"{len(own):,}",
            *([rate(sum(was[a.where].used for a in own))] if was else []),
            rate(sum(a.used for a in own)),
            bar(max(a.utilisation for a in own)),
        )
        for (start, end), own in ordered
    ]
    columns = (">links", *([f">{name}"] if was else []), ">this plan", "fullest link")
    return long_table("Links as in the picture, summed", ("between", *columns), rows)


def _before(link: Limit, rates: RateUnit) -> str:
    return rates.text(link.used) + (f" ({percent(link.utilisation)})" if _over(link) else "")


def _over(link: Limit) -> bool:
    return link.utilisation > 1 + TOLERANCE


@dataclass(frozen=True)
class _Kind:
    """A resource of nodes: the used amount and the capacity of each node."""

    name: str
    unit: str
    used: Floats
    room: Floats
    fullest: Floats
    """Largest share in use of any TaskManager, for each node."""


def nodes(verdict: Usage) -> Markup:
    """Return the use of every node, by class and by node, the fullest first."""
    cluster = verdict.problem.cluster
    kinds = _kinds(verdict)
    fullest = np.max([k.fullest for k in kinds], axis=0)
    order = np.argsort(-fullest, kind="stable")
    shown = [k for k in kinds if (np.isfinite(k.room) & (k.room > 0)).any()]
    by_class = _by_class(verdict, shown)
    rows = [
        (
            cluster.nodes[n].id,
            cluster.nodes[n].site,
            cluster.nodes[n].node_class,
            *(_cell(k, n) for k in shown),
        )
        for n in order.tolist()
    ]
    marks = ["broken" if fullest[n] > 1 + TOLERANCE else "" for n in order.tolist()]
    columns = ("node", "site", "class", *(k.name for k in shown))
    return fragment([by_class, long_table("Nodes, the fullest first", columns, rows, marks)])


def _kinds(verdict: Usage) -> list[_Kind]:
    p = verdict.problem
    n = len(p.cluster.nodes)

    def summed(values: Floats) -> Floats:
        found: Floats = np.bincount(p.tms.node, values, n).astype(float)
        return found

    def of_task_managers(kind: LimitKind, used: Floats, room: Floats) -> _Kind:
        fullest = np.zeros(n)
        np.maximum.at(fullest, p.tms.node, _share(used, room))
        return _Kind(kind, kind.facts.unit, summed(used), summed(room), fullest)

    return [
        _Kind(
            "CPU cores",
            "cores",
            verdict.cores,
            p.tms.node_cores,
            _share(verdict.cores, p.tms.node_cores),
        ),
        of_task_managers(LimitKind.SLOTS, verdict.slots.astype(float), p.tms.slots.astype(float)),
        *map(of_task_managers, AMOUNTS, verdict.taken.T, p.tms.has.T),
    ]


def _share(used: Floats, room: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(used > 0, used / room, 0.0)
    return share


def _cell(kind: _Kind, n: int) -> str:
    room = float(kind.room[n])
    if not np.isfinite(room):
        return _amount(kind, float(kind.used[n]))
    text = f"{_amount(kind, float(kind.used[n]))} of {_amount(kind, room)}"
    return fragment([bar(float(kind.fullest[n])), f" ({text})"])


def _amount(kind: _Kind, value: float) -> str:
    return size(value) if kind.unit == "bytes" else count(value)


def _by_class(verdict: Usage, kinds: list[_Kind]) -> Markup:
    p = verdict.problem
    node_class = [n.node_class for n in p.cluster.nodes]
    subtasks = np.bincount(p.tms.node[verdict.assignment], minlength=len(node_class))
    rows = []
    for name in dict.fromkeys(node_class):
        own = [n for n, c in enumerate(node_class) if c == name]
        row = [name, f"{len(own):,}", f"{int(subtasks[own].sum()):,}"]
        for k in kinds:
            used = _amount(k, float(k.used[own].sum()))
            row.append(f"{used} of {_amount(k, float(k.room[own].sum()))}")
            row.append(bar(float(k.fullest[own].max())))
        rows.append(row)
    columns = ["class", ">nodes", ">subtasks"]
    for k in kinds:
        columns += [f">{k.name}", "fullest"]
    return table("Classes of machines", columns, rows)
