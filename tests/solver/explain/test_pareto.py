"""The Pareto front, held against every assignment there is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from edgeplace.model import InvalidInputError, Plan
from edgeplace.solver import build, evaluate, pareto
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.explain.pareto import TERMS
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances


def values(evaluation):
    return tuple(evaluation.value(name) for name in TERMS)


def dominates(a, b):
    slack = [1e-5 * abs(y) + 1e-5 for y in b]
    as_good = all(x <= y + s for x, y, s in zip(a, b, slack, strict=True))
    return as_good and any(x < y - s for x, y, s in zip(a, b, slack, strict=True))


def all_plans(job, cluster, rules, now):
    """Yield the terms of each plan that holds; the headroom is none of them, and takes long."""
    problem = build(job, cluster, rules, now)
    for places in product(range(problem.m), repeat=problem.n):
        found = assess(problem, np.array(places, np.intp))
        if found.feasible:
            yield values(found)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances())
def test_no_plan_dominates_a_proved_point_and_each_term_has_its_best(instance):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    front = pareto(job, cluster, rules, now)
    plans = list(all_plans(job, cluster, rules, now))
    assert (front.infeasible is not None) == (not plans)
    for p in front.points:
        assert p.evaluation == evaluate(job, cluster, p.plan, rules, now)
        assert p.evaluation.feasible
        if p.proved:
            assert not any(dominates(other, values(p.evaluation)) for other in plans)
        assert not any(dominates(values(o.evaluation), values(p.evaluation)) for o in front.points)
    for i in range(len(TERMS)) if plans else ():
        least = min(v[i] for v in plans)
        assert min(values(p.evaluation)[i] for p in front.points) == pytest.approx(
            least, rel=1e-5, abs=1e-5
        )


def test_more_server_cores_for_fewer_bytes():
    """The server's cores are traded for WAN bytes, filter by filter."""
    front = pareto(filter_job(50_000.0), filter_cluster(bandwidth_bytes_per_s=1e7))
    assert front.unasked == 0
    wans = [p.evaluation.wan_cost for p in front.points]
    assert wans == sorted(wans)
    assert wans[0] == pytest.approx(168_000)
    assert any(p.evaluation.server_cores == 0 for p in front.points)


def test_a_time_limit_of_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="no time for a front"):
        pareto(filter_job(50_000.0), filter_cluster(), time_limit_s=0.0)
