"""Slots of subtasks: of each sharing group, the largest operator."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from edgeplace.solver.slots import SlotCounter, slots_of_places
from tests.support.strategies import instances


def test_groups_add_up_and_operators_of_a_group_share() -> None:
    counter = SlotCounter.of(np.array([4, 1, 4]))  # groups need not be in order
    held = np.array([[2, 1, 3], [0, 5, 0], [0, 0, 0]])
    assert counter.slots(held).tolist() == [4, 5, 0]
    assert counter.slots(held[0]) == 4


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_both_ways_to_count_agree_with_the_evaluator(instance, data):
    job, cluster, _, _ = instance
    p = build([job], cluster)
    tm = np.array(data.draw(st.lists(st.integers(0, p.m - 1), min_size=p.n, max_size=p.n)), np.intp)
    slots = measure_usage(p, tm).slots.tolist()
    assert slots_of_places(p, np.arange(p.n), tm).tolist() == slots
    held = np.zeros((p.m, len(p.subtasks.group)), np.intp)
    np.add.at(held, (tm, p.subtasks.operator_of), 1)
    assert SlotCounter.of(p.subtasks.group).slots(held).tolist() == slots
