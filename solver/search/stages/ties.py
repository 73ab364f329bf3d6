"""Stage: the ties that all levels leave."""

from contextlib import suppress

from edgeplace.model import StoppedBy
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.search.tie_break import break_ties


def run(state: SearchState) -> None:
    """Break the ties that are left in favour of neighbours on one TaskManager."""
    task = state.task
    if state.best is None or not task.parameters.tie_break:
        return
    if state.proof.stopped_by is not StoppedBy.TIME_LIMIT:
        with suppress(OutOfTimeError):
            assignment = break_ties(task.problem, state.best.assignment)
            state.incumbent.usage = measure_usage(task.problem, assignment)
