"""The bill of a plan: its rows come to what the evaluator says that the plan costs."""

from io import StringIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.cli.console import Console
from edgeplace.model import Cluster, JobGraph, Period, Plan, Rules, parse
from edgeplace.solver import evaluate
from edgeplace.views.bill import bill, show_bill
from edgeplace.views.terms import Terms
from tests.support.strategies import instances

PRICES = st.sampled_from([0.0, 1e-9, 2e-9, 4e-9])
VOLUMES = st.sampled_from([0.0, 1e9, 1e11])
HOURLY = st.sampled_from([0.0, 0.04, 1.0])


@st.composite
def judged(draw):
    """Return a cluster with prices, and what the evaluator says of some plan, often over a day."""
    job, cluster, _, _ = draw(instances())
    # Opposite links that share a volume have one price.
    contracts = {
        frozenset((a.source, a.target)): {
            "price_per_byte": draw(PRICES),
            "included_bytes": draw(VOLUMES),
        }
        for a in cluster.links
    }
    links = [{**dict(a), **contracts[frozenset((a.source, a.target))]} for a in cluster.links]
    nodes = [
        {**dict(n), "price_per_core_hour": draw(HOURLY), "price_per_node_hour": draw(HOURLY)}
        for n in cluster.nodes
    ]
    tms = [t.id for t in cluster.task_managers]
    plan = {
        op.id: tuple(draw(st.sampled_from(tms)) for _ in range(op.parallelism))
        for op in job.operators
    }
    cluster = parse(
        {**dict(cluster), "currency": "EUR", "links": links, "nodes": nodes}, Cluster, "it"
    )
    factors = draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), max_size=3))
    demand = tuple(
        Period(name=f"p{i}", share=1 + i, factor=factor) for i, factor in enumerate(factors)
    )
    return cluster, evaluate(job, cluster, Plan(jobs={job.name: plan}), Rules(demand=demand))


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=judged())
def test_the_rows_come_to_the_cost(case):
    cluster, found = case
    *rows, total = [float(row[3].replace(",", "")) for row in bill(cluster, found)] or [0.0]
    # Each row has three digits.
    assert sum(rows) == pytest.approx(found.cost_per_month, rel=0.006, abs=1e-3)
    assert total == pytest.approx(found.cost_per_month, rel=0.006)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=judged())
def test_no_price_is_shown_as_bytes(case):
    """Only what is used is in bytes; prices and money are not."""
    cluster, found = case
    for _, _, price, money in bill(cluster, found)[:-1]:
        assert "EUR" in price
        assert "B" not in money
    for term in ("wan", "cost"):
        assert Terms.of(cluster).value(term, found.value(term)).endswith("EUR/month")


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=judged())
def test_without_a_currency_there_is_no_bill(case):
    cluster, found = case
    out = StringIO()
    show_bill(Console(out, StringIO()), cluster.model_copy(update={"currency": None}), found)
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("written", "used", "price", "money"),
    [
        ("0.04 EUR/h", "730 hours", "0.04 EUR/h", "29.2"),
        ("200 EUR/month", "1 month", "200 EUR/month", "200"),
        ("49.99 EUR/month", "1 month", "49.99 EUR/month", "50"),
        ("1 EUR/h", "730 hours", "1 EUR/h", "730"),
    ],
)
def test_a_price_is_printed_by_the_time_that_people_write(written, used, price, money):
    classes = [{"node_class": "default", "true_rate_per_s": 10}]
    source = {
        "id": "a",
        "name": "a",
        "parallelism": 1,
        "born_at": ["s"],
        "cost": {"demand": {"rates_per_s": [1]}, "classes": classes},
    }
    job = parse({"name": "j", "operators": [source]}, JobGraph, "it")
    node = {"id": "n", "site": "s", "cores": 1, "slots": 1, "price_per_node_hour": written}
    cluster = parse({"currency": "EUR", "sites": [{"id": "s"}], "nodes": [node]}, Cluster, "it")
    found = evaluate(job, cluster, Plan(jobs={"j": {"a": ("n",)}}))
    assert bill(cluster, found)[0] == ("1 node in use", used, price, money)
