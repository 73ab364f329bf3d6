"""Why each operator is where it is: every figure is the evaluator's."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import Plan, Rules
from edgeplace.solver import evaluate, solve, why
from edgeplace.solver.baselines.fill import Filler
from edgeplace.solver.problem import build
from tests.support.depots import depots_cluster, forklifts
from tests.support.strategies import instances

few = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def drawn(data, instance):
    job, cluster, _, _ = instance
    ids = [t.id for t in cluster.task_managers]
    places = {
        o.id: tuple(data.draw(st.sampled_from(ids)) for _ in range(o.parallelism))
        for o in job.operators
    }
    return Plan(jobs={job.name: places})


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_every_alternative_moves_one_operator_and_is_judged_right(instance, data):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    plan = drawn(data, instance)
    found = evaluate(job, cluster, plan, rules, now)
    known = {(v.kind, v.where) for v in found.violations}
    site = {t.id: cluster.node(t.node).site for t in cluster.task_managers}
    p = build([job], cluster, rules, now)
    sites = np.array([site[t.id] for t in cluster.task_managers])
    for o, reason in enumerate(why(job, cluster, plan, rules, now)):
        own = plan.of(job.name)[reason.operator]
        assert set(reason.sites) == {site[t] for t in own}
        allowed = p.allowed()[p.subtasks.range_of(o)]
        assert bool(reason.held_by) == all(len(set(sites[row])) == 1 for row in allowed)
        for other in reason.alternatives:
            then = evaluate(job, cluster, other.plan, rules, now)
            moved = other.plan.of(job.name)
            assert {**moved, reason.operator: own} == plan.of(job.name)
            assert [site[t] for t in moved[reason.operator]] != [site[t] for t in own]
            if other.objective:
                assert other.before == found.value(other.objective)
                assert other.after == then.value(other.objective)
            broken = {(v.kind, v.where) for v in then.violations} - known
            assert (other.breaks is not None) == bool(broken)
            if other.breaks:
                assert (other.breaks.kind, other.breaks.where) in broken
                assert other.breaks in then.violations
            if other.place == "at other sites":
                pairs = zip(moved[reason.operator], own, strict=True)
                assert all(site[a] != site[b] for a, b in pairs)
        room = np.array([t.slots > 0 for t in cluster.task_managers])
        away = [
            (row & room & (sites != site[t])).any() for row, t in zip(allowed, own, strict=True)
        ]
        assert bool(reason.alternatives or reason.held_by) or not all(away)


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_beside_its_input_is_the_site_that_sends_most(instance, data):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    plan = drawn(data, instance)
    p = build([job], cluster, rules, now)
    assignment = p.assignment(plan)
    source, target = p.channels.feeding
    for o, reason in enumerate(why(job, cluster, plan, rules, now)):
        for other in reason.alternatives:
            if other.place == "beside its input":
                then = p.assignment(other.plan)
                for k in p.subtasks.range_of(o).tolist():
                    sent = np.zeros(len(cluster.sites))
                    for i in np.flatnonzero(target == k).tolist():
                        sent[p.tms.site[assignment[source[i]]]] += p.channels.bytes_per_s[i] + 1e-12
                    assert p.tms.site[then[k]] in np.flatnonzero(sent >= sent.max() * (1 - 1e-12))


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_subtasks_held_at_once_fill_as_if_placed_one_by_one(instance, data):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    p = build([job], cluster, rules, now)
    assignment = p.assignment(drawn(data, instance))
    kept = np.array([k for k in range(p.n) if data.draw(st.booleans())], np.intp)
    rest = np.setdiff1d(np.arange(p.n), kept)
    at_once, one_by_one = Filler(p), Filler(p)
    at_once.hold(kept, assignment)
    for k in kept.tolist():
        one_by_one.place(k, [int(assignment[k])])
    for filler in (at_once, one_by_one):
        for k in rest.tolist():
            filler.place(k, range(p.m))
    assert (at_once.assignment == one_by_one.assignment).all()


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_of_the_placements_on_servers_the_cheapest_is_named(instance, data):
    """By brute force, where single moves from an even spread are all there is to try."""
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    plan = drawn(data, instance)
    p = build([job], cluster, rules, now)
    known = {(v.kind, v.where) for v in evaluate(job, cluster, plan, rules, now).violations}
    ids = np.array([t.id for t in cluster.task_managers])

    def worth(places):
        then = evaluate(job, cluster, places, rules, now)
        broken = sum((v.kind, v.where) not in known for v in then.violations)
        return broken, float(f"{then.wan_cost:.9g}")

    for o, reason in enumerate(why(job, cluster, plan, rules, now, ("wan",))):
        own = p.subtasks.range_of(o)
        if len(own) > 1:
            continue
        for other in reason.alternatives:
            if other.place == "on servers":
                every = [
                    Plan(jobs={job.name: {**plan.of(job.name), reason.operator: (t,)}})
                    for t in ids[p.allowed()[own[0]] & p.tms.is_server].tolist()
                ]
                assert worth(other.plan) == min(map(worth, every))


def test_what_may_not_run_beside_its_input_is_not_said_to_be_there():
    """`per-minute` runs in the cloud, and its input comes from depots that serve their own data."""
    job, cluster = forklifts(5), depots_cluster(5)
    rules = Rules.model_validate(
        {
            "rules": [
                {
                    "kind": "own_data",
                    "operators": ["parse", "per-minute", "sink"],
                    "open_sites": ["region-*"],
                }
            ]
        }
    )
    plan = solve(job, cluster, rules).plan
    (said,) = (r for r in why(job, cluster, plan, rules) if r.operator == "per-minute")
    assert said.sites == ("cloud",)
    (other,) = said.alternatives
    assert other.place == "at other sites" and other.after > other.before
    assert {t for t in other.plan.of("forklifts")["per-minute"]} <= {
        t.id for t in cluster.task_managers if t.id.startswith("mini-")
    }
