"""Slots counted step by step."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.solver.baselines.slots_taken import SlotsTaken
from edgeplace.solver.problem import build
from edgeplace.solver.slots import slots_of_places
from tests.support.strategies import instances


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance=instances(), data=st.data())
def test_slots_after_any_steps_are_those_of_the_placement(instance, data):
    job, cluster, _, _ = instance
    p = build([job], cluster)
    steps = st.tuples(st.integers(0, p.n - 1), st.integers(0, p.m - 1))
    at = np.full(p.n, -1)
    taken = SlotsTaken(p)
    for k, t in data.draw(st.lists(steps, max_size=20)):
        if at[k] >= 0:
            taken.take(k, int(at[k]))
        at[k] = t
        before = taken.used[t]
        needed = taken.needed(k)[t]
        taken.add(k, t)
        assert taken.used[t] == before + needed
    placed = np.flatnonzero(at >= 0)
    slots = slots_of_places(p, placed, at[placed]).tolist()
    assert taken.used.tolist() == slots
    held = taken.cleared()
    held.hold(placed, at[placed])
    assert held.used.tolist() == slots
    assert taken.used.tolist() == slots
