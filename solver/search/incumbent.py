"""The best plan so far, kept outside the solvers."""

from collections.abc import Sequence

from edgeplace.model import Incumbent, ObjectiveLevel
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import Clock
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE


class BestPlan:
    """The best plan so far as the evaluator computes it, and the times of its improvements.

    Attributes
    ----------
    usage
        None: no plan that holds was offered.
    caps
        What the levels that are done may come to: up to there they do not count.
    incumbents
        The plans that were better in the first level than all before.
    """

    def __init__(
        self, problem: Problem, levels: Sequence[ObjectiveLevel], soft: bool, clock: Clock
    ) -> None:
        self._problem = problem
        self._levels = levels
        self._soft = soft
        self._clock = clock
        self.usage: Usage | None = None
        self.caps: list[float] = []
        self.incumbents: list[Incumbent] = []

    def holds(self, found: Usage) -> bool:
        """Return whether a plan may be the answer."""
        return found.fixed_hold and (self._soft or found.rated_hold)

    def offer(self, assignment: Ints) -> Usage:
        """Keep an assignment if it holds and is better, level by level; return what it comes to."""
        found = measure_usage(self._problem, assignment)
        known = self.usage
        if (
            self.holds(found)
            and self.keeps_caps(found)
            and (known is None or self._better(found, known))
        ):
            self.usage = found
            value = found.value(self._levels[0].name)
            before = self.incumbents[-1].value if self.incumbents else float("inf")
            if value < before - OPTIMAL_GAP * abs(value):
                self.incumbents.append(Incumbent(at_s=self._clock.elapsed_s(), value=value))
        return found

    def keeps_caps(self, found: Usage) -> bool:
        """Return whether a plan is good enough in the levels that are done."""
        done = zip(self._levels, self.caps, strict=False)
        return all(found.value(level.name) <= cap * (1 + TIE) for level, cap in done)

    def _better(self, new: Usage, old: Usage) -> bool:
        for level in self._levels[len(self.caps) :]:
            a, b = new.value(level.name), old.value(level.name)
            if abs(a - b) > TIE * max(abs(a), abs(b)):
                return a < b
        return False
