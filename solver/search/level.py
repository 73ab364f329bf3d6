"""Minimising one level with a back end until the evaluator agrees."""

from dataclasses import replace
from enum import Enum
from functools import partial

import numpy as np

from edgeplace.model import RATED, ObjectiveLevel, PlanMismatchError, StoppedBy
from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.clock import overrun_s
from edgeplace.solver.evaluation.evaluate import evaluation_of
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.formulation import Formulation
from edgeplace.solver.linear.backend import Answer, Backend, Outcome, SolverInterrupt
from edgeplace.solver.linear.model import Affine, Kind, Row
from edgeplace.solver.search.agreement import check_agreement
from edgeplace.solver.search.incumbent import BestPlan
from edgeplace.solver.search.reduced_model import ReducedModel, Undealt
from edgeplace.solver.search.state import SearchState
from edgeplace.solver.tolerances import OPTIMAL_GAP, TIE

_COARSE = 1e3
"""How many times what the best plan costs a coefficient may be, so that solvers can tell."""
_MOST_EXCLUDED = 100
"""How many plans are cut off, one by one, of which a model says too little."""
_WIDE_RANGE = 64
"""How many times what the best plan comes to the objective's column may range."""


class Restate(Enum):
    """The way to state a model again so that it gives a stronger answer."""

    NARROWER = "with the range of the objective's column that the best plan gives now"
    SUBTASKS_APART = "without counting subtasks"


def descend(
    state: SearchState, form: ReducedModel, backend: Backend, level: ObjectiveLevel
) -> bool | Undealt | Restate:
    """Minimise one level; return whether its value is proved or near enough to go on.

    Raises
    ------
    OutOfTimeError
        If the model is too large for the time left: a solver looks at the clock too seldom.
    """
    state.task.clock.check(form.model)
    if not state.proof.bounds:
        state.first.led = form, backend
    answer = minimise(state, form, backend, level)
    if isinstance(answer, Undealt | Restate):
        return answer
    return answer is not None and state.settle(level, answer)


def minimise(
    state: SearchState,
    form: ReducedModel,
    backend: Backend,
    level: ObjectiveLevel,
    beyond: float = np.inf,
) -> Answer | Undealt | Restate | None:
    """Minimise one level until the evaluator agrees.

    Parameters
    ----------
    beyond
        What no plan that the model leaves out has less than.

    Returns
    -------
    Answer or Undealt or Restate or None
        None: nothing more can be learnt. `Undealt` or `Restate`: the model says too little.
    """
    incumbent, proof, gap = state.incumbent, state.proof, state.task.gap
    for assignment in state.excluded:
        incumbent.offer(assignment)
    objective = form.model.objectives[level.name]
    met: set[bytes] = set()
    # It ends: each round meets a plan that was not met before, or cuts one off, or rules out a
    # column.
    while True:
        left = state.task.clock.left()
        if left == 0.0:
            proof.stopped_by = StoppedBy.TIME_LIMIT
            return None
        if _too_coarse(state, form, objective, level):
            objective = without_dear(form, backend, objective, state.allowed(level))
        answer = _asked(state, form, backend, objective, left, beyond)
        # No term is ever below 0, and of plans that were cut off the best is known.
        known = state.known(level) if state.excluded else np.inf
        answer = replace(answer, bound=max(min(answer.bound, beyond, known), 0.0))
        proof.raise_floor(answer.bound)
        if answer.outcome is Outcome.INFEASIBLE:
            return _without_plan(state, backend, answer, beyond)
        if answer.values is None:
            state.give_up()
            return answer
        assigned = form.assignment(answer.values)
        if isinstance(assigned, Undealt):
            return assigned
        found = incumbent.offer(assigned)
        rows: list[Row] | None = []
        again = assigned.tobytes() in met
        met.add(assigned.tobytes())
        if not again:
            rows = _missed(state, form, answer.values, assigned, found)
        elif not incumbent.holds(found):
            rows = _excluding(state, form, assigned) or None
        if rows is None:
            return Restate.SUBTASKS_APART
        if answer.outcome is Outcome.OPTIMAL and not rows and state.best is not None:
            value = state.best.value(level.name)
            near = max(gap, OPTIMAL_GAP) * abs(value)
            if abs(value - answer.bound) > near and _too_coarse(state, form, objective, level):
                continue
            if value - answer.bound > near:
                if _horizon(form, objective) > _WIDE_RANGE * state.allowed(level) > 0:
                    return Restate.NARROWER
                rows = _excluding(state, form, assigned)
        if not rows:
            check_agreement(backend, level.name, answer, state.best)
            return answer
        backend.add_rows(rows)
        if answer.outcome is Outcome.STOPPED and state.best is not None:
            return answer


def _asked(
    state: SearchState,
    form: ReducedModel,
    backend: Backend,
    objective: Affine,
    left: float | None,
    beyond: float,
) -> Answer:
    """Ask the back end once. If it is interrupted, its plan and its bound are kept."""
    incumbent, proof = state.incumbent, state.proof
    if not proof.bounds and left is not None:
        share = state.task.parameters.proving_share
        left = min(left * share, max(left - overrun_s(form.model.n_entries), left / 2))
    try:
        return backend.minimise(
            objective,
            seconds=left,
            gap=state.task.gap,
            start=form.start(state.best.assignment) if state.best else None,
            found=partial(offer_found, incumbent, form),
        )
    except SolverInterrupt as e:
        proof.raise_floor(min(e.answer.bound, beyond))
        if e.answer.values is not None:
            dealt = form.assignment(e.answer.values)
            if not isinstance(dealt, Undealt):
                incumbent.offer(dealt)
        raise


def offer_found(incumbent: BestPlan, form: ReducedModel, values: Floats) -> None:
    """Keep what a back end finds on its way; dealing to groups would be a search of its own."""
    if isinstance(form, Formulation):
        incumbent.offer(form.assignment(values))


def without_dear(form: ReducedModel, backend: Backend, objective: Affine, most: float) -> Affine:
    """Rule out columns that alone cost more than all may; return the objective without them.

    Beside the others, their coefficients are too large for a solver's arithmetic.
    """
    out = _dear(form, objective, most)
    backend.add_rows([Row({c: 1.0}, 0.0) for c in out])
    kept = {c: v for c, v in objective.terms.items() if c not in out}
    return Affine(kept, objective.constant)


def _without_plan(
    state: SearchState, backend: Backend, answer: Answer, beyond: float
) -> Answer | None:
    """Return what follows where a model has no plan."""
    if beyond < np.inf:
        return answer
    if state.best is None:
        state.proof.infeasible = True
        return None
    if state.excluded:
        return answer
    raise PlanMismatchError(
        f"{backend.name} says that no plan exists, but the evaluator knows one",
        "please report this with the input files",
    )


def _too_coarse(
    state: SearchState, form: ReducedModel, objective: Affine, level: ObjectiveLevel
) -> bool:
    """Return whether the best plan costs so little that solvers do not tell it from nothing.

    That is, beside what columns cost that can be ruled out.
    """
    return bool(_dear(form, objective, _COARSE * state.allowed(level)))


def _excluding(state: SearchState, form: ReducedModel, assignment: Ints) -> list[Row]:
    """Return a row that cuts off a plan of which the model says too little.

    A solver's rounding is to blame; the plan was offered, and is so again in later levels.
    Empty where that has been done too often, or subtasks are not told apart.
    """
    if len(state.excluded) >= _MOST_EXCLUDED or not isinstance(form, Formulation):
        return []
    row = form.excluding(assignment)
    if row is None:
        return []
    state.excluded.append(assignment)
    return [row]


def _missed(
    state: SearchState, form: ReducedModel, values: Floats, assignment: Ints, found: Usage
) -> list[Row] | None:
    """Return rows for what the model leaves out; see `ReducedModel.missed`."""
    if form.rho is None and state.incumbent.holds(found):
        return []
    said = evaluation_of(found)
    kept = tuple(v for v in said.violations if not (state.task.soft and v.kind in RATED))
    return form.missed(values, assignment, said.model_copy(update={"violations": kept}))


def _dear(form: ReducedModel, objective: Affine, most: float) -> set[int]:
    """Return the columns of an objective that are 0 in all plans that come to no more than this."""
    if min(objective.terms.values(), default=0.0) < 0 or not np.isfinite(most):
        return set()
    room = most - objective.constant + TIE * max(most, abs(objective.constant))
    kinds = form.model.kinds
    return {c for c, v in objective.terms.items() if v > room and kinds[c] is not Kind.REAL}


def _horizon(form: ReducedModel, objective: Affine) -> float:
    """Return what the column that `latency` or `throughput` is may come to, 0 for other terms."""
    upper, kinds = form.model.upper, form.model.kinds
    return max(
        (v * upper[c] for c, v in objective.terms.items() if kinds[c] is Kind.REAL), default=0.0
    )
