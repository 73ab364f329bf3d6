"""What keeps a change from being made, and that it is made once nothing does."""

import numpy as np
import pytest

from edgeplace.control.loop.gates import in_the_way
from edgeplace.control.loop.memory import Memory, ProposedChange
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
