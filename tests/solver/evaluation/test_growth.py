"""How far rates can grow, held against plans that are evaluated at the grown rates."""

import pytest
from hypothesis import HealthCheck, assume, given, settings

from edgeplace.model import JobGraph, Status
from edgeplace.solver import evaluate, nearest_alike, policies, solve
from edgeplace.solver.baselines import all_server
from edgeplace.solver.problem import build
from edgeplace.solver.worker_load import balance
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances


def times(job: JobGraph, factor: float) -> JobGraph:
    """A job as it would be written with other rates, and checkpoints that grow with them."""
    operators = []
    for op in job.operators:
        changes = {}
        if op.cost and op.cost.demand:
            rates = tuple(r * factor for r in op.cost.demand.rates_per_s)
            changes["demand"] = op.cost.demand.model_copy(update={"rates_per_s": rates})
        if op.cost and op.cost.checkpointed_bytes:
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
