"""The state that the stages of a search share: the task, the best plan, and the bounds so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgeplace.model import ObjectiveLevel, ObjectiveName, StoppedBy
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.clock import Clock
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.linear.backend import Answer, Backend, Outcome
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.problem import Problem
from edgeplace.solver.search.incumbent import BestPlan
from edgeplace.solver.search.marginals import Marginals
from edgeplace.solver.search.parameters import SearchParameters
from edgeplace.solver.search.reduced_model import ReducedModel
from edgeplace.solver.tolerances import OPTIMAL_GAP


@dataclass(frozen=True)
class Task:
    """What is asked of a search.

    Attributes
    ----------
    levels
        Terms to minimise; each level's value limits the later ones.
    soft
        Whether limits that grow with the rates may be broken.
    gap
        Relative gap at which a level is near enough to go on.
    tell
        Called with what is found or proved.
    load
        Gives a model to the back end.
    """

    problem: Problem
    levels: Sequence[ObjectiveLevel]
    soft: bool
    clock: Clock
    gap: float
    seed: int
    tell: Callable[[str], None]
    load: Callable[[LinearModel], Backend]
    parameters: SearchParameters


@dataclass
class Proof:
    """What is proved, and why the search has stopped.

    Attributes
    ----------
    bounds
        Of the levels that were settled.
    floor
        The best bound of the first level so far.
    infeasible
        No plan exists.
    """

    bounds: list[float] = field(default_factory=list)
    floor: float = 0.0
    stopped_by: StoppedBy = StoppedBy.PROOF
    infeasible: bool = False

    @property
    def known(self) -> tuple[float, ...]:
        """Bounds of the levels that were settled, and at least of the first."""
        return tuple(self.bounds) or (self.floor,)

    def raise_floor(self, bound: float) -> None:
        """Note a bound of the first level."""
        if not self.bounds and np.isfinite(bound):
            self.floor = max(self.floor, bound)


@dataclass
class FirstLevel:
    """What the stages of the first level leave to one another and to the later levels.

    Attributes
    ----------
    by_site
        The bound that the decomposition by site gave; solvers may raise `Proof.floor` above it.
    marginals
        Bounds of `wan` with each subtask at each site.
    led
        The last model of the first level, with its back end.
    priced
        A model of the first level, its relaxed optimum and the reduced costs of its columns.
    subtasks_apart
        Whether models that count subtasks say too little.
    tms_apart
        TaskManagers that are not to be taken as one with others, shape (n_tms,).
    """

    tms_apart: Bools
    by_site: float | None = None
    marginals: Marginals | None = None
    led: tuple[ReducedModel, Backend] | None = None
    priced: tuple[ReducedModel, float, Floats] | None = None
    subtasks_apart: bool = False


class SearchState:
    """What the stages of a search share. The best plan is kept outside the solvers.

    Attributes
    ----------
    excluded
        Plans that were cut off one by one, since a model says too little of them.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.incumbent = BestPlan(task.problem, task.levels, task.soft, task.clock)
        self.proof = Proof()
        self.first = FirstLevel(np.zeros(task.problem.m, bool))
        self.excluded: list[Ints] = []

    @property
    def best(self) -> Usage | None:
        """What the evaluator says of the best plan so far."""
        return self.incumbent.usage

    def known(self, level: ObjectiveLevel) -> float:
        """Return the value of the best plan so far, inf without one."""
        return self.best.value(level.name) if self.best else np.inf

    def allowed(self, level: ObjectiveLevel) -> float:
        """Return what a plan may come to in a level if nothing better is found, inf without one."""
        return self.known(level) * (1 + level.tolerance)

    def most(self, levels: Sequence[ObjectiveLevel]) -> dict[ObjectiveName, float]:
        """Return what levels come to at most in all plans that are looked for."""
        most: dict[ObjectiveName, float] = {}
        if self.best is not None:
            # The best plan keeps the caps so far, so the next level comes to no more than it has.
            caps = len(self.incumbent.caps)
            for i, level in enumerate(levels[: caps + 1]):
                value = self.incumbent.caps[i] if i < caps else self.allowed(level)
                most[level.name] = value * (1 + OPTIMAL_GAP)
        return most

    def reached(self, bound: float) -> bool:
        """Return whether a plan is known that is as good as a bound of the first level."""
        return self.best is not None and not _short(self.known(self.task.levels[0]), bound)

    def settle(self, level: ObjectiveLevel, answer: Answer) -> bool:
        """Note what is known of a level; return whether it is enough to go on."""
        if self.best is None:
            return False
        proof, value = self.proof, self.best.value(level.name)
        floor = 0.0 if proof.bounds else proof.floor
        bound = min(max(answer.bound, floor), value)
        proof.bounds.append(bound)
        self.task.tell(f"{level.name}: {value:.6g}, bound {bound:.6g}")
        if _short(value, bound):
            if value - bound <= self.task.gap * abs(value):
                proof.stopped_by = StoppedBy.GAP
            elif answer.outcome is Outcome.OPTIMAL:
                proof.stopped_by = StoppedBy.ROUNDING
            else:
                self.give_up()
                return False
        self.incumbent.caps.append(value * (1 + level.tolerance))
        return True

    def give_up(self) -> None:
        """Note that a solver stopped before it was done: without a limit, by itself."""
        limited = self.task.clock.limited
        self.proof.stopped_by = StoppedBy.TIME_LIMIT if limited else StoppedBy.ROUNDING


def _short(value: float, bound: float) -> bool:
    return value - bound > OPTIMAL_GAP * abs(value)
