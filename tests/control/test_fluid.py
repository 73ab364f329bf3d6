"""The fluid simulation against a record-by-record loop and against what must be so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.control.fluid import simulate
from edgeplace.control.load import Load
from edgeplace.control.options import equal_units
from edgeplace.control.policies import StaticPeak
from edgeplace.model import InvalidInputError
from tests.support.loads import steady


class Scripted:
    """Changes to given options at given seconds."""

    name = "scripted"

    def __init__(self, start, changes, every_s=1):
        self.start, self.changes, self.every_s = start, dict(changes), every_s
        self.views = []

    def first(self, options, load):
        return self.start

    def decide(self, view):
        self.views.append((view.second, view.backlog, float(view.served.sum())))
        return self.changes.get(view.second)


def second_by_second(rates, capacities, start, changes, failures, pause_s, failure_pause_s):
    """The same job, told one second at a time; returns waits and records served."""
    backlog, stop, now = 0.0, 0.0, start
    waits, served = [], []
    for second, offered in enumerate(rates):
        if second in failures:
            stop = max(stop, failure_pause_s)
        if second in changes and changes[second] != now:
            now, stop = changes[second], max(stop, pause_s)
        working = min(1.0, max(0.0, 1.0 - stop))
        stop = max(0.0, stop - 1.0)
        done = min(backlog + offered, capacities[now] * working)
        backlog += offered - done
        served.append(done)
        waits.append(stop + backlog / capacities[now])
    return np.array(waits), np.array(served)


@settings(max_examples=60, deadline=None)
@given(
    rates=st.lists(st.integers(0, 200), min_size=5, max_size=120),
    changes=st.dictionaries(st.integers(1, 119), st.integers(0, 3), max_size=6),
    failures=st.sets(st.integers(1, 119), max_size=3),
    pause_s=st.sampled_from([0.0, 0.5, 2.0, 7.25]),
    every_s=st.sampled_from([1, 3, 10]),
)
def test_it_does_what_a_loop_over_seconds_does(rates, changes, failures, pause_s, every_s):
    options = equal_units(4, 160.0)
    heard = {s: o for s, o in changes.items() if s % every_s == 0 and s < len(rates)}
    failed = {s for s in failures if s < len(rates)}
    policy = Scripted(1, heard, every_s)
    load = Load("drawn", np.array(rates, dtype=float))
    outcome = simulate(load, options, policy, pause_s, 2.0, sorted(failed), failure_pause_s=9.0)
    waits, served = second_by_second(
        rates, options.capacities, 1, heard, failed, pause_s, failure_pause_s=9.0
    )
    assert outcome.late_share == pytest.approx((waits > 2.0).mean())
    told = [(s, total) for s, _, total in policy.views]
    assert told == [(s, pytest.approx(served[:s].sum())) for s, _ in told]
    for second, backlog, total in policy.views:
        assert backlog == pytest.approx(sum(rates[:second]) - total)


def test_a_pause_delays_those_who_come_in_it():
    load = steady(30.0, 0.01)
    options = equal_units(2, 100.0, target=1.0)
    short = simulate(load, options, Scripted(1, {100: 0, 200: 1}), pause_s=1.9)
    long = simulate(load, options, Scripted(1, {200: 0, 400: 1}), pause_s=30.0)
    assert short.late_share == 0
    assert long.late_s > 27
    assert (short.changes, short.reversals) == (2, 1)


def test_units_and_wan_are_counted_by_what_ran():
    options = equal_units(4, 400.0, target=1.0)
    outcome = simulate(steady(50.0, 0.01), options, Scripted(3, {432: 0}), pause_s=0.0)
    assert outcome.unit_share == pytest.approx((4 * 432 + 1 * 432) / (4 * 864))
    assert outcome.wan_bytes == 0
    assert outcome.option.tolist() == [3, 0]
    assert outcome.decided_s.tolist() == [0, 432]


def test_static_peak_is_never_late():
    load = Load("any", np.abs(np.sin(np.arange(5000) / 700)) * 1000)
    outcome = simulate(load, equal_units(24, float(load.rates_per_s.max())), StaticPeak(), 60.0)
    assert (outcome.late_share, outcome.unit_share, outcome.changes) == (0, 1, 0)


@pytest.mark.parametrize("pause_s, late_s", [(-1, 2), (1, -2)])
def test_negative_times_are_refused(pause_s, late_s):
    with pytest.raises(InvalidInputError, match="give times of 0 or more"):
        simulate(steady(1.0, 0.001), equal_units(1, 1.0), StaticPeak(), pause_s, late_s)
