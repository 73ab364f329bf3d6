"""Among plans with equal objective terms, find the nearest to another plan."""

from collections.abc import Sequence
from contextlib import suppress

from edgeplace.model import Cluster, JobGraph, Plan, Result, Rules
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.evaluate import with_headroom_in_time
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import build
from edgeplace.solver.problem.subtasks import assignment_of
from edgeplace.solver.search.tie_break import break_ties


def nearest_alike(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    result: Result,
    near: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Result:
    """Return an answer as good in every term, in which fewer subtasks differ from another plan.

    Machines that are alike change their names, so that what moves is what has a reason to. Terms
    that were not asked for may be worse by what nobody would see. The answer stays as it is where
    there is no time for that.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or the plans do not belong to them.
    """
    if result.plan is None:
        return result
    with unhurried():
        problem = build(job_graph, cluster, rules, current)
    with suppress(OutOfTimeError):
        there = assignment_of(problem.subtasks, cluster, near)
        stated = [level.name for level in result.levels]
        found = break_ties(problem, problem.assignment(result.plan), there, stated)
        judged, _ = with_headroom_in_time(measure_usage(problem, found))
        return result.model_copy(update={"plan": problem.plan(found), "evaluation": judged})
    return result
