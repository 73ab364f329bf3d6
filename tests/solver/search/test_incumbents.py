"""Plans found on the way: told as they come, each confirmed, each better than the one before."""

import itertools
import signal
import threading
import time
from unittest.mock import patch

import numpy as np
import pytest

from edgeplace.model import Status, StoppedBy
from edgeplace.solver import SearchParameters, evaluate, solve
from edgeplace.solver.linear.backend import Answer, Outcome, SolverInterrupt
from edgeplace.solver.linear.cpsat import CpSat
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import Affine, Kind, LinearModel
from tests.support.stars import star

BACKENDS = ("milp", "cp-sat")
BY_MODEL = SearchParameters(by_site=False)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_incumbents_improve_until_the_plan_that_is_returned(backend, seed):
    job, cluster, rules = star(4, seed)
    result = solve(job, cluster, rules, objective=("wan",), backend=backend, search=BY_MODEL)
    assert result.status is Status.OPTIMAL
    values = [each.value for each in result.incumbents]
    times = [each.at_s for each in result.incumbents]
    assert all(b < a for a, b in itertools.pairwise(values))
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] <= result.runtime_s
    found = evaluate(job, cluster, result.plan, rules)
    assert values[-1] == pytest.approx(found.wan_cost, rel=1e-6)


def covering():
    """(model, weight, cost): at least half of all weight, as cheap as possible."""
    rng = np.random.default_rng(7)
    weight, cost = rng.integers(10, 60, (2, 40)).astype(float)
    model = LinearModel()
    column = model.columns(Kind.BINARY, np.ones(40))
    model.all_at_most(np.zeros(40, int), column, -weight, np.array([-weight.sum() / 2]))
    return model, weight, cost


@pytest.mark.parametrize("back_end", [Milp, CpSat])
def test_ctrl_c_stops_a_back_end_which_tells_what_it_had(back_end, python_handles_ctrl_c):
    model, weight, cost = covering()
    pressed = []

    def press(values):
        if not pressed:
            pressed.append(values)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.1)

    with pytest.raises(SolverInterrupt) as stopped:
        back_end(model).minimise(
            Affine(dict(enumerate(cost))), seconds=None, gap=0.0, start=None, found=press
        )
    answer = stopped.value.answer
    assert answer.values @ weight >= weight.sum() / 2 - 1e-6
    assert answer.bound <= answer.values @ cost + 1e-6


def test_a_solver_that_gives_up_without_a_limit_ends_the_search():
    """There is no time to be used up by looking for better plans."""
    job, cluster, rules = star(4, 1)
    asked = itertools.count()

    def give_up(self, objective, **more):
        assert next(asked) < 10
        return Answer(Outcome.STOPPED, None, -np.inf)

    with patch.object(Milp, "minimise", give_up):
        result = solve(job, cluster, rules, objective=("wan",), search=BY_MODEL)
    assert result.status is Status.FEASIBLE
    assert result.stopped_by is StoppedBy.ROUNDING


@pytest.mark.parametrize("back_end", [Milp, CpSat])
def test_a_back_end_tells_of_solutions_that_its_model_allows(back_end):
    model, weight, cost = covering()
    told = []
    answer = back_end(model).minimise(
        Affine(dict(enumerate(cost))), seconds=None, gap=0.0, start=None, found=told.append
    )
    assert told
    costs = [float(each @ cost) for each in told]
    assert costs == sorted(costs, reverse=True)
    assert min(costs) >= answer.bound - 1e-6
    assert all(each @ weight >= weight.sum() / 2 - 1e-6 for each in told)
