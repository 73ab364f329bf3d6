"""The check that a back end and the evaluator agree on a level."""

from edgeplace.model import ObjectiveName, PlanMismatchError
from edgeplace.solver.evaluation.usage import Usage
from edgeplace.solver.linear.backend import Answer, Backend
from edgeplace.solver.tolerances import CONTRADICTION


def check_agreement(
    backend: Backend, name: ObjectiveName, answer: Answer, best: Usage | None
) -> None:
    """Check that no plan is known below a bound.

    That a plan costs more than its model says is no contradiction: models leave out what solvers
    cannot resolve. The level then ends as "rounding", with the bound.

    Parameters
    ----------
    best
        Of the best plan that is known.

    Raises
    ------
    PlanMismatchError
        If back end and evaluator contradict each other.
    """
    known = best.value(name) if best else float("inf")
    if answer.bound > known + CONTRADICTION * abs(known):
        raise PlanMismatchError(
            f"{backend.name} says {name} cannot be below {answer.bound:.9g}, the "
            f"evaluator knows a plan with {known:.9g}",
            "try the other back end, and please report this with the input files",
        )
