"""The interval of checkpoints by the time to recover in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as config
from hypothesis import strategies as st

from edgeplace.control.loop.recovery import LONGEST_S, OUTAGE_S, longest_interval_s
from tests.support.loops import QUIET, applies, ran, said


@pytest.mark.parametrize(("load", "interval_s"), [(0.7, 54.7), (0.85, 13.1)])
def test_known_intervals(load, interval_s):
    assert longest_interval_s(180, load, 1) == interval_s


def replayed(interval_s, load, took_s):
    """Seconds to recover, second by second: a backlog drains by what is left of the capacity."""
    backlog, second = (interval_s + took_s + OUTAGE_S) * load, OUTAGE_S
    while backlog > 0:
        second += min(1.0, backlog / (1 - load))
        backlog -= 1 - load
    return second


@config(deadline=None)
@given(st.floats(40, 600), st.floats(0.3, 0.9), st.floats(0, 5))
def test_a_failure_is_made_up_for_in_time_and_only_just(recovery_s, load, took_s):
    interval_s = longest_interval_s(recovery_s, load, took_s)
    if interval_s is None:
        assert replayed(max(1.0, took_s), load, took_s) > recovery_s - 1
    else:
        assert replayed(interval_s, load, took_s) <= recovery_s + 1
        if interval_s < LONGEST_S:
            assert replayed(interval_s + 1, load, took_s) > recovery_s - 1


def test_what_is_overloaded_never_recovers():
    assert longest_interval_s(180, 1.0, 1) is None
    assert longest_interval_s(180, 1.5, 1) is None


def test_a_change_sets_the_interval_and_says_it():
    loop = ran(np.full(2 * 3600, QUIET), recovery_s=180)
    ((_, _, effect, _),) = applies(loop)
    assert effect.interval_s is not None and 1 <= effect.interval_s <= LONGEST_S
    assert said(loop, f", a checkpoint every {effect.interval_s:.0f} s")


def test_it_is_left_as_it_is_unless_a_time_is_given():
    ((_, _, effect, _),) = applies(ran(np.full(2 * 3600, QUIET)))
    assert effect.interval_s is None
