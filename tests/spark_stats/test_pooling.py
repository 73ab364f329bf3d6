"""Costs on node classes never seen, held against costs that are drawn from the stated law."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from edgeplace.model import ClassCost, Cluster, Costs, OperatorCost
from edgeplace.spark_stats.estimates import with_estimates
from edgeplace.spark_stats.next_measurement import largest_doubt
from edgeplace.spark_stats.pooling import MeasuredCost, Pool


def drawn(seed: int, operators: int = 8, tau: float = 0.2, error: float = 0.1):
    """Costs of operators on two classes: operator x class x rest, and an error of measurement."""
    draw = np.random.default_rng(seed)
    found = []
    for i in range(operators):
        base = draw.uniform(-12, -6)
        for name, effect in (("pi", 0.7), ("server", 0.0)):
            log = base + effect + draw.normal(0, tau) + draw.normal(0, error)
            found.append(MeasuredCost(f"op {i}", name, math.exp(log), error**2))
    return found


def test_a_cost_is_that_of_operator_and_class_where_these_say_all():
    table = {"a": 2.0, "b": 5.0, "c": 7.0}
    every = [
        MeasuredCost(op, name, cost * factor, 1e-6)
        for op, cost in table.items()
        for name, factor in (("pi", 3.0), ("server", 1.0))
    ]
    said = Pool(every[1:]).estimate("a", "pi")
    assert said.cost == pytest.approx(6.0)
    assert said.low <= said.cost <= said.high


def test_the_interval_holds_nine_of_ten_costs_that_were_left_out():
    held = tried = 0
    for seed in range(150):
        first, *rest = drawn(seed)
        said = Pool(rest).estimate(first.operator, first.node_class)
        held += said.low <= first.cost <= said.high
        tried += 1
    assert 0.84 <= held / tried <= 0.97


def test_a_measurement_with_a_large_error_counts_little():
    every = drawn(1, tau=0.0, error=0.01)
    wrong = MeasuredCost("odd", "pi", 1000.0, 25.0), MeasuredCost("odd", "server", 1.0, 25.0)
    before = Pool(every[1:]).estimate("op 0", "pi")
    after = Pool([*every[1:], *wrong]).estimate("op 0", "pi")
    assert after.cost == pytest.approx(before.cost, rel=0.02)


@pytest.mark.parametrize("pair", [("new", "pi"), ("op 0", "new")])
def test_what_was_never_seen_has_no_estimate(pair):
    assert Pool(drawn(0)).estimate(*pair) is None


def test_classes_that_no_operator_shares_have_none():
    apart = [MeasuredCost("a", "pi", 1.0, 0.1), MeasuredCost("b", "server", 2.0, 0.1)]
    assert Pool(apart).estimate("a", "server") is None


def cluster(pi_speed: float) -> Cluster:
    return Cluster(
        sites=({"id": "s"},),
        nodes=(
            {"id": "p", "site": "s", "node_class": "pi", "cores": 1},
            {"id": "q", "site": "s", "node_class": "server", "cores": 1},
        ),
        task_managers=({"id": "p", "node": "p", "slots": 1}, {"id": "q", "node": "q", "slots": 1}),
        node_classes=({"id": "pi", "speed": pi_speed}, {"id": "server", "speed": 1.0}),
    )


def cost(node_class: str, rate: float, spread: float = 0.05) -> ClassCost:
    return ClassCost(
        node_class=node_class,
        true_rate_per_s=rate,
        cpu_ms_per_record=1000 / rate,
        busy_s=30.0,
        samples=10,
        relative_spread=spread,
    )


def operators(ratio: float) -> list[OperatorCost]:
    """Four operators on both classes, and one on the server alone."""
    rates = (900.0, 1100.0, 1000.0, 1050.0)
    both = [
        OperatorCost(operator=f"o{i}", classes=(cost("pi", r), cost("server", ratio * r)))
        for i, r in enumerate(rates)
    ]
    return [*both, OperatorCost(operator="last", classes=(cost("server", 500.0 * ratio),))]


def test_an_operator_gets_an_estimate_where_the_speeds_are_wrong():
    *_, last = with_estimates(operators(4.0), cluster(pi_speed=0.5))
    found = last.on("pi")
    assert found.origin == "estimated"
    assert found.true_rate_per_s == pytest.approx(500, rel=0.01)
    low, high = found.cpu_interval_ms_per_record
    assert low < 2.0 < high


def test_where_the_speeds_say_as_much_there_is_no_estimate():
    assert with_estimates(operators(2.0), cluster(pi_speed=0.5))[-1].on("pi") is None


def with_cpu_ms(
    given: list[OperatorCost], factor: Callable[[OperatorCost, ClassCost], float | None]
) -> list[OperatorCost]:
    """Return costs whose CPU time is a multiple of their busy time, or not told."""

    def told(op: OperatorCost, c: ClassCost) -> ClassCost:
        times = factor(op, c)
        cpu_ms = None if times is None else times * 1000 / c.true_rate_per_s
        return c.model_copy(update={"cpu_ms_per_record": cpu_ms})

    return [
        op.model_copy(update={"classes": tuple(told(op, c) for c in op.classes)}) for op in given
    ]


def test_a_class_may_tell_its_cpu_time_where_another_does_not():
    # A thread on a Pi works a fourth of its busy time.
    given = with_cpu_ms(operators(4.0), lambda op, c: 0.25 if c.node_class == "pi" else None)
    found = with_estimates(given, cluster(pi_speed=0.5))[-1].on("pi")
    assert found.true_rate_per_s == pytest.approx(500, rel=0.01)
    assert found.cpu_ms_per_record == pytest.approx(0.5, rel=0.01)


def test_cpu_time_and_busy_time_of_one_class_are_not_pooled_together():
    # As above, and of one operator the Pi does not tell it.
    given = with_cpu_ms(
        operators(4.0),
        lambda op, c: None if c.node_class == "pi" and op.operator == "o0" else 0.25,
    )
    found = with_estimates(given, cluster(pi_speed=0.5))[-1].on("pi")
    assert found.cpu_ms_per_record == pytest.approx(0.5, rel=0.01)


def test_without_a_cluster_nothing_changes():
    given = operators(4.0)
    assert with_estimates(given, None) == tuple(given)


def test_the_largest_doubt_is_the_interval_that_stands_for_most_cores():
    busy = cost("pi", 1000.0, spread=0.1).model_copy(update={"busy_s": 50.0})
    idle = cost("pi", 1000.0, spread=0.3).model_copy(update={"busy_s": 1.0})
    seen = tuple(
        OperatorCost(operator=name, classes=(each,))
        for name, each in (("busy", busy), ("idle", idle))
    )
    costs = Costs(job="j", from_ms=0, to_ms=100_000, operators=seen)
    doubt = largest_doubt(costs)
    # 500 records/s of 1 ms, times or divided by exp(1.645 sqrt(ln 1.01)).
    assert (doubt.operator, doubt.node_class) == ("busy", "pi")
    assert doubt.cores == pytest.approx(0.5 * (1.1783 - 1 / 1.1783), rel=1e-3)
    assert doubt.better_log == "60 s at two thirds of full speed"


def test_a_doubt_advises_the_same_log_as_the_warning_of_a_plan():
    """tests/solver/test_solve.py has the warning."""
    seldom = cost("pi", 1000.0, spread=0.1).model_copy(update={"busy_s": 50.0, "busy_share": 0.004})
    op = OperatorCost(operator="seldom", classes=(seldom,))
    doubt = largest_doubt(Costs(job="j", from_ms=0, to_ms=100_000, operators=(op,)))
    # A share of 0.05 is enough.
    assert doubt.better_log.startswith("60 s at 13 times this rate")
    assert doubt.better_log == seldom.better_log


def test_costs_without_spreads_leave_no_doubt_to_name():
    bare = ClassCost(node_class="pi", true_rate_per_s=1.0)
    costs = Costs(
        job="j", from_ms=0, to_ms=1, operators=(OperatorCost(operator="o", classes=(bare,)),)
    )
    assert largest_doubt(costs) is None
