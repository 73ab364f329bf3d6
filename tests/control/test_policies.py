"""Each policy on loads whose right answer is known."""

import numpy as np
import pytest

from edgeplace.control.fluid import simulate
from edgeplace.control.load import DAY_S, Load
from edgeplace.control.options import equal_units
from edgeplace.control.policies import (
    DS2,
    DemeterStyle,
    Edgeplace,
    FlinkAutoscaler,
    HorizontalPodAutoscaler,
    StaticPeak,
    ThesisRescaler,
)
from tests.support.loads import flash_crowd, sawtooth, steady, step

ALL = (
    DS2,
    DemeterStyle,
    Edgeplace,
    FlinkAutoscaler,
    HorizontalPodAutoscaler,
    StaticPeak,
    ThesisRescaler,
)
PEAK = 2400.0
OPTIONS = equal_units(24, PEAK)


def run(policy, load, pause_s=2.0, **more):
    return simulate(load, OPTIONS, policy, pause_s, **more)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_a_steady_load_ends_in_rest(kind):
    outcome = run(kind(), steady(1000.0, 2))
    late = outcome.decided_s > DAY_S
    assert not late.any(), "it still changes after a day of the same"
    assert outcome.late_share < 0.01
    assert OPTIONS[int(outcome.option[-1])].capacity_per_s >= 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_it_is_deterministic(kind):
    load = step(500.0, PEAK, 3)
    one, two = run(kind(), load), run(kind(), load)
    assert one.option.tolist() == two.option.tolist()
    assert one.decided_s.tolist() == two.decided_s.tolist()


@pytest.mark.slow
def test_ours_changes_once_for_a_steady_load():
    """At constant demand the option entered has no regret: nothing changes any more.

    The first option has the margin of a forecast that knows no errors of its own yet; one more
    change comes when it does, within the first two days.
    """
    for rate in np.linspace(60, PEAK, 5):
        outcome = run(Edgeplace(), steady(float(rate), 4))
        assert outcome.changes <= 2
        assert (outcome.decided_s < 2 * DAY_S).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_ours_gives_nothing_back_within_an_hour(seed):
    """Every change to less is at least an hour after the last one to more."""
    rng = np.random.default_rng(seed)
    walk = np.exp(np.cumsum(rng.normal(0, 0.25, 3 * 48)))
    bins = PEAK * (0.1 + 0.9 * np.minimum(walk / np.median(walk) / 4, 1.0))
    outcome = run(Edgeplace(), Load("walk", np.repeat(bins, 1800)))
    steps = np.diff(outcome.option)
    assert (steps < 0).any()
    ups = outcome.decided_s[1:][steps > 0]
    for down in outcome.decided_s[1:][steps < 0]:
        before = ups[ups < down]
        assert not len(before) or down - before[-1] >= 3600


@pytest.mark.slow
@pytest.mark.parametrize("period_s", [600, 1800, 3600])
def test_ours_does_not_follow_a_sawtooth(period_s):
    """Half a swing's regret is below the price of a change: no change follows a swing."""
    outcome = run(Edgeplace(), sawtooth(1000.0, PEAK, period_s, 2))
    assert outcome.changes_per_day <= 12
    assert outcome.reversals_per_day <= 1
    assert outcome.late_share <= 0.001


@pytest.mark.slow
def test_ours_foresees_the_third_day():
    """The step comes at nine each day; once seen, it is met before it comes."""
    outcome = run(Edgeplace(), step(500.0, PEAK, 5))
    third = (outcome.decided_s > 3 * DAY_S - 1) & (outcome.decided_s < 3 * DAY_S + 9 * 3600)
    assert third.any(), "nothing was done before the step of the fourth day"
    last = outcome.option[outcome.decided_s < 3 * DAY_S + 9 * 3600][-1]
    assert OPTIONS[int(last)].capacity_per_s >= PEAK


def test_ours_climbs_an_unknown_ramp_in_few_steps():
    """On the first day nothing is forecast; still a change is made for more than the moment.

    So the ramp takes no more changes than the price of one stands for in a whole day.
    """
    load = Load("ramp", np.r_[np.full(4 * 3600, 200.0), np.linspace(200.0, PEAK, 6 * 3600)])
    outcome = run(Edgeplace(), load)
    ups = int((np.diff(outcome.option) > 0).sum())
    assert ups <= Edgeplace().changes_per_day < run(DS2(), load).changes
    assert outcome.late_share == 0


@pytest.mark.slow
def test_ours_keeps_to_twelve_changes_a_day_on_a_load_that_swings_by_the_hour():
    second = np.arange(4 * DAY_S)
    load = Load("swings", PEAK * (0.6 + 0.4 * np.sin(2 * np.pi * second / 7200)))
    outcome = run(Edgeplace(), load)
    assert outcome.changes_per_day <= 12 < run(DS2(), load).changes_per_day


@pytest.mark.slow
def test_ours_meets_a_flash_crowd():
    load = flash_crowd(500.0, PEAK, [40_000, 130_000], 2)
    outcome = run(Edgeplace(), load)
    assert outcome.late_s <= 240, "two crowds, each served again within two minutes"


@pytest.mark.slow
def test_a_shorter_pause_is_never_later():
    load = step(500.0, PEAK, 3)
    for kind in (DS2, Edgeplace, FlinkAutoscaler):
        late = [run(kind(), load, pause_s=p).late_share for p in (2.0, 30.0, 60.0)]
        assert late == sorted(late)


def test_failures_stop_every_policy():
    fails = range(10_000, 2 * DAY_S, 20_000)
    outcome = run(StaticPeak(), steady(2000.0, 2), failures_s=list(fails))
    assert outcome.late_s >= len(fails) * 23


def test_the_autoscaler_waits_an_hour_before_it_scales_down():
    load = Load("drop", np.r_[np.full(7200, PEAK), np.full(4 * 3600, 300.0)])
    outcome = run(FlinkAutoscaler(), load)
    assert outcome.decided_s[1] >= 7200 + 3600


def test_the_thesis_rescaler_never_scales_down():
    outcome = run(ThesisRescaler(), step(300.0, PEAK, 2))
    assert (np.diff(outcome.option) > 0).all()
    assert outcome.changes


@pytest.mark.parametrize("fall_s", [600, 1800, 3600, 7200])
def test_ours_never_takes_away_what_is_in_use(fall_s):
    """A load that falls fast is not followed below itself, whatever the forecast says."""
    high, low = np.full(5 * 3600, PEAK), np.full(4 * 3600, 400.0)
    load = Load("fall", np.r_[high, np.linspace(PEAK, 400.0, fall_s), low])
    outcome = run(Edgeplace(), load)
    for second, option in zip(outcome.decided_s[1:], outcome.option[1:], strict=True):
        assert OPTIONS[int(option)].capacity_per_s >= load.rates_per_s[second]
