"""Stage: `wan` on a general network among ever more sites, until no other can matter."""

from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.search.level import Restate, minimise
from edgeplace.solver.search.reduced_model import Undealt
from edgeplace.solver.search.reduction import SitesNear
from edgeplace.solver.search.state import SearchState


def run(state: SearchState) -> bool:
    """Minimise `wan`; return False if this is not the way to do it."""
    task, level = state.task, state.task.levels[0]
    reduction = SitesNear.fitting(state) if task.parameters.growing_sites else None
    if reduction is None:
        return False
    state.proof.raise_floor(reduction.beyond)
    state.incumbent.offer(reduction.plan())
    # It ends: each time either all that is better than the best plan was looked at, or `beyond`
    # grows to a higher one of finitely many marginals.
    while True:
        reduction.widen(state.known(level))
        form = reduction.apply()
        task.clock.check(form.model)
        answer = minimise(state, form, task.load(form.model), level, reduction.beyond)
        if answer is None:
            return True
        if answer is Restate.SUBTASKS_APART:
            state.first.subtasks_apart = True
            return False
        if isinstance(answer, Undealt | Restate):
            continue
        all_seen = reduction.beyond >= state.known(level) or state.reached(answer.bound)
        if answer.outcome is Outcome.STOPPED or all_seen:
            state.settle(level, answer)
            return True
