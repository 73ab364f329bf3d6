"""The path of the next day: its levels, its first step, and that nothing is done in haste."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as config
from hypothesis import strategies as st

from edgeplace.control.loop.events import DayOption, Figures, Solved
from edgeplace.control.loop.expected.ahead import FACTOR, ahead, levels
from edgeplace.control.loop.expected.day import the_day
from edgeplace.control.loop.memory import Memory
from tests.support.loops import (
    applies,
    assert_nothing_that_must_never_happen,
    prices_and_regret,
    ran,
    said,
    settings,
)

FIGURES = Figures(
    fits=True, headroom=1.2, wan_bytes_per_s=1.0, wan_cost=1.0, latency_ms=1.0, server_cores=1.0
)


def remembering(series):
    return Memory(settings=settings(), peaks={"source": tuple(map(float, series))})


@pytest.mark.slow
@config(deadline=None)
@given(
    st.integers(72, 200),
    st.floats(0.0, 0.9),
    st.floats(0.5, 20.0),
)
def test_the_levels_cover_the_bounds_of_the_day(bins, swing, now):
    memory = remembering(100 * (1 + swing * np.sin(2 * np.pi * np.arange(bins) / 48)))
    rates = {"source": 100.0 * now}
    found, at = levels(memory, rates)
    bound = 1.15 * np.array(the_day(memory).next_bound)
    assert len(found) <= 6
    if not found:
        assert (bound[1:] <= 100 * now * (1 + 1e-9)).all() or swing < 0.2
        return
    assert found[0] == 1.0 and len(at) == len(bound)
    planned = np.array(found)[list(at)] * 100.0 * now
    assert (planned[1:] >= bound[1:] * (1 - 1e-6)).all()
    assert {round(np.log(f) / np.log(FACTOR), 6) % 1 for f in found} <= {0.0}


@pytest.mark.parametrize("series", [np.full(71, 10.0), np.full(200, 10.0)])
def test_no_day_is_planned_that_is_not_known_or_does_not_swing(series):
    assert levels(remembering(series), {"source": 11.5}) == ((), ())


def option(name, wan, fits):
    return DayOption(
        places={"a": (name,)},
        figures=FIGURES,
        moves=1,
        moved_operators=1,
        restore_bytes=0.0,
        restore_cost=0.0,
        wan_cost=wan,
        fits=fits,
    )


def path_of(at, other_fits_at_the_peak, price):
    """Staying sends 100 bytes/s at any level; the other plan 10, if it bears the peak."""
    memory = remembering(np.full(100, 1.0)).now(asked_day=at)
    day = (
        option("stay", (100.0, 100.0), (True, True)),
        option("other", (10.0, 10.0), (True, other_fits_at_the_peak)),
    )
    solved = Solved(at_s=0.0, ticket=1, day=day, day_bounds=(10.0, 10.0))
    return ahead(memory, solved, price)


def test_a_plan_that_lasts_is_taken():
    path = path_of((0, 1) * 24, True, 1e5)
    assert path.first.places == {"a": ("other",)}
    assert path.until == 48
    assert path.gap == pytest.approx(1e5 / (1e5 + 48 * 1800 * 10))


def test_a_plan_that_would_be_left_at_once_is_not():
    """Each half hour of saving, 162 kB, is followed by one that it does not bear."""
    assert path_of((0, 1) * 24, False, 1e5).first is None
    assert path_of((0, 1) * 24, False, 1e4).first is not None


def test_without_levels_there_is_no_path():
    assert ahead(Memory(settings=settings()), Solved(at_s=0.0, ticket=1), 1.0) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_voluntary_changes_are_paid_for_over_days(seed):
    """In any span, changes are at most what staying cost too much over the least price."""
    chance = np.random.default_rng(seed)
    second = np.arange(44 * 3600)
    hour = np.repeat(chance.normal(0, 0.05, 44), 3600)
    rates = 1500 * (0.8 + 0.6 * np.sin(2 * np.pi * second / 86_400) + hour)
    loop = ran(np.maximum(rates, 100.0), decide_s=3600, pi_rate_per_s=600.0, state_bytes=1e6)
    assert said(loop, "the path of the day is within")
    assert loop.memory.day_gap is not None and 0 <= loop.memory.day_gap < 1
    prices, regret = prices_and_regret(loop)
    assert prices <= regret * (1 + 1e-9)
    least = [after.price for *_, after in applies(loop) if after.change.kind == "worth it"]
    assert not least or len(least) <= regret / min(least) * (1 + 1e-9)
    assert_nothing_that_must_never_happen(loop)
