"""Sites that are lost and come back: rescued at once, damped, and home again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as config
from hypothesis import strategies as st

from edgeplace.control.loop import sites
from edgeplace.control.loop.events import Figures, Solved
from edgeplace.control.loop.journal import replay
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.rescue import planned
from edgeplace.control.loop.simulated.simulated_flink import Faults
from edgeplace.control.loop.step import step
from tests.support.loops import (
    BEGAN_S,
    applies,
    assert_nothing_that_must_never_happen,
    polled,
    ran_with_outages,
    said,
)

OF = {"a": ("a-1", "a-2"), "b": ("b-1",)}


def seen(memory, second, *registered):
    event = polled(second, registered=registered)
    return sites.noticed(memory.now(now_s=BEGAN_S + second), event)


@pytest.fixture
def memory():
    return seen(Memory(sites=OF), 0, "a-1", "a-2", "b-1")[0]


@pytest.mark.parametrize(
    ("at", "problem"), [("b-1", "no plan without it was found"), ("a-1", "nothing runs there")]
)
def test_without_another_plan_for_a_lost_site_it_matters_whether_something_runs_there(at, problem):
    """What runs may be overloaded, and still be the best without the site."""
    memory = Memory(sites=OF, places={"op": (at,)}, asked_without="b")
    overloaded = Figures(
        fits=False, headroom=0.2, wan_bytes_per_s=1, wan_cost=1, latency_ms=1, server_cores=1
    )
    memory, said, _ = planned(memory, Solved(at_s=BEGAN_S, ticket=1, stay=overloaded))
    assert said == f"if site b is lost: {problem}"
    assert memory.loss_plans["b"].problem == problem


@pytest.mark.slow
def test_a_lost_site_is_left_for_the_plan_that_was_made_before():
    loop = ran_with_outages(2, [("cloud", 60, 100)])
    (rescue,) = [
        (event, effect) for event, _, effect, after in applies(loop) if after.change.kind == "lost"
    ]
    event, effect = rescue
    assert event.at_s - BEGAN_S <= 3600 + loop.settings.poll_s, "at the first poll that tells it"
    assert not {"server"} & {tm for row in effect.places.values() for tm in row}
    assert loop.flink.late_s < 120, "the site was away for 40 minutes"
    assert said(loop, "if site cloud is lost: ")
    assert_nothing_that_must_never_happen(loop)


@pytest.mark.slow
def test_a_site_that_is_lost_while_a_change_is_watched_is_left_at_once_by_a_plan_of_that_change():
    away = [("cloud", 60, 100), ("cloud-2", 63, 80)]
    loop = ran_with_outages(2, away)
    first, second = [
        (event, before, effect)
        for event, before, effect, after in applies(loop)
        if after.change.kind == "lost"
    ]
    assert {"server-2"} & {tm for row in first[2].places.values() for tm in row}
    event, before, effect = second
    assert before.change is not None and before.change.id == first[2].id
    assert event.at_s - BEGAN_S <= 63 * 60 + loop.settings.poll_s
    assert not {"server", "server-2"} & {tm for row in effect.places.values() for tm in row}
    assert before.loss_plans["cloud-2"].made_s > before.change.seen_s
    assert_nothing_that_must_never_happen(loop)


@pytest.mark.slow
def test_a_job_whose_site_is_not_to_be_survived_waits():
    loop = ran_with_outages(1.5, [("cloud", 60, 70)], survive=())
    assert not [a for *_, a in applies(loop) if a.change.kind == "lost"]
    assert said(loop, "it ran at site cloud, which is lost and not among `survive`: it waits")
    assert loop.flink.late_s > 600


@pytest.mark.slow
def test_the_site_of_a_source_is_waited_for():
    loop = ran_with_outages(1.5, [("pi-1", 60, 70)], survive=("pi-1",))
    assert not [a for *_, a in applies(loop) if a.change.kind == "lost"]
    assert said(loop, "source 'source' runs at site 'pi-1'")
    assert {effect.places["source"] for _, _, effect, _ in applies(loop)} <= {
        loop.flink.places["source"]
    }


@pytest.mark.slow
def test_recommending_it_says_what_it_would_do_and_does_nothing():
    loop = ran_with_outages(1.5, [("cloud", 60, 70)], mode="recommend")
    assert not applies(loop)
    assert len(said(loop, "recommends loss")) == 1
    assert said(loop, ": loss")


@pytest.mark.slow
def test_a_site_that_flaps_is_kept_out_and_let_in_again():
    """Lost four times within the hour, the cloud gets nothing; an hour later it may again."""
    flaps = [("cloud", m, m + 4) for m in (60, 70, 80, 90)]
    loop = ran_with_outages(4, flaps)
    assert len([a for *_, a in applies(loop) if a.change.kind == "lost"]) <= 2
    assert said(loop, "site cloud is back, and gets nothing for")
    assert said(loop, "site cloud may be used again")
    out = [m for _, m, _ in loop.steps if "server" in set(sites.avoided(m))]
    assert out[-1].now_s - BEGAN_S > 100 * 60, "longer than it was away"
    assert "server" not in set(sites.avoided(loop.memory))
    assert_nothing_that_must_never_happen(loop)


@config(deadline=None)
@given(st.lists(st.floats(0, 20_000), min_size=1, max_size=60))
def test_damping_ends(times):
    """However often a place was lost, an hour after the last loss it is let in."""
    figure = None
    for at_s in sorted(times):
        figures = sites.aged({"x": figure}, at_s) if figure else {}
        figure = sites.after_loss(figures.get("x"), at_s)
    assert figure.value <= sites.MOST
    hour_s = sites.HALF_S * np.log2(sites.MOST / sites.IN) + 1
    left = sites.aged({"x": figure}, figure.at_s + hour_s)
    assert not any(f.out for f in left.values())


def test_one_loss_an_hour_is_no_flapping():
    figure = None
    for hour in range(24):
        figures = sites.aged({"x": figure}, hour * 3600.0) if figure else {}
        figure = sites.after_loss(figures.get("x"), hour * 3600.0)
        assert not figure.out


def test_three_losses_within_minutes_are():
    figure = None
    for at_s in (0.0, 60.0, 120.0):
        assert figure is None or not figure.out
        figure = sites.after_loss(figure, at_s)
    assert figure.out


def test_a_task_manager_that_fails_twice_within_the_hour_is_kept_out(memory):
    for second, there in ((60, ("a-1", "b-1")), (120, ("a-1", "a-2", "b-1"))):
        memory, _ = seen(memory, second, *there)
    assert not list(sites.avoided(memory))
    memory, news = seen(memory, 1800, "a-1", "b-1")
    assert news == ("TaskManager a-2 is gone",)
    memory, _ = seen(memory, 1860, "a-1", "a-2", "b-1")
    assert list(sites.avoided(memory)) == ["a-2"]


def test_a_site_is_lost_when_its_last_task_manager_is(memory):
    memory, _ = seen(memory, 10, "a-2", "b-1")
    assert memory.lost == ()
    memory, news = seen(memory, 20, "b-1")
    assert (memory.lost, news) == (("a",), ("site a is lost",))
    memory, news = seen(memory, 30, "a-1", "b-1")
    assert (memory.lost, news) == ((), ("site a is back",))


def test_a_new_job_manager_that_knows_nobody_yet_has_lost_nobody(memory):
    memory, news = seen(memory, 10)
    assert news == () and memory.lost == ()
    down = polled(20, problem="no connection").model_copy(update={"job": ""})
    memory, _ = sites.noticed(memory.now(now_s=BEGAN_S + 20), down)
    memory, news = seen(memory, 30, "b-1")
    assert news == () and memory.lost == (), "the others are still registering"
    memory, news = seen(memory, 60, "b-1")
    assert news == ("site a is lost",)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_faults_and_outages_together(seed):
    chance = np.random.default_rng(seed)
    begins = np.sort(chance.uniform(20, 330, 6))
    outages = [(str(chance.choice(["cloud", "cloud-2"])), b, b + 8) for b in begins]
    faults = Faults(answers=0.05, solver=0.1, apply=0.2, kill=0.002, disk=0.01)
    loop = ran_with_outages(6, outages, faults=faults, seed=seed)
    assert applies(loop) and loop.kills
    assert_nothing_that_must_never_happen(loop)
    for line, _, text in replay(loop.lines, "the journal"):
        assert line.text == text


def test_a_poll_that_tells_nothing_of_task_managers_changes_nothing(memory):
    assert step(memory, polled(10)).memory.there == memory.there
