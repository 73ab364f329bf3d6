"""The loop changes how many subtasks there are: the real step in a simulated Flink."""

import numpy as np
import pytest

from edgeplace.control.loop.gates import in_the_way
from edgeplace.control.loop.journal import replay
from edgeplace.control.loop.memory import Memory, ProposedChange, RecentRates
from edgeplace.control.loop.simulated.simulated_flink import Faults
from edgeplace.control.settings import ControlSettings
from tests.support.loops import (
    AT_PIS,
    BEGAN_S,
    applies,
    assert_nothing_that_must_never_happen,
    ran_with_a_slow_sink,
    said,
)

HOUR_S = 3600


def step_of_rates(hours, before=500.0, after=1700.0):
    """Return an hour at one rate, then the other; the filter drops 30 %."""
    return np.where(np.arange(hours * HOUR_S) < HOUR_S, before, after)


@pytest.mark.slow
def test_a_step_in_rate_is_answered_by_one_change_to_as_many_subtasks_as_it_needs():
    loop = ran_with_a_slow_sink(step_of_rates(3))
    ((_, before, effect, _),) = applies(loop)
    assert 0 < before.now_s - BEGAN_S - HOUR_S <= 120
    assert 500.0 * len(effect.places["sink"]) >= 1.15 * 0.7 * 1700.0
    assert effect.former["sink"] == ("server",), "the way back has the former number"
    assert said(loop, "sink in ")
    assert loop.flink.places == effect.places
    assert said(loop, "did well for 3")
    assert_nothing_that_must_never_happen(loop)
    lines = loop.lines
    assert [line.text for line, _, _ in replay(lines, "journal")] == lines


@pytest.mark.slow
def test_without_a_choice_of_numbers_it_says_that_no_plan_bears_what_comes():
    loop = ran_with_a_slow_sink(step_of_rates(2), rescale={})
    assert not applies(loop)
    assert said(loop, "and no plan bears more")


def test_a_change_that_is_worse_goes_back_to_the_former_number(monkeypatch):
    """The sinks bear a third of what their costs say, so that four are too few, too."""
    ends = (("unverified", False),)
    monkeypatch.setattr("edgeplace.control.loop.simulated.simulated_flink._BAD_ENDS", ends)
    loop = ran_with_a_slow_sink(step_of_rates(2), faults=Faults(apply=1.0))
    first, back, *_ = applies(loop)
    assert len(first[2].places["sink"]) > 1 and back[2].places == first[2].former
    assert loop.flink.places["sink"] == ("server",)
    assert_nothing_that_must_never_happen(loop)


@pytest.mark.parametrize("held", [0.0, 0.5])
def test_no_fewer_subtasks_while_a_backlog_drains_whatever_the_reason(held):
    """Also where it is a must: the gate is asked of each change but that of a lost site."""
    change = ProposedChange(
        id="c1",
        kind="must",
        to={**AT_PIS, "sink": ("server",)},
        moves=0,
        moved_operators=1,
        rescaled={"sink": 1},
        restore_bytes=0.0,
        why="a rule",
        rates={},
        made_s=0.0,
        valid_until_s=1e12,
    )
    settings = ControlSettings(jobmanager="http://flink", job="filter", cluster="c")
    memory = Memory(
        settings=settings,
        places={**AT_PIS, "sink": ("server", "server")},
        recent=(RecentRates(at_s=0.0, rates={"source": 1.0}, held=held),),
        observed_s=0.0,
        checkpoint_s=1.0,
    )
    found = in_the_way(memory, change, alone=False)
    assert [text.split(":")[0] for text in found] == (["settled"] if held else [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_soak(seed):
    second = np.arange(6 * HOUR_S)
    rates = 1200 * (0.6 + 0.4 * np.sin(2 * np.pi * second / (3 * HOUR_S)))
    faults = Faults(
        answers=0.1, solver=0.1, apply=0.4, kill=0.003, disk=0.01, job=0.001, hand=0.003
    )
    loop = ran_with_a_slow_sink(rates, faults=faults, seed=seed)
    assert loop.kills and any(len(e.places["sink"]) > 1 for _, _, e, _ in applies(loop))
    assert_nothing_that_must_never_happen(loop)
    lines = loop.lines
    assert [line.text for line, _, _ in replay(lines, "journal")] == lines
