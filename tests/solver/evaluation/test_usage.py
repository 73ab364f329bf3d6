"""One table of what is used of which limit, and the words made from it."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import BOUNDS, JOB_BOUNDS, OBJECTIVES, RATED, LimitKind, Plan
from edgeplace.solver.evaluation.evaluate import evaluation_of
from edgeplace.solver.evaluation.usage import Use, measure_usage
from edgeplace.solver.problem import build
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_an_evaluation_says_what_the_usage_does(instance, data):
    job, cluster, rules, current = instance
    p = build([job], cluster, rules, current and Plan(jobs={job.name: current}))
    drawn = data.draw(st.lists(st.integers(0, p.m - 1), min_size=p.n, max_size=p.n))
    usage = measure_usage(p, np.array(drawn, np.intp))
    said = evaluation_of(usage)
    assert said.feasible == (usage.rated_hold and usage.fixed_hold)
    assert usage.rated_hold == (not any(v.kind in RATED for v in said.violations))
    for use in (*usage.rated, *usage.fixed):
        own = [v for v in said.violations if v.kind is use.kind]
        assert [v.used for v in own] == use.used[use.over].tolist()
        assert [v.capacity for v in own] == use.room[use.over].tolist()
    for name in OBJECTIVES:
        assert said.value(name) == usage.value(name)
    largest = max((limit.utilisation for limit in (*said.links, *said.nodes)), default=0.0)
    assert said.utilisation >= largest
    if said.binding:
        assert said.binding.kind in RATED
        assert said.binding.utilisation == said.utilisation


def test_every_kind_of_limit_is_in_the_table_once():
    p = build([filter_job(50_000.0)], filter_cluster(1e6))
    usage = measure_usage(p, np.zeros(p.n, np.intp))
    kinds = [use.kind for use in (*usage.rated, *usage.fixed)]
    assert len(set(kinds)) == len(kinds)
    assert {*kinds, *BOUNDS, *JOB_BOUNDS} == set(LimitKind)
    assert all(use.kind in RATED for use in usage.rated)
    assert not any(use.kind in RATED for use in usage.fixed)


def test_what_is_used_where_nothing_is_allowed_is_used_without_end():
    use = Use(LimitKind.NODE_CPU, np.array([0.0, 2.0, 1.0]), np.array([0.0, 0.0, np.inf]), 1e-9)
    assert use.share.tolist() == [0.0, np.inf, 0.0]
    assert use.over.tolist() == [False, True, False]


@pytest.mark.parametrize(("used", "over"), [(1.0, False), (1.0 + 1e-10, False), (1.1, True)])
def test_a_limit_is_kept_up_to_its_tolerance(used, over):
    assert Use(LimitKind.NODE_CPU, np.array([used]), np.ones(1), 1e-9).over.tolist() == [over]
