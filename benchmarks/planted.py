"""Fifty tight instances of 100 to 2,000 subtasks, fixed by their numbers before any was solved.

Jobs of realistic shape (lines that a HASH window gathers, selective filters, joins of two
sources, forks) over a tree of 5 to 60 sites: a star, regions with small servers, or sites below
sites. A plan is planted first; slots, cores and, on one in three, bandwidth are then cut to it, so
that every instance has a plan and is as tight as it says: of all slots 60 to 100 % are taken by the
planted plan, of all cores and of the servers' 60 to 95 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import (
    CLOUD,
    UNLIMITED_SLOTS,
    Machines,
    edge_cluster,
    pi_ids,
    uplink,
    with_servers,
)
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import Cluster, JobGraph, Link, Pin, Rules, ShipStrategy
from edgeplace.solver.baselines.order import downstream, neighbours
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem, build

Ints = NDArray[np.intp]

COUNT = 50
FEWEST, MOST = 100, 2000
SITES = 5, 60
SLOTS_FULL = 0.6, 1.0
CPU_FULL = 0.6, 0.95
AMPLE_CORES = 1e6


@dataclass(frozen=True)
class Planted:
    """An instance, and the plan that its capacities were cut to."""

    instance: Instance
    shape: str
    plan: Ints
    """TaskManager of each subtask, shape (n_subtasks,)."""
    slots_full: float
    """Share of all slots that the plan takes."""
    cpu_full: float
    """Share of all cores that the plan takes."""


def planted(number: int) -> Planted:
    """Return instance `number`, 0 to 49, small to large."""
    draws = Draws("planted", number)
    size = FEWEST * (MOST / FEWEST) ** ((number + draws.between(0, 1)) / COUNT)
    low, high = max(SITES[0], math.ceil(size / 40)), min(SITES[1], int(size / 8))
    sites = round(low * (high / low) ** draws.between(0, 1))
    checkpoints = draws.one_of((True, False))
    shape = draws.one_of(("star", "regions", "hills"))
    pis = Machines(draws.one_of((1, 2, 3)), AMPLE_CORES, UNLIMITED_SLOTS)
    ample, edge = _cluster(shape, sites, pis, checkpoints, draws)
    jobs = _jobs(size, edge, pis, checkpoints, draws)
    pins = tuple(Pin(job=job.name, operators=("sink",), to=CLOUD) for job in jobs)
    rules = Rules(rules=pins)
    problem = build(jobs, ample, rules)
    plan = _plan(problem, draws)
    slots_full, cpu_full = draws.between(*SLOTS_FULL), draws.between(*CPU_FULL)
    narrow = draws.one_of((True, False, False))
    cluster = _cut(problem, measure_usage(problem, plan), slots_full, cpu_full, narrow, draws)
    return _measured(
        Instance(name=f"planted-{number}", jobs=jobs, cluster=cluster, rules=rules), shape, plan
    )


def _measured(instance: Instance, shape: str, plan: Ints) -> Planted:
    """Return an instance with how full its plan makes it.

    Raises
    ------
    ValueError
        If the plan does not hold.
    """
    p = build(instance.jobs, instance.cluster, instance.rules)
    found = measure_usage(p, plan)
    if not (found.rated_hold and found.fixed_hold):
        raise ValueError(f"{instance.name}: the planted plan does not hold")
    return Planted(
        instance,
        shape,
        plan,
        slots_full=float(found.slots.sum() / p.tms.slots.sum()),
        cpu_full=float(found.cores.sum() / p.tms.node_cores.sum()),
    )


def _cluster(
    shape: str, sites: int, pis: Machines, checkpoints: bool, draws: Draws
) -> tuple[Cluster, list[str]]:
    """Return a cluster with room for anything, and its edge sites."""
    regions = [f"region-{r}" for r in range(max(1, sites // 6))] if shape == "regions" else []
    edge = [f"site-{i}" for i in range(sites - 1 - len(regions))]
    links = [_link(r, CLOUD, draws) for r in regions]
    for i, site in enumerate(edge):
        above = CLOUD
        if regions:
            above = regions[i % len(regions)]
        elif shape == "hills" and i and draws.between(0, 1) > 0.4:
            above = draws.one_of(edge[:i])
        links.append(_link(site, above, draws))
    servers = Machines(draws.one_of((1, 1, 2)), AMPLE_CORES, UNLIMITED_SLOTS)
    cluster = edge_cluster(
        edge, pis, servers, links, junctions=regions, checkpoints=checkpoints
    ).model_copy(update={"cpu_target": 1.0, "link_target": 1.0})
    small = Machines(1, AMPLE_CORES, UNLIMITED_SLOTS)
    return with_servers(cluster, regions, small), edge


def _link(site: str, to: str, draws: Draws) -> Link:
    price = draws.one_of((0.5, 1.0, 1.5, 2.0, 4.0))
    return uplink(site, None, draws.between(1, 6), to=to, price_per_byte=price)


def _jobs(
    size: float, edge: Sequence[str], pis: Machines, checkpoints: bool, draws: Draws
) -> tuple[JobGraph, ...]:
    """Return jobs of about so many subtasks together."""
    count = draws.one_of((1, 2, 3, 4) if size < 300 else (2, 3, 4, 6, 8))
    taken = dict.fromkeys(edge, 0)
    jobs: list[JobGraph] = []
    for j in range(count):
        kind, per_line = draws.one_of(
            (("aggregate", 4.4), ("filter", 3.1), ("join", 2.3), ("fork", 4.25))
        )
        births = []
        for _ in range(max(4, round((size / count - 1) / per_line))):
            site = draws.one_of(edge)
            births.append(pi_ids(site, pis)[taken[site] % pis.count])
            taken[site] += 1
        draft = JobDraft(
            f"{kind}-{j}",
            slot_each=draws.one_of((True, True, False)),
            checkpoint_interval_ms=draws.between(10_000, 60_000) if checkpoints else None,
        )
        SHAPES[kind](draft, births, draws)
        jobs.append(draft.job())
    return tuple(jobs)


@dataclass(frozen=True)
class _End:
    """The end of a line of operators: what comes out of it."""

    operator: str
    bytes_per_record: float
    selectivity: float
    records_per_s: float


def _lines(
    draft: JobDraft, source: str, steps: Sequence[str], births: Sequence[str], draws: Draws
) -> _End:
    """Add a source at every birth place, and steps that each follow the one before."""
    rates = [draws.between(300, 1500) for _ in births]
    draft.source(source, births, rates)
    end = _End(source, draws.between(60, 300), 1.0, sum(rates))
    for step in steps:
        end = _step(draft, end, step, len(births), draws)
    return end


def _step(draft: JobDraft, end: _End, name: str, lines: int, draws: Draws) -> _End:
    """Add one step behind the end of some lines."""
    rate = end.records_per_s * end.selectivity
    busy = draws.between(0.05, 0.45)
    draft.operator(name, lines, rate / lines / busy, pi_speed=draws.between(0.4, 0.7))
    draft.stream(
        end.operator,
        name,
        ShipStrategy.FORWARD,
        end.bytes_per_record,
        selectivity=end.selectivity,
    )
    size = end.bytes_per_record * draws.one_of((0.5, 1.0, 1.0, 1.6))
    return _End(name, round(size, 1), draws.one_of((0.1, 0.3, 0.7, 1.0, 1.2)), rate)


def _gather(
    draft: JobDraft,
    ends: Sequence[_End],
    name: str,
    parallelism: int,
    ship: ShipStrategy,
    draws: Draws,
) -> None:
    """Add an operator that all lines feed, and the sink."""
    rate = sum(end.records_per_s * end.selectivity for end in ends)
    busy = draws.between(0.2, 0.6)
    draft.operator(
        name,
        parallelism,
        max(1.0, rate / parallelism / busy),
        pi_speed=draws.between(0.4, 0.7),
        state_bytes=draws.between(1e4, 1e6) * parallelism,
    )
    for end in ends:
        draft.stream(end.operator, name, ship, end.bytes_per_record, selectivity=end.selectivity)
    kept = draws.between(0.01, 0.2)
    draft.operator("sink", 1, max(1e5, 2 * rate * kept))
    draft.stream(name, "sink", ShipStrategy.REBALANCE, 60.0, selectivity=kept)


def _aggregate(draft: JobDraft, births: Sequence[str], draws: Draws) -> None:
    end = _lines(draft, "source", ("parse", "filter", "combine"), births, draws)
    windows = max(2, round(len(births) * draws.between(0.25, 0.5)))
    _gather(draft, [end], "window", windows, ShipStrategy.HASH, draws)


def _filter(draft: JobDraft, births: Sequence[str], draws: Draws) -> None:
    end = _lines(draft, "source", ("decode", "filter"), births, draws)
    _gather(draft, [end], "collect", max(1, len(births) // 10), ShipStrategy.RESCALE, draws)


def _join(draft: JobDraft, births: Sequence[str], draws: Draws) -> None:
    half = len(births) // 2
    ends = [
        _lines(draft, side, (f"{side}-kept",), own, draws)
        for side, own in (("left", births[:half]), ("right", births[half:]))
    ]
    _gather(draft, ends, "join", max(2, half // 2), ShipStrategy.HASH, draws)


def _fork(draft: JobDraft, births: Sequence[str], draws: Draws) -> None:
    parsed = _lines(draft, "source", ("parse",), births, draws)
    ends = [_step(draft, parsed, name, len(births), draws) for name in ("combine", "model")]
    _gather(draft, ends, "merge", max(1, len(births) // 4), ShipStrategy.RESCALE, draws)


SHAPES = {"aggregate": _aggregate, "filter": _filter, "join": _join, "fork": _fork}


def _plan(p: Problem, draws: Draws) -> Ints:
    """Return a plan: lines go some steps at their sites, then up; what is gathered, mostly up."""
    hosts = [np.flatnonzero(p.tms.site == s) for s in range(p.network.n_sites)]
    tree = p.network.tree
    assert tree is not None
    top = int(p.tms.site[p.tms.is_server][0])
    stay = draws.between(0.4, 0.9)
    up = {s: _next_up(p, s, top) for s in range(p.network.n_sites)}
    producers, _ = neighbours(p)
    at = np.full(p.n, -1, np.intp)
    plan = np.full(p.n, -1, np.intp)
    for k in downstream(p).tolist():
        may = np.unique(p.tms.site[p.keeps_up[k]])
        if p.keeps_up[k].sum() == 1:
            plan[k] = int(p.keeps_up[k].argmax())
        if len(may) == 1:
            at[k] = may[0]
            continue
        near = np.unique(at[producers[k]])
        site = int(near[0])
        if len(near) > 1:
            site = int(draws.one_of(near.tolist())) if draws.between(0, 1) > 0.85 else top
        elif draws.between(0, 1) > stay:
            site = up[site]
        while site not in may:
            site = up[site]
        at[k] = site
    for s, tms in enumerate(hosts):
        _deal(p, np.flatnonzero(at == s), tms, plan)
    return plan


def _next_up(p: Problem, site: int, top: int) -> int:
    """Return the next site with machines on the way to the cloud."""
    links = p.network.route(site, top) or ()
    hops = [p.network.ends[i][1] for i in links]
    return next((h for h in hops if (p.tms.site == h).any()), top)


def _deal(p: Problem, subtasks: Ints, tms: Ints, plan: Ints) -> None:
    """Put subtasks on the machines of a site, evenly by number and cores, the largest first."""
    if not len(subtasks):
        return
    cores = p.work.cores[subtasks, p.tms.node_class[tms[0]]]
    worth = cores / max(float(cores.sum()), 1e-12) + 1 / len(subtasks)
    load = dict.fromkeys(tms.tolist(), 0.0)
    held = plan[subtasks] >= 0
    for i in [*np.flatnonzero(held).tolist(), *np.argsort(-worth, kind="stable").tolist()]:
        k = int(subtasks[i])
        if held[i]:
            load[int(plan[k])] += float(worth[i])
            held[i] = False
        elif plan[k] < 0:
            plan[k] = min(load, key=lambda t: (load[t], t))
            load[int(plan[k])] += float(worth[i])


def _cut(
    p: Problem, found: Usage, slots_full: float, cpu_full: float, narrow: bool, draws: Draws
) -> Cluster:
    """Return the cluster with capacities cut to what a plan uses. Machines of a site are alike."""
    slots: dict[int, int] = {}
    cores: dict[int, float] = {}
    top = int(p.tms.site[p.tms.is_server][0])
    for s in [*(s for s in np.unique(p.tms.site).tolist() if s != top), top]:
        own = np.flatnonzero(p.tms.site == s)
        most = int(found.slots[own].max())
        share = draws.between(max(0.85, slots_full), 1.0)
        if s == top:
            left = float(found.slots.sum()) / slots_full - sum(slots.values())
            slots.update(dict.fromkeys(own.tolist(), max(most, math.floor(left / len(own)), 1)))
        else:
            slots.update(dict.fromkeys(own.tolist(), max(1, math.floor(most / share + 1e-9))))
        used = float(found.cores[p.tms.node[own]].max())
        share = cpu_full if s == top else draws.between(cpu_full, CPU_FULL[1])
        room = math.ceil(1000 * used / share) / 1000
        cores.update(dict.fromkeys(p.tms.node[own].tolist(), max(0.1, room)))
    links = p.cluster.links
    if narrow:
        links = tuple(_narrowed(p, found, link, draws) for link in links)
    return p.cluster.model_copy(
        update={
            "nodes": tuple(
                node.model_copy(update={"cores": cores[v]})
                for v, node in enumerate(p.cluster.nodes)
            ),
            "task_managers": tuple(
                tm.model_copy(update={"slots": slots[t]})
                for t, tm in enumerate(p.cluster.task_managers)
            ),
            "links": links,
        }
    )


def _narrowed(p: Problem, found: Usage, link: Link, draws: Draws) -> Link:
    """Return a link that the plan takes 50 to 90 % of, at least 100 kB/s wide."""
    ids = [s.id for s in p.cluster.sites]
    ends = {ids.index(link.source), ids.index(link.target)}
    used = max(
        float(found.link_bytes[i]) for i, pair in enumerate(p.network.ends) if set(pair) == ends
    )
    room = max(1e5, math.ceil(used / draws.between(0.5, 0.9)))
    return link.model_copy(update={"bandwidth_bytes_per_s": room})
