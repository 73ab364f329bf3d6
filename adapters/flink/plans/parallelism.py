"""The parallelism of a plan: the number of its places for each task."""

from collections.abc import Mapping

from edgeplace.adapters.flink.plans.plan_file import Places, Schedulercfg
from edgeplace.adapters.flink.plans.plan_size import check_plan_size
from edgeplace.adapters.flink.schedulercfg.names import INDEXED, TaskNames
from edgeplace.model import InvalidInputError, JobGraph, Plan
from edgeplace.model.job import ShipStrategy
from edgeplace.model.text import first_few


def in_parallelism_of(places: Places, job: JobGraph) -> JobGraph:
    """Return a job with as many subtasks of each operator as there are places."""
    return _with(job, {op: len(of) for op, of in places.items()})


def rescaled(plan: Plan | Schedulercfg, job: JobGraph, origin: str) -> JobGraph:
    """Return a job in the parallelism that a plan wants; what the plan lacks stays as it runs.

    Parameters
    ----------
    origin
        What the plan is called in errors.

    Raises
    ------
    InvalidInputError
        If a schedulercfg is too large for the job as it runs, if an operator would have more
        subtasks than key groups, or if operators that FORWARD joins would differ: between these,
        Flink would leave subtasks without input.
    """
    if isinstance(plan, Plan):
        wanted = _of_plan(plan, job)
    else:
        check_plan_size(plan.text, job, origin)
        wanted = _of_text(plan.text, job)
    problems = [
        f"{op.name!r} has {op.max_parallelism} key groups, its max parallelism, and "
        f"{wanted[op.id]} places"
        for op in job.operators
        if op.id in wanted and wanted[op.id] > max(op.max_parallelism, op.parallelism)
    ]
    for s in job.streams:
        a, b = job.operator(s.source), job.operator(s.target)
        n_a, n_b = wanted.get(a.id, a.parallelism), wanted.get(b.id, b.parallelism)
        if s.ship_strategy is ShipStrategy.FORWARD and n_a != n_b:
            problems.append(
                f"{a.name!r} and {b.name!r} are joined by FORWARD and have one parallelism, not "
                f"{n_a} and {n_b}"
            )
    if problems:
        raise InvalidInputError(
            f"{origin}: job {job.name!r} cannot have the parallelism of the plan: "
            + first_few(problems, 6, "; ", before_rest="; and "),
            "change operators that FORWARD joins together, and stay below max parallelism",
        )
    return _with(job, wanted)


def _with(job: JobGraph, wanted: Mapping[str, int]) -> JobGraph:
    operators = tuple(
        op.model_copy(update={"parallelism": wanted[op.id]})
        if wanted.get(op.id, op.parallelism) != op.parallelism
        else op
        for op in job.operators
    )
    return job.model_copy(update={"operators": operators})


def _of_plan(plan: Plan, job: JobGraph) -> Mapping[str, int]:
    places = plan.of(job.name)
    return {op.id: len(places[op.id]) for op in job.operators if places.get(op.id)}


def _of_text(text: str, job: JobGraph) -> Mapping[str, int]:
    """Return what the first line of each task says; whether the others agree is the parser's."""
    tasks = TaskNames(job)
    wanted: dict[str, int] = {}
    for line in text.split("\n"):
        hit = INDEXED.fullmatch(line.rpartition("; ")[0])
        meant = tasks.meant_by(hit[1]) if hit else []
        if hit and len(meant) == 1 and int(hit[3]) > 0:
            wanted.setdefault(meant[0].id, int(hit[3]))
    return wanted
