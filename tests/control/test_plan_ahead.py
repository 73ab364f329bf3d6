"""The path against all paths."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeplace.control.plan_ahead import plan_ahead, shadow_price


def cost_of(path, costs, change, now):
    total, before = 0.0, now
    for k, option in enumerate(path):
        total += costs[k][option] + (change if option != before else 0.0)
        before = option
    return total


@given(
    costs=st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=1, max_size=5),
    change=st.integers(0, 15),
    now=st.integers(0, 2),
)
def test_no_path_is_cheaper(costs, change, now):
    path = plan_ahead(np.array(costs, dtype=float), float(change), now)
    every = [cost_of(p, costs, change, now) for p in product(range(3), repeat=len(costs))]
    staying = [
        cost_of(p, costs, change, now) for p in product(range(3), repeat=len(costs)) if p[0] == now
    ]
    assert path.cost == pytest.approx(min(every))
    assert cost_of(path.options, costs, change, now) == pytest.approx(path.cost)
    assert path.stay_cost == pytest.approx(min(staying))
    assert path.bound <= path.cost + 1e-9
    assert 0 <= path.gap <= 1


def test_a_dear_change_is_not_made():
    costs = np.array([[3.0, 1.0]] * 4)
    assert plan_ahead(costs, 100.0, 0).options.tolist() == [0, 0, 0, 0]
    assert plan_ahead(costs, 1.0, 0).options.tolist() == [1, 1, 1, 1]


def test_an_option_that_cannot_be_had_is_left():
    costs = np.array([[1.0, 2.0], [np.inf, 2.0]])
    assert plan_ahead(costs, 5.0, 0).options[1] == 1


@example(costs=[[8, 7, 7], [0, 10, 0], [10, 0, 5], [0, 5, 5]], most=2)
@given(
    costs=st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=2, max_size=6),
    most=st.integers(0, 4),
)
def test_the_shadow_price_is_the_least_at_which_changes_are_few_enough(costs, most):
    costs = np.array(costs, dtype=float)
    start = int(costs[0].argmin())

    def changes(price):
        return int(
            np.count_nonzero(np.diff(plan_ahead(costs, price, start).options, prepend=start))
        )

    price = shadow_price(costs, most)
    assert changes(price) <= most
    assert price < 1e-6 or changes(price - 1e-6) > most
