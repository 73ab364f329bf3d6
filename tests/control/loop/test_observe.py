"""An answer that is incomplete, stale or of another job is no answer."""

import pytest

from edgeplace.control.loop.events import Started
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.step import step
from tests.support.loops import AT_PIS, AT_SERVER, BEGAN_S, polled, settings

FIRST = (1000.0,) * 4


def after(*events):
    """Return what came of the last of some events, after a loop has started."""
    memory = step(Memory(), Started(at_s=BEGAN_S, epoch=1, settings=settings())).memory
    stepped = None
    for event in events:
        stepped = step(memory, event)
        memory = stepped.memory
    return stepped


def test_rates_are_differences_of_counters():
    seen = after(polled(10, FIRST), polled(20, (2000.0, 3000.0, 1000.0, 1000.0)))
    assert seen.memory.recent[-1].rates == {"source": 300.0}
    assert not seen.memory.blind


@pytest.mark.parametrize(
    "broken, said",
    [
        ({"problem": "no connection: refused"}, "no connection: refused"),
        ({"state": "RESTARTING"}, "the job is RESTARTING"),
        ({"state": ""}, "in no state that Flink tells"),
        ({"job": "other"}, "about job 'other', not 'filter'"),
        ({"counters": {}}, "has not told all counters"),
        ({"counters": {"source": ()}}, "all counters of source 'source'"),
        ({"counters": {"source": (None, 2000.0, 2000.0, 2000.0)}}, "all counters of source"),
        ({"held": None}, "how long sources are held back"),
        ({"places": {"source": (None,)}}, "where all subtasks run"),
        ({"counters": {"source": (0.0, 0.0, 0.0, 0.0)}}, "became fewer: half an answer"),
        ({"counters": {"source": FIRST}}, "those of 10 s ago: an old answer"),
        ({"at_s": BEGAN_S + 10}, "the clock has not moved"),
    ],
)
def test_what_is_no_answer(broken, said):
    seen = after(polled(10, FIRST), polled(20, **broken))
    assert said in seen.memory.blind and said in seen.says
    assert not seen.memory.recent and not seen.effects


def test_zeros_between_two_answers_are_no_load_that_has_gone():
    seen = after(polled(10, FIRST), polled(20, (0.0,) * 4), polled(30, (2000.0,) * 4))
    assert seen.memory.recent[-1].rates == {"source": 200.0}


def test_counters_that_stay_low_have_begun_anew():
    low = [polled(s, (s, s, s, s)) for s in (20.0, 30.0, 40.0, 50.0)]
    seen = after(polled(10, FIRST), *low)
    assert seen.memory.recent[-1].rates == {"source": pytest.approx(4.0)}


def test_a_source_that_is_silent_for_a_minute_is_silent():
    same = [polled(s, FIRST) for s in range(10, 80, 10)]
    seen = after(*same)
    assert seen.memory.recent[-1].rates == {"source": 0.0}


def test_a_source_that_is_silent_while_flink_counts_its_time_is_silent():
    seen = after(polled(10, FIRST, counted_ms=5e4), polled(20, FIRST, counted_ms=9e4))
    assert seen.memory.recent[-1].rates == {"source": 0.0}


def test_metrics_that_stand_still_are_old_however_long_and_what_came_meanwhile_is_no_burst():
    # A site was cut off for 360 s, and Flink waited for its TaskManager's metrics all the time.
    still = [polled(s, FIRST, counted_ms=5e4) for s in range(10, 380, 10)]
    assert "those of 360 s ago: an old answer" in after(*still).memory.blind
    moved = polled(380, (37_000.0 + 1000.0,) * 4, counted_ms=1.53e6)
    seen = after(*still, moved)
    assert [r.rates for r in seen.memory.recent] == [{"source": 400.0}]


def test_a_restart_is_no_negative_rate():
    seen = after(polled(10, FIRST), polled(20, (5.0,) * 4, run="2", up_s=3.0))
    assert not seen.memory.recent and not seen.memory.blind
    assert "started anew" in seen.says
    assert seen.memory.settled_s == BEGAN_S + 17


def test_somebody_who_moves_the_job_is_noticed():
    seen = after(
        polled(10, FIRST), polled(20, (2000.0,) * 4), polled(30, (3000.0,) * 4, places=AT_PIS)
    )
    assert "somebody has moved the job: 4 subtasks" in seen.says


def test_a_move_that_half_an_answer_tells_is_not_missed():
    """Places are told once; the poll that tells them may be of no use otherwise."""
    more = ({"held": None, "places": AT_PIS}, {"places": None, "emitted": (2000.0,) * 4})
    seen = after(polled(10, FIRST), *(polled(20 + 10 * i, **m) for i, m in enumerate(more)))
    assert seen.memory.places == AT_PIS
    assert "somebody has moved the job" in seen.says


def test_clocks_that_people_set_change_no_rate():
    ahead = polled(20, (2000.0,) * 4, wall_s=BEGAN_S - 86_400)
    seen = after(polled(10, FIRST), ahead)
    assert seen.memory.recent[-1].rates == {"source": 400.0}


def test_a_clock_that_is_behind_the_journal_stands_still_until_it_has_caught_up():
    memory = Memory(now_s=BEGAN_S + 1000, lines=5)
    started = step(memory, Started(at_s=BEGAN_S, epoch=2, settings=settings()))
    assert started.memory.now_s == BEGAN_S + 1000


def test_places_are_of_the_poll_that_told_them():
    seen = after(polled(10, FIRST), polled(20, (2000.0,) * 4, places=None))
    assert seen.memory.places == AT_SERVER
