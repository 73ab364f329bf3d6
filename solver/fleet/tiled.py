"""The whole fleet as one problem, in arrays, for the evaluator.

Subtasks and machines are numbered kind by kind and replica by replica; shared ones come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import PlanMismatchError
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import afford
from edgeplace.solver.fleet.layout import Layout, SiteKind
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.footprint import Footprint
from edgeplace.solver.problem.network import Network
from edgeplace.solver.problem.subtasks import Subtasks
from edgeplace.solver.problem.task_managers import TaskManagers
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.tree import Tree
from edgeplace.solver.problem.work import Work

Table = TypeVar("Table", Work, Footprint, TaskManagers)

_COPY_S = 8e-7
"""Time to state what one subtask of one replica takes, measured."""


def carried(layout: Layout, kind: SiteKind) -> tuple[Channels, Work]:
    """Return the traffic and work of the channels and subtasks of a kind, replica by replica."""
    t, p, n = layout.traffic, layout.template, kind.count
    afford(_COPY_S * n * len(kind.subtasks))
    local = np.zeros(p.n, np.intp)
    local[kind.subtasks] = np.arange(len(kind.subtasks))
    c = kind.channels
    per_channel = kind.rate[:, kind.job[local[t.source[c]]]]
    per_subtask = kind.rate[:, kind.job]
    traffic = Traffic(
        rate_per_s=(per_subtask * t.rate_per_s[kind.subtasks]).ravel(),
        source=_repeated(local[t.source[c]], n, len(kind.subtasks)),
        target=_repeated(local[t.target[c]], n, len(kind.subtasks)),
        records_per_s=(per_channel * t.records_per_s[c]).ravel(),
        bytes_per_s=(per_channel * t.bytes_per_s[c]).ravel(),
        held_back=np.tile(t.held_back[c], n),
        record_bytes=np.tile(t.record_bytes[c], n),
        fan_in=np.tile(t.fan_in[c], n),
        timeout_ms=np.tile(t.timeout_ms[c], n),
        watermarks_per_s=_watermarks_per_s(layout, kind)[:, kind.job[local[t.source[c]]]].ravel(),
        flushes_per_s=np.tile(t.flushes_per_s[c], n),
        stream=np.tile(t.stream[c], n),
        notes=(),
    )
    rate = t.rate_per_s[kind.subtasks][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        busy_s, cpu_s = (
            np.where(rate > 0, each[kind.subtasks] / rate, 0.0)
            for each in (p.work.busy, p.work.cores)
        )
    work = Work.of(traffic.rate_per_s, np.tile(busy_s, (n, 1)), np.tile(cpu_s, (n, 1)))
    return Channels.of(traffic, p.cluster), work


def _watermarks_per_s(layout: Layout, kind: SiteKind) -> Floats:
    """Return the watermarks of each job's channels at each replica, shape (count, n_jobs).

    A source has no more of them than records: they grow with the rates up to their interval.
    """
    p = layout.template
    interval_ms = {j.name: j.watermark_interval_ms or np.inf for j in p.subtasks.jobs}
    is_source = ~np.isin(kind.subtasks, p.channels.feeding[1])
    most = []
    for j in range(kind.rate.shape[1]):
        born = kind.subtasks[is_source & (kind.job == j)]
        job, _ = p.subtasks.operators[p.subtasks.operator_of[born[0]]]
        each = kind.rate[:, j] * p.work.rate_per_s[born].max()
        most.append(np.minimum(1000 / interval_ms[job], each))
    return np.stack(most, axis=1)


def _repeated(indices: Ints, n: int, width: int) -> Ints:
    """Return indices, counted within a replica, of n replicas of so many, one after the other."""
    first = np.arange(n, dtype=np.intp)[:, None] * width
    repeated: Ints = (indices[None, :] + first).ravel()
    return repeated


@dataclass(frozen=True)
class Tiled:
    """The problem of the whole, and where things are in it.

    Attributes
    ----------
    first_task_manager
        Of each kind's first replica.
    """

    problem: Problem
    layout: Layout
    first_task_manager: tuple[int, ...]

    def assignment(self, places: list[NDArray[np.integer]]) -> Ints:
        """Return TaskManagers of shape (n_subtasks,) for places of each kind.

        Parameters
        ----------
        places
            Of each kind: where each subtask runs, as indices of `SiteKind.places`, shape (count,
            n_subtasks).

        Raises
        ------
        PlanMismatchError
            If a subtask is where it may not be.
        """
        found = []
        for kind, first, own in zip(
            self.layout.kinds, self.first_task_manager, places, strict=True
        ):
            if not kind.may[np.arange(len(kind.subtasks)), own].all():
                raise PlanMismatchError(
                    f"a subtask at a replica of {kind.name!r} is where it may not run",
                    "please report this with the fleet",
                )
            m = len(kind.task_managers)
            replica = np.arange(kind.count, dtype=np.intp)[:, None]
            found.append(np.where(own < m, first + replica * m + own, own - m).ravel())
        return np.concatenate(found)


@dataclass(frozen=True)
class _Offsets:
    """Numbers of what comes before the first replica of a kind."""

    site: int
    node: int
    task_manager: int
    subtask: int = 0
    operator: int = 0
    group: int = 0


def tiled(layout: Layout, loads: Sequence[tuple[Channels, Work]]) -> Tiled:
    """Return the problem of a whole fleet.

    Parameters
    ----------
    loads
        `carried` of each kind.
    """
    p, hub = layout.template, layout.shared_task_managers
    at = _Offsets(len(layout.shared_sites), len(layout.shared_nodes), len(hub))
    offsets, parts = [], []
    for kind in layout.kinds:
        offsets.append(at)
        part, at = _part(layout, kind, at)
        parts.append(part)
    shared = TaskManagers(
        slots=p.tms.slots[hub],
        has=p.tms.has[hub],
        node=_positions(layout.shared_nodes, p.tms.node[hub]),
        site=_positions(layout.shared_sites, p.tms.site[hub]),
        node_class=p.tms.node_class[hub],
        is_server=p.tms.is_server[hub],
        core_price=p.tms.core_price[hub],
        node_cores=p.tms.node_cores[layout.shared_nodes],
        node_price=p.tms.node_price[layout.shared_nodes],
    )
    operator_of = np.concatenate([part.operator_of for part in parts])
    first = np.zeros(at.operator + 1, np.intp)
    np.cumsum(np.bincount(operator_of, minlength=at.operator), out=first[1:])
    group = np.concatenate([part.group for part in parts])
    job = np.concatenate([part.job for part in parts])
    storage = p.storage_site
    problem = Problem(
        subtasks=Subtasks(p.subtasks.jobs, (), first, operator_of, group, job),
        cluster=p.cluster,
        rules=p.rules,
        network=_network(layout),
        constraints=(),
        wishes=(),
        work=_below_one_another([work for _, work in loads]),
        footprint=_below_one_another([part.footprint for part in parts]),
        channels=_channels([c for c, _ in loads], offsets),
        tms=_below_one_another([shared, *(part.tms for part in parts)]),
        storage_site=(
            None
            if storage is None
            else int(_positions(layout.shared_sites, np.array([storage]))[0])
        ),
        current=None,
        notes=p.notes,
    )
    return Tiled(
        problem,
        layout,
        tuple(o.task_manager for o in offsets),
    )


@dataclass(frozen=True)
class _Part:
    """The subtasks and machines of one kind."""

    operator_of: Ints
    group: Ints
    """Slot sharing group of each operator."""
    job: Ints
    """Job of each operator."""
    footprint: Footprint
    tms: TaskManagers


def _part(layout: Layout, kind: SiteKind, at: _Offsets) -> tuple[_Part, _Offsets]:
    """Return a kind's subtasks and machines, and what comes before the next kind."""
    p, n, tms = layout.template, kind.count, kind.task_managers
    operators, operator = np.unique(p.subtasks.operator_of[kind.subtasks], return_inverse=True)
    groups, group = np.unique(p.subtasks.group[operators], return_inverse=True)
    node = _positions(kind.nodes, p.tms.node[tms])
    part = _Part(
        operator_of=at.operator + _repeated(operator, n, len(operators)),
        group=at.group + _repeated(group, n, len(groups)),
        job=np.tile(p.subtasks.job[operators], n),
        footprint=Footprint(
            takes=np.tile(p.footprint.takes[kind.subtasks], (n, 1)),
            state_bytes=np.tile(p.footprint.state_bytes[kind.subtasks], n),
            checkpoint_bytes_per_s=np.tile(p.footprint.checkpoint_bytes_per_s[kind.subtasks], n),
        ),
        tms=TaskManagers(
            slots=kind.slots.ravel(),
            has=np.tile(p.tms.has[tms], (n, 1)),
            node=at.node + _repeated(node, n, len(kind.nodes)),
            site=np.repeat(at.site + np.arange(n, dtype=np.intp), len(tms)),
            node_class=np.tile(p.tms.node_class[tms], n),
            is_server=np.tile(p.tms.is_server[tms], n),
            core_price=np.tile(p.tms.core_price[tms], n),
            node_cores=kind.cores.ravel(),
            node_price=np.tile(p.tms.node_price[kind.nodes], n),
        ),
    )
    return part, _Offsets(
        site=at.site + n,
        node=at.node + n * len(kind.nodes),
        task_manager=at.task_manager + n * len(tms),
        subtask=at.subtask + n * len(kind.subtasks),
        operator=at.operator + n * len(operators),
        group=at.group + n * len(groups),
    )


def _channels(each: Sequence[Channels], offsets: Sequence[_Offsets]) -> Channels:
    """Return the channels of all kinds: those of records come first, then all answers."""
    n_feeding = [c.n_feeding for c in each]
    columns: dict[str, NDArray[Any]] = {}
    for name in [f.name for f in fields(Channels) if f.name != "n_feeding"]:
        own = [getattr(c, name) for c in each]
        if name in ("source", "target"):
            own = [v + at.subtask for v, at in zip(own, offsets, strict=True)]
        columns[name] = np.concatenate(
            [v[:n] for v, n in zip(own, n_feeding, strict=True)]
            + [v[n:] for v, n in zip(own, n_feeding, strict=True)]
        )
    return Channels(n_feeding=sum(n_feeding), **columns)


def _below_one_another(tables: Sequence[Table]) -> Table:
    """Return one table of the rows of several."""
    names = [f.name for f in fields(tables[0])]
    columns = {n: np.concatenate([getattr(table, n) for table in tables]) for n in names}
    return type(tables[0])(**columns)


def _network(layout: Layout) -> Network:
    """Return the whole network: the shared sites, and every replica as a leaf of one of them."""
    net, shared = layout.template.network, layout.shared_links
    n_shared, n_links = len(layout.shared_sites), len(shared)
    ends = np.array(net.ends, np.intp).reshape(-1, 2)[shared]
    inner = Tree.of(n_shared, [tuple(e) for e in _positions(layout.shared_sites, ends).tolist()])
    if inner is None:
        raise ValueError("the shared sites do not form a tree")
    parent, depth, up = [inner.parent], [inner.depth], [inner.up]
    site, link = n_shared, n_links
    for kind in layout.kinds:
        at = int(_positions(layout.shared_sites, np.array([kind.parent]))[0])
        parent.append(np.full(kind.count, at))
        depth.append(np.full(kind.count, inner.depth[at] + 1))
        up.append(link + 2 * np.arange(kind.count, dtype=np.intp))
        site += kind.count
        link += 2 * kind.count
    deep = np.concatenate(depth)
    leaves = np.concatenate(up[1:])

    def column(own: NDArray[Any], name: str) -> NDArray[Any]:
        return np.concatenate([own[shared], *[getattr(k, name).ravel() for k in layout.kinds]])

    return Network(
        n_sites=site,
        ends=(),
        names=(),
        bandwidth_bytes_per_s=column(net.bandwidth_bytes_per_s, "bandwidth"),
        capacity_bytes_per_s=column(net.capacity_bytes_per_s, "capacity"),
        delay_ms=column(net.delay_ms, "delay_ms"),
        price=column(net.price, "price"),
        tree=Tree(
            root=inner.root,
            parent=np.concatenate(parent),
            depth=deep,
            up=np.concatenate(up),
            down=np.concatenate([inner.down, leaves + 1]),
            order=np.argsort(deep, kind="stable"),
        ),
    )


def _positions(members: Ints, sought: Ints) -> Ints:
    """Return where some numbers stand in a sorted array that holds them."""
    return np.searchsorted(members, sought)
