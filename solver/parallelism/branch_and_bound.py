"""Parallelism and placement chosen together: branch and bound over boxes of vectors.

Level by level, over all vectors: a level's best value over all of them caps the later levels, as
in `solve`. Boxes are taken by their bound, the lowest first; a box is asked for the bound of its
relaxed problem, then divided, until it has one vector, which is searched as `solve` does. A level
is proved once no box is left with a bound below the best value.
"""

import dataclasses
import heapq
import itertools
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import numpy as np

from edgeplace.model import (
    Chosen,
    Cluster,
    Conflict,
    Incumbent,
    JobGraph,
    LevelResult,
    ObjectiveLevel,
    Plan,
    Result,
    Rules,
    Status,
    StoppedBy,
)
from edgeplace.model.what_if.parallelism import (
    rescaled_plan,
    rescaled_rules,
    with_parallelism,
)
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import Clock, limited, look, running
from edgeplace.solver.evaluation.evaluate import with_headroom_in_time
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.infeasibility.conflict import find_conflict
from edgeplace.solver.infeasibility.shortages import shortages
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.parallelism.boxes import Vector, VectorBox
from edgeplace.solver.parallelism.choice import Asked, Combinations, Group, choice_of
from edgeplace.solver.parallelism.floors import Floors, floors, narrowed, places_within
from edgeplace.solver.parallelism.possible import possible_values
from edgeplace.solver.parallelism.relaxed import Relaxed, relaxed
from edgeplace.solver.parallelism.splits import Splits
from edgeplace.solver.parallelism.within import Means, Searched, search_within
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.search import SearchParameters
from edgeplace.solver.search.tie_break import break_ties
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE

_SHARE = 0.5
"""Share of the time left that one search may take."""
_TRADED = ("wan", "server_cores")
"""Terms that the relaxed problem bounds on average over its draws: only one of them at a time."""
_ROOM = 1e7
"""How much more room than what the bound lacks, where both of these are stated."""


@dataclass(frozen=True)
class Inputs:
    """The input of a placement."""

    jobs: tuple[JobGraph, ...]
    cluster: Cluster
    rules: Rules
    current: Plan | None

    def at(self, choice: Combinations, vector: Vector) -> Problem:
        """Return the problem of one vector."""
        wanted = choice.parallelism(vector)
        return build(
            [with_parallelism(j, wanted.get(j.name, {})) for j in self.jobs],
            self.cluster,
            rescaled_rules(self.jobs, self.rules, wanted),
            rescaled_plan(self.jobs, self.current, wanted) if self.current else None,
        )


def choose(
    inputs: Inputs,
    asked: Asked | str,
    levels: Sequence[ObjectiveLevel],
    means: Means,
    backend: str,
) -> Result:
    """Return the best plan over all vectors asked for.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, or what is asked for is not possible, with the reason.
    """
    chooser = _Chooser(inputs, choice_of(inputs.jobs, inputs.rules, asked), levels, means)
    chooser.run()
    return chooser.result(backend)


class _Chooser:
    """The search over all vectors; see `Means` for what all searches share."""

    def __init__(
        self,
        inputs: Inputs,
        choice: Combinations,
        levels: Sequence[ObjectiveLevel],
        means: Means,
    ) -> None:
        self._inputs = inputs
        self._choice = choice
        self._levels = list(levels)
        self._means = means
        self._splits: dict[frozenset[int], Splits] = {}
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

    def _start(self) -> None:
        """Try what is promising: what runs, and the least that keeps up."""
        groups = self._choice.groups
        now = tuple(g.now for g in groups)
        problem = self._inputs.at(self._choice, now)
        splits = Splits(self._inputs.jobs, self._choice)
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
            self._search(vector, self._inputs.at(self._choice, vector), ())
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
        self._incumbents.append(
            Incumbent(at_s=time.monotonic() - running().began, value=usage.value(first))
        )

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
                node.places = places_within(*self._first_of(node), self._caps[0])
            if node.places is not None:
                node.floors = floors(self._relaxed_of(node), node.places)
        found = node.floors
        if found is None:
            if node.vector is None:
                node.raise_bound(i, self._relaxed(node, i))
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

    def _relaxed_of(self, node: VectorBox) -> Relaxed:
        """Return the relaxed problem of a node: groups with one value are as they will be."""
        if node.relaxed is None:
            node.relaxed = self._relax(node)
        return node.relaxed

    def _relax(self, node: VectorBox, one: bool = False) -> Relaxed:
        choice, inputs = self._choice, self._inputs
        now = [g.now for g in choice.groups]
        fixed = [ns[0] if len(ns) == 1 else n for ns, n in zip(node.box, now, strict=True)]
        wanted = choice.parallelism(fixed)
        active = frozenset(g for g, ns in enumerate(node.box) if len(ns) > 1)
        if active not in self._splits:
            self._splits[active] = Splits(inputs.jobs, choice, active)
        return relaxed(
            [with_parallelism(j, wanted.get(j.name, {})) for j in inputs.jobs],
            inputs.cluster,
            rescaled_rules(inputs.jobs, inputs.rules, wanted),
            rescaled_plan(inputs.jobs, inputs.current, wanted) if inputs.current else None,
            self._splits[active],
            node.box,
            one,
        )

    def _answer(self, node: VectorBox, vector: Vector, i: int) -> Searched:
        """Return what is known of a vector at a level, by plans within the caps."""
        if i > 0 and vector not in self._answers:
            problem = self._inputs.at(self._choice, vector)
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

    def _relaxed(self, node: VectorBox, i: int) -> float:
        """Return the bound of a level by the relaxed problem of a box."""
        problem = self._relaxed_of(node)
        names = [level.name for level in self._levels]
        traded = [j for j in range(i) if names[j] in _TRADED]
        caps = {j: self._caps[j] for j in range(i) if j not in traded}
        if not traded and i == 0:
            problem, answer = self._first_of(node)
            extra = problem.moves if names[0] == "moves" else 0
            node.least[0] = max(answer.bound(0) - extra, 0.0)
            return node.least[0]
        if not traded:
            node.least[i] = self._ask(problem, caps, i)
            return node.least[i]
        j = traded[0]
        if names[i] not in _TRADED:
            # Some draw keeps the first of them.
            return self._ask(problem, {**caps, j: self._caps[j]}, i)
        if j not in node.least:
            node.least[j] = self._ask(problem, {k: cap for k, cap in caps.items() if k < j}, j)
        # No draw has less than `least`, so that few have much more than it.
        lacks = max(self._caps[j] - node.least[j], 0.0)
        found = self._ask(problem, {**caps, j: self._caps[j] + _ROOM * lacks}, i)
        return found * (1 - 1 / _ROOM)

    def _first_of(self, node: VectorBox) -> tuple[Relaxed, Searched]:
        """Return a relaxed problem of a node, and what is known of its first level."""
        if node.first is None:
            small = self._relax(node, one=True)
            node.first = small, self._searched(small, {}, 0)
            known = self._known(0)
            if node.first[1].bound(0) < known - OPTIMAL_GAP * abs(known) or known == np.inf:
                node.first = self._relaxed_of(node), self._searched(self._relaxed_of(node), {}, 0)
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
        cores = any(level.name == "server_cores" for level in levels)
        answer = search_within(
            problem.for_cores if cores else problem.problem,
            levels,
            [caps[j] + moves.get(j, 0) for j in chosen[:-1]],
            dataclasses.replace(self._means, gap=0.0, tell=lambda text: None),
        )
        if answer.stopped_by is StoppedBy.INTERRUPT:
            raise KeyboardInterrupt
        return answer

    def result(self, backend: str) -> Result:
        """Return the answer."""
        began = running().began
        asked = self._choice.n_vectors
        if self._best is None:
            return self._without_plan(began, backend)
        vector, usage = self._best
        parameters = self._means.parameters or SearchParameters()
        if parameters.tie_break and self._stopped_by is not StoppedBy.TIME_LIMIT:
            with suppress(OutOfTimeError):
                assignment = break_ties(usage.problem, usage.assignment)
                usage = measure_usage(usage.problem, assignment)
        found, more = with_headroom_in_time(usage)
        results = [
            LevelResult(
                name=level.name,
                value=found.value(level.name),
                bound=min(bound, found.value(level.name)),
                tolerance=level.tolerance,
            )
            for level, bound in itertools.zip_longest(self._levels, self._bounds, fillvalue=0.0)
            if isinstance(level, ObjectiveLevel)
        ]
        proved = len(self._caps) == len(self._levels) and all(
            r.value * (1 - OPTIMAL_GAP) <= b * (1 + r.tolerance)
            for r, b in zip(results, self._bounds, strict=True)
        )
        return Result(
            status=Status.OPTIMAL if proved else Status.FEASIBLE,
            stopped_by=StoppedBy.PROOF if proved else self._stopped_by,
            plan=usage.problem.plan(usage.assignment),
            evaluation=found,
            levels=tuple(results),
            incumbents=tuple(self._incumbents),
            runtime_s=time.monotonic() - began,
            backend=backend,
            chosen=Chosen(
                parallelism=self._choice.parallelism(vector),
                vectors=asked,
                searched=len(self._answers),
                open=0 if proved else self._open(),
            ),
            notes=(*usage.problem.notes, *self._choice.notes, *more),
        )

    def _open(self) -> int:
        """Return how many vectors were neither searched nor ruled out."""
        return sum(n.size for n in self._nodes if n.vector not in self._answers)

    def _without_plan(self, began: float, backend: str) -> Result:
        left = self._open() or any(not a.infeasible for a in self._answers.values())
        infeasible = self._stopped_by is StoppedBy.PROOF and not left
        notes = list(self._choice.notes)
        conflict: Conflict | None = None
        n = self._choice.n_vectors
        if infeasible:
            vector = tuple(_nearest(g) for g in self._choice.groups)
            problem = self._inputs.at(self._choice, vector)
            needed = shortages(problem, self._means.soft)
            conflict = find_conflict(problem, needed, self._means.soft)
            titles = ", ".join(
                f"{g.title} x{k}" for g, k in zip(self._choice.groups, vector, strict=True)
            )
            notes.append(
                f"no parallelism asked for helps: none of the {n} has a plan, proved; the conflict "
                f"is that of {titles}"
            )
        stopped = self._stopped_by
        if not infeasible and stopped is StoppedBy.PROOF:
            stopped = StoppedBy.TIME_LIMIT if running().limited else StoppedBy.ROUNDING
        return Result(
            status=Status.INFEASIBLE if infeasible else Status.UNKNOWN,
            stopped_by=stopped,
            runtime_s=time.monotonic() - began,
            backend=backend,
            conflict=conflict,
            chosen=Chosen(
                vectors=n,
                searched=len(self._answers),
                open=0 if infeasible else self._open(),
            ),
            notes=tuple(notes),
        )


def _nearest(group: Group) -> int:
    """Return what is asked for that is nearest to what runs."""
    return min(group.values, key=lambda n: (abs(n - group.now), n))
