"""No output has a price without its currency and time, or as bytes.

By hand: the filter leaves 4 x 600 x 0.7 x 100 = 168,000 bytes/s for the links. At 4 EUR/GB that is
0.000672 EUR/s, and 1,767.23 EUR in a month of 365.25 / 12 days.
"""

import re

import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import Cluster, JobGraph, Plan, read, write
from edgeplace.solver import Weighting, evaluate
from edgeplace.views.split import proof_of_weights
from edgeplace.views.terms import Terms
from tests.support.seeds import filter_cluster, filter_job

PER_SECOND = "0.000672"
MONEY = r"1,767(\.23)? EUR/month"


@pytest.fixture
def case(tmp_path):
    """The job, and its cluster with 4 EUR/GB on each link."""
    cluster = filter_cluster(1e7)
    links = tuple(v.model_copy(update={"price_per_byte": 4e-9}) for v in cluster.links)
    write(filter_job(50_000.0), tmp_path / "job.yaml")
    write(cluster.model_copy(update={"links": links, "currency": "EUR"}), tmp_path / "paid.yaml")
    return [tmp_path / "job.yaml", tmp_path / "paid.yaml"]


def words(ran):
    assert ran.status is ExitStatus.OK, ran.err
    return " ".join(re.sub("<[^>]*>", " ", ran.out).split())


def test_bench_has_values_and_bounds_in_money(edgeplace, case, tmp_path):
    said = words(edgeplace("bench", *case, "--backends", "milp,textbook", "--out", tmp_path / "o"))
    page = " ".join(re.sub("<[^>]*>", " ", (tmp_path / "o" / "report.html").read_text()).split())
    row = rf"edgeplace \(milp\) optimal {MONEY} {MONEY} 0 %"
    for text in (said, page):
        assert re.search(row, text)
        assert PER_SECOND not in text
    assert re.search(r"policy status WAN cost bound", said)


@pytest.mark.parametrize("objective", ["wan,latency", "cost,latency", "latency,wan"])
def test_the_proof_and_the_report_have_units(edgeplace, case, objective, tmp_path):
    page = tmp_path / "report.html"
    said = words(edgeplace("solve", *case, "--full", "--objective", objective, "--report", page))
    text = " ".join(re.sub("<[^>]*>", " ", page.read_text()).split())
    money = objective.partition(",")[0] if objective != "latency,wan" else "wan"
    assert re.search(rf"{money} {MONEY} {MONEY} 0 %", said)
    assert re.search(r"latency [\d.]+ ms [\d.]+ ms 0 %", said)
    assert re.search(rf"{'WAN cost' if money == 'wan' else 'cost'} {MONEY} {MONEY} 0 %", text)
    for each in (said, text):
        assert PER_SECOND not in each and "currency of" not in each


@pytest.mark.parametrize(
    "more",
    [
        ["--pareto", "front.svg"],
        ["--set", "rate=x1..x2"],
        ["--set", "rate=x2"],
        ["--each-site-lost"],
    ],
)
def test_what_if_and_the_front_have_units(edgeplace, case, more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = words(edgeplace("solve", *case, *more, "--report", "report.html"))
    text = (tmp_path / "report.html").read_text()
    assert "EUR/month" in said and "EUR/month" in text
    for each in (said, text):
        # Neither the plan's figure nor the doubled one.
        assert PER_SECOND not in each and "0.00134" not in each


def test_explain_has_units(edgeplace, case, tmp_path):
    plan = tmp_path / "plan.json"
    assert edgeplace("solve", *case, "-o", plan).status is ExitStatus.OK
    for more in ([], ["--prices"], ["--subtask", "filter (1/4)"], ["--against", plan]):
        said = words(edgeplace("explain", *case, plan, *more))
        assert "EUR/month" in said
        assert PER_SECOND not in said


def test_a_subtask_is_busy_in_threads(edgeplace, case, tmp_path):
    """A filter of 700 records/s gets 600: 85.7 % of its thread. It was said as `of 1 s/s`."""
    write(filter_job(700.0), case[0])
    plan = tmp_path / "plan.json"
    assert edgeplace("solve", *case, "-o", plan).status is ExitStatus.OK
    said = words(edgeplace("explain", *case, plan))
    assert re.search(r"subtask busy filter \(1/4\)[\w ,-]* 0.857 1 thread 85.7 %", said)


def test_weights_of_routers_have_their_price(case):
    job, cluster = read(case[0], JobGraph), read(case[1], Cluster)
    at = {"source": tuple(f"pi-{i}" for i in range(4)), "filter": ("server",) * 4}
    plan = Plan(jobs={job.name: {**at, "sink": ("server",)}})
    found = evaluate(job, cluster, plan)
    said = proof_of_weights(
        Weighting(plan=plan, evaluation=found, even=found, bound=found.wan_cost, infeasible=False),
        Terms.of(cluster),
    )
    # 240,000 bytes/s, as all of the input crosses the links: 0.00096 EUR/s.
    assert said.startswith("WAN cost with these weights: 2,525 EUR/month, proved the best")
    assert said.endswith("with even weights: 2,525 EUR/month")
