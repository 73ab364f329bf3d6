"""Minimising the first level in a reduction of the problem."""

from edgeplace.solver.search.level import Restate, descend
from edgeplace.solver.search.near_relaxation import near_relaxation
from edgeplace.solver.search.reduced_model import Undealt
from edgeplace.solver.search.reduction import Reduction
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.tolerances import OPTIMAL_GAP


def lead(state: SearchState, reduction: Reduction) -> Undealt | Restate | None:
    """Minimise the first level, first where the relaxation points to, then everywhere.

    Returns
    -------
    Undealt or Restate or None
        What the reduction cannot do; None: the level is settled, or nothing more can be learnt.

    Raises
    ------
    OutOfTimeError
        If the model is too large for the time left.
    """
    # It ends: each time the range of the objective's column is at least 64 times smaller.
    while (ended := _lead_once(state, reduction)) is Restate.NARROWER:
        pass
    return ended


def _lead_once(state: SearchState, reduction: Reduction) -> Undealt | Restate | None:
    task, level = state.task, state.task.levels[0]
    form = reduction.apply()
    backend = task.load(form.model)
    if task.parameters.near_relaxation and len(form.model.upper) >= task.parameters.large_model:
        if state.first.priced is None:
            left = task.clock.left()
            bundles = form.bundles() if level.name in ("wan", "cost") else None
            relaxed = backend.relax(
                form.model.objectives[level.name],
                seconds=None if left is None else left / 4,
                tighten=bundles.broken if bundles else None,
            )
            state.first.priced = relaxed and (form, *relaxed)
        if state.first.priced is not None:
            least = state.first.priced[1]
            state.proof.raise_floor(least - OPTIMAL_GAP * abs(least))
            undealt = near_relaxation(state, reduction, *state.first.priced)
            if undealt is not None:
                return undealt
    ended = descend(state, form, backend, level)
    return None if isinstance(ended, bool) else ended
