"""A loop where links have prices: what it decides by is what the traffic costs."""

import re

import numpy as np
import pytest

from edgeplace.control.amounts import amount, by_time
from edgeplace.control.load import Load
from edgeplace.control.loop.answering.restored import restored_by
from edgeplace.control.loop.simulated.simulated_flink import SimulatedFlink
from edgeplace.control.loop.simulated.simulated_loop import SimulatedLoop
from edgeplace.model import Cluster, Link, Node, Site, TaskManager
from edgeplace.report.control_page import control_page
from tests.support.loops import AT_SERVER, BEGAN_S, HOUR_S, QUIET, RULES, applies, settings
from tests.support.page_reader import Page
from tests.support.seeds import filter_cluster, filter_job, two_operators

EUR_PER_BYTE = 4e-9
STATE_BYTES = 30e6
_MONTH_S = 365.25 / 12 * 86_400


def priced(price, currency=None):
    """Return the cluster of the filter job with a price of each byte; checkpoints in the cloud."""
    cluster = filter_cluster()
    links = tuple(a.model_copy(update={"price_per_byte": price}) for a in cluster.links)
    more = {"links": links, "currency": currency, "checkpoint_storage": "cloud"}
    return cluster.model_copy(update=more)


def ran_on(cluster, hours=3, **more):
    job = filter_job(pi_rate_per_s=5000.0)
    source, keeps, sink = job.operators
    cost = keeps.cost.model_copy(update={"state_bytes": STATE_BYTES})
    job = job.revised(operators=(source, keeps.model_copy(update={"cost": cost}), sink))
    load = Load("load", np.full(int(hours * HOUR_S), QUIET))
    world = SimulatedFlink(job, cluster, RULES, load, AT_SERVER, BEGAN_S)
    loop = SimulatedLoop(world, settings(**{"mode": "apply", **more}), [], True)
    loop.run()
    return loop


def begun(loop):
    return [(after.now_s, effect.places) for _, _, effect, after in applies(loop)]


def test_one_price_for_all_bytes_changes_no_decision_and_no_time_of_one():
    plain, paid = ran_on(priced(1.0)), ran_on(priced(EUR_PER_BYTE, "EUR"))
    assert begun(plain) and begun(plain) == begun(paid)
    for (_, _, one), (_, _, other) in zip(plain.steps, paid.steps, strict=True):
        bytes_then, money_then = one.memory, other.memory
        assert money_then.regret == pytest.approx(EUR_PER_BYTE * bytes_then.regret, rel=1e-6)
        assert money_then.price == pytest.approx(EUR_PER_BYTE * bytes_then.price, rel=1e-6)
        assert money_then.restored == bytes_then.restored, "the budget of bytes is in bytes"


def test_with_a_currency_it_speaks_of_money_and_of_bytes_where_it_means_them():
    loop = ran_on(priced(EUR_PER_BYTE, "EUR"), hours=2, mode="recommend")
    memory = loop.memory
    planned = sum(memory.figures_rates.values())
    # The filter keeps 70 % of records of 100 bytes; what it drops need not be paid for.
    saved = 0.3 * 100 * planned * EUR_PER_BYTE * _MONTH_S
    why = memory.proposal.why
    told = re.match(r"saves ([0-9,.]+) EUR a month \(30%\), staying has cost [0-9.]+ EUR more", why)
    assert told and float(told[1].replace(",", "")) == pytest.approx(saved, rel=0.01)
    assert memory.figures.wan_bytes_per_s == pytest.approx(100 * planned, rel=0.01)
    # All state is read back over one link, and an hour's traffic counts 5 %.
    price = EUR_PER_BYTE * (STATE_BYTES + 0.05 * 3600 * 100 * planned)
    assert memory.price == pytest.approx(price, rel=0.01)
    assert f"a change costs {price:.2f} EUR" in why
    text = Page(control_page(memory, memory.now_s)).text
    assert f"{amount(memory.regret, 'EUR')}" in text and "EUR a month" in text


def test_what_is_saved_on_a_link_without_a_price_is_not_worth_a_change():
    loop = ran_on(priced(0.0), mode="recommend")
    assert loop.memory.proposal is None
    assert all(step.memory.proposal is None for _, _, step in loop.steps)


def test_state_is_read_back_at_the_prices_of_the_links_on_its_way():
    """From s1 over s2 to s3, the fastest way; the direct link is slow."""
    names = ("s1", "s2", "s3")
    links = [("s1", "s2", 1.0, 7.0), ("s2", "s3", 1.0, 0.5), ("s1", "s3", 100.0, 90.0)]
    cluster = Cluster(
        sites=tuple(Site(id=s) for s in names),
        nodes=tuple(Node(id=s, site=s, node_class="server", cores=1.0) for s in names),
        task_managers=tuple(TaskManager(id=s, node=s, slots=2) for s in names),
        links=tuple(
            Link(source=a, target=b, delay_ms=ms, price_per_byte=price, both_ways=True)
            for a, b, ms, price in links
        ),
        checkpoint_storage="s1",
    )
    job = two_operators()
    found = {place: restored_by(job, cluster, {"a": ("s1",), "b": (place,)}) for place in names}
    (gigabyte,) = {op.cost.state_bytes for op in job.operators if op.cost.state_bytes}
    assert {p: f.bytes for p, f in found.items()} == {"s1": 0, "s2": gigabyte, "s3": 2 * gigabyte}
    assert {p: f.cost for p, f in found.items()} == {
        "s1": 0,
        "s2": 7 * gigabyte,
        "s3": 7.5 * gigabyte,
    }


@pytest.mark.parametrize(
    ("cost_per_s", "currency", "text"),
    [
        (0.0, "", "0 B/s"),
        (1234.0, "", "1.23 kB/s"),
        (1e-6, "EUR", "2.63 EUR a month"),
        (2e-3, "EUR", "5,259.60 EUR a month"),
        (1e-9, "EUR", "0.0026 EUR a month"),
        (-1e-6, "EUR", "-2.63 EUR a month"),
        (0.0, "EUR", "0.00 EUR a month"),
    ],
)
def test_costs_in_words(cost_per_s, currency, text):
    assert by_time(cost_per_s, currency) == text
