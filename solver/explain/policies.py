"""Plans of published methods for the same job, to compare a plan with."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from edgeplace.model import Cluster, Evaluation, JobGraph, Plan, Rules
from edgeplace.solver.arrays import Ints
from edgeplace.solver.baselines import BASELINES
from edgeplace.solver.clock import prolonged
from edgeplace.solver.evaluation.evaluate import with_headroom_in_time
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem, build

_LATE_S = 0.5
"""Time for the comparison at least, where that of the call is over."""


@dataclass(frozen=True)
class Policy:
    """A named placement, with its evaluation."""

    name: str
    plan: Plan
    evaluation: Evaluation


def policies(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> tuple[Policy, ...]:
    """Return the current placement, if complete, and every baseline that the time allows.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete.
    """
    found: list[Policy] = []
    # To see what others do is worth being a little late.
    with prolonged(_LATE_S), suppress(OutOfTimeError):
        problem = build(job_graph, cluster, rules, current)
        if not problem.m:
            return ()
        if problem.current is not None and (problem.current >= 0).all():
            found.append(_judged(problem, "current", problem.current))
        for name, baseline in BASELINES.items():
            found.append(_judged(problem, name, baseline(problem)))
    return tuple(found)


def _judged(problem: Problem, name: str, assignment: Ints) -> Policy:
    judged, _ = with_headroom_in_time(measure_usage(problem, assignment))
    return Policy(name, problem.plan(assignment), judged)
