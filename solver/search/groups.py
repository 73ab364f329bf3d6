"""Groups of equal TaskManagers, each treated as one: the aggregated problem.

Traffic inside a site is free. So the choice among equal Pis of a site matters only to slots, cores
and bytes. The aggregated model decides how much runs on all of them together. Then its plan is
divided among them; groups for which this is not possible are separated. The aggregated model
relaxes the true one, so its bound is valid, and it has no symmetry between machines.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Constraint, Restriction, Together
from edgeplace.solver.problem.task_managers import TaskManagers
from edgeplace.solver.tolerances import SHARE_ROOM, SHARE_WHOLE


@dataclass(frozen=True)
class Groups:
    """A partition of the TaskManagers.

    Attributes
    ----------
    of
        Group of each TaskManager, shape (n_tms,).
    aggregated
        The problem with one TaskManager, on a node of its own, for each group. What it says of
        machines by name is not to be used.
    """

    problem: Problem
    of: Ints
    aggregated: Problem

    @classmethod
    def alike(cls, problem: Problem, apart: Bools | None = None) -> "Groups | None":
        """Return groups of TaskManagers that are alike; None if there are no two such.

        Parameters
        ----------
        apart
            TaskManagers to tell from all others, shape (n_tms,).
        """
        p = problem
        free = p.keeps_up.sum(axis=1) > 1
        who = np.packbits(p.keeps_up[free], axis=0)
        # All TaskManagers of a node stand or fall together: they share its cores.
        names: dict[int, set[tuple[object, ...]]] = {}
        for t in range(p.m):
            own = t if apart is not None and apart[t] else -1
            kind = (int(p.tms.site[t]), int(p.tms.node_class[t]), float(p.tms.core_price[t]))
            name = (*kind, who[:, t].tobytes(), own)
            names.setdefault(int(p.tms.node[t]), set()).add(name)
        if any(len(same) > 1 for same in names.values()):
            return None
        index: dict[object, int] = {}
        of = np.array(
            [index.setdefault(next(iter(names[v])), len(index)) for v in p.tms.node.tolist()],
            np.intp,
        )
        if len(index) == p.m:
            return None
        # Rules that count what is on a node do not see nodes in a group.
        counting = [c for c in p.constraints if not isinstance(c, Restriction | Together)]
        if not all(_constant(c.place, of, len(index)) for c in counting):
            return None
        return cls(p, of, _joint(p, of, len(index)))

    def joined(self, may: Bools) -> Bools:
        """Return the groups where each subtask may run, given its TaskManagers.

        Shape (n_subtasks, n_groups).
        """
        joined = np.zeros((len(may), self.aggregated.m), bool)
        np.logical_or.at(joined.T, self.of, may.T)
        return joined

    def with_room(self, room: Floats) -> Problem:
        """Return the aggregated problem with a share of the cores of TaskManagers, (n_tms,)."""
        least = np.ones(self.aggregated.m)
        np.minimum.at(least, self.of, room)
        tms = self.aggregated.tms
        return dataclasses.replace(
            self.aggregated, tms=dataclasses.replace(tms, node_cores=tms.node_cores * least)
        )

    def packed(self, steps: int) -> Iterator[tuple[int, Floats]]:
        """Yield what each subtask takes at least of the machines of a group, counted in machines.

        However subtasks are dealt to machines that hold C cores each, those on one take no more
        than 1 together, if one of c cores is said to take floor((k + 1) c / C) / k: a dual feasible
        function (Lueker, FOCS 1983; Fekete and Schepers, Math. Program. 91, 2001). What needs more
        than half of a machine takes one, with k = 1.

        Yields
        ------
        tuple
            A group of several nodes, and the share of each subtask, shape (n_subtasks,).
        """
        p = self.problem
        pairs = np.unique(np.stack([self.of, p.tms.node]), axis=1)
        for g in np.flatnonzero(np.bincount(pairs[0]) > 1).tolist():
            room = p.tms.node_cores[pairs[1, pairs[0] == g]].max() * (1 + SHARE_ROOM)
            share = p.work.cores[:, self.aggregated.tms.node_class[g]] / room
            for k in range(1, steps + 1):
                whole = np.floor((k + 1) * share)
                yield g, np.where((k + 1) * share - whole < SHARE_WHOLE, share, whole / k)

    def nodes(self) -> Ints:
        """Return the number of nodes of each group."""
        pairs = np.unique(np.stack([self.of, self.problem.tms.node]), axis=1)
        return np.bincount(pairs[0], minlength=self.aggregated.m)

    def places(self, aggregated: Ints) -> Bools:
        """Return where each subtask may run, given its group, shape (n_subtasks, n_tms)."""
        may: Bools = self.problem.keeps_up & (self.of == aggregated[:, None])
        return may


def _joint(p: Problem, of: Ints, n: int) -> Problem:
    first = np.full(n, p.m)
    np.minimum.at(first, of, np.arange(p.m))
    nodes = np.unique(np.stack([p.tms.node, of]), axis=1)
    cores = _total(nodes[1], p.tms.node_cores[nodes[0]], n)
    held: list[Constraint] = []
    for c in p.constraints:
        if isinstance(c, Restriction):
            allowed = np.zeros(n, bool)
            allowed[of[c.allowed]] = True
            held.append(dataclasses.replace(c, allowed=allowed))
        elif isinstance(c, Together):
            # On one node means in one group; the rest is seen to when they are dealt out.
            place = c.place[first] if _constant(c.place, of, n) else np.arange(n)
            held.append(dataclasses.replace(c, place=place))
        else:
            held.append(dataclasses.replace(c, place=c.place[first]))
    return dataclasses.replace(
        p,
        constraints=tuple(held),
        wishes=(),
        tms=TaskManagers(
            slots=_total(of, p.tms.slots, n).astype(np.intp),
            has=np.stack([_total(of, has, n) for has in p.tms.has.T], axis=1),
            node=np.arange(n),
            site=p.tms.site[first],
            node_class=p.tms.node_class[first],
            is_server=p.tms.is_server[first],
            core_price=p.tms.core_price[first],
            node_cores=cores,
            node_price=p.tms.node_price[p.tms.node[first]],
        ),
        current=None,
    )


def _total(of: Ints, amount: Floats | Ints, n: int) -> Floats:
    return np.bincount(of, weights=amount, minlength=n).astype(float, copy=False)


def _constant(place: Ints, of: Ints, n: int) -> bool:
    least = np.full(n, np.iinfo(np.intp).max)
    most = np.full(n, -1)
    np.minimum.at(least, of, place)
    np.maximum.at(most, of, place)
    return bool((least == most).all())
