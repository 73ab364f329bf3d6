"""Bounds of a box of vectors, by its relaxed problem."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from edgeplace.model import Case, ObjectiveLevel, StoppedBy
from edgeplace.solver.parallelism.boxes import VectorBox
from edgeplace.solver.parallelism.choice import Combinations
from edgeplace.solver.parallelism.relaxed import Relaxed, relaxed
from edgeplace.solver.parallelism.splits import Splits
from edgeplace.solver.parallelism.within import Means, Searched, search_within
from edgeplace.solver.tolerances import OPTIMAL_GAP

_TRADED = ("wan", "server_cores", "cost")
"""Terms that the relaxed problem bounds on average over its draws: only one of them at a time."""
_ROOM = 1e7
"""How much more room than what the bound lacks, where both of these are stated."""


class BoxBounds:
    """The relaxed problems of boxes, and what they say of each level."""

    def __init__(
        self, case: Case, choice: Combinations, levels: Sequence[ObjectiveLevel], means: Means
    ) -> None:
        self._case = case
        self._choice = choice
        self._levels = levels
        self._means = dataclasses.replace(means, gap=0.0, tell=lambda text: None)
        self._splits: dict[frozenset[int], Splits] = {}

    def relaxed_of(self, node: VectorBox) -> Relaxed:
        """Return the relaxed problem of a node: groups with one value are as they will be."""
        if node.relaxed is None:
            node.relaxed = self._relax(node)
        return node.relaxed

    def _relax(self, node: VectorBox, one: bool = False) -> Relaxed:
        choice = self._choice
        now = [g.now for g in choice.groups]
        fixed = [ns[0] if len(ns) == 1 else n for ns, n in zip(node.box, now, strict=True)]
        active = frozenset(g for g, ns in enumerate(node.box) if len(ns) > 1)
        if active not in self._splits:
            self._splits[active] = Splits(self._case.jobs, choice, active)
        case = self._case.with_parallelism(choice.parallelism(fixed))
        return relaxed(case, self._splits[active], node.box, one)

    def of(self, node: VectorBox, caps: Sequence[float], best: float) -> float:
        """Return the bound of the level behind the caps, by the relaxed problem of a box.

        Parameters
        ----------
        best
            The best known value of the first level, inf without one.
        """
        i = len(caps)
        problem = self.relaxed_of(node)
        names = [level.name for level in self._levels]
        traded = [j for j in range(i) if names[j] in _TRADED]
        kept = {j: caps[j] for j in range(i) if j not in traded}
        if not traded and i == 0:
            problem, answer = self.first_of(node, best)
            extra = problem.moves if names[0] == "moves" else 0
            node.least[0] = max(answer.bound(0) - extra, 0.0)
            return node.least[0]
        if not traded:
            node.least[i] = self._ask(problem, kept, i)
            return node.least[i]
        j = traded[0]
        if names[i] not in _TRADED:
            # Some draw keeps the first of them.
            return self._ask(problem, {**kept, j: caps[j]}, i)
        if j not in node.least:
            node.least[j] = self._ask(problem, {k: cap for k, cap in kept.items() if k < j}, j)
        # No draw has less than `least`, so that few have much more than it.
        lacks = max(caps[j] - node.least[j], 0.0)
        found = self._ask(problem, {**kept, j: caps[j] + _ROOM * lacks}, i)
        return found * (1 - 1 / _ROOM)

    def first_of(self, node: VectorBox, best: float) -> tuple[Relaxed, Searched]:
        """Return a relaxed problem of a node, and what is known of its first level."""
        if node.first is None:
            small = self._relax(node, one=True)
            node.first = small, self._searched(small, {}, 0)
            if node.first[1].bound(0) < best - OPTIMAL_GAP * abs(best) or best == np.inf:
                node.first = self.relaxed_of(node), self._searched(self.relaxed_of(node), {}, 0)
        return node.first

    def _ask(self, problem: Relaxed, caps: Mapping[int, float], i: int) -> float:
        """Return the bound of a level of a relaxed problem, within caps by level."""
        extra = problem.moves if self._levels[i].name == "moves" else 0
        return max(self._searched(problem, caps, i).bound(len(caps)) - extra, 0.0)

    def _searched(self, problem: Relaxed, caps: Mapping[int, float], i: int) -> Searched:
        """Return what is known of a level of a relaxed problem, within caps by level."""
        chosen = [*sorted(caps), i]
        levels = [self._levels[j] for j in chosen]
        moves = {j: problem.moves for j in caps if self._levels[j].name == "moves"}
        cores = any(level.name in ("server_cores", "cost") for level in levels)
        answer = search_within(
            problem.for_cores if cores else problem.problem,
            levels,
            [caps[j] + moves.get(j, 0) for j in chosen[:-1]],
            self._means,
        )
        if answer.stopped_by is StoppedBy.INTERRUPT:
            raise KeyboardInterrupt
        return answer
