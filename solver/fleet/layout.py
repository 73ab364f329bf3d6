"""The parts of the template (a problem with one site of each kind): replicated, or shared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import BOUNDS, InvalidInputError, LimitKind, refuse_demand
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.fleet.fleet import Fleet, Replicas
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.constraints import Restriction
from edgeplace.solver.problem.traffic import Traffic


@dataclass(frozen=True)
class SiteKind:
    """A site that is copied; indices are the template's.

    Attributes
    ----------
    site
        The site, and its name.
    subtasks, job
        Subtasks of the jobs that are copied with it, and the job of each, counted within the kind;
        shape (n_subtasks,).
    channels
        Channels of records of these jobs.
    task_managers, nodes
        Of the site.
    up, down
        Its links, and the site at their other end.
    places
        TaskManagers where its subtasks may be: the site's own, then the shared ones.
    may
        Where each subtask may run, shape (n_subtasks, n_places).
    rate
        Factor on the rates of each job at each replica, shape (count, n_jobs).
    cores, slots
        Of the site's nodes, times target, shape (count, n_nodes), and of its TaskManagers, shape
        (count, n_tms).
    bandwidth, capacity, delay_ms, price
        Of the links up and down, shape (count, 2).
    """

    name: str
    site: int
    count: int
    subtasks: Ints
    job: Ints
    channels: Ints
    task_managers: Ints
    nodes: Ints
    up: int
    down: int
    parent: int
    places: Ints
    may: Bools
    rate: Floats
    cores: Floats
    slots: Ints
    bandwidth: Floats
    capacity: Floats
    delay_ms: Floats
    price: Floats

    @property
    def links(self) -> Ints:
        """The site's own links of the template: up, down."""
        return np.array([self.up, self.down], np.intp)


@dataclass(frozen=True)
class Layout:
    """The template and its parts.

    Attributes
    ----------
    template
        The problem with each site once.
    traffic
        Its traffic.
    shared_sites, shared_task_managers, shared_nodes, shared_links
        What is not copied.
    """

    template: Problem
    traffic: Traffic
    kinds: tuple[SiteKind, ...]
    shared_sites: Ints
    shared_task_managers: Ints
    shared_nodes: Ints
    shared_links: Ints

    @classmethod
    def of(cls, fleet: Fleet) -> "Layout":
        """Take a fleet apart.

        Raises
        ------
        InvalidInputError
            If it is not what `Fleet` says.
        """
        refuse_demand(fleet.rules, "fleets are placed")
        p = build(fleet.jobs, fleet.cluster, fleet.rules)
        names = {s.id: i for i, s in enumerate(fleet.cluster.sites)}
        _check(fleet, p, names)
        copied = {names[s]: s for s in fleet.replicas}
        node_site = np.array([names[n.site] for n in fleet.cluster.nodes], np.intp)
        shared = np.array([s not in copied for s in range(p.network.n_sites)])
        ends = np.array(p.network.ends, np.intp).reshape(-1, 2)
        home = _homes(p, copied)
        hub = np.flatnonzero(shared[p.tms.site])
        traffic = Traffic.of(p.subtasks.jobs)
        kinds = _Kinds(p, traffic, home, node_site, hub, ends)
        return cls(
            template=p,
            traffic=traffic,
            kinds=tuple(kinds.of(i, name, fleet.replicas[name]) for i, name in copied.items()),
            shared_sites=np.flatnonzero(shared),
            shared_task_managers=hub,
            shared_nodes=np.flatnonzero(shared[node_site]),
            shared_links=np.flatnonzero(shared[ends].all(axis=1)),
        )


def _check(fleet: Fleet, p: Problem, names: Mapping[str, int]) -> None:
    for site in fleet.replicas:
        if site not in names:
            raise InvalidInputError(
                f"site {site!r} is to be copied, and the cluster does not have it",
                f"the sites are {list(names)}",
            )
    _check_rules(p)
    _check_scaled(fleet, p)
    _check_copied_sites(fleet, p, names)


def _check_rules(p: Problem) -> None:
    others = [c.title for c in p.constraints if not isinstance(c, Restriction)]
    if others:
        raise InvalidInputError(
            f"rule {others[0]!r} is about several subtasks at once, and fleets keep only rules "
            "about where each may run",
            "say it by pin or match, or place the jobs by solve",
        )
    if p.wishes:
        raise InvalidInputError(
            f"the rules have wishes ({p.wishes[0].title}), and fleets minimise wan alone",
            "leave them out, or place the jobs by solve",
        )
    stated = [k for k in BOUNDS if k.bound(p.rules) is not None and k is not LimitKind.LATENCY]
    if stated:
        raise InvalidInputError(
            f"the rules state {stated[0].facts.by}, and fleets keep no bound on all replicas",
            "leave it out, or place the jobs by solve",
        )


def _check_scaled(fleet: Fleet, p: Problem) -> None:
    scaled = {job for replicas in fleet.replicas.values() for job in replicas.rates}
    for job in p.subtasks.jobs:
        if job.name in scaled and any(s.cost and s.cost.by_rate for s in job.streams):
            raise InvalidInputError(
                f"job {job.name!r} has a stream with costs by_rate, and rates that differ: fleets "
                "scale what streams carry in proportion",
                "give the stream one selectivity, or leave the job's rates out of the replicas",
            )
        if job.name in scaled and any(op.cost and op.cost.state_law for op in job.operators):
            raise InvalidInputError(
                f"job {job.name!r} has an operator with a state_law, and rates that differ: fleets "
                "take the state of all replicas to be the same",
                "state its state_bytes instead, or leave the job's rates out of the replicas",
            )


def _check_copied_sites(fleet: Fleet, p: Problem, names: Mapping[str, int]) -> None:
    if p.network.tree is None:
        raise InvalidInputError(
            "the sites of the fleet's cluster do not form a tree",
            "join each by one link in each direction to another",
        )
    for site in fleet.replicas:
        near = [b for a, b in p.network.ends if a == names[site]]
        if len(near) != 1 or fleet.cluster.sites[near[0]].id in fleet.replicas:
            raise InvalidInputError(
                f"site {site!r} is to be copied, but it is joined to "
                f"{[fleet.cluster.sites[b].id for b in near]}",
                "join it to one site that is not copied",
            )
        if p.storage_site == names[site]:
            raise InvalidInputError(
                f"checkpoints are stored at site {site!r}, which is to be copied",
                "name a site as checkpoint_storage that is not",
            )


def _homes(p: Problem, copied: Mapping[int, str]) -> dict[str, int]:
    """Return the copied site of each job: where its sources are born."""
    fed = np.zeros(p.n, bool)
    fed[p.channels.feeding[1]] = True
    home: dict[str, set[int]] = {j.name: set() for j in p.subtasks.jobs}
    for k in np.flatnonzero(~fed).tolist():
        job = p.subtasks.operators[p.subtasks.operator_of[k]][0]
        home[job] |= set(p.tms.site[p.allowed()[k]].tolist())
    for job, sites in home.items():
        if len(sites) != 1 or not sites <= set(copied):
            raise InvalidInputError(
                f"the sources of job {job!r} may be at {len(sites)} sites, and a job is copied "
                "with one",
                f"let all its sources be born at one of {list(copied.values())}",
            )
    return {job: next(iter(sites)) for job, sites in home.items()}


@dataclass(frozen=True)
class _Kinds:
    """The parts from which the kinds of sites are made."""

    problem: Problem
    traffic: Traffic
    home: Mapping[str, int]
    """The site of each job's sources."""
    node_site: Ints
    hub: Ints
    """The TaskManagers that are not copied."""
    ends: Ints
    """Sites at the two ends of each link, shape (n_links, 2)."""

    def of(self, site: int, name: str, replicas: Replicas) -> SiteKind:
        """Return the kind that the replicas of a site are."""
        p, n, net = self.problem, replicas.count, self.problem.network
        jobs = [j for j, s in self.home.items() if s == site]
        tms = np.flatnonzero(p.tms.site == site)
        nodes = np.flatnonzero(self.node_site == site)
        machines = [p.cluster.nodes[v] for v in nodes.tolist()]
        managers = [p.cluster.task_managers[t] for t in tms.tolist()]
        _check_names(
            name,
            ("job", jobs, replicas.rates),
            ("node", [v.id for v in machines], replicas.cores),
            ("TaskManager", [t.id for t in managers], replicas.slots),
        )
        if not jobs:
            raise InvalidInputError(
                f"no job's sources are born at site {name!r}", "leave it out of what is copied"
            )
        job_of = np.array(
            [jobs.index(j) if j in jobs else -1 for j, _ in p.subtasks.operators], np.intp
        )[p.subtasks.operator_of]
        subtasks = np.flatnonzero(job_of >= 0)
        places = np.concatenate([tms, self.hub])
        links = np.array([np.flatnonzero(self.ends[:, i] == site)[0] for i in (0, 1)], np.intp)
        bandwidth = _of_links(replicas.bandwidth_bytes_per_s, net.bandwidth_bytes_per_s[links], n)
        cores = [replicas.cores.get(v.id, np.full(n, v.cores)) for v in machines]
        slots = [replicas.slots.get(t.id, np.full(n, t.slots)) for t in managers]
        return SiteKind(
            name=name,
            site=site,
            count=n,
            subtasks=subtasks,
            job=job_of[subtasks],
            channels=np.flatnonzero(job_of[self.traffic.source] >= 0),
            task_managers=tms,
            nodes=nodes,
            up=int(links[0]),
            down=int(links[1]),
            parent=int(self.ends[links[0], 1]),
            places=places,
            may=self._may(name, subtasks, places),
            rate=_side_by_side([replicas.rates.get(j, np.ones(n)) for j in jobs], n).astype(float),
            cores=_side_by_side(cores, n) * p.cluster.cpu_target,
            slots=_side_by_side(slots, n).astype(np.intp),
            bandwidth=bandwidth,
            capacity=self._capacity(links, bandwidth),
            delay_ms=_of_links(replicas.delay_ms, net.delay_ms[links], n),
            price=_of_links(replicas.price_per_byte, net.price[links], n),
        )

    def _may(self, name: str, subtasks: Ints, places: Ints) -> Bools:
        """Return the allowed places of a replica's subtasks, shape (n_subtasks, n_places)."""
        p = self.problem
        may: Bools = p.allowed()[np.ix_(subtasks, places)]
        nowhere = ~may.any(axis=1)
        if nowhere.any():
            raise InvalidInputError(
                f"{p.subtasks.title(int(subtasks[nowhere.argmax()]))} may run neither at its own "
                f"site {name!r} nor at one that all share",
                "widen the rule that says so",
            )
        return may

    def _capacity(self, links: Ints, bandwidth: Floats) -> Floats:
        """Return what plans may use of both links of each replica, shape (n_replicas, 2)."""
        p = self.problem
        background = np.array([a.background_bytes_per_s for a in p.cluster.directed_links()])
        capacity: Floats = bandwidth * p.cluster.link_target - background[links]
        if (capacity <= 0).any():
            replica, way = (int(i) for i in np.argwhere(capacity <= 0)[0])
            raise InvalidInputError(
                f"link {p.network.names[links[way]]}: its background traffic of "
                f"{background[links[way]]:g} bytes/s leaves nothing of what plans may use of the "
                f"{bandwidth[replica, way]:g} at replica {replica}",
                "give the replica more bandwidth_bytes_per_s, or the link less background traffic",
            )
        return capacity


def _check_names(name: str, *parts: tuple[str, Sequence[str], Mapping[str, object]]) -> None:
    """Refuse values of replicas that are of nothing at their site."""
    for what, known, given in parts:
        strange = set(given) - set(known)
        if strange:
            raise InvalidInputError(
                f"the replicas of site {name!r} name {what} {min(strange, key=str)!r}, which is "
                "not there",
                f"there is {list(known)}",
            )


def _of_links(own: Floats | None, otherwise: Floats, n: int) -> Floats:
    """Return a column of both links, shape (n_replicas, 2)."""
    if own is None:
        return np.broadcast_to(otherwise, (n, len(otherwise)))
    return np.repeat(own[:, None].astype(float), len(otherwise), axis=1)


def _side_by_side(columns: Sequence[NDArray[Any]], n: int) -> NDArray[Any]:
    """Return columns of shape (n,) as one array, shape (n, n_columns)."""
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))
