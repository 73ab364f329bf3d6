"""Solve one linearisation to its end: the common part of the exact baselines."""

import time

from edgeplace.solver.baselines.found import Budget, Found
from edgeplace.solver.clock import Clock
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.formulation import formulate
from edgeplace.solver.formulation.formulation import CrossingForm
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem import Problem


def least_wan(problem: Problem, form: CrossingForm, budget: Budget) -> Found:
    """Return the plan with the least `wan`, with crossings linearised in one way.

    All limits and rules hold. HiGHS on one thread, no start, until the gap is below 1e-7 or the
    time is up.
    """
    # A solver library is loaded only when it is asked for.
    from edgeplace.solver.linear.highs import Milp

    clock = Clock(time.monotonic(), budget.time_limit_s)
    if not problem.allowed().any(axis=1).all():
        return Found(None, float("inf"))
    try:
        # Half of the time is for building: without the rest to search in, it would be wasted.
        model = formulate(problem, ["wan"], form=form, deadline=clock.end_of(1 / 2))
    except OutOfTimeError:
        return Found(None, 0.0)
    milp = Milp(model.model, budget.seed)
    while True:
        answer = milp.minimise(
            model.model.objectives["wan"],
            seconds=clock.left(),
            gap=0.0,
            start=None,
        )
        if answer.outcome is Outcome.INFEASIBLE:
            return Found(None, float("inf"))
        bound = max(0.0, answer.bound)
        if answer.values is None:
            return Found(None, bound)
        assignment = model.assignment(answer.values)
        # Credit windows, and what the solver's tolerance let in, are stated once they matter.
        missed = model.missed(answer.values, assignment, assess(problem, assignment))
        if not missed or answer.outcome is Outcome.STOPPED:
            return Found(assignment, bound)
        milp.add_rows(missed)
