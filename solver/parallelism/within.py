"""One problem, searched with caps on the first levels that come from elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import ObjectiveLevel, ObjectiveName, StoppedBy
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import running
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.infeasibility.shortages import shortages
from edgeplace.solver.linear.backend import Answer, Backend, Outcome
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem
from edgeplace.solver.search import Search, SearchParameters
from edgeplace.solver.search.stages import baselines, later_levels
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.sites import decide
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE


@dataclass(frozen=True)
class Means:
    """Arguments that all searches of a call share.

    Attributes
    ----------
    soft
        Whether limits that grow with the rates may be exceeded.
    gap
        Relative gap of a level at which its search may stop.
    """

    soft: bool
    gap: float
    seed: int
    tell: Callable[[str], None]
    load: Callable[[LinearModel], Backend]
    parameters: SearchParameters | None


@dataclass(frozen=True)
class Searched:
    """Bounds and plans of one problem, level by level.

    Attributes
    ----------
    best
        None: no plan was found.
    caps
        What plans may come to in each level that is done.
    bounds
        Of the levels that are done; one more if something is known of the next level.
    infeasible
        No plan exists within the caps, proved.
    state
        What the stages of the search left.
    """

    problem: Problem
    best: Usage | None
    caps: tuple[float, ...]
    bounds: tuple[float, ...]
    infeasible: bool
    stopped_by: StoppedBy
    state: SearchState

    def bound(self, level: int) -> float:
        """Return the bound of a level: infinite if there is no plan, 0 if nothing is known."""
        if self.infeasible:
            return np.inf
        return self.bounds[level] if level < len(self.bounds) else 0.0


def search_within(
    problem: Problem,
    levels: Sequence[ObjectiveLevel],
    caps: Sequence[float],
    means: Means,
    start: Ints | None = None,
    floors: Mapping[ObjectiveName, float] | None = None,
) -> Searched:
    """Return the answer of a search of the levels that have no cap.

    Parameters
    ----------
    caps
        What plans may come to in the first levels.
    start
        A plan to start from, shape (n_subtasks,).
    floors
        Bounds of the levels that have no cap, by plans within the caps.
    """
    clock = running()
    search = Search(
        problem,
        levels,
        means.soft,
        clock,
        means.gap,
        means.seed,
        means.tell,
        means.load,
        means.parameters,
    )
    state = search.state
    state.incumbent.caps = list(caps)
    state.proof.bounds = [0.0] * len(caps)
    search.offer_current()
    if start is not None:
        state.incumbent.offer(start)
    places = problem.allowed() if means.soft else problem.keeps_up
    possible = bool(places.any(axis=1).all())
    if not problem.m or not possible or shortages(problem, means.soft).members:
        state.proof.infeasible = search.best is None
    elif not caps:
        search.run()
    else:
        try:
            if search.best is None:
                baselines.run(state)
            if _decided_by_site(search, caps[0]) and not _reached(search, floors or {}):
                later_levels.run(state)
        except KeyboardInterrupt:
            state.proof.stopped_by = StoppedBy.INTERRUPT
        except OutOfTimeError:
            state.proof.stopped_by = StoppedBy.TIME_LIMIT
    return Searched(
        problem,
        search.best,
        tuple(state.incumbent.caps),
        state.proof.known,
        state.proof.infeasible and search.best is None,
        state.proof.stopped_by,
        state,
    )


def _decided_by_site(search: Search, cap: float) -> bool:
    """Note what sites decide of `wan`, if it has the first cap; return whether a plan keeps it."""
    task = search.state.task
    if task.levels[0].name != "wan" or search.state.first.by_site is not None:
        return True
    found = decide(task.problem, task.problem.keeps_up)
    if found is None:
        return True
    search.state.first.by_site = found.bound
    search.state.incumbent.offer(found.assignment)
    if found.bound > cap * (1 + TIE):
        search.state.proof.infeasible = search.best is None
        return False
    return True


def _reached(search: Search, floors: Mapping[ObjectiveName, float]) -> bool:
    """Settle levels at which the best plan reaches the known bound; return whether all are."""
    state = search.state
    for level in state.task.levels[len(state.incumbent.caps) :]:
        floor = floors.get(level.name, 0.0)
        if state.best is None or state.known(level) - floor > OPTIMAL_GAP * state.known(level):
            return False
        state.settle(level, Answer(Outcome.OPTIMAL, None, floor))
    return True
