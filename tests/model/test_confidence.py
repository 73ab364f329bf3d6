"""Costs that are not exceeded with a probability."""

import math

import numpy as np
import pytest

from edgeplace.model import Case, ClassCost, InvalidInputError, JobGraph, Operator, OperatorCost
from tests.support.seeds import filter_cluster


def raised(cost: ClassCost, probability: float) -> ClassCost:
    op = Operator(id="o", name="o", parallelism=1, cost=OperatorCost(operator="o", classes=(cost,)))
    case = Case((JobGraph(name="j", operators=(op,)),), filter_cluster())
    return case.at_confidence(probability).jobs[0].operators[0].cost.classes[0]


CPU = ClassCost(
    node_class="pi",
    true_rate_per_s=100,
    cpu_ms_per_record=4,
    cpu_interval_ms_per_record=(2, 8),
)


def test_the_upper_end_of_an_interval_of_90_percent_is_exceeded_once_in_twenty():
    assert raised(CPU, 0.95).cpu_ms_per_record == pytest.approx(8)


def test_the_middle_is_exceeded_every_other_time():
    assert raised(CPU, 0.5).cpu_ms_per_record == pytest.approx(4)


def test_more_confidence_costs_more():
    assert 4 < raised(CPU, 0.8).cpu_ms_per_record < raised(CPU, 0.9).cpu_ms_per_record < 8


def test_a_rate_varies_by_its_spread():
    seen = ClassCost(node_class="pi", true_rate_per_s=100, relative_spread=0.2)
    draws = np.random.default_rng(1).lognormal(0, math.sqrt(math.log(1 + 0.2**2)), 200_000)
    assert draws.std() / draws.mean() == pytest.approx(0.2, rel=0.01)
    # Of a log-normal cost with that spread, one in ten is larger.
    cost = 0.01 * np.quantile(draws, 0.9)
    assert 1 / raised(seen, 0.9).true_rate_per_s == pytest.approx(cost, rel=0.003)


def test_an_estimate_is_as_unsure_of_busy_time_as_of_cpu_time():
    estimated = CPU.model_copy(update={"origin": "estimated"})
    assert raised(estimated, 0.95).true_rate_per_s == pytest.approx(50)


def test_a_cost_without_interval_and_spread_stays():
    bare = ClassCost(node_class="pi", true_rate_per_s=100)
    assert raised(bare, 0.9) == bare


@pytest.mark.parametrize("probability", [0.0, 0.49, 1.0, float("nan")])
def test_what_is_no_probability_is_refused(probability):
    with pytest.raises(InvalidInputError, match="is not a probability"):
        raised(CPU, probability)
