"""The real step in a simulated Flink: what it does, and what must never happen."""

import numpy as np
import pytest

from edgeplace.control.loop.events import Reloaded
from edgeplace.control.loop.journal import replay
from edgeplace.control.loop.simulated.simulated_flink import Faults
from edgeplace.control.loop.step import step
from tests.support.loops import (
    AT_PIS,
    QUIET,
    applies,
    assert_nothing_that_must_never_happen,
    at,
    prices_and_regret,
    ran,
    said,
)

HOURS_S = 3600


def quiet(hours):
    return np.full(hours * HOURS_S, QUIET)


def test_it_moves_the_filter_to_the_pis_once():
    loop = ran(quiet(3))
    ((_, before, effect, _),) = applies(loop)
    assert effect.places["filter"] == AT_PIS["filter"]
    assert before.now_s - loop.flink.began_s < HOURS_S
    assert said(loop, "did well for 3")
    assert loop.flink.places == effect.places
    assert_nothing_that_must_never_happen(loop)


def test_recommending_changes_nothing_and_says_the_three_numbers():
    loop = ran(quiet(3), mode="recommend")
    assert not applies(loop)
    (first, *_) = said(loop, "recommends c")
    assert "saves" in first and "staying has cost" in first and "a change costs" in first
    assert loop.memory.proposal is not None


def test_nobody_approves_and_nothing_is_changed():
    loop = ran(quiet(3), mode="approve")
    assert not applies(loop)
    assert said(loop, "within the hour: 4 moves")


def test_a_person_approves():
    loop = ran(quiet(2), mode="approve", requests=[at(HOURS_S, "approve", who="ann")])
    assert len(applies(loop)) == 1
    assert said(loop, "is approved by ann; makes 4 moves")
    assert_nothing_that_must_never_happen(loop)


def test_a_person_rejects_and_it_is_not_proposed_again_that_day():
    loop = ran(quiet(4), mode="apply", i_know=False, requests=[at(2 * HOURS_S, "reject")])
    assert not applies(loop)
    assert said(loop, "hindered by refused: the plan was refused or went back")


def test_a_person_wants_it_back():
    asked = [at(2 * HOURS_S, "approve"), at(3 * HOURS_S, "back", who="ann")]
    loop = ran(quiet(5), mode="approve", requests=asked)
    assert [effect.id.endswith("-back") for _, _, effect, _ in applies(loop)] == [False, True]
    assert loop.flink.places["filter"] == ("server",) * 4
    assert not loop.memory.fallen, "what a person wants back speaks not against the loop"
    assert_nothing_that_must_never_happen(loop)


def test_a_freeze_holds_until_it_is_over():
    loop = ran(quiet(4), requests=[at(60, "freeze", for_s=2 * HOURS_S)])
    ((_, before, _, _),) = applies(loop)
    assert before.now_s >= loop.flink.began_s + 60 + 2 * HOURS_S
    assert said(loop, "hindered by window: frozen for")


def test_a_freeze_of_the_week_holds():
    # The simulation begins on a Friday at 8:00 UTC.
    loop = ran(quiet(4), changes={"freeze": ["Fri 07:00 - Fri 11:00"]})
    ((_, before, _, _),) = applies(loop)
    assert before.now_s >= loop.flink.began_s + 3 * HOURS_S


@pytest.mark.slow
def test_what_runs_is_left_when_it_no_longer_bears_what_comes():
    """Unfiltered, the links carry 2,000 records/s; then 2,400 come."""
    rates = np.r_[np.full(2 * HOURS_S, 1200.0), np.full(2 * HOURS_S, 2400.0)]
    loop = ran(rates, changes={"voluntary_per_day": 0})
    ((_, before, effect, after),) = applies(loop)
    assert after.change is not None and after.change.kind == "must"
    step_s = loop.flink.began_s + 2 * HOURS_S
    assert 0 < before.now_s - step_s <= 60, "the guard looks each 30 s"
    assert effect.places["filter"] != ("server",) * 4
    assert loop.flink.late_s <= 120
    assert_nothing_that_must_never_happen(loop)


def test_a_step_right_after_a_decision_and_a_start_is_answered_at_once():
    """The decision was a minute before, and the job started five minutes before."""
    rates = np.r_[np.full(260, 1200.0), np.full(1200, 2400.0)]
    loop = ran(rates, changes={"voluntary_per_day": 0})
    asked = [s.memory.now_s for _, _, s in loop.steps if any(e.kind == "solve" for e in s.effects)]
    step_s = loop.flink.began_s + 260
    assert 0 < step_s - max(t for t in asked if t < step_s) < 120
    ((_, before, _, after),) = applies(loop)
    assert after.change is not None and after.change.kind == "must"
    assert 0 < before.now_s - step_s <= 60
    assert_nothing_that_must_never_happen(loop)


@pytest.mark.slow
def test_a_steady_load_causes_no_second_change():
    loop = ran(quiet(8))
    assert len(applies(loop)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("state_mb", "changes"), [(0, 1), (250, 0)])
def test_a_swing_whose_regret_is_below_the_price_causes_no_change(state_mb, changes):
    """In half an hour of few records the Pis could filter, in the next they could not.

    Half a swing at the Pis saves 32 MB. Without state a change is cheaper than that; with 250 MB to
    read back over the links it never is, however many swings come.
    """
    second = np.arange(4 * HOURS_S)
    rates = np.where(second // 1800 % 2, 1300.0, 800.0)
    loop = ran(rates, pi_rate_per_s=420.0, state_bytes=state_mb * 1e6)
    assert min(len(applies(loop)), 1) == changes
    assert said(loop, "stays: saves"), "the Pis were better at times"
    assert_nothing_that_must_never_happen(loop)


@pytest.mark.parametrize("end", ["refused", "rolled back", "interrupted"])
def test_a_change_that_fails_leaves_the_former_placement(end, monkeypatch):
    monkeypatch.setattr(
        "edgeplace.control.loop.simulated.simulated_flink._BAD_ENDS", ((end, False),)
    )
    loop = ran(quiet(2), faults=Faults(apply=1.0))
    assert loop.flink.places["filter"] == ("server",) * 4
    assert len(applies(loop)) >= 1
    assert_nothing_that_must_never_happen(loop)


@pytest.mark.parametrize("moved", [True, False])
def test_a_change_that_was_not_verified_is_looked_at(moved, monkeypatch):
    monkeypatch.setattr(
        "edgeplace.control.loop.simulated.simulated_flink._BAD_ENDS", (("unverified", moved),)
    )
    loop = ran(quiet(2), faults=Faults(apply=1.0))
    if moved:
        assert said(loop, "runs as intended") and said(loop, "did well for 3")
    else:
        assert said(loop, "did not end in time: goes back")
    assert loop.flink.places["filter"] == (AT_PIS["filter"] if moved else ("server",) * 4)
    assert_nothing_that_must_never_happen(loop)


def test_two_ways_back_within_a_day_and_it_only_recommends(monkeypatch):
    monkeypatch.setattr(
        "edgeplace.control.loop.simulated.simulated_flink._BAD_ENDS", (("rolled back", False),)
    )
    # A change that is a must is tried again after a quarter of an hour.
    loop = ran(np.full(HOURS_S, 2400.0), faults=Faults(apply=1.0))
    assert len(applies(loop)) == 2
    assert loop.memory.fallen == "2 changes went back within a day"
    assert loop.memory.mode == "recommend"
    assert_nothing_that_must_never_happen(loop)


def test_settings_that_cannot_be_taken_change_nothing():
    loop = ran(quiet(1), mode="recommend")
    before = loop.memory
    after = step(before, Reloaded(at_s=before.now_s, problem="no such mode"))
    assert after.memory.settings == before.settings and "no such mode" in after.says
    assert after.memory.proposal == before.proposal


def test_other_settings_void_what_was_proposed():
    before = ran(quiet(2), mode="recommend").memory
    assert before.proposal is not None
    new = before.settings.model_copy(update={"headroom": 2.0})
    after = step(before, Reloaded(at_s=before.now_s, settings=new)).memory
    assert after.settings == new and after.proposal is None and after.regret == 0


HEAVY = Faults(
    answers=0.1, solver=0.1, apply=0.4, kill=0.003, disk=0.01, job=0.001, hand=0.003, clock=0.001
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_soak(seed):
    """Faults at every effect; the load swings so far that changes are needed, and worth it."""
    second = np.arange(6 * HOURS_S)
    rates = 2400 * (0.6 + 0.35 * np.sin(2 * np.pi * second / (3 * HOURS_S)))
    loop = ran(rates, faults=HEAVY, seed=seed)
    assert loop.kills
    assert applies(loop)
    assert_nothing_that_must_never_happen(loop)
    prices, regret = prices_and_regret(loop)
    assert prices <= regret * (1 + 1e-9), "voluntary changes are paid for by what staying cost"
    for line, _, given in replay(loop.lines, "the journal"):
        assert line.text == given


@pytest.mark.slow
def test_killed_at_every_line_of_a_change_it_ends_at_one_of_both_placements():
    """The loop is killed once, before each of its lines around the change in turn."""
    whole = ran(quiet(2))
    ((_, before, _, _),) = applies(whole)
    for line in range(before.lines - 1, before.lines + 6):
        loop = killed_at(line)
        assert loop.kills == 1
        assert loop.memory.change is None
        assert loop.flink.places["filter"] in (("server",) * 4, AT_PIS["filter"])
        assert_nothing_that_must_never_happen(loop)


def killed_at(line):
    from tests.support.loops import SimulatedLoop, flink, settings

    class KilledOnce(SimulatedLoop):
        def _maybe_killed(self):
            if self.memory.lines == line and not self.kills:
                from edgeplace.control.loop.simulated.simulated_loop import KilledError

                raise KilledError

    loop = KilledOnce(flink(quiet(2)), settings(mode="apply"), [], True)
    loop.run()
    return loop
