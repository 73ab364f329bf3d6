"""Looking for good plans of the first level in models that leave some out; nothing is proved."""

from functools import partial

from edgeplace.solver.arrays import Bools
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.search.level import offer_found
from edgeplace.solver.search.reduced_model import ReducedModel, Undealt
from edgeplace.solver.search.reduction import SubtasksCounted
from edgeplace.solver.search.state import SearchState


def look_in(state: SearchState, form: ReducedModel, seconds: float) -> bool | Undealt:
    """Look for a plan in a model that leaves some out; return whether it has no better one."""
    task = state.task
    answer = task.load(form.model).minimise(
        form.model.objectives[task.levels[0].name],
        seconds=max(at_most(state, seconds, 1.0), 0.0),
        gap=max(task.gap, task.parameters.near_gap),
        start=form.start(state.best.assignment) if state.best else None,
        found=partial(offer_found, state.incumbent, form),
    )
    if answer.values is not None:
        assignment = form.assignment(answer.values)
        if isinstance(assignment, Undealt):
            return assignment
        state.incumbent.offer(assignment)
    return answer.outcome is not Outcome.STOPPED


def look_among(state: SearchState, near: Bools, seconds: float) -> bool:
    """Look for a plan among some places; return whether there is no better one.

    Parameters
    ----------
    near
        Where each subtask may run, shape (n_subtasks, n_tms).
    """
    form = SubtasksCounted(state).apply(near)
    state.task.clock.check(form.model)
    return look_in(state, form, seconds) is True


def mend(state: SearchState, near: Bools) -> None:
    """Look for a plan among some that are near to one which does not hold."""
    look_among(state, near, at_most(state, state.task.parameters.first_plan_s, 1 / 2))


def at_most(state: SearchState, seconds: float, share: float) -> float:
    """Return some seconds, or a share of the time left if that is less."""
    left = state.task.clock.left()
    return seconds if left is None else min(left * share, seconds)


def known_value(state: SearchState) -> float:
    """Return the best value of the first level so far, inf without a plan."""
    return state.known(state.task.levels[0])
