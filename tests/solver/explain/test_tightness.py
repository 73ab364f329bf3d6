"""What binds: the evaluator's limits, the fullest first."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import Plan
from edgeplace.solver import evaluate, tightest
from tests.support.strategies import instances


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_limits_are_the_evaluators_and_none_that_is_used_is_missed(instance, data):
    job, cluster, rules, current = instance
    ids = [t.id for t in cluster.task_managers]
    places = {
        o.id: tuple(data.draw(st.sampled_from(ids)) for _ in range(o.parallelism))
        for o in job.operators
    }
    now = Plan(jobs={job.name: current}) if current else None
    found = evaluate(job, cluster, Plan(jobs={job.name: places}), rules, now)
    tight = tightest(cluster, found, rules)
    shares = [t.limit.utilisation for t in tight]
    assert shares == sorted(shares, reverse=True)
    said = (
        *found.links,
        *found.nodes,
        *found.task_managers,
        *found.jobs,
        *found.violations,
    )
    named = {(v.kind, v.where) for v in said}
    bounds = {
        "latency": (max(found.latency_ms, 0.0), rules.max_latency_ms),
        "moves": (found.moves, rules.max_moves),
    }
    for t in tight:
        if (t.limit.kind, t.limit.where) in named:
            # Two rules may have one name.
            assert t.limit in said
        elif t.limit.kind in bounds:
            assert (t.limit.used, t.limit.capacity) == bounds[t.limit.kind]
        else:
            assert t.limit == found.binding
    for limits in (found.nodes, found.task_managers):
        used = [v for v in limits if v.utilisation > 0]
        own = [t for t in tight if t.limit.kind == limits[0].kind]
        assert sum(t.of for t in own) == len(used)
    for v in found.violations:
        assert any(t.limit.kind == v.kind and t.limit.utilisation > 1 for t in tight)
