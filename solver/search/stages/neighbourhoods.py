"""Stage: large-neighbourhood search, from the best plan so far. Nothing is proved."""

from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.search.looking import look_among
from edgeplace.solver.search.neighbourhood import Neighbourhoods
from edgeplace.solver.search.state import SearchState


def run(state: SearchState) -> None:
    """Decide parts of the best plan anew until the time is up."""
    task = state.task
    if not task.parameters.neighbourhoods:
        return
    parts = Neighbourhoods(
        task.problem, task.seed, task.parameters.few_sites, task.parameters.few_subtasks
    )
    while state.best is not None and task.clock.left() != 0.0:
        try:
            near = parts.near(state.best.assignment)
            parts.decided(look_among(state, near, task.parameters.better_plan_s))
        except OutOfTimeError:
            # Too large to be looked at in what is left: there may be smaller parts.
            parts.decided(False)
