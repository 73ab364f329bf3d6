"""What differs between two plans."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import Plan
from edgeplace.solver import difference, evaluate
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_it_names_who_moves_and_gives_the_evaluators_figures(instance, data):
    job, cluster, rules, current = instance
    ids = [t.id for t in cluster.task_managers]
    now = Plan(jobs={job.name: current}) if current else None

    def plan():
        return Plan(
            jobs={
                job.name: {
                    o.id: tuple(data.draw(st.sampled_from(ids)) for _ in range(o.parallelism))
                    for o in job.operators
                }
            }
        )

    before, after = plan(), plan()
    found = difference(job, cluster, before, after, rules, now)
    assert found.before == evaluate(job, cluster, before, rules, now)
    assert found.after == evaluate(job, cluster, after, rules, now)
    moving = {
        (op, i)
        for op, places in before.of(job.name).items()
        for i, tm in enumerate(places)
        if after.of(job.name)[op][i] != tm
    }
    assert sorted((s.operator, i) for s in found.shifts for i in s.subtasks) == sorted(moving)
    site = {t.id: cluster.node(t.node).site for t in cluster.task_managers}
    for s in found.shifts:
        ways = [
            (before.of(job.name)[s.operator][i], after.of(job.name)[s.operator][i])
            for i in s.subtasks
        ]
        assert set(s.machines) == set(ways)
        assert {(site[a], site[b]) for a, b in ways} == {(s.source, s.target)}
    broken = {(v.kind, v.where) for v in found.after.violations}
    assert {(v.kind, v.where) for v in found.breaks} <= broken
    assert not {(v.kind, v.where) for v in found.cures} & broken


def test_limits_newly_broken_and_cured_change_places_with_the_plans():
    job, cluster = filter_job(50_000.0), filter_cluster()
    sources, pis = tuple(f"pi-{i}" for i in range(4)), {"sink": ("server",)}
    edge = Plan(jobs={"filter": {"source": sources, "filter": sources, **pis}})
    cloud = Plan(jobs={"filter": {"source": sources, "filter": ("server",) * 4, **pis}})
    there, back = (difference(job, cluster, *p) for p in ((edge, cloud), (cloud, edge)))
    assert [v.where for v in there.breaks] == [f"pi-{i} -> cloud" for i in range(4)]
    assert there.cures == back.breaks == ()
    assert back.cures == there.breaks
    assert [(s.source, s.target, s.subtasks) for s in there.shifts] == [
        (f"pi-{i}", "cloud", (i,)) for i in range(4)
    ]
