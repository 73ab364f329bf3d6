"""Scores of forecasts whose right value is known."""

import numpy as np
import pytest

from edgeplace.control.forecast_scores import scores

DAY = 48


def series(days, noise, seed=0):
    rng = np.random.default_rng(seed)
    at = np.arange(days * DAY)
    return 1000 + 400 * np.sin(2 * np.pi * at / DAY) + rng.normal(0, noise, len(at))


def test_the_bound_holds_as_often_as_it_says():
    found = scores(series(16, 50.0), (DAY,), 0.9, 7 * DAY, first=5 * DAY)
    assert found.forecasts == 11 * DAY
    assert 0.85 <= found.coverage <= 0.95


def test_days_of_another_level_are_forecast_better_than_by_yesterday():
    level = np.repeat(1 + 0.3 * np.sin(np.arange(10)), DAY)
    found = scores(series(10, 30.0) * level, (DAY,), 0.9, 7 * DAY, first=4 * DAY)
    assert found.mase < 1


def test_the_pinball_loss_of_what_is_known_is_nothing():
    found = scores(np.full(4 * DAY, 500.0), (DAY,), 0.9, 7 * DAY, first=2 * DAY)
    assert found.coverage == 1
    assert found.pinball == pytest.approx(0, abs=1e-9)


def test_a_higher_promise_is_a_higher_bound():
    low, high = (scores(series(10, 50.0), (DAY,), q, 7 * DAY, 4 * DAY) for q in (0.5, 0.95))
    assert low.coverage < high.coverage


def test_a_series_that_is_too_short_has_no_scores():
    assert scores(np.array([1.0]), (DAY,), 0.9, 7 * DAY, first=1) is None
