"""The last tie-break: of plans that are equal in every term, the one that people would choose.

Machines of a site that are alike, and traffic inside a site, are free in the model, so solvers
scatter subtasks over them at random. Among plans that are as good in every term, in headroom and
in every limit, this prefers, in this order:

1. subtasks where they run now;
2. fewer bytes between TaskManagers: each hop costs a serialisation and a network buffer;
3. nodes that are loaded alike, then TaskManagers with as many subtasks each.

First, TaskManagers that are alike change their names, equal subtasks that have changed sites change
back, and what has left a machine of its site goes back together; then subtasks, and chains of
subtasks that send most to one another, move or change places. All of it is the same on every run.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

import numpy as np

from edgeplace.model import OBJECTIVES, ObjectiveName
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TIE, UNSEEN

_JUDGED = 400
_JUDGED_WORK = 20_000_000
_WEIGHED = 200_000
"""Changes that are judged, subtasks and channels in all of these, and channels, or chains to change
places with, that are weighed, at most: budgets that do not depend on the clock."""
_LONGEST_CHAIN = 8
_MOST_ALIKE = 200
"""TaskManagers of a kind that are renamed at most: each pair of them is looked at."""


def break_ties(
    problem: Problem,
    assignment: Ints,
    near: Ints | None = None,
    stated: Collection[ObjectiveName] = OBJECTIVES,
) -> Ints:
    """Return an assignment as good in every term, and better in the order above.

    Parameters
    ----------
    near
        Where subtasks stay if nothing speaks against it, shape (n_subtasks,), -1: anywhere.
        None: where they run now.
    stated
        Terms that somebody asked for. Others may be worse by what nobody would see (`UNSEEN`).
    """
    if near is None:
        near = problem.current
    if near is None:
        near = np.full(problem.n, -1, np.intp)
    search = _Search(problem, assignment, near, stated)
    search.rename()
    search.change_back()
    search.come_home()
    search.descend()
    return search.now


class _Search:
    """A local search among plans that are as good in every term."""

    def __init__(
        self,
        problem: Problem,
        assignment: Ints,
        near: Ints,
        stated: Collection[ObjectiveName],
    ) -> None:
        p = self._p = problem
        self._slack = {name: TIE if name in stated else UNSEEN for name in OBJECTIVES}
        self._near = near
        self._allowed: Bools = p.allowed()
        self.now = assignment.copy()
        self._found = self._first = measure_usage(p, self.now)
        self._left = min(_JUDGED, _JUDGED_WORK // (p.n + len(p.channels.source)))
        self._refused: set[bytes] = set()
        self._neighbours: list[list[tuple[int, float]]] = [[] for _ in range(p.n)]
        ends = zip(
            p.channels.source.tolist(),
            p.channels.target.tolist(),
            p.channels.bytes_per_s.tolist(),
            strict=True,
        )
        for k, j, w in ends:
            if w > 0:
                self._neighbours[k].append((j, w))
                self._neighbours[j].append((k, w))
        self._heaviest = [max(n, key=lambda e: e[1])[0] if n else -1 for n in self._neighbours]
        self._movable = self._allowed.sum(axis=1) > 1
        # Single elements of lists are read faster than those of arrays.
        self._place: list[int] = self.now.tolist()
        self._wish: list[int] = near.tolist()
        self._operator: list[int] = p.subtasks.operator_of.tolist()
        self._moves: list[bool] = self._movable.tolist()
        self._on: dict[int, set[int]] = defaultdict(set)
        for k, t in enumerate(self._place):
            self._on[t].add(k)
        self._at: dict[int, list[int]] = defaultdict(list)
        for t, s in enumerate(p.tms.site.tolist()):
            self._at[s].append(t)

    def rename(self) -> None:
        """Let TaskManagers that are alike change their names, so that most subtasks stay."""
        for alike in self._kinds():
            look()
            renamed = self._renamed(alike)
            if (renamed != self.now).any():
                self._offer(renamed)

    def _kinds(self) -> list[Ints]:
        """Return the groups of TaskManagers of a site that are alike, each alone on its node."""
        p = self._p
        alone = np.bincount(p.tms.node, minlength=len(p.tms.node_cores))[p.tms.node] == 1
        kinds: dict[tuple[float, ...], list[int]] = {}
        used = set(self._near.tolist())
        for t in np.flatnonzero(alone).tolist():
            size = (p.tms.node_cores[p.tms.node[t]], p.tms.slots[t], *p.tms.has[t])
            kinds.setdefault((p.tms.site[t], p.tms.node_class[t], *size), []).append(t)
        return [
            np.array(k)
            for k in kinds.values()
            if 1 < len(k) <= _MOST_ALIKE and not used.isdisjoint(k)
        ]

    def _renamed(self, alike: Ints) -> Ints:
        """Return the assignment with TaskManagers renamed, those first that keep most subtasks."""
        index = {t: i for i, t in enumerate(alike.tolist())}
        here = [k for t in alike.tolist() for k in sorted(self._on[t])]
        kept: Counter[tuple[int, int]] = Counter(
            (int(self.now[k]), int(self._near[k])) for k in here if int(self._near[k]) in index
        )
        name: dict[int, int] = {}
        # Then, who has no name yet keeps its own if that is free.
        wishes = sorted(kept, key=lambda pair: (-kept[pair], pair[0] != pair[1], pair))
        rest = [(t, other) for t in index for other in (t, *index)]
        for t, other in (*wishes, *rest):
            if t not in name and other not in name.values() and self._may(t, other):
                name[t] = other
        renamed = self.now.copy()
        if len(name) == len(index):
            renamed[here] = [name[int(self.now[k])] for k in here]
        return renamed

    def _may(self, t: int, other: int) -> bool:
        """Return whether all that is on a TaskManager may run on another."""
        return bool(self._allowed[sorted(self._on[t]), other].all())

    def change_back(self) -> None:
        """Let equal subtasks that have changed sites change back, with their chains."""
        site = self._p.tms.site
        by_site: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]] = defaultdict(list)
        for chain in self._strays():
            operators = tuple(self._operator[k] for k in chain)
            by_site[int(site[self._place[chain[0]]]), operators].append(chain)
        reserve, weighed = self._left // 2, 0
        for (_, operators), chains in by_site.items():
            for chain in chains:
                look()
                if self._left <= reserve or weighed > _WEIGHED:
                    return
                here, home = self._place[chain[0]], int(site[self._wish[chain[0]]])
                # Those first that come home by it themselves.
                others = sorted(
                    by_site.get((home, operators), ()),
                    key=lambda o: site[self._wish[o[0]]] != site[here],
                )
                weighed += len(others)
                for other in others:
                    there = self._place[other[0]]
                    if self._left <= reserve or not self._astray(chain):
                        break
                    new = dict.fromkeys(chain, there) | dict.fromkeys(other, here)
                    if (
                        self._astray(other)
                        and site[there] == home
                        and all(self._allowed[k, t] for k, t in new.items())
                    ):
                        self._offer(self._changed(new))

    def _astray(self, chain: tuple[int, ...]) -> bool:
        site = self._p.tms.site
        return bool(site[self._place[chain[0]]] != site[self._wish[chain[0]]])

    def _strays(self) -> list[tuple[int, ...]]:
        """Return the subtasks on another site than wished, those that went together as chains."""
        site = self._p.tms.site
        stray = {
            k: (self._place[k], int(site[self._wish[k]]))
            for k in range(self._p.n)
            if self._wish[k] >= 0 and site[self._place[k]] != site[self._wish[k]]
        }
        chains: list[tuple[int, ...]] = []
        while stray:
            first, way = next(iter(stray.items()))
            del stray[first]
            chain, open_ends = [first], [first]
            while open_ends:
                for j, _ in self._neighbours[open_ends.pop()]:
                    if stray.get(j) == way:
                        del stray[j]
                        chain.append(j)
                        open_ends.append(j)
            chains.append(tuple(sorted(chain, key=lambda k: (self._operator[k], k))))
        return chains

    def come_home(self) -> None:
        """Let subtasks go back to where they stay, at once: all of a site, or of two machines."""
        p = self._p
        away = np.flatnonzero((self._near >= 0) & (self._near != self.now))
        away = away[p.tms.site[self._near[away]] == p.tms.site[self.now[away]]]
        away = away[self._allowed[away, self._near[away]]]
        by_site: dict[int, list[int]] = defaultdict(list)
        by_pair: dict[tuple[int, int], list[int]] = defaultdict(list)
        for k in away.tolist():
            a, b = sorted((int(self.now[k]), int(self._near[k])))
            by_site[int(p.tms.site[a])].append(k)
            by_pair[a, b].append(k)
        for group in (*by_site.values(), *by_pair.values()):
            look()
            left = [k for k in group if self.now[k] != self._near[k]]
            if left and self._left > 0:
                self._offer(self._changed({k: int(self._near[k]) for k in left}))

    def descend(self) -> None:
        """Move what is better elsewhere, until nothing is or the budgets are spent."""
        weighed, again = 0, True
        # It ends: each change is better in a strict order, and the budget of judgements shrinks.
        while again:
            again = False
            for k in self._by_traffic():
                look()
                for unit in self._units(k):
                    for new in self._changes(unit):
                        weighed += sum(len(self._neighbours[i]) for i in new)
                        if self._left <= 0 or weighed > _WEIGHED:
                            return
                        if self._better(new) and self._offer(self._changed(new)):
                            again = True
                            break
                    else:
                        continue
                    break

    def _by_traffic(self) -> list[int]:
        """Return the subtasks that may move, those first that send most to other machines."""
        place = self._place
        apart = [
            sum(w for j, w in self._neighbours[k] if place[j] != place[k]) for k in range(self._p.n)
        ]
        return sorted(np.flatnonzero(self._movable).tolist(), key=lambda k: (-apart[k], k))

    def _units(self, k: int) -> Iterator[tuple[int, ...]]:
        """Yield what may move with a subtask: itself, and the chain on its TaskManager."""
        yield (k,)
        chain, open_ends = {k}, [k]
        while open_ends and len(chain) < _LONGEST_CHAIN:
            i = open_ends.pop()
            for j, _ in self._neighbours[i]:
                near = self._heaviest[i] == j or self._heaviest[j] == i
                if near and self._moves[j] and j not in chain and self._place[j] == self._place[k]:
                    chain.add(j)
                    open_ends.append(j)
        if len(chain) > 1:
            yield tuple(sorted(chain))

    def _changes(self, unit: tuple[int, ...]) -> Iterator[dict[int, int]]:
        """Yield where subtasks would go: the unit to a TaskManager of its site, or in exchange."""
        p, own = self._p, self._place[unit[0]]
        site = p.tms.site[own]
        wanted = {self._wish[i] for i in unit}
        wanted |= {self._place[j] for i in unit for j, _ in self._neighbours[i]}
        wanted = {t for t in wanted if t >= 0 and t != own and p.tms.site[t] == site}
        others = [t for t in self._at[site] if t != own]
        if others:
            wanted.add(min(others, key=self._load_of))
        operators = [self._operator[i] for i in unit]
        for t in sorted(wanted):
            yield dict.fromkeys(unit, t)
            for j in sorted(self._on[t]):
                if not self._moves[j]:
                    continue
                for other in self._units(j):
                    # Like for like; a single subtask changes places with any.
                    alike = [self._operator[i] for i in other] == operators
                    if alike or len(other) == len(unit) == 1:
                        yield dict.fromkeys(unit, t) | dict.fromkeys(other, own)

    def _load_of(self, t: int) -> tuple[float, int, int]:
        node = self._p.tms.node[t]
        return self._found.cores[node] / self._p.tms.node_cores[node], len(self._on[t]), t

    def _better(self, new: dict[int, int]) -> bool:
        """Return whether a change is better in the order, before anything is judged."""
        if not all(self._allowed[k, t] for k, t in new.items()):
            return False
        place, wish = self._place, self._wish
        away = sum(int(t != wish[k]) - int(place[k] != wish[k]) for k, t in new.items())
        if away:
            return away < 0
        sent = weight = 0.0
        for k, t in new.items():
            for j, w in self._neighbours[k]:
                share = w / 2 if j in new else w
                sent += share * (float(t != new.get(j, place[j])) - float(place[k] != place[j]))
                weight += w
        if abs(sent) > TIE * weight:
            return bool(sent < 0)
        return self._lighter(new)

    def _lighter(self, new: dict[int, int]) -> bool:
        p = self._p
        cores: dict[int, float] = defaultdict(float)
        held: dict[int, int] = defaultdict(int)
        for k, t in new.items():
            for at, sign in ((self._place[k], -1), (t, 1)):
                cores[int(p.tms.node[at])] += sign * float(p.work.cores[k, p.tms.node_class[at]])
                held[at] += sign
        before = {n: float(self._found.cores[n]) for n in cores}
        rooms: Floats = p.tms.node_cores
        change = sum(
            ((before[n] + more) / rooms[n]) ** 2 - (before[n] / rooms[n]) ** 2
            for n, more in cores.items()
        )
        size = sum((before[n] / rooms[n]) ** 2 for n in cores)
        if abs(change) > TIE * max(size, abs(change)) and abs(change) > TIE:
            return bool(change < 0)
        return sum((len(self._on[t]) + m) ** 2 - len(self._on[t]) ** 2 for t, m in held.items()) < 0

    def _changed(self, new: dict[int, int]) -> Ints:
        changed = self.now.copy()
        changed[list(new)] = list(new.values())
        return changed

    def _offer(self, new: Ints) -> bool:
        """Take an assignment if it is as good in every term; tell whether it was."""
        if new.tobytes() in self._refused:
            return False
        self._left -= 1
        after = measure_usage(self._p, new)
        if not self._as_good(after):
            self._refused.add(new.tobytes())
            return False
        for k in np.flatnonzero(new != self.now).tolist():
            self._on[self._place[k]].discard(k)
            self._on[int(new[k])].add(k)
        self.now, self._found, self._place = new, after, new.tolist()
        return True

    def _as_good(self, after: Usage) -> bool:
        """Return whether no limit breaks and no term is worse than at first."""
        first = self._first
        if not after.fixed_hold or after.rated_hold < first.rated_hold:
            return False
        return all(
            after.value(name) <= first.value(name) + slack * abs(first.value(name))
            for name, slack in self._slack.items()
        )
