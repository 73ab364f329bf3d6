"""Parts of plans: what is outside stays, and the search ends no worse than it began."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.model import Status, StoppedBy
from edgeplace.solver import SearchParameters, solve
from edgeplace.solver.linear.backend import Answer, Outcome
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.problem import build
from edgeplace.solver.search.neighbourhood import Neighbourhoods
from tests.support.stars import star


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), sites=st.integers(1, 5))
def test_a_part_leaves_the_plan_possible_and_the_rest_as_it_is(seed, sites):
    job, cluster, rules = star(sites, seed)
    problem = build([job], cluster, rules)
    rng = np.random.default_rng(seed)
    plan = np.array([rng.choice(np.flatnonzero(row)) for row in problem.keeps_up])
    parts = Neighbourhoods(problem, seed, few_sites=2, few_subtasks=8)
    for _ in range(4):
        may = parts.near(plan)
        assert may[np.arange(problem.n), plan].all()
        assert not (may & ~problem.keeps_up).any()
        assert may.sum() <= problem.keeps_up.sum()
        parts.decided(True)


@pytest.mark.slow
def test_a_search_that_the_clock_ends_looks_further_around_its_plan():
    job, cluster, rules = star(6, seed=2)
    best = solve(job, cluster, rules, objective=("wan",))
    assert best.status is Status.OPTIMAL
    minimise = Milp.minimise
    calls = []

    def stopped_first(self, objective, **more):
        calls.append(more)
        if len(calls) == 1:
            return Answer(Outcome.STOPPED, None, 0.0)
        return minimise(self, objective, **more)

    by_model = SearchParameters(by_site=False)
    with patch.object(Milp, "minimise", stopped_first):
        result = solve(job, cluster, rules, objective=("wan",), time_limit_s=2.0, search=by_model)
    assert result.stopped_by is StoppedBy.TIME_LIMIT
    assert result.levels[0].value == pytest.approx(best.levels[0].value, rel=1e-3)
