"""Subtasks that are alike are counted, and no others."""

import numpy as np

from edgeplace.model import Exlocate, Pin, Rules, ShipStrategy, Status
from edgeplace.solver import solve
from edgeplace.solver.formulation import formulate
from edgeplace.solver.formulation.units import Units
from edgeplace.solver.problem import build
from tests.support.seeds import cost, filter_cluster, filter_job, operator, stream


def windowed_job(*strategies):
    """Four filters at four Pis, then operators of six subtasks each behind these strategies."""
    job = filter_job(50_000.0)
    operators, streams = list(job.operators[:2]), list(job.streams[:1])
    for i, strategy in enumerate(strategies):
        name = f"w{i}"
        operators.append(
            operator(name, 6, cost(name, 5000.0, 5000.0, selectivity=0.1), max_parallelism=120)
        )
        streams.append(stream(operators[-2].name, name, strategy, 50))
    return job.revised(operators=tuple(operators), streams=tuple(streams))


def sizes(job, rules=None):
    problem = build([job], filter_cluster(), rules)
    units = Units.alike(problem, problem.allowed())
    return problem, {
        op.id: sorted(np.unique(units.of[problem.subtasks.range_of(o)], return_counts=True)[1])
        for o, (_, op) in enumerate(problem.subtasks.operators)
    }


def test_what_an_exchange_feeds_alike_is_one_unit():
    for strategy in (ShipStrategy.HASH, ShipStrategy.REBALANCE, ShipStrategy.BROADCAST):
        _, found = sizes(windowed_job(strategy))
        assert found == {"source": [1] * 4, "filter": [1] * 4, "w0": [6]}


def test_of_two_units_that_exchange_one_is_counted():
    _, found = sizes(windowed_job(ShipStrategy.HASH, ShipStrategy.HASH, ShipStrategy.HASH))
    assert [found[w] for w in ("w0", "w1", "w2")] == [[6], [1] * 6, [6]]


def test_uneven_key_groups_and_pins_tell_subtasks_apart():
    job = windowed_job(ShipStrategy.HASH)
    uneven = job.operators[2].model_copy(update={"max_parallelism": 128})
    _, found = sizes(job.revised(operators=(*job.operators[:2], uneven)))
    assert found["w0"] == [2, 4]  # 22 and 21 of 128 key groups
    _, found = sizes(job, Rules(rules=(Pin(operators=("w0",), subtasks=(1, 2), to="pi-0"),)))
    assert found["w0"] == [2, 4]


def test_forward_and_rules_between_partners_keep_subtasks_apart():
    _, found = sizes(windowed_job(ShipStrategy.HASH, ShipStrategy.FORWARD))
    assert found["w0"] == found["w1"] == [1] * 6


def test_a_counted_model_is_smaller_and_proves_the_same():
    rules = Rules(rules=(Exlocate(operators=("w0",)),))
    job = windowed_job(ShipStrategy.HASH)
    cluster = filter_cluster(1e6)
    problem = build([job], cluster)
    counted, apart = (formulate(problem, ["wan"], counted=c).model for c in (True, False))
    assert len(counted.upper) < len(apart.upper)
    assert solve(job, cluster, rules, objective=("wan",)).status is Status.INFEASIBLE
    values = [
        solve(job, cluster, objective=("wan",), backend=b).levels[0] for b in ("milp", "cp-sat")
    ]
    assert values[0].value == values[1].value
    assert values[0].bound > 0
