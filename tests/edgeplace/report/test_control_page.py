"""The loop's page: what it says, and that no name in it is markup."""

import numpy as np
import pytest

from edgeplace.control.loop.memory import LossFigure, LossPlan, Memory
from edgeplace.report.control_page import control_page
from tests.support.loops import QUIET, ran
from tests.support.page_reader import Page


@pytest.fixture(scope="module")
def loop():
    return ran(np.full(3 * 3600, QUIET), mode="recommend")


def test_it_has_mode_plan_proposal_day_and_decisions(loop):
    page = control_page(loop.memory, loop.memory.now_s)
    text = Page(page).text
    assert "The loop of filter" in text
    assert loop.memory.proposal is not None
    assert loop.memory.proposal.why in text
    assert "server ×4" in text
    figures = loop.memory.figures
    assert f"{figures.server_cores:,.2f}" in text and f"{figures.latency_ms:,.1f} ms" in text
    assert "records/s that are expected, headroom included" in text
    assert "of what runs sustains" in text
    assert "+24 h" in text and "stayed below their bound" in text
    assert loop.memory.log[-1].says in text


def test_a_loop_that_has_seen_nothing_has_a_page():
    text = Page(control_page(Memory(), 0.0)).text
    assert "nothing was asked yet" in text
    assert "Flink has not told yet where the subtasks run" in text


def test_it_says_what_the_loss_of_a_site_would_mean(loop):
    plans = {
        "hall": LossPlan(moves=3, made_s=0.0),
        "lyon": LossPlan(made_s=0.0, problem="source 'a' runs at site 'lyon'"),
    }
    out = LossFigure(value=2500.0, at_s=0.0, out=True)
    memory = loop.memory.now(loss_plans=plans, lost=("hall",), losses={"site hall": out})
    text = Page(control_page(memory, memory.now_s)).text
    assert "Site hall is lost." in text
    assert "site hall gets nothing new: it was lost too often." in text
    assert "If site hall is lost: 3 subtasks would move." in text
    assert "If site lyon is lost: source 'a' runs at site 'lyon'." in text


def test_names_are_text(loop):
    memory = loop.memory.now(
        decision="<b>bold</b>", places={"<i>op</i>": ("<u>tm</u>",)}, proposal=None
    )
    page = control_page(memory, memory.now_s)
    for tag in ("<b>", "<i>", "<u>"):
        assert tag not in page
    assert "&lt;b&gt;bold" in page
