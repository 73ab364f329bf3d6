"""Answers of the solver where it may choose how many subtasks an operator has."""

import pytest

from edgeplace.control.loop.answering.answer import answer
from edgeplace.control.loop.events import Solve
from edgeplace.model import Pin, Rules, ShipStrategy
from tests.support.loops import AT_SERVER, PIS
from tests.support.seeds import filter_cluster, slow_sink_job, stream

RATES = {"source": 0.7 * 2400.0}
TWO = {**AT_SERVER, "sink": ("server",) * 2}
FOUR = {**AT_SERVER, "sink": ("server",) * 4}


def asking(places=AT_SERVER, numbers=(1, 2, 3, 4), job=None, rules=None, rates=RATES, **more):
    """Ask about a job with a sink of which one subtask bears 500 of 1,176 records/s."""
    asked = {"sink": numbers} if numbers else {}
    ask = Solve(ticket=1, places=places, rates=rates, parallelism=asked, limit_s=60.0, **more)
    return answer(ask, job or slow_sink_job(), filter_cluster(), rules, 0.0)


def test_more_subtasks_are_chosen_where_one_does_not_bear_what_comes():
    solved = asking()
    assert not solved.stay.fits and solved.best.fits
    assert solved.rescaled == {"sink": len(solved.places["sink"])}
    assert solved.rescaled["sink"] >= 3


def test_without_a_choice_all_keep_their_numbers():
    solved = asking(numbers=())
    assert solved.rescaled == {} and len(solved.places.get("sink", (0,))) == 1


def test_what_runs_is_judged_in_the_parallelism_in_which_it_runs():
    """The job is given with one sink; two run."""
    one, two = asking(numbers=()), asking(TWO, numbers=())
    assert two.stay.headroom == pytest.approx(2 * one.stay.headroom)


def test_what_runs_may_go_on_although_its_number_was_not_asked_for():
    assert asking(FOUR, numbers=(1,), rates={"source": 100.0}).stay.fits


@pytest.mark.parametrize("drains", [False, True])
def test_while_a_backlog_drains_no_operator_gets_fewer_subtasks(drains):
    """Only one sink fits the slot that is left at the server."""
    cluster = filter_cluster()
    small = [
        t.model_copy(update={"slots": 1}) if t.id == "server" else t for t in cluster.task_managers
    ]
    cluster = cluster.model_copy(update={"task_managers": tuple(small)})
    pis = {"source": PIS, "filter": PIS, "sink": ("server", "server")}
    rules = Rules(rules=(Pin(operators=("sink",), to="cloud"),))
    ask = Solve(
        ticket=1,
        places=pis,
        rates={"source": 100.0},
        parallelism={"sink": (1, 2)},
        drains=drains,
        limit_s=60.0,
    )
    solved = answer(ask, slow_sink_job(), cluster, rules, 0.0)
    assert solved.rescaled == ({} if drains else {"sink": 1})


def test_a_pin_of_single_subtasks_goes_with_no_choice():
    rules = Rules(rules=(Pin(operators=("sink",), subtasks=(0,), to="cloud"),))
    assert "pins single subtasks" in asking(rules=rules).problem
    assert not asking(numbers=(), rules=rules).problem


@pytest.mark.parametrize(
    ("strategy", "moved", "rescaled"),
    [(ShipStrategy.FORWARD, 1, {"slow", "sink"}), (ShipStrategy.REBALANCE, 0, set())],
)
def test_the_first_rescaling_is_of_one_operator_and_of_those_that_forward_joins(
    strategy, moved, rescaled
):
    """Neither of two slow operators keeps up alone; apart, they would be two changes."""
    job = slow_sink_job(before_sink=strategy)
    numbers = {"sink": (1, 2, 3, 4)} | ({} if moved else {"slow": (1, 2, 3, 4)})
    ask = Solve(
        ticket=1,
        places={**AT_SERVER, "slow": ("server",)},
        rates=RATES,
        parallelism=numbers,
        one_rescaled=True,
        limit_s=60.0,
    )
    solved = answer(ask, job, filter_cluster(), None, 0.0)
    assert (solved.moved_operators, set(solved.rescaled)) == (moved, rescaled)


def test_combiners_behind_a_router_stay_since_weights_are_by_subtask():
    """All else moves: the filters to the Pis, away from the server."""
    job = slow_sink_job()
    source, keeps, sink = job.operators
    shares = ((1.0,),) * 4
    routed = stream("filter", "sink", ShipStrategy.CUSTOM, 100, shares_by_producer=shares)
    combine = sink.model_copy(update={"name": "words: combine"})
    job = job.revised(operators=(source, keeps, combine), streams=(job.streams[0], routed))
    solved = asking(job=job, rates={"source": 400.0})
    assert solved.problem == "" and solved.held == ("words: combine",)
    assert solved.places["filter"] == PIS and solved.places["sink"] == ("server",)
    assert solved.rescaled == {}
    # Not where it runs at a site that is to be lost.
    assert asking(job=job, rates={"source": 400.0}, without="cloud").held == ()
