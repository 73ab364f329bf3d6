"""Stage: the levels after the first, each within the caps of those before it."""

from edgeplace.model import ObjectiveLevel, StoppedBy
from edgeplace.solver.arrays import Bools
from edgeplace.solver.formulation import Formulation
from edgeplace.solver.linear.backend import Backend
from edgeplace.solver.linear.model import Row
from edgeplace.solver.search.level import Restate, descend, without_dear
from edgeplace.solver.search.reduction import no_worse_than, stated
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.sites import decide
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE


def run(state: SearchState) -> None:
    """Minimise the levels that have no cap yet, as long as each is proved or near enough."""
    task, first = state.task, state.first
    if first.led is not None:
        # The model of all levels is larger still.
        task.clock.check(first.led[0].model)
    may = _within_cap(state)
    form, backend = _capped(state, may)
    for level in task.levels[len(state.incumbent.caps) :]:
        # It ends as in `lead`.
        while (go_on := descend(state, form, backend, level)) is Restate.NARROWER:
            form, backend = _capped(state, may)
        if not isinstance(go_on, bool):
            # Plans were cut off one by one, and the model still says too little.
            state.proof.stopped_by = StoppedBy.ROUNDING
            return
        if not go_on:
            return
        _cap(form, backend, level, state.incumbent.caps[-1])


def _capped(state: SearchState, may: Bools | None) -> tuple[Formulation, Backend]:
    """Return a model of all levels in which those that are done are kept."""
    levels = state.task.levels
    form = stated(state, levels, may=may)
    backend = state.task.load(form.model)
    for level, cap in zip(levels, state.incumbent.caps, strict=False):
        _cap(form, backend, level, cap)
    return form, backend


def _within_cap(state: SearchState) -> Bools | None:
    """Return where subtasks run in plans that keep the cap of the first level, maybe elsewhere.

    All such plans are kept, so none is lost that is best in the later levels. None if nothing
    is known of that.
    """
    p, first, name = state.task.problem, state.first, state.task.levels[0].name
    cap = state.incumbent.caps[0] * (1 + TIE)
    if first.by_site is not None:
        found = decide(p, p.keeps_up, max(cap - first.by_site, 0.0) + TIE * cap)
        return None if found is None else found.within(cap)
    if first.led is None:
        return no_worse_than(state, cap)
    form, backend = first.led
    left = state.task.clock.left()
    relaxed = backend.relax(form.model.objectives[name], seconds=None if left is None else left / 4)
    if relaxed is None:
        return None
    least, growth = relaxed
    return form.within(growth, cap - least + OPTIMAL_GAP * abs(cap))


def _cap(form: Formulation, backend: Backend, level: ObjectiveLevel, cap: float) -> None:
    """Keep a level that is done at its value.

    The evaluator has the last word on that; see `BestPlan.keeps_caps`.
    """
    limit = without_dear(form, backend, form.model.objectives[level.name], cap)
    # Divided by its size, so that the solver's absolute tolerance is a relative one.
    size = max(cap, abs(limit.constant))
    unit = 1 / size if size > 0 else 1.0
    # What rounding may do to a sum of which the constant is a part.
    rounding = TIE * size
    terms = {c: v * unit for c, v in limit.terms.items()}
    if terms:
        backend.add_rows([Row(terms, (cap - limit.constant + rounding) * unit)])
