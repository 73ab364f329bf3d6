"""Stage: the first level with TaskManagers that are alike taken as one."""

from edgeplace.solver.search.first_level import lead
from edgeplace.solver.search.looking import mend
from edgeplace.solver.search.reduced_model import Undealt
from edgeplace.solver.search.reduction import MachinesAlike
from edgeplace.solver.search.state import SearchState


def run(state: SearchState) -> bool:
    """Minimise the first level; return False if TaskManagers must be told apart for it."""
    first = state.first
    wished = state.task.levels[0].name == "wishes"
    if not state.task.parameters.aggregated or first.subtasks_apart or wished:
        return False
    # It ends: each time more TaskManagers are told apart.
    while (reduction := MachinesAlike.fitting(state)) is not None:
        ended = lead(state, reduction)
        if ended is None:
            return True
        if not isinstance(ended, Undealt):
            first.subtasks_apart = True
            return False
        mend(state, ended.near)
        if first.tms_apart[ended.full].all():
            return False
        first.tms_apart |= ended.full
    return False
