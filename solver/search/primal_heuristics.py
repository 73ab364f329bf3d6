"""Looking for good plans of the first level where nothing is proved."""

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from edgeplace.model import ObjectiveLevel
from edgeplace.solver.arrays import Bools, Floats
from edgeplace.solver.baselines import BASELINES, Budget
from edgeplace.solver.baselines.local_search import local_search
from edgeplace.solver.clock import Clock, running
from edgeplace.solver.formulation import Formulation
from edgeplace.solver.linear.backend import Backend, Outcome
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem
from edgeplace.solver.search.aggregated import AggregatedFormulation, DisaggregationError
from edgeplace.solver.search.incumbent import BestPlan
from edgeplace.solver.search.neighbourhood import Neighbourhoods
from edgeplace.solver.tolerances import NEGLIGIBLE

Readable = Formulation | AggregatedFormulation
_MENDING_S, _LOOKING_S, _LOOKING_GAP = 10.0, 2.0, 1e-4
"""How long to look for a first plan, and for a better one among some; how near to the best of those
looked at it may be."""
_NEAREST, _WIDER = 5e-4, 4.0
"""How far above the relaxed optimum to look first, as a share of it, and how much farther then."""
_LESS_ROOM, _LEAST_ROOM = 0.94, 0.8
"""What share of its cores to give out of a group that could not be dealt, and when to give up."""


class Build(Protocol):
    """Builds a model of the first level."""

    def __call__(self, may: Bools | None = None, room: Floats | None = None) -> Readable:
        """Return the model.

        Parameters
        ----------
        may
            Where each subtask may run, shape (n_subtasks, n_tms); None: wherever it keeps up.
        room
            Share of the cores of each TaskManager that its group may give out, shape (n_tms,);
            None: all.
        """


class PrimalHeuristics:
    """Offers plans to the best one so far, which is kept outside the solvers."""

    def __init__(
        self,
        problem: Problem,
        level: ObjectiveLevel,
        best: BestPlan,
        clock: Clock,
        build: Build,
        load: Callable[[LinearModel], Backend],
        gap: float,
        seed: int,
    ) -> None:
        self._problem = problem
        self._level = level
        self._best = best
        self._clock = clock
        self._build = build
        self._load = load
        self._gap = gap
        self._seed = seed

    def baselines(self) -> None:
        """Start from what others would do."""
        for baseline in BASELINES.values():
            if self._best.verdict is None or running().left() != 0.0:
                self._best.offer(baseline(self._problem))

    def local_search(self) -> None:
        """Start from the local search of others, where no model gave a plan."""
        left = self._clock.left()
        found = local_search(self._problem, Budget(left and left / 2, self._seed))
        if found.assignment is not None:
            self._best.offer(found.assignment)

    def near_relaxation(self, build: Build, form: Readable, least: float, growth: Floats) -> None:
        """Look for plans among the places whose reduced costs are low.

        Parameters
        ----------
        form, least, growth
            A model, its relaxed optimum, and the reduced costs of its columns.

        Raises
        ------
        DisaggregationError
            If groups of TaskManagers cannot be dealt what they get, however little.
        """
        ends = self._clock.end_of(1 / 2)
        slack = _NEAREST * abs(least) + NEGLIGIBLE
        places = 0
        room = np.ones(self._problem.m)
        while time.monotonic() < ends:
            before = self._known()
            few = form.within(growth, slack) & self._problem.keeps_up
            if before <= least + slack or few.sum() == self._problem.keeps_up.sum():
                return
            if few.sum() > places:
                try:
                    decided = self._in(build(few, room), ends - time.monotonic())
                except DisaggregationError as e:
                    if room.min() < _LEAST_ROOM:
                        raise
                    seconds = _MENDING_S if before == np.inf else _LOOKING_S
                    none = self._among(e.near & few, self._at_most(seconds, 1 / 4))
                    if none and self._known() == np.inf:
                        self._among(e.near, self._at_most(seconds, 1 / 4))
                    # The sum of some machines holds more than each of them does.
                    room[e.full] *= _LESS_ROOM
                    continue
                known = self._known()
                if known < np.inf and (not decided or known > before * (1 - _LOOKING_GAP)):
                    return
            places = few.sum()
            slack *= _WIDER

    def mend(self, near: Bools) -> None:
        """Look for a plan among some that are near to one which does not hold."""
        self._among(near, self._at_most(_MENDING_S, 1 / 2))

    def polish(self) -> None:
        """Decide parts of the best plan anew until the time is up."""
        parts = Neighbourhoods(self._problem, self._seed)
        while self._best.verdict is not None and self._clock.left() != 0.0:
            try:
                near = parts.near(self._best.verdict.assignment)
                parts.decided(self._among(near, _LOOKING_S))
            except OutOfTimeError:
                # Too large to be looked at in what is left: there may be smaller parts.
                parts.decided(False)

    def _known(self) -> float:
        """Return the best value so far, inf without a plan."""
        known = self._best.verdict
        return known.value(self._level.name) if known else np.inf

    def _at_most(self, seconds: float, share: float) -> float:
        left = self._clock.left()
        return seconds if left is None else min(left * share, seconds)

    def _among(self, near: Bools, seconds: float) -> bool:
        """Look for a plan among some; return whether there is no better one."""
        form = self._build(near)
        self._clock.check(form.model)
        return self._in(form, seconds)

    def _in(self, form: Readable, seconds: float) -> bool:
        """Look for a plan in a model that leaves some out; return whether it has no better one."""
        known = self._best.verdict
        answer = self._load(form.model).minimise(
            form.model.objectives[self._level.name],
            seconds=max(self._at_most(seconds, 1.0), 0.0),
            gap=max(self._gap, _LOOKING_GAP),
            start=form.start(known.assignment) if known else None,
            found=partial(offer_found, self._best, form),
        )
        if answer.values is not None:
            self._best.offer(form.assignment(answer.values))
        return answer.outcome is not Outcome.STOPPED


def offer_found(best: BestPlan, form: Readable, values: Floats) -> None:
    """Keep what a back end finds on its way; dealing to groups would be a search of its own."""
    if isinstance(form, Formulation):
        best.offer(form.assignment(values))
