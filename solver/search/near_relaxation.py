"""Looking for plans where the relaxation of a large model points to."""

import time

import numpy as np

from edgeplace.solver.arrays import Floats
from edgeplace.solver.search.looking import at_most, known_value, look_among, look_in
from edgeplace.solver.search.reduced_model import ReducedModel, Undealt
from edgeplace.solver.search.reduction import Reduction
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.tolerances import NEGLIGIBLE


def near_relaxation(
    state: SearchState, reduction: Reduction, form: ReducedModel, least: float, growth: Floats
) -> Undealt | None:
    """Look for plans among the places whose reduced costs are low.

    Parameters
    ----------
    form, least, growth
        A model, its relaxed optimum, and the reduced costs of its columns.

    Returns
    -------
    Undealt or None
        What groups of TaskManagers cannot be dealt, however little it is.
    """
    problem, parameters = state.task.problem, state.task.parameters
    ends = state.task.clock.end_of(1 / 2)
    slack = parameters.nearest * abs(least) + NEGLIGIBLE
    places = 0
    room = np.ones(problem.m)
    while time.monotonic() < ends:
        before = known_value(state)
        few = form.within(growth, slack) & problem.keeps_up
        if before <= least + slack or few.sum() == problem.keeps_up.sum():
            return None
        if few.sum() > places:
            decided = look_in(state, reduction.apply(few, room), ends - time.monotonic())
            if isinstance(decided, Undealt):
                if room.min() < parameters.least_room:
                    return decided
                patience = parameters.better_plan_s if before < np.inf else parameters.first_plan_s
                seconds = at_most(state, patience, 1 / 4)
                none = look_among(state, decided.near & few, seconds)
                if none and known_value(state) == np.inf:
                    look_among(state, decided.near, at_most(state, patience, 1 / 4))
                # The sum of some machines holds more than each of them does.
                room[decided.full] *= parameters.less_room
                continue
            known = known_value(state)
            if known < np.inf and (not decided or known > before * (1 - parameters.near_gap)):
                return None
        places = few.sum()
        slack *= parameters.wider
    return None
