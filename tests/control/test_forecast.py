"""The forecast on series whose future is known."""

import numpy as np
import pytest

from edgeplace.control.forecast import Forecaster

DAY = 48


def daily(days, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    bins = np.arange(days * DAY)
    level = 100 + 60 * np.sin(2 * np.pi * bins / DAY)
    return level * (1 + noise * rng.standard_normal(len(bins)))


def forecaster(**changed):
    kept = {"seasons": (DAY,), "horizons": 6, "quantile": 0.9, "memory": 5 * DAY}
    return Forecaster(**{**kept, **changed})


def test_what_repeats_is_foreseen():
    series = daily(6)
    made = forecaster().forecast(series[: 5 * DAY])
    assert made.expected == pytest.approx(series[5 * DAY : 5 * DAY + 6], rel=0.01)


def test_a_weekend_is_foreseen_with_a_week_of_past():
    weekend = np.tile(np.repeat([1.0] * 5 + [0.4] * 2, DAY), 4)
    series = daily(28) * weekend
    now = 26 * DAY
    made = forecaster(seasons=(DAY, 7 * DAY), memory=7 * DAY).forecast(series[:now])
    blind = forecaster(memory=7 * DAY).forecast(series[:now])
    truth = series[now : now + 6]
    assert abs(made.expected - truth).mean() < abs(blind.expected - truth).mean()
    assert made.expected == pytest.approx(truth, rel=0.05)


@pytest.mark.parametrize("quantile", [0.5, 0.8, 0.9])
def test_the_upper_bound_holds_as_often_as_it_says(quantile):
    series = daily(40, noise=0.05, seed=7)
    own = forecaster(quantile=quantile, horizons=2)
    made = [own.forecast(series[:i]).upper for i in range(8 * DAY, 39 * DAY, 3)]
    truth = [series[i : i + 2] for i in range(8 * DAY, 39 * DAY, 3)]
    covered = (np.array(truth) <= np.array(made)).mean()
    # The bound is never put below the forecast itself, so 0.5 is a floor, not a target.
    assert quantile - 0.05 <= covered <= max(quantile, 0.5) + 0.07


def test_the_unit_does_not_matter():
    series = daily(6, noise=0.1)
    one, thousand = forecaster().forecast(series), forecaster().forecast(series * 1000)
    assert thousand.expected == pytest.approx(one.expected * 1000, rel=1e-6)
    assert thousand.upper == pytest.approx(one.upper * 1000, rel=1e-6)


@pytest.mark.parametrize("bins", [1, 2, 5, 30])
def test_a_young_series_gives_its_last_value_with_a_margin(bins):
    made = forecaster(horizons=3).forecast(np.full(bins, 10.0))
    assert made.expected == pytest.approx(10.0)
    # The last bit depends on the processor.
    assert (made.upper >= 10.0 * (1 - 1e-12)).all()


def test_silence_stays_silence():
    made = forecaster().forecast(np.zeros(5 * DAY))
    assert made.expected.tolist() == [0.0] * 6
    assert made.upper.tolist() == [0.0] * 6


def test_nothing_beyond_twice_the_largest_seen():
    series = np.r_[np.full(3 * DAY, 1.0), np.geomspace(1, 1e6, DAY)]
    assert forecaster().forecast(series).upper.max() <= 2e6
