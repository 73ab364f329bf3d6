"""Parallelism and placement chosen together: branch and bound over boxes of vectors.

Level by level, over all vectors: a level's best value over all of them caps the later levels, as
in `solve`. Boxes are taken by their bound, the lowest first; a box is asked for the bound of its
relaxed problem, then divided, until it has one vector, which is searched as `solve` does. A level
is proved once no box is left with a bound below the best value.
"""

import heapq
import itertools
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from edgeplace.model import Case, Incumbent, ObjectiveLevel, StoppedBy
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import Clock, limited, look, running
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.parallelism.box_bounds import BoxBounds
from edgeplace.solver.parallelism.boxes import Vector, VectorBox
from edgeplace.solver.parallelism.choice import Combinations
from edgeplace.solver.parallelism.floors import Floors, floors, narrowed, places_within
from edgeplace.solver.parallelism.possible import possible_values
from edgeplace.solver.parallelism.splits import Splits
from edgeplace.solver.parallelism.within import Means, Searched, search_within
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE

_SHARE = 0.5
"""Share of the time left that one search may take."""


@dataclass(frozen=True)
class VectorOutcome:
    """The result of a search over all vectors.

    Attributes
    ----------
    best
        The best vector and its plan; None: no plan was found.
    bounds
        Of the first levels, over all vectors.
    finished
        Whether every level was searched to its end.
    infeasible
        No vector has a plan, proved.
    searched
        Vectors that were searched one by one.
    open
        Vectors that were neither searched nor ruled out.
    """

    best: tuple[Vector, Usage] | None
    bounds: tuple[float, ...]
    finished: bool
    infeasible: bool
    stopped_by: StoppedBy
    incumbents: tuple[Incumbent, ...]
    searched: int
    open: int


def problem_at(case: Case, choice: Combinations, vector: Vector) -> Problem:
    """Return the problem of one vector."""
    then = case.with_parallelism(choice.parallelism(vector))
    return build(then.jobs, then.cluster, then.rules, then.current)


def search_vectors(
    case: Case, choice: Combinations, levels: Sequence[ObjectiveLevel], means: Means
) -> VectorOutcome:
    """Search all vectors of a choice, level by level."""
    search = _VectorSearch(case, choice, levels, means)
    search.run()
    return search.outcome()


class _VectorSearch:
    """The search over all vectors; see `Means` for what all searches share."""

    def __init__(
        self,
        case: Case,
        choice: Combinations,
        levels: Sequence[ObjectiveLevel],
        means: Means,
    ) -> None:
        self._case = case
        self._choice = choice
        self._levels = list(levels)
        self._means = means
        self._box_bounds = BoxBounds(case, choice, levels, means)
        self._caps: list[float] = []
        self._bounds: list[float] = []
        self._answers: dict[Vector, Searched] = {}
        self._best: tuple[Vector, Usage] | None = None
        self._incumbents: list[Incumbent] = []
        self._stopped_by = StoppedBy.PROOF
        self._nodes = [VectorBox(tuple(g.values for g in choice.groups))]
        self._order = itertools.count()

    def run(self) -> None:
        """Choose, level by level."""
        try:
            self._start()
            for i in range(len(self._levels)):
                if not self._minimise(i):
                    return
        except OutOfTimeError:
            self._stopped_by = StoppedBy.TIME_LIMIT
        except KeyboardInterrupt:
            self._stopped_by = StoppedBy.INTERRUPT

    def outcome(self) -> VectorOutcome:
        """Return what was found."""
        still_open = sum(n.size for n in self._nodes if n.vector not in self._answers)
        ruled_out = not still_open and all(a.infeasible for a in self._answers.values())
        return VectorOutcome(
            self._best,
            tuple(self._bounds),
            len(self._caps) == len(self._levels),
            self._best is None and self._stopped_by is StoppedBy.PROOF and ruled_out,
            self._stopped_by,
            tuple(self._incumbents),
            len(self._answers),
            still_open,
        )

    def _start(self) -> None:
        """Try promising vectors: the current one, and the smallest that sustains the rates."""
        groups = self._choice.groups
        now = tuple(g.now for g in groups)
        problem = problem_at(self._case, self._choice, now)
        splits = Splits(self._case.jobs, self._choice)
        box = possible_values(problem, self._choice, splits, self._means.soft)
        self._nodes = [] if box is None else [VectorBox(box)]
        if all(n in g.values for n, g in zip(now, groups, strict=True)):
            self._try(now)
        if box is not None and (running().limited or self._best is None):
            # Where time may end before the proof, the answer is no worse than this.
            self._try(tuple(ns[0] for ns in box))

    def _try(self, vector: Vector) -> Searched:
        """Search one vector, and keep its plan if that is better than all before."""
        if vector not in self._answers:
            self._search(vector, problem_at(self._case, self._choice, vector), ())
        return self._answers[vector]

    def _search(
        self,
        vector: Vector,
        problem: Problem,
        caps: Sequence[float],
        start: Ints | None = None,
        known: Floors | None = None,
    ) -> None:
        with self._share():
            answer = search_within(
                problem, self._levels, caps, self._means, start, known.values if known else None
            )
        self._answers[vector] = answer
        if answer.best is not None:
            self._offer(vector, answer.best)
        if answer.stopped_by is StoppedBy.INTERRUPT:
            raise KeyboardInterrupt

    def _share(self) -> AbstractContextManager[Clock]:
        left = running().left()
        return limited(None if left is None else left * _SHARE)

    def _offer(self, vector: Vector, usage: Usage) -> None:
        """Keep a plan if it keeps the caps and is better, level by level."""
        if not self._keeps(usage):
            return
        if self._best is not None:
            old = self._best[1]
            for level in self._levels[len(self._caps) :]:
                a, b = usage.value(level.name), old.value(level.name)
                if abs(a - b) > TIE * max(abs(a), abs(b)):
                    if a > b:
                        return
                    break
            else:
                return
        self._best = vector, usage
        said = ", ".join(
            f"{g.title} x{n}" for g, n in zip(self._choice.groups, vector, strict=True)
        )
        first = self._levels[0].name
        self._means.tell(f"{said}: {first} {usage.value(first):.6g}")
        self._incumbents.append(Incumbent(at_s=running().elapsed_s(), value=usage.value(first)))

    def _keeps(self, usage: Usage) -> bool:
        done = zip(self._levels, self._caps, strict=False)
        return all(usage.value(level.name) <= cap * (1 + TIE) for level, cap in done)

    def _known(self, i: int) -> float:
        return np.inf if self._best is None else self._best[1].value(self._levels[i].name)

    def _minimise(self, i: int) -> bool:
        """Minimise one level over all vectors; return whether the next one is to follow."""
        for vector, answer in self._answers.items():
            if answer.best is not None:
                self._offer(vector, answer.best)
        heap = [(n.bound(i), next(self._order), n) for n in self._nodes]
        heapq.heapify(heap)
        ended: list[VectorBox] = []
        near = max(OPTIMAL_GAP, self._means.gap)
        try:
            while heap:
                bound, _, node = heap[0]
                known = self._known(i)
                if bound >= known - near * abs(known) and known < np.inf:
                    break
                look()
                followers = self._followed(node, i)
                heapq.heappop(heap)
                for n in followers:
                    if n.bound(i) == np.inf:
                        continue
                    if n.answer is None:
                        heapq.heappush(heap, (n.bound(i), next(self._order), n))
                    else:
                        ended.append(n)
        finally:
            # Also where time ends: what is left bounds all that was asked for.
            self._nodes = [n for _, _, n in heap] + ended
            for n in ended:
                n.answer = None
            known = self._known(i)
            floor = min((n.bound(i) for n in self._nodes), default=np.inf)
            self._bounds.append(float(min(floor, known)))
        if self._best is None:
            return False
        short = known - self._bounds[i]
        if short > OPTIMAL_GAP * abs(known):
            self._stopped_by = StoppedBy.GAP
            if short > near * abs(known):
                limit = running().limited
                self._stopped_by = StoppedBy.TIME_LIMIT if limit else StoppedBy.ROUNDING
                return False
        cap = known * (1 + self._levels[i].tolerance)
        self._caps.append(cap)
        self._nodes = [n for n in self._nodes if n.bound(i) <= cap * (1 + TIE)]
        return True

    def _followed(self, node: VectorBox, i: int) -> tuple[VectorBox, ...]:
        """Return what takes the place of a node: itself with a higher bound, or its halves."""
        vector = node.vector
        if node.asked < i and (vector is None or (i > 0 and vector not in self._answers)):
            node.asked = i
            with self._share():
                return (self._bounded(node, i),)
        if vector is not None:
            node.answer = self._answer(node, vector, i)
            node.raise_bound(i, node.answer.bound(i))
            return (node,)
        return node.halves()

    def _bounded(self, node: VectorBox, i: int) -> VectorBox:
        """Return a node with a higher bound of a level, without what cannot keep the caps."""
        if i > 0 and self._levels[0].name == "wan" and node.floors is None:
            if node.places is None:
                node.places = places_within(
                    *self._box_bounds.first_of(node, self._known(0)), self._caps[0]
                )
            if node.places is not None:
                node.floors = floors(self._box_bounds.relaxed_of(node), node.places)
        found = node.floors
        if found is None:
            if node.vector is None:
                node.raise_bound(i, self._box_bounds.of(node, self._caps, self._known(0)))
            return node
        fit = tuple(
            tuple(n for n in ns if all(n <= found.slots[m] for m in group.members))
            for ns, group in zip(node.box, self._choice.groups, strict=True)
        )
        if fit != node.box:
            smaller = node.smaller(fit)
            smaller.raise_bound(i, 0.0 if all(fit) else np.inf)
            return smaller
        node.raise_bound(i, found.values.get(self._levels[i].name, 0.0))
        return node

    def _answer(self, node: VectorBox, vector: Vector, i: int) -> Searched:
        """Return what is known of a vector at a level, by plans within the caps."""
        if i > 0 and vector not in self._answers:
            problem = problem_at(self._case, self._choice, vector)
            if node.places is not None:
                problem = narrowed(problem, node.places)
            self._search(vector, problem, self._caps, None, node.floors)
            return self._answers[vector]
        answer = self._try(vector)
        if answer.infeasible or i == 0:
            return answer
        # Caps of its own that are wider leave its bound a bound, and its plan perhaps too dear.
        wide = len(answer.caps) >= i and all(
            own >= cap * (1 - TIE) for own, cap in zip(answer.caps, self._caps, strict=False)
        )
        fits = answer.best is not None and self._keeps(answer.best)
        if not wide or not (fits or answer.bound(i) >= self._known(i)):
            start = None if answer.best is None else answer.best.assignment
            self._search(vector, answer.problem, self._caps, start, node.floors)
        return self._answers[vector]
