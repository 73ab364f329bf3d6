"""How far rates can grow, held against plans that are evaluated at the grown rates."""

import pytest
from hypothesis import HealthCheck, assume, given, settings

from edgeplace.model import (
    AtRate,
    JobGraph,
    Plan,
    ShipStrategy,
    SourceDemand,
    Status,
)
from edgeplace.model.laws.flush import FlushLaw, Gathering
from edgeplace.solver import evaluate, nearest_alike, policies, solve
from edgeplace.solver.baselines import all_server
from edgeplace.solver.problem import build
from edgeplace.solver.worker_load import balance
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream
from tests.support.strategies import instances

PIS = ("pi-0", "pi-1", "pi-2", "pi-3")


def times(job: JobGraph, factor: float) -> JobGraph:
    """A job as it would be written with other rates, and checkpoints that grow with them."""
    operators = []
    for op in job.operators:
        changes = {}
        if op.cost and op.cost.demand:
            rates = tuple(r * factor for r in op.cost.demand.rates_per_s)
            changes["demand"] = op.cost.demand.model_copy(update={"rates_per_s": rates})
        # With a law, what a checkpoint writes is as large a part of the state, which grows by it.
        if op.cost and op.cost.checkpointed_bytes and op.cost.state_law is None:
            changes["checkpointed_bytes"] = op.cost.checkpointed_bytes * factor
        cost = op.cost and op.cost.model_copy(update=changes)
        operators.append(op.model_copy(update={"cost": cost}))
    return job.model_copy(update={"operators": tuple(operators)})


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(instances())
def test_at_the_headroom_a_limit_is_full_and_a_little_above_it_is_exceeded(instance):
    job, cluster, _, _ = instance
    problem = build(job, cluster)
    plan = problem.plan(all_server(problem))
    found = evaluate(job, cluster, plan)
    assume(1e-6 < found.headroom < 1e6)
    full = evaluate(times(job, found.headroom), cluster, plan)
    over = evaluate(times(job, found.headroom * 1.0001), cluster, plan)
    assert full.utilisation == pytest.approx(1, rel=1e-4)
    assert over.utilisation > 1
    fullest = max(
        limit.utilisation
        for limit in (*over.links, *over.nodes, over.binding)
        if (limit.kind, limit.where) == (found.binding.kind, found.binding.where)
    )
    assert fullest == pytest.approx(over.utilisation, rel=1e-3)


def test_what_does_not_grow_to_a_limit_has_room_without_end():
    """Two keys a checkpoint leave the combiners, whatever comes in: the sink is never full."""
    demand = SourceDemand(rates_per_s=(10.0,) * 4)
    law = FlushLaw(gathering=Gathering(checkpoint_s=2.0), form="hot and cold", keys=2.0, shape=0.0)
    measured = AtRate(rate_per_s=10.0, selectivity=0.1, bytes_per_record=100.0)
    into = stream("source", "combine", ShipStrategy.FORWARD, 100)
    out = stream("combine", "sink", ShipStrategy.HASH, 100, by_rate=(measured,), flush_law=law)
    job = JobGraph(
        name="job",
        operators=(
            operator("source", 4, cost("source", 1e12, 1e12, demand=demand), born_at=PIS),
            operator("combine", 4, cost("combine", 1e12, 1e12, selectivity=0.1)),
            operator("sink", 1, cost("sink", 1e3, 1e3, selectivity=0.0)),
        ),
        streams=(into, out),
    )
    plan = Plan(jobs={"job": {"source": PIS, "combine": PIS, "sink": ("server",)}})
    found = evaluate(job, filter_cluster(), plan)
    assert 0 < found.utilisation < 1
    assert found.headroom == found.sustained == float("inf")


@pytest.mark.parametrize("asked", [25.0, 150.0, 900.0])
@pytest.mark.parametrize(
    ("bandwidth", "at_server", "at_pis"), [(12_500.0, 403, 562), (62_500.0, 2433, 3483)]
)
def test_the_rates_that_were_measured_are_met_from_any_rate(asked, bandwidth, at_server, at_pis):
    # Records/s of all sources together that the flink-placement project measured, with records of
    # 97 to 100 bytes.
    cluster = filter_cluster(bandwidth).model_copy(update={"mtu_bytes": 1500, "link_target": 1.0})
    job = filter_job(50_000.0, demand_per_s=asked)
    best = solve(job, cluster, objective=("throughput", "wan")).evaluation
    others = {p.name: p.evaluation for p in policies(job, cluster)}
    assert 4 * asked * others["all-server"].headroom == pytest.approx(at_server, rel=0.1)
    assert 4 * asked * best.headroom == pytest.approx(at_pis, rel=0.1)
    assert 1.39 < best.headroom / others["all-server"].headroom < 1.44


def test_every_answer_has_the_headroom_of_evaluate():
    cluster = filter_cluster().model_copy(update={"mtu_bytes": 1500})
    job = filter_job(50_000.0, demand_per_s=100.0)
    result = solve(job, cluster)
    assert result.status is Status.OPTIMAL
    near = nearest_alike(job, cluster, result, result.plan)
    chosen = solve(job, cluster, parallelism={"sink": [1]})
    balanced = balance(job, cluster)
    for answer in (result, near, chosen, balanced, *policies(job, cluster)):
        judged = evaluate(job, cluster, answer.plan)
        assert answer.evaluation.headroom == judged.headroom > 1 / judged.utilisation
