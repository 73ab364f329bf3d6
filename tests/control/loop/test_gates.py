"""What keeps a change from being made, and that it is made once nothing does."""

import numpy as np
import pytest

from edgeplace.control.loop.changing import watched
from edgeplace.control.loop.gates import in_the_way, plan_key
from edgeplace.control.loop.memory import Base, BegunChange, Memory, ProposedChange, RecentRates
from edgeplace.control.loop.observe import Observation
from tests.support.loops import (
    AT_PIS,
    BEGAN_S,
    applies,
    assert_nothing_that_must_never_happen,
    at,
    ran,
    said,
    settings,
)


@pytest.mark.parametrize(
    "poll_s, age_s, old", [(2, 9, False), (2, 31, True), (10, 29, False), (60, 150, False)]
)
def test_an_answer_is_fresh_until_flink_counts_anew(poll_s, age_s, old):
    """Flink counts anew each 10 s, however often it is asked."""
    memory = Memory().now(
        settings=settings(poll_s=poll_s),
        now_s=BEGAN_S,
        observed_s=BEGAN_S - age_s,
        checkpoint_s=1.0,
    )
    must = ProposedChange(
        id="c1",
        kind="must",
        to=AT_PIS,
        moves=4,
        moved_operators=1,
        restore_bytes=0.0,
        why="",
        rates={},
        unproved=False,
        made_s=BEGAN_S,
        valid_until_s=BEGAN_S + 3600,
    )
    assert [g.split(":")[0] for g in in_the_way(memory, must, alone=False)] == ["fresh"] * old


def lost_site(**known):
    """A memory with the loss of a site, and the change that was planned for it."""
    memory = Memory().now(
        settings=settings(poll_s=10, survive=("cloud",)),
        now_s=BEGAN_S,
        observed_s=BEGAN_S - 200,
        there_s=BEGAN_S,
        checkpoint_s=1.0,
        blind="Flink has not told where all subtasks run",
        **known,
    )
    change = ProposedChange(
        id="loss1",
        kind="lost",
        to=AT_PIS,
        moves=4,
        moved_operators=1,
        restore_bytes=0.0,
        why="",
        rates={},
        made_s=BEGAN_S,
        valid_until_s=BEGAN_S + 3600,
    )
    return memory, change


def test_a_job_whose_site_is_lost_is_not_waited_for_to_tell_where_it_runs():
    """It cannot: it does not run. What has to be fresh is the list of TaskManagers."""
    memory, change = lost_site()
    assert in_the_way(memory, change, alone=True) == ()
    (old,) = in_the_way(memory.now(there_s=BEGAN_S - 31), change, alone=True)
    assert old.startswith("fresh: the last list of TaskManagers is too old")


def test_a_plan_that_went_back_before_the_loss_is_no_reason_to_wait_after_it():
    """Its places did worse than others that are gone; only a refusal after the loss counts."""
    memory, change = lost_site()
    same = change.model_copy(update={"kind": "must"})
    banned = memory.now(banned={plan_key(same): BEGAN_S - 60})
    assert in_the_way(banned, change, alone=True) == ()
    banned = memory.now(banned={plan_key(change): BEGAN_S - 60})
    assert [g.split(":")[0] for g in in_the_way(banned, change, alone=True)] == ["refused"]


@pytest.mark.parametrize(
    ("held", "emitted", "worse"),
    [(0.6, 331.0, False), (0.6, 600.0, True), (0.0, 331.0, True), (0.0, 600.0, True)],
)
def test_sources_that_emit_more_than_before_drain_a_backlog_and_are_no_worse(held, emitted, worse):
    """A link had become thin: 331 records/s got through, and 530 do after the change."""
    change = BegunChange(
        id="c1",
        kind="must",
        former=AT_PIS,
        to=AT_PIS,
        rates={"source": 1384.0},
        held=held,
        emitted={"source": emitted},
        began_s=BEGAN_S,
        deadline_s=BEGAN_S + 600,
        seen_s=BEGAN_S,
        run="r",
    )
    recent = tuple(
        RecentRates(at_s=BEGAN_S + 10 * i, rates={"source": 530.0}, held=0.98) for i in range(3)
    )
    memory = Memory().now(settings=settings(), recent=recent, change=change, run="r", places=AT_PIS)
    seen = Observation(Base(at_s=BEGAN_S, counters={}), {"source": 530.0}, 10.0, 0.98)
    told = []
    for poll in range(12):
        memory = memory.now(now_s=BEGAN_S + 130 + 10 * poll)
        memory, says, _ = watched(memory, seen, "watches")
        told.append(says)
    assert any("goes back" in says for says in told) == worse


def test_a_change_that_must_be_is_made_as_soon_as_nothing_hinders_it():
    hour_s, over_s = 3600, 7235
    rates = np.r_[np.full(2 * hour_s - 30, 1200.0), np.full(hour_s, 2400.0)]
    frozen = at(hour_s, "freeze", for_s=over_s - hour_s)
    loop = ran(rates, changes={"voluntary_per_day": 0}, requests=[frozen])
    assert said(loop, "hindered by window: frozen for")
    ((_, before, _, _),) = applies(loop)
    assert abs(before.now_s - loop.flink.began_s - over_s) <= 20
    assert said(loop, "nothing hinders c")
    assert_nothing_that_must_never_happen(loop)
