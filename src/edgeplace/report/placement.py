"""The job on the sites, with few enough boxes and arrows for a picture."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from edgeplace.cli.quantities import percent
from edgeplace.model import Cluster, RateUnit
from edgeplace.solver import Problem, Usage
from edgeplace.solver.arrays import Floats, Ints

_MOST_BOXES = 12
_FARTHEST = 2
"""Most columns: sites that are more links away from the cloud share the first column."""


@dataclass(frozen=True)
class Box:
    """A site, or a group of sites that is drawn as one."""

    title: str
    under: str
    """Tier and machines, in words."""
    column: int
    """0 is farthest from the cloud."""
    sites: int
    alike: bool
    """All sites have the same machines, and as many subtasks of each operator."""
    subtasks: tuple[int, ...]
    """Of each operator, over all the sites."""


@dataclass(frozen=True)
class Flow:
    """The traffic from the subtasks of one operator in a box to those of another."""

    source: int
    target: int
    start: int
    """The box it leaves."""
    end: int
    bytes_per_s: float
    local: bool
    """Whether the traffic stays inside sites."""


@dataclass(frozen=True)
class Placement:
    """Boxes, and flows between and inside them, the largest first."""

    operators: tuple[str, ...]
    order: tuple[int, ...]
    """Operators, producers before consumers."""
    boxes: tuple[Box, ...]
    box_of: dict[str, int]
    """The box of each site that has machines."""
    flows: tuple[Flow, ...]
    rates: RateUnit
    """What the picture writes them in."""


def placement(verdict: Usage) -> Placement:
    """Return the job on the sites; many sites are grouped."""
    p = verdict.problem
    site = p.tms.site[verdict.assignment]
    n_ops = len(p.subtasks.operators)
    n_sites = len(p.cluster.sites)
    counts = np.bincount(site * n_ops + p.subtasks.operator_of, minlength=n_sites * n_ops).reshape(
        n_sites, n_ops
    )
    lots = _lots(p.cluster, counts)
    box_of = np.full(n_sites, -1, np.intp)
    for i, lot in enumerate(lots):
        box_of[list(lot.sites)] = i
    cpu = _busiest(verdict)
    machines = _machines(p.cluster)
    boxes = tuple(_box(p.cluster, lot, counts, machines, cpu) for lot in lots)
    names = tuple(
        op.name if len(p.subtasks.jobs) == 1 else f"{job}: {op.name}"
        for job, op in p.subtasks.operators
    )
    named = {p.cluster.sites[s].id: i for i, lot in enumerate(lots) for s in lot.sites}
    flows = _flows(p, site, box_of, len(lots))
    return Placement(names, _order(p), boxes, named, flows, p.cluster.rates_in)


@dataclass(frozen=True)
class _Lot:
    column: int
    sites: tuple[int, ...]
    alike: bool


def _lots(cluster: Cluster, counts: Ints) -> list[_Lot]:
    """Return the sites that have machines, in at most about `_MOST_BOXES` groups."""
    machines = _machines(cluster)
    column = _columns(cluster)
    shown = [s for s in range(len(cluster.sites)) if machines[s]]
    if len(shown) <= _MOST_BOXES:
        lots = [_Lot(column[s], (s,), True) for s in shown]
    else:
        same: dict[object, list[int]] = {}
        for s in shown:
            kind = (column[s], tuple(sorted(machines[s].items())), counts[s].tobytes())
            same.setdefault(kind, []).append(s)
        ranked = sorted(same.values(), key=lambda own: -int(counts[own].sum()))
        kept = ranked if len(ranked) <= _MOST_BOXES else ranked[: _MOST_BOXES - 1]
        lots = [_Lot(column[own[0]], tuple(own), True) for own in kept]
        rest: dict[int, list[int]] = {}
        for own in ranked[len(kept) :]:
            rest.setdefault(column[own[0]], []).extend(own)
        lots += [_Lot(c, tuple(sorted(own)), False) for c, own in rest.items()]
    return sorted(lots, key=lambda lot: (lot.column, not lot.alike, lot.sites[0]))


def _columns(cluster: Cluster) -> list[int]:
    """Return the column of each site: fewer links to a cloud site are farther right."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(s.id for s in cluster.sites)
    graph.add_edges_from((a.source, a.target) for a in cluster.links)
    clouds = {s.id for s in cluster.sites if s.tier == "cloud"}
    away = nx.multi_source_dijkstra_path_length(graph, clouds, weight=None) if clouds else {}
    hops = [int(min(_FARTHEST, away.get(s.id, _FARTHEST))) for s in cluster.sites]
    return [_FARTHEST - h for h in hops]


def _machines(cluster: Cluster) -> list[Counter[tuple[str, float, int]]]:
    """Return the nodes of each class, the cores and the slots of each site, as text."""
    slots: dict[str, int] = {}
    for t in cluster.task_managers:
        slots[t.node] = slots.get(t.node, 0) + t.slots
    index = {s.id: i for i, s in enumerate(cluster.sites)}
    found: list[Counter[tuple[str, float, int]]] = [Counter() for _ in cluster.sites]
    for n in cluster.nodes:
        found[index[n.site]][n.node_class, n.cores, slots.get(n.id, 0)] += 1
    return found


def _busiest(verdict: Usage) -> Floats:
    """Return the largest share of a node's usable cores in use at each site."""
    p = verdict.problem
    index = {s.id: i for i, s in enumerate(p.cluster.sites)}
    most = np.zeros(len(index))
    where = [index[n.site] for n in p.cluster.nodes]
    np.maximum.at(most, where, verdict.cores / p.tms.node_cores)
    return most


def _box(
    cluster: Cluster,
    lot: _Lot,
    counts: Ints,
    machines: Sequence[Counter[tuple[str, float, int]]],
    cpu: Floats,
) -> Box:
    first = cluster.sites[lot.sites[0]]
    n = len(lot.sites)
    if n == 1:
        title = first.id
    elif lot.alike:
        title = f"{first.id} and {n - 1:,} more like it"
    else:
        title = f"{n:,} more sites, not alike"
    own = machines[lot.sites[0]] if lot.alike else sum((machines[s] for s in lot.sites), Counter())
    classes: Counter[str] = Counter()
    for (name, _, _), many in own.items():
        classes[name] += many
    kinds = ", ".join(f"{many:,} {name}" for name, many in classes.most_common(2))
    each = " each" if lot.alike and n > 1 else ""
    top = percent(float(cpu[list(lot.sites)].max()))
    return Box(
        title=title,
        under=f"{first.tier} · {kinds}{each} · CPU up to {top}",
        column=lot.column,
        sites=n,
        alike=lot.alike,
        subtasks=tuple(counts[list(lot.sites)].sum(axis=0).tolist()),
    )


def _order(p: Problem) -> tuple[int, ...]:
    index = {(job, op.id): o for o, (job, op) in enumerate(p.subtasks.operators)}
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(index)))
    for job in p.subtasks.jobs:
        for s in job.streams:
            graph.add_edge(index[job.name, s.source], index[job.name, s.target])
    return tuple(nx.lexicographical_topological_sort(graph))


def _flows(p: Problem, site: Ints, box_of: Ints, boxes: int) -> tuple[Flow, ...]:
    """Return the bytes of records between operators and boxes, without credits and checkpoints."""
    a, b = p.channels.feeding
    op = p.subtasks.operator_of
    n_ops = len(p.subtasks.operators)
    pairs, pair = np.unique(op[a] * n_ops + op[b], return_inverse=True)
    local = site[a] == site[b]
    key = ((pair * boxes + box_of[site[a]]) * boxes + box_of[site[b]]) * 2 + local
    total = np.bincount(key, weights=p.channels.bytes_per_s[: p.channels.n_feeding])
    found = []
    for k in np.flatnonzero(total > 0).tolist():
        rest, inside = divmod(k, 2)
        rest, end = divmod(rest, boxes)
        which, start = divmod(rest, boxes)
        source, target = divmod(int(pairs[which]), n_ops)
        found.append(Flow(source, target, start, end, float(total[k]), bool(inside)))
    return tuple(sorted(found, key=lambda f: -f.bytes_per_s))
