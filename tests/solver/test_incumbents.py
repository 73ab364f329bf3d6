"""Plans found on the way: told as they come, each confirmed, each better than the one before."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from stars import star

from edgeplace.model import Status
from edgeplace.solver import evaluate, solve
from edgeplace.solver.cpsat import CpSat
from edgeplace.solver.linear_model import Affine, Kind, LinearModel
from edgeplace.solver.milp import Milp

BACKENDS = ("milp", "cp-sat")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_incumbents_improve_until_the_plan_that_is_returned(backend, seed):
    job, cluster, rules = star(4, seed)
    with patch("edgeplace.solver.search.decide", return_value=None):
        result = solve(job, cluster, rules, objective=("wan",), backend=backend)
    assert result.status is Status.OPTIMAL
    values = [each.value for each in result.incumbents]
    times = [each.at_s for each in result.incumbents]
    assert all(b < a for a, b in itertools.pairwise(values))
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] <= result.runtime_s
    found = evaluate(job, cluster, result.plan, rules)
    assert values[-1] == pytest.approx(found.wan_cost, rel=1e-6)


@pytest.mark.parametrize("back_end", [Milp, CpSat])
def test_a_back_end_tells_of_solutions_that_its_model_allows(back_end):
    rng = np.random.default_rng(7)
    weight, cost = rng.integers(10, 60, (2, 40)).astype(float)
    model = LinearModel()
    column = model.columns(Kind.BINARY, np.ones(40))
    # At least half of all weight, as cheap as possible.
    model.all_at_most(np.zeros(40, int), column, -weight, np.array([-weight.sum() / 2]))
    told = []
    answer = back_end(model).minimise(
        Affine(dict(enumerate(cost))), seconds=None, gap=0.0, start=None, found=told.append
    )
    assert told
    costs = [float(each @ cost) for each in told]
    assert costs == sorted(costs, reverse=True)
    assert min(costs) >= answer.bound - 1e-6
    assert all(each @ weight >= weight.sum() / 2 - 1e-6 for each in told)
