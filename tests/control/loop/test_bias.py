"""Costs that are off: what is learned of it, and when they are not believed."""

import numpy as np
import pytest

from edgeplace.control.loop.decide import planned
from edgeplace.control.loop.events import Figures
from edgeplace.control.loop.expected.bias import LEAST, learned, unbelieved
from edgeplace.control.loop.memory import Memory, RecentRates
from tests.support.loops import applies, assert_nothing_that_must_never_happen, ran, said, settings

CALM = {"voluntary_per_day": 0}
FIGURES = Figures(
    fits=True, headroom=1.0, wan_bytes_per_s=1.0, wan_cost=1.0, latency_ms=1.0, server_cores=1.0
)


def remembering(rate, held):
    """A loop whose placement sustains 1,000 records/s by its costs."""
    recent = tuple(RecentRates(at_s=9e5 + i, rates={"a": rate}, held=held) for i in range(3))
    return Memory(
        settings=settings(),
        now_s=9e5,
        recent=recent,
        figures=FIGURES,
        figures_rates={"a": 1000.0},
    )


def after(looks, rate, held):
    memory = remembering(rate, held)
    for _ in range(looks):
        memory = learned(memory)
    return memory


@pytest.mark.parametrize(
    ("rate", "held", "bias"),
    [
        (700.0, 0.5, 0.7),
        (700.0, 0.0, 1.0),
        (700.0, 0.1, 1.0),
        (1100.0, 0.0, 1.1),
        (1100.0, 0.5, 1.0),
        (5000.0, 0.0, 1.2),
        (100.0, 0.5, 0.5),
    ],
)
def test_it_comes_to_what_is_seen_and_stays_in_its_clamp(rate, held, bias):
    assert after(100, rate, held).bias == pytest.approx(bias, abs=0.01)


def test_one_odd_look_moves_it_little():
    assert after(1, 500.0, 0.5).bias == pytest.approx(0.875)


@pytest.mark.parametrize("rate", [100.0, 5000.0])
def test_what_is_far_off_is_not_believed(rate):
    assert not unbelieved(remembering(rate, 0.5))
    assert "measure them anew" in unbelieved(after(1, rate, 0.5 if rate < 1000 else 0.0))


def test_plans_have_to_sustain_as_much_more():
    memory = remembering(700.0, 0.0)
    # To the next step of the grid.
    wanted = planned(memory)["a"] / 0.7
    assert planned(memory.now(bias=0.7))["a"] == pytest.approx(wanted, rel=0.018)


def test_a_loop_with_costs_that_promise_too_much_learns_it():
    """By its costs the placement carries 2,000 records/s; it carries 1,400 of the 1,700."""
    loop = ran(np.r_[np.full(1800, 1000.0), np.full(2 * 3600, 1700.0)], truth=0.7, changes=CALM)
    assert loop.memory.bias < 0.95
    assert loop.flink.places["filter"] != ("server",) * 4
    assert_nothing_that_must_never_happen(loop)


def test_a_loop_whose_costs_are_far_off_only_recommends():
    loop = ran(np.full(2 * 3600, 1700.0), truth=0.2, settle_s=60)
    assert said(loop, "hindered by")
    assert any("believable: what runs bears" in s for s in said(loop, "hindered by"))
    assert loop.memory.bias >= LEAST
    assert not [1 for *_, a in applies(loop) if a.now_s - loop.flink.began_s > 3600]
