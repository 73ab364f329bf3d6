"""What a local ship strategy would save."""

import pytest

from edgeplace.model import (
    Pin,
    Rules,
    ShipStrategy,
)
from edgeplace.solver import advice, evaluate, solve
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream


def test_an_even_spread_over_the_wan_is_named_with_what_a_local_one_saves():
    # One spreader a site between sources and filters: REBALANCE sends three quarters of it away.
    job = filter_job(50_000.0)
    spread = job.streams[0].model_copy(update={"ship_strategy": ShipStrategy.REBALANCE})
    job = job.revised(streams=(spread, job.streams[1]))
    cluster = filter_cluster(1e6)
    result = solve(job, cluster)
    found = advice(job, cluster, result)
    assert [(a.source, a.target, a.local.value) for a in found] == [("source", "filter", "FORWARD")]
    assert found[0].wan_bytes_per_s == result.evaluation.wan_bytes_per_s
    assert found[0].local_wan_bytes_per_s == pytest.approx(4 * 600 * 70)


@pytest.mark.parametrize("objective", [("latency",), ("latency", "wan")])
def test_a_stream_within_a_site_is_no_advice_whatever_else_is_asked_than_wan(objective):
    """A plan that asks for something else first sends more than the least: not the stream's due."""
    job = filter_job(769.0)
    alert = operator("alert", 1, cost("alert", 1e6, 1e6), slot_sharing_group="sink")
    within = stream("sink", "alert", ShipStrategy.REBALANCE, 10)
    job = job.revised(operators=(*job.operators, alert), streams=(*job.streams, within))
    cluster = filter_cluster(1e6)
    result = solve(job, cluster, objective=objective)
    places = result.plan.of("filter")
    assert places["sink"] == places["alert"] == ("server",)
    assert result.evaluation.wan_cost > solve(job, cluster).evaluation.wan_cost
    assert advice(job, cluster, result) == ()


def test_without_wan_first_what_a_local_strategy_saves_is_of_the_same_placement():
    job = filter_job(50_000.0)
    spread = job.streams[0].model_copy(update={"ship_strategy": ShipStrategy.REBALANCE})
    job = job.revised(streams=(spread, job.streams[1]))
    pis = tuple(f"pi-{i}" for i in range(4))
    pins = Rules(
        rules=tuple(Pin(operators=("filter",), subtasks=(i,), to=t) for i, t in enumerate(pis))
    )
    cluster = filter_cluster(1e6)
    result = solve(job, cluster, pins, objective=("latency",))
    (found,) = advice(job, cluster, result, pins)
    assert found.wan_bytes_per_s == result.evaluation.wan_bytes_per_s
    local = job.revised(streams=(filter_job(50_000.0).streams[0], job.streams[1]))
    then = evaluate(local, cluster, result.plan, pins)
    assert found.local_wan_bytes_per_s == then.wan_bytes_per_s == pytest.approx(4 * 600 * 70)


def test_a_job_without_even_spreading_gets_no_advice():
    job = filter_job(50_000.0)
    assert advice(job, filter_cluster(), solve(job, filter_cluster())) == ()
