"""Limits that every plan must exceed, found without a search.

Where subtasks that exchange records must run at sites that no chain of links joins, or where more
must run somewhere than fits there, no search is needed to know it, and none would end sooner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from edgeplace.model import AMOUNTS, RATED, Change, Limit, LimitKind, all_digits
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import running
from edgeplace.solver.infeasibility.repair import changes
from edgeplace.solver.infeasibility.thin_links import OverloadedLink, thin_links
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Restriction
from edgeplace.solver.slots import slots_of_places
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE

_MOST_NAMED = 5
"""Subtasks, beyond which what they must share is told by their number."""
_PAIR_S = 5e-9
"""Time to see whether a subtask must run at a place, measured."""


@dataclass(frozen=True)
class Shortages:
    """Limits that every plan exceeds, and changes that every cure contains.

    Attributes
    ----------
    limits
        What every plan exceeds, by at least so much; where it is `thin`, every plan that keeps the
        limits of machines.
    changes
        What every cure contains, and links both ways for each part of the network that is cut off:
        a cure contains a link to or from each, not always both.
    members
        Limits and rules that cannot all hold: those of the first shortage.
    irreducible
        Whether each member is needed: drop any one, and the others can all hold.
    cut_off
        Parts of the network that must be joined to another one.
    thin
        Whether the members are those of a link that every plan overloads: what else holds subtasks
        on its sides is not told, so it need not be searched for what fewer would do.
    fewest
        Whether a plan that exceeds nothing else exceeds the fewest limits of all.
    """

    limits: tuple[Limit, ...] = ()
    changes: tuple[Change, ...] = ()
    members: tuple[str, ...] = ()
    irreducible: bool = False
    cut_off: int = 0
    thin: bool = False
    fewest: bool = True


def shortages(problem: Problem, soft: bool) -> Shortages:
    """Return what every plan of a problem lacks, as far as no search is needed to see it.

    Parameters
    ----------
    soft
        Limits that grow with the rates may be exceeded, so they are left out.
    """
    if not problem.m:
        return Shortages()
    try:
        running().afford(_PAIR_S * problem.n * problem.m)
    except OutOfTimeError:
        return Shortages()
    lost = _cut_off(problem)
    full = list(_full(problem, soft))
    if lost.members:
        members, irreducible = lost.members, lost.irreducible
    elif full:
        members, irreducible = full[0][1], full[0][2]
    else:
        return Shortages()
    limits = [limit for limit, _, _ in full]
    return Shortages(
        (*lost.limits, *limits),
        (*lost.changes, *changes(problem, limits)),
        members,
        irreducible,
        lost.cut_off,
    )


def overloaded(problem: Problem) -> Shortages:
    """Return the links that every plan overloads; it takes longer than `shortages`."""
    try:
        thin = list(thin_links(problem))
    except OutOfTimeError:
        thin = []
    if not thin:
        return Shortages()
    limits = tuple(link.limit for link in thin)
    return Shortages(
        limits,
        tuple(changes(problem, limits)),
        _members(problem, thin[0]),
        thin=True,
        fewest=all(link.anyhow for link in thin),
    )


def _members(p: Problem, thin: OverloadedLink) -> tuple[str, ...]:
    limit = thin.limit
    titles = _titles_of(p, thin.own)
    rates = p.cluster.rates_in
    said = f"link {limit.where} may carry {rates.text(limit.capacity or 0.0, all_digits)} of "
    return (*titles, f"{said}{rates.text(limit.used, all_digits)} at least, wherever the rest runs")


def _cut_off(p: Problem) -> Shortages:
    """Return the links that are needed to join what must exchange records."""
    sites: nx.Graph[int] = nx.Graph()
    sites.add_nodes_from(range(p.network.n_sites))
    sites.add_edges_from(p.network.ends)
    parts = [sorted(c) for c in nx.connected_components(sites)]
    if len(parts) < 2:
        return Shortages()
    part_of = np.empty(p.network.n_sites, np.intp)
    for i, inside in enumerate(parts):
        part_of[inside] = i
    held = _held(p, part_of[p.tms.site], len(parts))
    talking: nx.Graph[int] = nx.Graph()
    talking.add_nodes_from(range(p.n))
    talking.add_edges_from(zip(p.channels.source.tolist(), p.channels.target.tolist(), strict=True))
    cores = np.bincount(
        part_of[p.tms.site], weights=p.tms.node_cores[p.tms.node], minlength=len(parts)
    )
    joins: dict[tuple[int, int], tuple[int, int]] = {}
    for together in nx.connected_components(talking):
        own = np.array(sorted(together))
        own = own[held[own] >= 0]
        if len(np.unique(held[own])) < 2:
            continue
        main = max(np.unique(held[own]).tolist(), key=lambda i: (cores[i], -i))
        at_main = int(own[held[own] == main][0])
        for i in sorted(set(held[own].tolist()) - {main}):
            joins.setdefault((i, main), (int(own[held[own] == i][0]), at_main))
    if not joins:
        return Shortages()
    found, made = [], []
    for (_, main), (k, _) in joins.items():
        a, b = (p.cluster.sites[s].id for s in (_site(p, k), _hub(p, part_of == main)))
        found.append(Limit.of(LimitKind.ROUTE, f"{a} -> {b}", 1, 0, (a, b)))
        made += [
            Change(kind=LimitKind.ROUTE, where=f"{x} -> {y}", subject=(x, y))
            for x, y in ((a, b), (b, a))
        ]
    first = next(iter(joins.values()))
    titles = [_titles(p, k) for k in first]
    members = dict.fromkeys(title for own in titles for title in own)
    irreducible = all(len(own) == 1 for own in titles)
    return Shortages(
        tuple(found),
        tuple(made),
        (*members, LimitKind.ROUTE.in_words("", 0, 0, p.cluster.rates_in)),
        irreducible,
        len(joins),
    )


def _full(p: Problem, soft: bool) -> Iterator[tuple[Limit, tuple[str, ...], bool]]:
    """Yield what must run on one TaskManager or node and does not fit there."""
    held = _held(p, np.arange(p.m), p.m)
    fixed = np.flatnonzero(held >= 0)
    at = held[fixed]
    names = [t.id for t in p.cluster.task_managers]
    for t, used in enumerate(slots_of_places(p, fixed, at).tolist()):
        if used > p.tms.slots[t]:
            yield _shortage(p, LimitKind.SLOTS, names[t], used, p.tms.slots[t], fixed[at == t])
    takes = [q.footprint.takes.T for q in p.peaks]
    for i, (kind, room) in enumerate(zip(AMOUNTS, p.tms.has.T, strict=True)):
        total = _most([each[i, fixed] for each in takes], at, p.m)
        for t in np.flatnonzero(total > room * (1 + BYTES_TOLERANCE)).tolist():
            yield _shortage(p, kind, names[t], total[t], room[t], fixed[at == t])
    if soft:
        return
    held = _held(p, p.tms.node, len(p.tms.node_cores))
    fixed = np.flatnonzero(held >= 0)
    at = held[fixed]
    node_class = np.zeros(len(p.tms.node_cores), np.intp)
    node_class[p.tms.node] = p.tms.node_class
    busy = [q.work.cores[fixed, node_class[at]] for q in p.peaks]
    cores = _most(busy, at, len(p.tms.node_cores))
    for v in np.flatnonzero(cores > p.tms.node_cores * (1 + TOLERANCE)).tolist():
        name = p.cluster.nodes[v].id
        yield _shortage(p, LimitKind.NODE_CPU, name, cores[v], p.tms.node_cores[v], fixed[at == v])


def _most(each: Sequence[Floats], at: Ints, n: int) -> Floats:
    """Return the sums at n places in the period in which each is most, shape (n,).

    Parameters
    ----------
    each
        Of each period, the amounts of some subtasks.
    at
        The place of each of these subtasks.
    """
    totals = [np.bincount(at, weights=amounts, minlength=n) for amounts in each]
    most: Floats = np.max(totals, axis=0)
    return most


def _shortage(
    p: Problem, kind: LimitKind, where: str, used: float, room: float, own: Ints
) -> tuple[Limit, tuple[str, ...], bool]:
    limit = Limit.of(kind, where, used, float(room))
    what = "cores that plans may use" if kind in RATED else limit.unit
    # Whether fewer rules were enough is not known.
    return (
        limit,
        (*_titles_of(p, own), f"{where} has {room:,.6g} {what}, and needs {used:,.6g}"),
        len(own) == 1,
    )


def _held(p: Problem, at: Ints, n: int) -> Ints:
    """Return at which of n places each subtask must be, -1 if it may be at several or at none.

    Parameters
    ----------
    at
        The place of each TaskManager, shape (n_tms,).
    """
    order = np.argsort(at, kind="stable")
    first = np.searchsorted(at[order], np.arange(n))
    there = np.flatnonzero(np.diff(np.append(first, p.m)))
    if not len(there):
        return np.full(p.n, -1, np.intp)
    may = np.logical_or.reduceat(p.allowed()[:, order], first[there], axis=1)
    held: Ints = np.where(may.sum(axis=1) == 1, there[may.argmax(axis=1)], -1)
    return held


def _site(p: Problem, k: int) -> int:
    """Return the first site where a subtask may run; a cloud site if there is one."""
    tms = np.flatnonzero(p.allowed()[k])
    cloud = tms[p.tms.is_server[tms]]
    return int(p.tms.site[(cloud if len(cloud) else tms)[0]])


def _hub(p: Problem, among: Bools) -> int:
    """Return the site with most cores of some sites, shape (n_sites,); of cloud sites, if any."""
    n = p.network.n_sites
    cores = np.bincount(p.tms.site, weights=p.tms.node_cores[p.tms.node], minlength=n)
    cloud = np.bincount(p.tms.site, weights=p.tms.is_server, minlength=n) > 0
    return int(np.lexsort((-cores, ~cloud, ~among))[0])


def _titles_of(p: Problem, subtasks: Ints) -> list[str]:
    """Return the rules that say where some subtasks may run, and how many more there are."""
    found = list(dict.fromkeys(title for k in subtasks.tolist() for title in _titles(p, k)))
    rest = len(found) - _MOST_NAMED
    return [*found[:_MOST_NAMED], f"and {rest:,} more such rules"] if rest > 0 else found


def _titles(p: Problem, k: int) -> list[str]:
    """Return the rules that say where a subtask may run."""
    return list(
        dict.fromkeys(
            c.title for c in p.constraints if isinstance(c, Restriction) and k in c.subtasks
        )
    )
