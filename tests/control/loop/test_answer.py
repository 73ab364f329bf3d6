"""Questions to the solver: what other numbers of subtasks would be worth."""

import pytest

from edgeplace.control.loop.answer import answer
from edgeplace.control.loop.decide import advice
from edgeplace.control.loop.events import Figures, Solve, Solved
from tests.support.loops import AT_SERVER
from tests.support.seeds import cost, filter_cluster, filter_job

STAYS = Figures(fits=True, headroom=1.2, wan_bytes_per_s=9e4, latency_ms=1.0, server_cores=1.0)
LESS = STAYS.model_copy(update={"wan_bytes_per_s": 4e4})


def asking(**more):
    """Ask about the filter job with a sink of which one subtask bears 500 of 1,176 records/s."""
    job = filter_job(pi_rate_per_s=5000.0)
    source, keeps, sink = job.operators
    slow = sink.model_copy(update={"cost": cost("sink", 500.0, 500.0, selectivity=0.0)})
    job = job.revised(operators=(source, keeps, slow))
    rates = {"source": 0.7 * 2400.0}
    ask = Solve(ticket=1, places=AT_SERVER, rates=rates, limit_s=60.0, **more)
    return answer(ask, job, filter_cluster(), None, 0.0)


def test_more_subtasks_are_advised_where_one_does_not_bear_what_comes():
    solved = asking(parallelism={"sink": (1, 2, 3, 4)})
    assert not solved.stay.fits
    assert set(solved.rescaled) == {"sink"} and solved.rescaled["sink"] >= 3
    assert solved.rescaled_figures.fits
    said = advice(solved, held=0.0)
    assert said.startswith(f"with sink in {solved.rescaled['sink']} subtasks a plan bears ")


def test_nothing_is_advised_that_nobody_asked_for():
    solved = asking()
    assert solved.rescaled == {} and advice(solved, held=0.0) == ""


def test_a_saving_is_said_in_bytes():
    solved = Solved(at_s=0.0, ticket=1, stay=STAYS, rescaled={"window": 2}, rescaled_figures=LESS)
    assert advice(solved, held=0.0) == "with window in 2 subtasks a plan sends 50.0 kB/s less"


@pytest.mark.parametrize("held", [0.2, 0.9])
def test_nothing_is_advised_while_a_backlog_drains(held):
    solved = Solved(at_s=0.0, ticket=1, stay=STAYS, rescaled={"window": 2}, rescaled_figures=LESS)
    assert advice(solved, held) == ""
