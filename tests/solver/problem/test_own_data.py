"""The rule own_data: an edge site serves the data that is born there, and nobody else's."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import InvalidInputError, LimitKind, OwnData, Plan, Rules, Status
from edgeplace.solver import build, evaluate, solve
from tests.support.depots import depots_cluster, forklifts, parcels
from tests.support.oracle import Oracle
from tests.support.strategies import instances

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
AFTER_CAMERA = ("decode", "detect", "track", "window", "sink")


def kept(*operators, opened=("region-*",)):
    return Rules(rules=(OwnData(operators=operators, open_sites=opened),))


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_it_is_broken_where_the_oracle_says_so(instance, data):
    job, cluster, rules, current = instance
    fed = sorted({s.target for s in job.streams}) or [job.operators[0].id]
    opened = data.draw(st.sampled_from([(), ("s0",), ("s*",)]))
    rule = OwnData(operators=tuple(fed), open_sites=opened)
    rules = rules.model_copy(update={"rules": (*rules.rules, rule)})
    oracle = Oracle(job, cluster, rules, current)
    ids = [t.id for t in cluster.task_managers]
    place = {k: data.draw(st.sampled_from(ids)) for k in oracle.subtasks}
    plan = {o.id: tuple(place[o.id, i] for i in range(o.parallelism)) for o in job.operators}
    now = Plan(jobs={job.name: current}) if current else None
    found = evaluate(job, cluster, Plan(jobs={job.name: plan}), rules, now)
    broken = any(v.where.startswith(rule.title()) for v in found.violations)
    assert broken == (not oracle.obeys(rule, place))


def test_depots_serve_themselves_and_regions_serve_all():
    job, cluster = parcels(5), depots_cluster(5)
    p = build(job, cluster, kept(*AFTER_CAMERA))
    sites = [s.id for s in cluster.sites]
    site = [sites[s] for s in p.tms.site]
    camera = job.operator("camera")
    home = {pi: cluster.node(pi).site for pi in camera.born_at}
    for o, (_, op) in enumerate(p.subtasks.operators):
        for i, k in enumerate(p.subtasks.range_of(o)):
            may = {s for s, yes in zip(site, p.allowed()[k], strict=True) if yes}
            shared = {"cloud", *(s for s in sites if s.startswith("region-"))}
            if op.id == "camera":
                assert may == {home[camera.born_at[i]]}
            elif op.id in ("decode", "detect"):
                assert may == {home[camera.born_at[i]], *shared}
            else:
                assert may == shared, "a HASH stream brings records of all depots"


def test_regional_sites_serve_all_without_being_named():
    job, cluster = parcels(5), depots_cluster(5)
    regional = tuple(
        s.model_copy(update={"tier": "regional"}) if s.id.startswith("region-") else s
        for s in cluster.sites
    )
    named = build(job, cluster, kept(*AFTER_CAMERA)).allowed()
    by_tier = cluster.model_copy(update={"sites": regional})
    assert (build(job, by_tier, kept(*AFTER_CAMERA, opened=())).allowed() == named).all()
    assert not (build(job, cluster, kept(*AFTER_CAMERA, opened=())).allowed() == named).all()


def test_cores_of_regional_sites_are_no_server_cores():
    job, cluster = parcels(5), depots_cluster(5)
    plan = {op.id: ("mini-north",) * op.parallelism for op in job.operators}
    tiers = ("regional", "cloud")
    figures = [
        evaluate(
            job,
            cluster.model_copy(
                update={
                    "sites": tuple(
                        s.model_copy(update={"tier": tier}) if s.id == "region-north" else s
                        for s in cluster.sites
                    )
                }
            ),
            Plan(jobs={job.name: plan}),
        ).server_cores
        for tier in tiers
    ]
    assert figures[0] == 0 < figures[1]


def test_frames_of_a_depot_do_not_go_to_another_one():
    """Without the rule, cores of other depots are free, and server cores are not."""
    job, cluster = forklifts(4), depots_cluster(4)
    bare = tuple(t for t in cluster.task_managers if not t.id.startswith("mini-"))
    cluster = cluster.model_copy(update={"task_managers": bare})
    objective = ("server_cores", "wan")
    free = solve(job, cluster, objective=objective)
    closed = solve(job, cluster, kept("parse", "per-minute", "sink"), objective=objective)
    site = {t.id: cluster.node(t.node).site for t in cluster.task_managers}

    def serving(plan):
        return {site[t] for op in ("per-minute", "sink") for t in plan.of(job.name)[op]}

    assert any(s.startswith("depot-") for s in serving(free.plan))
    assert closed.status is Status.OPTIMAL
    assert not any(s.startswith("depot-") for s in serving(closed.plan))
    assert closed.evaluation.server_cores >= free.evaluation.server_cores


def test_where_no_site_is_open_the_conflict_names_the_rule():
    job, cluster = forklifts(3), depots_cluster(3)
    edges = tuple(s.model_copy(update={"tier": "edge"}) for s in cluster.sites)
    found = solve(job, cluster.model_copy(update={"sites": edges}), kept("per-minute", opened=()))
    assert found.status is Status.INFEASIBLE
    assert found.conflict.confirmed
    assert {v.kind for v in found.conflict.shortfalls} == {LimitKind.RULE}
    assert "own_data per-minute" in found.conflict.cure


def test_a_site_that_is_not_there_is_refused():
    with pytest.raises(
        InvalidInputError, match=r"no site is named as open_sites says: 'regoin-\*'"
    ):
        build(parcels(3), depots_cluster(3), kept("decode", opened=("regoin-*",)))
