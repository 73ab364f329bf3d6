"""Stage: the first level with every TaskManager told apart. It always proves, given time."""

from edgeplace.model import StoppedBy
from edgeplace.solver.search.first_level import lead
from edgeplace.solver.search.reduction import SubtasksApart, SubtasksCounted
from edgeplace.solver.search.state import SearchState


def run(state: SearchState) -> bool:
    """Minimise the first level, with subtasks that are alike counted as long as that will do."""
    reduction = SubtasksCounted.fitting(state)
    if reduction is not None and lead(state, reduction) is None:
        return True
    state.first.subtasks_apart = True
    if lead(state, SubtasksApart.fitting(state)) is not None:
        # Plans were cut off one by one, and the model still says too little.
        state.proof.stopped_by = StoppedBy.ROUNDING
    return True
