"""Stage: `wan` site by site, where sites decide by themselves."""

from edgeplace.solver.linear.backend import Answer, Outcome
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.sites import decide, shared_plan


def run(state: SearchState) -> bool:
    """Decide `wan`, if it comes first, without a solver; return whether that is proved.

    A bound is left even where no plan reaches it.
    """
    task, level = state.task, state.task.levels[0]
    if not task.parameters.by_site or level.name != "wan" or task.clock.left() == 0.0:
        return False
    try:
        found = decide(task.problem, task.problem.keeps_up)
    except OutOfTimeError:
        # Rules of thumb take less.
        return False
    if found is None:
        return False
    state.proof.floor = state.first.by_site = found.bound
    state.incumbent.offer(found.assignment)
    if not state.reached(found.bound):
        plan = shared_plan(task.problem, task.clock.end_of(1 / 4))
        if plan is not None:
            state.incumbent.offer(plan)
    return state.reached(found.bound) and state.settle(
        level, Answer(Outcome.OPTIMAL, None, found.bound)
    )
