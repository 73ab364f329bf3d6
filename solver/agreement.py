"""What a back end says of a level against what the evaluator says."""

from edgeplace.model import ObjectiveName, PlanMismatchError
from edgeplace.solver.backend import Answer, Backend, Outcome
from edgeplace.solver.linear_model import Affine
from edgeplace.solver.verdict import Verdict


def check_agreement(
    backend: Backend,
    name: ObjectiveName,
    objective: Affine,
    answer: Answer,
    found: Verdict,
    best: Verdict | None,
) -> None:
    """Check the figures of an answer.

    Parameters
    ----------
    objective
        The level in columns of the model.
    found
        Of the plan that the answer gives.
    best
        Of the best plan that is known.

    Raises
    ------
    PlanMismatchError
        If back end and evaluator contradict each other.
    """
    known = best.value(name) if best else float("inf")
    if answer.bound > known + 1e-5 * abs(known) + 1e-6:
        raise PlanMismatchError(
            f"{backend.name} says {name} cannot be below {answer.bound:.9g}, the "
            f"evaluator knows a plan with {known:.9g}",
            "try the other back end, and please report this with the input files",
        )
    if answer.outcome is not Outcome.OPTIMAL or answer.values is None or backend.coarse:
        return
    claimed = objective.constant + sum(v * answer.values[c] for c, v in objective.terms.items())
    actual = found.value(name)
    if actual > claimed + 1e-5 * abs(actual) + 1e-6:
        raise PlanMismatchError(
            f"{backend.name} says {name} = {claimed:.9g}, the evaluator {actual:.9g}",
            "please report this with the input files",
        )
