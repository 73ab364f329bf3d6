"""What every plan lacks is seen without a search."""

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings

from edgeplace.model import Pin, Plan, Rules, Status
from edgeplace.solver import solve
from edgeplace.solver.infeasibility.shortages import shortages
from edgeplace.solver.problem import build
from tests.support.cures import with_changes
from tests.support.seeds import filter_cluster, filter_job, one_site, two_operators
from tests.support.strategies import instances

SINK = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def without_links_of(*sites):
    cluster = filter_cluster()
    return cluster.model_copy(
        update={"links": tuple(a for a in cluster.links if a.source not in sites)}
    )


def test_sites_that_no_link_joins_are_seen_and_no_more_than_their_links_is_asked_for():
    job, cluster = filter_job(50_000.0), without_links_of("pi-1", "pi-3")
    with patch("edgeplace.solver.solve.Search.run", side_effect=AssertionError("searched")):
        needed = shortages(build(job, cluster, SINK), soft=False)
    assert needed.cut_off == 2
    found = solve(job, cluster, SINK).conflict
    assert {(c.kind, c.where) for c in found.changes} == {
        ("route", "pi-1 -> cloud"),
        ("route", "pi-3 -> cloud"),
    }
    assert {v.kind for v in found.shortfalls} == {"route"}
    assert found.confirmed
    assert found.nearest
    assert found.minimal
    assert found.irreducible
    assert len(found.members) == 3
    mended = with_changes(job, cluster, SINK, found.changes)
    assert solve(*mended).plan is not None


@pytest.mark.parametrize(
    ("cluster", "kind"),
    [
        (one_site(slots=1), "slots"),
        (one_site(memory=1e9 - 1), "memory"),
        (one_site(cores=0.19), "node cpu"),
    ],
)
def test_what_does_not_hold_all_that_must_be_there_is_seen(cluster, kind):
    needed = shortages(build(two_operators(), cluster), soft=False)
    assert [v.kind for v in needed.limits] == [kind]
    assert needed.members


def test_cores_are_not_short_where_the_demand_need_not_be_met():
    assert not shortages(build(two_operators(), one_site(cores=0.19)), soft=True).members


@pytest.mark.slow
@few
@given(instance=instances())
def test_what_every_plan_lacks_proves_that_there_is_none(instance):
    """The search, which does not ask for shortages here, finds none either."""
    job, cluster, rules, current = instance
    plan = Plan(jobs={job.name: current}) if current else None
    problem = build(job, cluster, rules, plan)
    needed = shortages(problem, soft=False)
    if needed.members:
        nothing = replace(needed, members=())
        with patch("edgeplace.solver.solve.shortages", return_value=nothing):
            result = solve(job, cluster, rules, current=plan, objective=("wan",))
        assert result.status is Status.INFEASIBLE
