"""Why each kind of site runs what it runs: a chain moves as a whole, and is judged as a plan."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import LimitKind, Plan
from edgeplace.solver import evaluate, site_kinds, solve, why_by_kind
from tests.support.depots import depots_cluster, parcels
from tests.support.strategies import instances

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_a_chain_moves_to_or_from_its_sites_only_and_is_judged_right(instance, data):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    ids = [t.id for t in cluster.task_managers]
    plan = Plan(
        jobs={
            job.name: {
                o.id: tuple(data.draw(st.sampled_from(ids)) for _ in range(o.parallelism))
                for o in job.operators
            }
        }
    )
    site = {t.id: cluster.node(t.node).site for t in cluster.task_managers}
    found = evaluate(job, cluster, plan, rules, now)
    known = {(v.kind, v.where) for v in found.violations}
    names = {o.name for o in job.operators}
    for reason in why_by_kind(job, cluster, plan, rules, now):
        own = set(reason.kind.sites)
        assert set(reason.held) <= names
        for chain, comes in (
            *((c, False) for c in (*reason.away, *reason.along)),
            *((c, True) for c in reason.here),
        ):
            moved = {
                (op.name, a, b)
                for op in job.operators
                for a, b in zip(
                    plan.of(job.name)[op.id], chain.plan.of(job.name)[op.id], strict=True
                )
                if a != b
            }
            assert {name for name, _, _ in moved} == set(chain.operators)
            assert not own.isdisjoint({site[a] for _, a, _ in moved}) or comes
            assert all((site[b] if comes else site[a]) in own for _, a, b in moved)
            assert all(site[a] != site[b] for _, a, b in moved)
            then = evaluate(job, cluster, chain.plan, rules, now)
            if chain.objective:
                assert chain.before == found.value(chain.objective)
                assert chain.after == then.value(chain.objective)
            broken = {(v.kind, v.where) for v in then.violations} - known
            assert {(v.kind, v.where) for v in chain.breaks} == broken
            if chain.too_slow:
                assert chain.too_slow.carries_per_s < chain.too_slow.needed_per_s
                assert any(v.kind is LimitKind.SUBTASK_BUSY for v in then.violations)


def test_sites_of_a_kind_share_classes_and_operators_and_hold_all_subtasks():
    job, cluster = parcels(8), depots_cluster(8)
    kinds = site_kinds((job,), cluster, solve(job, cluster).plan)
    assert sum(n for kind in kinds for n in kind.runs.values()) == sum(
        op.parallelism for op in job.operators
    )
    sites = [s for kind in kinds for s in kind.sites]
    assert len(sites) == len(set(sites))
    assert kinds[-1].is_cloud
    assert [kind.is_cloud for kind in kinds].count(True) == 1


def test_it_says_why_depots_of_pi_4_differ_from_those_of_pi_5():
    """A Pi 4 detects in 2.5 of the 5 frames/s of its camera, a Pi 5 in 9: see tests/support."""
    job, cluster = parcels(8), depots_cluster(8)
    by_class = {r.kind.classes: r for r in why_by_kind(job, cluster, solve(job, cluster).plan)}
    pi4, pi5 = by_class["pi4",], by_class["pi5",]
    assert pi4.held == pi5.held == ("camera",)
    (comes,) = pi4.here
    assert comes.operators == ("decode", "detect")
    assert comes.subtasks == 2 * sum(pi4.kind.runs.values())
    slow = comes.too_slow
    assert (slow.operator, slow.node_class) == ("detect", "pi4")
    assert (slow.carries_per_s, slow.needed_per_s) == pytest.approx((2.5, 5))
    assert dict(slow.elsewhere)["pi5"] == pytest.approx(9)
    assert comes.after < comes.before, "it would save traffic, if a Pi 4 could do it"
    (leaves,) = pi5.away
    assert leaves.operators == ("decode", "detect"), "detect alone would not spare the camera's way"
    assert leaves.after > leaves.before
    assert [chain.operators for chain in pi5.along] == [("decode", "detect"), ("detect",)]
