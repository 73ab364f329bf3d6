"""Parallelism and placement chosen together: the search over all vectors, and its answer."""

from collections.abc import Sequence
from contextlib import suppress

from edgeplace.model import Case, Chosen, Conflict, ObjectiveLevel, Result, Rules, Status, StoppedBy
from edgeplace.solver.clock import running
from edgeplace.solver.evaluation.answer import with_plan
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.infeasibility.conflict import find_conflict
from edgeplace.solver.infeasibility.shortages import shortages
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.parallelism.branch_and_bound import VectorOutcome, problem_at, search_vectors
from edgeplace.solver.parallelism.choice import Asked, Combinations, Group, choice_of
from edgeplace.solver.parallelism.within import Means
from edgeplace.solver.search import SearchParameters
from edgeplace.solver.search.tie_break import break_ties


def choose(
    case: Case,
    asked: Asked | str,
    levels: Sequence[ObjectiveLevel],
    means: Means,
    backend: str,
) -> Result:
    """Return the best plan over all vectors asked for.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, or what is asked for is not possible, with the reason.
    """
    choice = choice_of(case.jobs, case.rules or Rules(), asked)
    found = search_vectors(case, choice, levels, means)
    if found.best is None:
        return _without_plan(case, choice, found, means, backend)
    vector, usage = found.best
    parameters = means.parameters or SearchParameters()
    if parameters.tie_break and found.stopped_by is not StoppedBy.TIME_LIMIT:
        usage = _ties_broken(usage)
    answer = with_plan(
        usage,
        levels,
        found.bounds,
        found.finished,
        found.stopped_by,
        backend,
        found.incumbents,
        (*usage.problem.notes, *choice.notes),
    )
    proved = answer.status is Status.OPTIMAL
    chosen = Chosen(
        parallelism=choice.parallelism(vector),
        vectors=choice.n_vectors,
        searched=found.searched,
        open=0 if proved else found.open,
    )
    return answer.model_copy(update={"chosen": chosen})


def _ties_broken(usage: Usage) -> Usage:
    with suppress(OutOfTimeError):
        return measure_usage(usage.problem, break_ties(usage.problem, usage.assignment))
    return usage


def _without_plan(
    case: Case, choice: Combinations, found: VectorOutcome, means: Means, backend: str
) -> Result:
    notes = list(choice.notes)
    conflict: Conflict | None = None
    stopped_by = found.stopped_by
    if found.infeasible:
        vector = tuple(_nearest(g) for g in choice.groups)
        problem = problem_at(case, choice, vector)
        titles = ", ".join(f"{g.title} x{n}" for g, n in zip(choice.groups, vector, strict=True))
        said = f"no parallelism asked for helps: none of the {choice.n_vectors} has a plan, proved"
        if (means.parameters or SearchParameters()).conflict:
            conflict = find_conflict(problem, shortages(problem, means.soft), means.soft)
            said += f"; the conflict is that of {titles}"
        notes.append(said)
    elif stopped_by is StoppedBy.PROOF:
        stopped_by = StoppedBy.TIME_LIMIT if running().limited else StoppedBy.ROUNDING
    return Result(
        status=Status.INFEASIBLE if found.infeasible else Status.UNKNOWN,
        stopped_by=stopped_by,
        runtime_s=running().elapsed_s(),
        backend=backend,
        conflict=conflict,
        chosen=Chosen(
            vectors=choice.n_vectors,
            searched=found.searched,
            open=0 if found.infeasible else found.open,
        ),
        notes=tuple(notes),
    )


def _nearest(group: Group) -> int:
    """Return the requested vector that is nearest to the current one."""
    return min(group.values, key=lambda n: (abs(n - group.now), n))
