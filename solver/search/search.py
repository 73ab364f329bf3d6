"""The recipe of the search: its stages in their order."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from edgeplace.model import Conflict, ObjectiveLevel, Result, Status, StoppedBy
from edgeplace.solver.clock import Clock, limited, prolonged
from edgeplace.solver.evaluation.answer import with_plan
from edgeplace.solver.evaluation.growth import grown
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.linear.backend import Backend
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, with_jobs
from edgeplace.solver.search.parameters import SearchParameters
from edgeplace.solver.search.stages import (
    aggregated,
    baselines,
    by_site,
    exact,
    growing_sites,
    later_levels,
    neighbourhoods,
    ties,
)
from edgeplace.solver.search.state import SearchState, Task

_LATE_S = 0.9
"""Time beyond the limit for a first plan, where none is known: also after a solver that did not
look at the clock, for which nobody waits that long."""
_SHARES_OF_DEMAND = (1.0, 0.5, 0.25, 0.125)
"""Shares of the demand at which a plan to start `throughput` from is looked for."""
_STARTING_SHARE = 0.25
"""Of the time left, for all of them."""


class Search:
    """The lexicographic search, level by level; see `Task` for the parameters.

    The first level is proved by the first stage that can: site by site, among ever more sites, with
    machines that are alike taken as one, or exactly. Each of these says whether it did.
    """

    def __init__(
        self,
        problem: Problem,
        levels: Sequence[ObjectiveLevel],
        soft: bool,
        clock: Clock,
        gap: float,
        seed: int,
        tell: Callable[[str], None],
        load: Callable[[LinearModel], Backend],
        parameters: SearchParameters | None = None,
    ) -> None:
        parameters = parameters or SearchParameters()
        self.state = SearchState(
            Task(
                problem.without_idle_sites(),
                levels,
                soft,
                clock,
                gap,
                seed,
                tell,
                load,
                parameters,
            )
        )

    @property
    def best(self) -> Usage | None:
        """What the evaluator says of the best plan so far."""
        return self.state.best

    def offer_current(self) -> None:
        """Start from the current placement."""
        p = self.state.task.problem
        if p.m and p.current is not None and (p.current >= 0).all():
            self.state.incumbent.offer(p.current)

    def run(self) -> None:
        """Minimise level by level; each level's value limits the later ones."""
        state = self.state
        try:
            _first_level(state)
            if state.incumbent.caps and len(state.task.levels) > 1:
                later_levels.run(state)
        except KeyboardInterrupt:
            state.proof.stopped_by = StoppedBy.INTERRUPT
        except OutOfTimeError:
            state.proof.stopped_by = StoppedBy.TIME_LIMIT
            if state.best is None:
                with suppress(OutOfTimeError), prolonged(_LATE_S):
                    baselines.run(state)
                    if state.best is None:
                        baselines.run_local_search(state)

    def break_ties(self) -> None:
        """Break the ties that are left in favour of neighbours on one TaskManager."""
        ties.run(self.state)

    def result(self, backend: str, conflict: Conflict | None) -> Result:
        """Return the answer."""
        task, proof, best = self.state.task, self.state.proof, self.best
        if best is not None:
            return with_plan(
                best,
                task.levels,
                proof.known,
                len(proof.bounds) == len(task.levels),
                proof.stopped_by,
                backend,
                self.state.incumbent.incumbents,
                task.problem.notes,
            )
        return Result(
            status=Status.INFEASIBLE if proof.infeasible else Status.UNKNOWN,
            stopped_by=proof.stopped_by,
            runtime_s=task.clock.elapsed_s(),
            backend=backend,
            conflict=conflict,
            notes=task.problem.notes,
        )


def _first_level(state: SearchState) -> None:
    """Prove the first level, or look for plans of it until the time is up."""
    if by_site.run(state):
        return
    baselines.run(state)
    try:
        if state.task.soft:
            _start_sustaining(state)
        # The first level alone needs a far smaller model than all of them.
        for stage in (growing_sites, aggregated, exact):
            if stage.run(state):
                break
    except OutOfTimeError:
        state.proof.stopped_by = StoppedBy.TIME_LIMIT
    if state.proof.stopped_by is StoppedBy.TIME_LIMIT:
        if state.best is None and state.task.levels[0].name != "wan":
            left = state.task.clock.left()
            with limited(None if left is None else left / 2) as clock:
                _start_with_little_wan(state, state.task.problem, clock)
        if state.best is None:
            baselines.run_local_search(state)
        neighbourhoods.run(state)


def _start_sustaining(state: SearchState) -> None:
    """Start from a plan that sustains the demand, or else a half of it, a quarter, and so on.

    Such plans have little `wan`, which is found far sooner than the least utilisation.
    """
    task, level = state.task, state.task.levels[0]
    if task.problem.candidates(False).sum() < task.parameters.large_model:
        return
    left, most_s = task.clock.left(), task.parameters.first_plan_s
    with limited(most_s if left is None else min(most_s, left * _STARTING_SHARE)) as clock:
        for factor in _SHARES_OF_DEMAND:
            if state.known(level) * factor <= 1 + task.gap:
                return
            jobs = [grown(job, factor) for job in task.problem.subtasks.jobs]
            problem = with_jobs(task.problem, jobs)
            if not problem.candidates(False).any(axis=1).all():
                continue
            _start_with_little_wan(state, problem, clock)


def _start_with_little_wan(state: SearchState, problem: Problem, clock: Clock) -> None:
    """Offer the best plan for `wan` alone: its model is the smallest, and may be split by sites."""
    wan = replace(
        state.task,
        problem=problem,
        levels=[ObjectiveLevel(name="wan")],
        soft=False,
        clock=clock,
        tell=lambda text: None,
    )
    found = SearchState(wan)
    try:
        with suppress(OutOfTimeError):
            _first_level(found)
    finally:
        if found.best is not None:
            state.incumbent.offer(found.best.assignment)
