"""Prices: what a little more is worth, by the evaluator's figures on the larger cluster."""

from importlib import import_module

import pytest
from hypothesis import HealthCheck, assume, given, settings

from edgeplace.model import InvalidInputError, Plan, ShipStrategy
from edgeplace.model.what_if.cluster_changes import with_bandwidth, with_cores, with_slots
from edgeplace.solver import evaluate, prices, solve
from edgeplace.solver.explain.prices import MBIT
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream
from tests.support.strategies import instances

PIS = tuple(f"pi-{i}" for i in range(4))


def with_pi(cluster, **slots_or_cores):
    """Pis with so many slots or cores."""

    def changed(things):
        known = {k: v for k, v in slots_or_cores.items() if hasattr(things[0], k)}
        return tuple(t.model_copy(update=known) if t.id in PIS else t for t in things)

    return cluster.model_copy(
        update={"nodes": changed(cluster.nodes), "task_managers": changed(cluster.task_managers)}
    )


@pytest.fixture
def one_slot():
    """Pis whose only slot the source takes: every filter runs on the server."""
    return with_pi(filter_cluster(bandwidth_bytes_per_s=1e7), slots=1)


def test_one_more_slot_is_worth_what_a_filter_saves(one_slot):
    job = filter_job(50_000.0)
    plan = solve(job, one_slot).plan
    found = prices(job, one_slot, plan)
    assert (found.objective, found.proved) == ("wan", True)
    assert found.value == pytest.approx(240_000)
    assert evaluate(job, one_slot, found.plan).wan_cost == found.value
    kinds = [p.kind for p in found.prices]
    assert kinds == ["slots"] * 4 + ["node cpu"] * 4
    assert {(p.where, p.site) for p in found.prices[:4]} == {(t, t) for t in PIS}
    for price in found.prices[4:]:
        assert (price.value, price.proved) == (found.value, True)
    for price in found.prices[:4]:
        larger = one_slot.model_copy(
            update={
                "task_managers": tuple(
                    t.model_copy(update={"slots": 2}) if t.id == price.where else t
                    for t in one_slot.task_managers
                )
            }
        )
        judged = evaluate(job, larger, price.plan)
        assert judged.feasible
        assert price.value == judged.wan_cost
        # 600 records/s of 100 bytes, of which 30 % stay at the Pi.
        assert found.value - price.value == pytest.approx(600 * 100 * 0.3)
        assert price.proved
        assert price.bound <= price.value


def test_one_more_core_where_its_lack_keeps_a_filter_from_the_pi():
    """A filter needs 0.78 cores, a Pi may give 0.72: nearly nothing of them is in use."""
    job = filter_job(769.0)
    cluster = with_pi(filter_cluster(bandwidth_bytes_per_s=1e7), cores=0.9)
    plan = solve(job, cluster).plan
    found = prices(job, cluster, plan)
    assert found.value == pytest.approx(240_000)
    assert {(p.kind, p.where) for p in found.prices[:4]} == {("node cpu", t) for t in PIS}
    assert {(p.kind, p.where) for p in found.prices[4:]} == {("slots", t) for t in PIS}
    for price in found.prices[:4]:
        assert price.used < 0.01
        larger = cluster.model_copy(
            update={
                "nodes": tuple(
                    n.model_copy(update={"cores": 1.9}) if n.id == price.where else n
                    for n in cluster.nodes
                )
            }
        )
        judged = evaluate(job, larger, price.plan)
        assert judged.feasible
        assert judged.wan_cost == price.value == pytest.approx(240_000 - 18_000)


def chain_job():
    """A source, a step that swells its data fourfold, one that shrinks it, and a sink."""
    job = filter_job(1500.0)
    source, shrink, sink = job.operators
    swell = operator("swell", 4, cost("swell", 1500.0, 200_000.0, selectivity=1.0))
    return job.revised(
        operators=(source, swell, shrink, sink),
        streams=(
            stream("source", "swell", ShipStrategy.FORWARD, 100),
            stream("swell", "filter", ShipStrategy.FORWARD, 400),
            stream("filter", "sink", ShipStrategy.REBALANCE, 30 / 0.7),
        ),
    )


def test_one_more_core_where_only_a_whole_chain_lacks_it():
    """Two steps of 0.4 cores, a Pi may give 0.72: one by itself fits, and is no better there."""
    job, cluster = chain_job(), with_pi(filter_cluster(bandwidth_bytes_per_s=1e7), cores=0.9)
    plan = solve(job, cluster).plan
    found = prices(job, cluster, plan)
    assert found.value == pytest.approx(240_000)
    worth = {(p.kind, p.where): found.value - p.value for p in found.prices}
    assert worth == {
        **{("slots", t): 0.0 for t in PIS},
        **{("node cpu", t): pytest.approx(600 * 70) for t in PIS},
    }
    assert all(p.used < 0.5 and p.proved for p in found.prices)
    assert found.untried == 0


def test_of_many_edge_sites_the_fullest_are_tried_and_the_rest_are_counted(monkeypatch):
    # The package's name `prices` is the function.
    monkeypatch.setattr(import_module("edgeplace.solver.explain.prices"), "_MOST_SITES", 3)
    job, cluster = chain_job(), with_pi(filter_cluster(bandwidth_bytes_per_s=1e7), cores=0.9)
    plan = solve(job, cluster).plan
    found = prices(job, cluster, plan)
    assert [p.kind for p in found.prices] == ["slots"] * 3
    assert found.untried == 5


def test_one_mbit_more_where_a_link_binds_and_latency_is_asked():
    job = filter_job(50_000.0)
    cluster = filter_cluster(bandwidth_bytes_per_s=65_000.0)
    plan = solve(job, cluster).plan
    found = prices(job, cluster, plan, objective=("latency",))
    wide = [p for p in found.prices if p.kind == "link bandwidth"]
    assert {p.where for p in wide} == {f"{t} -> cloud" for t in PIS}
    for price in wide:
        links = tuple(
            a.model_copy(update={"both_ways": False, "bandwidth_bytes_per_s": room})
            for b in cluster.directed_links()
            for a in [b]
            for room in [65_000.0 + MBIT * (f"{b.source} -> {b.target}" == price.where)]
        )
        larger = cluster.model_copy(update={"links": links})
        assert evaluate(job, larger, price.plan).latency_ms == price.value


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances())
def test_more_is_never_worse_and_every_value_is_the_evaluators(instance):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    plan = solve(job, cluster, rules, ("wan",), now).plan
    assume(plan)
    found = prices(job, cluster, plan, rules, now, time_limit_s=20.0)
    assert found.value == evaluate(job, cluster, plan, rules, now).wan_cost
    assert found.left_out == ()
    changes = {
        "slots": lambda where: with_slots(cluster, where, 1),
        "node cpu": lambda where: with_cores(cluster, where, 1.0),
        "link bandwidth": lambda where: with_bandwidth(
            cluster, *where.split(" -> "), lambda bandwidth: bandwidth + MBIT
        ),
    }
    for price in found.prices:
        judged = evaluate(job, changes[price.kind](price.where), price.plan, rules, now)
        assert judged.feasible
        assert judged.wan_cost == price.value <= found.value * (1 + 1e-6)
        assert price.bound <= price.value


def test_without_time_nothing_is_called_proved_and_what_is_left_is_named(one_slot):
    job = filter_job(50_000.0)
    plan = solve(job, one_slot).plan
    found = prices(job, one_slot, plan, time_limit_s=0.0)
    assert not found.proved
    assert found.value == pytest.approx(240_000)
    assert found.prices == ()
    assert {v.where for v in found.left_out} == set(PIS)


def test_a_plan_that_breaks_limits_is_no_start():
    job, cluster = filter_job(50_000.0), filter_cluster(bandwidth_bytes_per_s=1000.0)
    places = {"source": PIS, "filter": PIS, "sink": ("server",)}
    with pytest.raises(InvalidInputError, match="no plan to start from"):
        prices(job, cluster, Plan(jobs={"filter": places}))
