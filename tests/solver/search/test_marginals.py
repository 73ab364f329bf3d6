"""Min-marginals against brute force, and the search that they narrow."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeplace.model import Plan, Status
from edgeplace.solver import evaluate, solve
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from edgeplace.solver.search.marginals import Marginals
from tests.support.strategies import instances

wide = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def read(instance):
    job, cluster, rules, current = instance
    return job, cluster, rules, Plan(jobs={job.name: current}) if current else None


@pytest.mark.slow
@wide
@given(instance=instances(tree=False))
def test_no_plan_has_less_than_the_marginal_of_any_place_it_uses(instance):
    job, cluster, rules, current = read(instance)
    problem = build([job], cluster, rules, current)
    found = Marginals.of(problem)
    least, bound = np.inf, np.inf
    for assignment in itertools.product(range(problem.m), repeat=problem.n):
        verdict = measure_usage(problem, np.array(assignment, np.intp))
        if verdict.fixed_hold and verdict.rated_hold:
            wan = verdict.value("wan")
            least = min(least, wan)
            if found is not None:
                at = problem.tms.site[list(assignment)]
                marginals = found.least[np.arange(problem.n), at]
                assert (marginals <= wan * (1 + 1e-9) + 1e-6).all()
                bound = min(bound, found.bound)
    # Without min-marginals there is no plan.
    assert found is not None or least == np.inf
    assert found is None or least == np.inf or bound <= least * (1 + 1e-9) + 1e-6


@pytest.mark.slow
@wide
@given(instance=instances(tree=False), objective=st.sampled_from([("wan",), ("wan", "latency")]))
def test_general_networks_have_the_same_optimum_with_and_without(instance, objective):
    job, cluster, rules, current = read(instance)
    problem = build([job], cluster, rules, current)
    assume(problem.network.tree is None)
    with patch.object(Marginals, "of", return_value=None):
        without = solve(job, cluster, rules, objective=objective, current=current)
    result = solve(job, cluster, rules, objective=objective, current=current)
    assert result.status is without.status
    if result.status is Status.OPTIMAL:
        for ours, theirs in zip(result.levels, without.levels, strict=True):
            assert ours.value == pytest.approx(theirs.value, rel=1e-5, abs=1e-5)
        assert evaluate(job, cluster, result.plan, rules, current).feasible


@given(
    least=st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.0, np.inf]), min_size=12, max_size=120),
)
def test_each_look_is_wider_until_everything_is_looked_at(least):
    table = np.array(least[: len(least) // 6 * 6]).reshape(6, -1)
    found = Marginals(table, 0.5, np.zeros(6, np.intp))
    wan, before = 0.5, found.near(0.5, fewest=4)
    while wan < np.inf:
        wider = found.wider(wan)
        assert wider > wan
        near = found.near(wider, fewest=4)
        assert (near | ~before).all()
        wan, before = wider, near
    assert (before == np.isfinite(table)).all()
