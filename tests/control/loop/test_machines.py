"""Advice on machines: by hand-made cases, with and without prices, and in a loop that runs."""

import numpy as np
import pytest

from edgeplace.control.loop.advising import EVERY_S
from edgeplace.control.loop.answering.machines import advised
from edgeplace.control.loop.events import MachineAdvice
from edgeplace.model import Plan
from edgeplace.model.what_if.case import Case
from tests.support.loops import AT_PIS, AT_SERVER, PIS, QUIET, RULES, ran, said
from tests.support.seeds import filter_cluster, filter_job


def advice(cluster, pi_rate_per_s=5000.0, places=AT_PIS):
    """Return the advice on a job as REST tells it: only what runs says where data is born."""
    job = filter_job(pi_rate_per_s=pi_rate_per_s)
    source, *others = job.operators
    job = job.revised(operators=(source.model_copy(update={"born_at": ()}), *others))
    case = Case((job,), cluster, RULES, current=Plan(jobs={"filter": places}))
    return advised(case, None, 60.0)


def test_a_server_that_nothing_runs_on_could_go():
    """All filters fit the Pis; a second server serves nobody."""
    cluster = _with_a_spare(filter_cluster())
    found = {a.what: a for a in advice(cluster)}
    spare = found["node spare at cloud"]
    assert spare.kind == "give back" and spare.saves_bytes_per_s == pytest.approx(0.0)
    assert "could go" in spare.says
    assert not {f"node {pi} at site-{pi[3:]}" for pi in PIS} & set(found), "sources are born there"


def test_one_more_machine_is_worth_what_the_best_plan_with_it_saves():
    """A Pi filters 500 records/s of 1,000; a second one at its site takes the other half."""
    found = [a for a in advice(filter_cluster(), pi_rate_per_s=700.0, places=AT_SERVER)]
    adds = [a for a in found if a.kind == "add"]
    for a in adds:
        assert a.saves_bytes_per_s > 0 and a.fits_then and "would save" in a.says
    assert [a for a in found if a.kind == "give back" and a.what == "node server at cloud"] == []


def test_without_prices_there_is_no_money_and_with_them_there_is():
    (first, *_) = [a for a in advice(_with_a_spare(filter_cluster())) if a.kind == "give back"]
    assert first.saves_per_month is None
    priced = _with_a_spare(filter_cluster()).model_copy(update={"currency": "EUR"})
    nodes = tuple(n.model_copy(update={"price_per_node_hour": 0.1}) for n in priced.nodes)
    links = tuple(a.model_copy(update={"price_per_byte": 1e-10}) for a in priced.links)
    priced = priced.model_copy(update={"nodes": nodes, "links": links})
    (first, *_) = [a for a in advice(priced) if a.kind == "give back"]
    assert first.saves_per_month is not None and "EUR a month" in first.says


def _with_a_spare(cluster):
    server = next(n for n in cluster.nodes if n.id == "server")
    tm = next(t for t in cluster.task_managers if t.node == "server")
    return cluster.model_copy(
        update={
            "nodes": (*cluster.nodes, server.model_copy(update={"id": "spare"})),
            "task_managers": (
                *cluster.task_managers,
                tm.model_copy(update={"id": "spare", "node": "spare"}),
            ),
        }
    )


@pytest.mark.slow
def test_a_loop_asks_when_nothing_else_is_to_be_done_and_says_the_answer():
    loop = ran(np.full(2 * 3600, QUIET), mode="recommend", advises=True)
    asks = [s for _, _, s in loop.steps if any(getattr(e, "machines", False) for e in s.effects)]
    assert len(asks) == 1 and EVERY_S > 2 * 3600, "machines are not bought by the minute"
    assert said(loop, "machines: ")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "one more pi would save 12.0 kB/s (8%) over the WAN"),
        (
            {"kind": "give back", "saves_bytes_per_s": -500.0, "share": -0.01},
            "one more pi could go: 0.5 kB/s (1%) more over the WAN, "
            "the rest bears 120% of the peak",
        ),
        ({"fits_now": False}, "one more pi would make the day's peak fit"),
        (
            {"saves_per_month": -3.5, "currency": "EUR"},
            "one more pi would save 12.0 kB/s (8%) over the WAN, 3.50 EUR a month more",
        ),
    ],
)
def test_what_it_says(more, says):
    given = {
        "what": "one more pi",
        "kind": "add",
        "saves_bytes_per_s": 12_000.0,
        "share": 0.08,
        "fits_now": True,
        "fits_then": True,
        "headroom": 1.2,
    }
    assert MachineAdvice.model_validate({**given, **more}).says == says


def test_a_site_that_is_called_as_its_only_machine_gets_advice_on_a_second_one_too():
    """The one slot of a Pi is its source's; a second Pi drops 30 % of 600 records/s of 100 B."""
    cluster = filter_cluster(bandwidth_bytes_per_s=125_000.0)
    tms = tuple(
        t.model_copy(update={"slots": 1 if t.id in PIS else 16}) for t in cluster.task_managers
    )
    found = advice(cluster.model_copy(update={"task_managers": tms}), places=AT_SERVER)
    saves = {a.what: a.saves_bytes_per_s for a in found if a.kind == "add"}
    assert saves == {f"one more node of class pi at {pi}": pytest.approx(18_000) for pi in PIS}
