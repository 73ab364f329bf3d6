"""Whether the operators of a job are those that a plan was made for."""

from edgeplace.adapters.flink.schedulercfg.names import without_counters
from edgeplace.model import InvalidInputError, JobGraph, Operator, Plan
from edgeplace.model.text import first_few

_MOST_SHOWN = 3


def refuse_other_operators(plan: Plan, job: JobGraph, origin: str) -> None:
    """Refuse a plan whose operators have other names than those of the job with the same ids.

    Flink derives a JobVertexID from the place in the job graph, unless the program sets a uid. So
    a program that was changed may have the ids of the former one. Counters of the SQL planner and
    blanks are not compared.

    Parameters
    ----------
    job
        As Flink shows it.
    origin
        What the plan is called in errors.

    Raises
    ------
    InvalidInputError
        If an operator has another name.
    """
    planned = plan.names.get(job.name, {})
    others = [
        f"{op.id} was {planned[op.id]!r} and is {op.name!r}"
        for op in job.operators
        if op.id in planned and _comparable(planned[op.id]) not in _names_of(op)
    ]
    if others:
        raise InvalidInputError(
            f"{origin} was made for other operators than job {job.name!r} has under the same ids: "
            + first_few(others, _MOST_SHOWN, "; ", before_rest="; and "),
            "discover the job anew (`edgeplace flink discover --job-out FILE`), measure it and "
            "solve again; if only a name has changed, correct it under `names` in the plan, or "
            "remove it there",
        )


def _names_of(op: Operator) -> set[str]:
    """Return the name of an operator, in one line with its chain too."""
    return {_comparable(op.name), _comparable(" -> ".join(op.chained))}


def _comparable(name: str) -> str:
    return " ".join(without_counters(name).split())
