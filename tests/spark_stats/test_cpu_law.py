"""CPU by regression, on minutes whose true costs are known."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from edgeplace.spark_stats.cpu.choice import FEWEST_MINUTES, learn
from edgeplace.spark_stats.cpu.non_negative import non_negative_least_squares
from edgeplace.spark_stats.cpu.slices import Slices

ALPHA = 0.05
BETA_S = np.array([2e-5, 6e-5])
"""Cores of background, core-seconds a record of `map` and `join`."""
WAITS = np.array([3.0, 1.0])
"""Busy time over CPU time: `map` waits for a core, so busy time gives it too much."""


def slices(per_s, *, noise=0.0, alpha=ALPHA, beta=BETA_S, waits=WAITS, places=1, seed=1):
    """Return a row for each minute of each TaskManager; per_s has shape (n, k)."""
    rows = np.asarray(per_s, dtype=float)
    cpu = rows * beta
    drawn = np.random.default_rng(seed).normal(1.0, noise, len(rows))
    minutes = len(rows) // places
    return Slices(
        operators=("map", "join", "sink")[: rows.shape[1]],
        place=np.repeat(np.arange(places), minutes),
        minute=np.tile(np.arange(minutes), places),
        cores=(alpha + cpu.sum(axis=1)) * drawn,
        per_s=rows,
        busy=cpu * waits,
        full=np.zeros(len(rows), bool),
    )


def several_rates(minutes=60, seed=3):
    """Return rates that change every few minutes, of each operator by itself."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.uniform(500, 10_000, (minutes // 4, 2)), 4, axis=0)


def test_the_true_costs_are_found():
    choice = learn(slices(several_rates(), noise=0.01))
    assert choice.reason == ""
    assert choice.identified.all()
    assert choice.fit.background == pytest.approx(ALPHA, rel=0.1)
    assert choice.fit.cost_s == pytest.approx(BETA_S, rel=0.05)
    # Busy time gives `map` the CPU time of `join`, and both that of the background.
    assert slices(several_rates()).dealt_s()[0] > 1.5 * BETA_S[0]


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = []
    for seed in range(20):
        choice = learn(slices(several_rates(seed=seed), noise=0.03, seed=seed + 100))
        low, high = choice.ends[1]
        held.append(low <= BETA_S[0] <= high)
    assert 0.7 <= np.mean(held) <= 1.0


def test_the_answer_is_the_same_again():
    one, other = (learn(slices(several_rates(), noise=0.02)) for _ in range(2))
    assert (one.ends == other.ends).all()
    assert (one.fit.cost_s == other.fit.cost_s).all()


def test_operators_always_in_one_ratio_share_by_busy_time():
    source = several_rates()[:, :1]
    choice = learn(slices(np.hstack([source, 0.3 * source]), noise=0.005))
    assert not choice.identified.any()
    # What they have together is right, and its parts are as 3 busy times of one to 1 of the other.
    cost = choice.fit.cost_s
    assert cost @ [1, 0.3] == pytest.approx(BETA_S @ [1, 0.3], rel=0.05)
    busy = BETA_S * WAITS
    assert cost[0] / cost[1] == pytest.approx(busy[0] / busy[1], rel=0.01)
    assert choice.fit.background == pytest.approx(ALPHA, rel=0.1)


def test_operators_in_one_ratio_are_said_to_be_not_identifiable():
    from edgeplace.spark_stats.processors import CpuTime

    found = slices(np.hstack([several_rates()[:, :1], 0.3 * several_rates()[:, :1]]), noise=0.005)
    names = {"map": "Map", "join": "Join"}
    cpu = CpuTime({}, {}).with_choices({"pi": (found, learn(found))}, names)
    costs = [cpu.cost(operator, "pi", [], "") for operator in names]
    for cost in costs:
        assert cost.by == "busy time"
        assert cost.interval_ms_per_record is None
        assert cost.reason.startswith("not identifiable: the rates in this log do not tell")
        assert "Map and Join" in cost.reason
    assert costs[0].reason == costs[1].reason
    assert cpu.background[0].cores == pytest.approx(ALPHA, rel=0.1)


def test_a_constant_rate_takes_nothing_of_the_background():
    """A sink of one record a second runs in every minute, as the background does."""
    rates = np.hstack([several_rates(), np.ones((60, 1))])
    beta, waits = np.array([*BETA_S, 1e-4]), np.array([*WAITS, 1.0])
    choice = learn(slices(rates, beta=beta, waits=waits, noise=0.01))
    assert choice.fit.background == pytest.approx(ALPHA, rel=0.1)
    assert choice.identified.tolist() == [True, True, False]
    assert choice.fit.cost_s[:2] == pytest.approx(BETA_S, rel=0.05)


@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_what_the_minutes_do_not_tell_is_by_busy_time(noise):
    """Rates that go together but for a hundredth: the sum is known, its parts hardly are."""
    source = several_rates()[:, :1]
    rng = np.random.default_rng(11)
    near = np.hstack([source, 0.5 * source * rng.normal(1.0, 0.01, source.shape)])
    choice = learn(slices(near, noise=noise, waits=np.array([2.0, 2.0])))
    # Busy time divides in the right ratio here, whatever the noise of the cores says.
    assert choice.fit.cost_s == pytest.approx(BETA_S, rel=0.1)
    assert choice.fit.background == pytest.approx(ALPHA, rel=0.1)


def test_busy_time_that_is_wrong_is_corrected_where_minutes_tell():
    """It gives `map` nine tenths of what `join` takes."""
    choice = learn(slices(several_rates(), noise=0.01, waits=np.array([27.0, 1.0])))
    assert choice.fit.cost_s == pytest.approx(BETA_S, rel=0.05)
    assert choice.identified.all()


@pytest.mark.parametrize("swapped", [False, True])
def test_twins_without_busy_time_are_not_identified(swapped):
    rates = several_rates()
    twins = np.column_stack([rates[:, 0], 0.5 * rates[:, 0], rates[:, 1]])
    beta = np.array([4e-5, 2e-5, 6e-5])
    order = [1, 0, 2] if swapped else [0, 1, 2]
    choice = learn(slices(twins[:, order], beta=beta[order], waits=np.array([0.0, 0.0, 1.0])))
    assert choice.identified.tolist() == [False, False, True]
    assert choice.fit.cost_s[order] @ [1, 0.5, 0] == pytest.approx(5e-5, rel=0.05)


@pytest.mark.parametrize("wrong", [100.0, 10.0, 0.1, 0.01, 0.001])
def test_busy_time_that_is_wrong_by_orders_is_corrected(wrong):
    """An operator that works in other threads is hardly busy."""
    choice = learn(slices(several_rates(), noise=0.01, waits=np.array([wrong, 1.0])))
    assert choice.fit.cost_s == pytest.approx(BETA_S, rel=0.1)
    assert choice.fit.background == pytest.approx(ALPHA, rel=0.15)


def test_costs_by_busy_time_do_not_add_to_those_by_the_rates():
    """Busy time gives the first a hundred times too much; its cost would be negative."""
    rates = np.repeat(np.random.default_rng(1).uniform(500, 10_000, (15, 3)), 4, axis=0)
    beta, waits = np.array([1e-6, 4e-5, 8e-5]), np.array([100.0, 1.0, 1.0])
    found = slices(rates, beta=beta, waits=waits, noise=0.03, seed=101)
    assert learn(found).fit.cores(found).mean() == pytest.approx(found.cores.mean(), rel=0.03)


def test_work_that_is_constant_cannot_be_told_from_the_background():
    """What one operator has more, the other has less."""
    rates = several_rates()[:, :1]
    rates = np.hstack([rates, 10_500 - rates])
    choice = learn(slices(rates, alpha=0.3, beta=np.array([6e-5, 6.5e-5]), noise=0.002))
    assert choice.fit is None or not choice.identified.any()


def test_other_placements_tell_operators_of_one_ratio_apart():
    source = several_rates()[:, :1]
    alone = np.hstack([source, 0 * source])
    both = np.hstack([source, 0.3 * source])
    choice = learn(slices(np.vstack([alone, both]), noise=0.005, places=2))
    assert choice.identified.all()
    assert choice.fit.cost_s == pytest.approx(BETA_S, rel=0.1)


def test_one_steady_rate_cannot_tell_background_from_cost():
    steady = np.tile([4000.0, 1000.0], (60, 1))
    choice = learn(slices(steady, noise=0.02))
    assert choice.fit is None
    assert "rates hardly change" in choice.reason


def test_a_steady_rate_with_the_noise_of_polls_is_still_steady():
    rng = np.random.default_rng(8)
    steady = np.tile([4000.0, 1000.0], (60, 1)) * rng.normal(1, 0.01, (60, 2))
    assert learn(slices(steady, noise=0.03)).fit is None


def test_background_alone_costs_records_nothing():
    """CPU time that does not depend on the rates is nobody's."""
    found = slices(several_rates(), beta=BETA_S * 0)
    found = Slices(**{**vars(found), "busy": several_rates() * BETA_S})
    choice = learn(found)
    assert choice.fit is None
    assert choice.reason


@pytest.mark.parametrize("minutes", [1, FEWEST_MINUTES - 1])
def test_too_few_minutes(minutes):
    choice = learn(slices(several_rates()[::4][:minutes]))
    assert choice.fit is None
    said = "1 minute of the log" if minutes == 1 else f"{minutes} minutes of the log"
    assert choice.reason.startswith(said)


def test_a_law_that_does_not_win_is_refused():
    """Busy time is CPU time here and there is no background: nothing is left to win."""
    choice = learn(slices(several_rates(), alpha=0.0, waits=np.ones(2), noise=0.05))
    assert choice.fit is None
    assert "busy time by" in choice.reason
    assert set(choice.held_out) == {"time", "rate"}


def test_an_operator_without_busy_time_gets_a_cost():
    """Legacy sources have no busy time."""
    choice = learn(slices(several_rates(), waits=np.array([0.0, 1.0]), noise=0.01))
    assert choice.fit.cost_s == pytest.approx(BETA_S, rel=0.05)


def test_an_operator_too_small_to_see_is_by_busy_time():
    rng = np.random.default_rng(5)
    rates = np.hstack([several_rates(), rng.uniform(1, 2, (60, 1))])
    beta, waits = np.array([*BETA_S, 1e-7]), np.array([*WAITS, 1.0])
    choice = learn(slices(rates, beta=beta, waits=waits, noise=0.02))
    assert choice.identified.tolist() == [True, True, False]
    assert choice.fit.cost_s[2] > 0
    assert choice.fit.cost_s[:2] == pytest.approx(BETA_S, rel=0.1)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_no_choice_of_zeros_has_a_smaller_error(columns, rows, seed, twins):
    """The oracle tries every set of coefficients that may differ from 0."""
    rng = np.random.default_rng(seed)
    a = rng.normal(0.5, 1.0, (rows, columns))
    if twins:
        a[:, 0] = a[:, -1]
    b = rng.normal(0.0, 1.0, rows)
    x = non_negative_least_squares(a.T @ a, a.T @ b)
    assert (x >= 0).all()
    errors = []
    for size in range(columns + 1):
        for chosen in itertools.combinations(range(columns), size):
            y = np.zeros(columns)
            if chosen:
                y[list(chosen)] = np.linalg.lstsq(a[:, chosen], b, rcond=None)[0]
            if (y >= 0).all():
                errors.append(float(((a @ y - b) ** 2).sum()))
    assert ((a @ x - b) ** 2).sum() <= min(errors) + 1e-6


@pytest.mark.parametrize("rare", [5e-324, 1e-160, 1e-3])
def test_rates_that_are_next_to_nothing_have_an_answer(rare):
    """Rate times busy time a record underflows, and the background had no column: no end."""
    rates = np.zeros((24, 2))
    rates[3, 0] = rare
    rates[:, 1] = np.linspace(10, 20, 24)
    found = Slices(
        ("map", "join"),
        *(np.zeros(24, int), np.arange(24), np.full(24, 0.5), rates, rates**2),
        np.zeros(24, bool),
    )
    assert learn(found).reason


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    arrays.arrays(float, (24, 2), elements=st.floats(0, 1e5)),
    arrays.arrays(float, 24, elements=st.floats(0, 4)),
)
def test_any_minutes_have_an_answer(rates, cores):
    found = Slices(
        ("map", "join"),
        *(np.zeros(24, int), np.arange(24), cores, rates, np.minimum(rates, 1.0)),
        np.zeros(24, bool),
    )
    choice = learn(found)
    assert (choice.fit is None) is bool(choice.reason)
    if choice.fit:
        assert (choice.fit.cost_s >= 0).all()
        assert (choice.fit.by_busy_time_s >= 0).all()
        assert (choice.ends[:, 0] <= choice.ends[:, 1]).all()
