"""`--optimise`: objectives by question, and a word on bytes that nobody pays for."""

import json

import pytest
import yaml

from edgeplace.model import PRESETS

JOB = {
    "name": "cams",
    "operators": [
        {
            "id": name,
            "name": name,
            "parallelism": 1,
            "cost": {
                "classes": [
                    {"node_class": "pi", "true_rate_per_s": 120},
                    {"node_class": "vm", "true_rate_per_s": 9000},
                ]
            },
        }
        for name in ("camera", "detect")
    ],
    "streams": [
        {
            "source": "camera",
            "target": "detect",
            "ship_strategy": "FORWARD",
            "cost": {"bytes_per_record": 4000},
        }
    ],
}
JOB["operators"][0] |= {"born_at": ["anywhere"]}
JOB["operators"][0]["cost"]["demand"] = {"rates_per_s": [100]}
CLUSTER = {
    "sites": [{"id": "edge"}, {"id": "dc", "tier": "cloud"}],
    "nodes": [
        {"id": "pi", "site": "edge", "node_class": "pi", "cores": 4, "slots": 4},
        {"id": "vm", "site": "dc", "node_class": "vm", "cores": 4, "slots": 4},
    ],
    "links": [
        {
            "source": "edge",
            "target": "dc",
            "delay_ms": 5,
            "bandwidth_bytes_per_s": "100 Mbit/s",
            "both_ways": True,
        }
    ],
}


@pytest.fixture
def case(tmp_path):
    """Return a job and a cluster: camera at the edge, detect fast on the server only."""
    job = json.loads(json.dumps(JOB))
    job["operators"][0]["born_at"] = ["edge"]
    cluster = json.loads(json.dumps(CLUSTER))

    def write(**changes):
        link = changes.pop("link", {})
        cluster["links"][0] |= link
        (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
        (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(cluster | changes))
        return tmp_path / "job.yaml", tmp_path / "cluster.yaml"

    return write


@pytest.mark.parametrize("preset", ["bytes", "latency", "headroom"])
def test_a_preset_prints_its_list_and_is_that_list(edgeplace, case, preset):
    files = case()
    text = ",".join(PRESETS[preset])
    short = edgeplace("solve", *files, "--optimise", preset)
    assert short.status == 0
    said = f"--optimise {preset} stands for --objective {text}"
    assert said in short.out
    by_preset = json.loads(edgeplace("solve", *files, "--optimise", preset, "--json").out)
    by_list = json.loads(edgeplace("solve", *files, "--objective", text, "--json").out)
    assert by_preset["levels"] == by_list["levels"]
    assert by_preset["plan"] == by_list["plan"]


def test_money_is_refused_without_a_currency_and_says_what_to_add(edgeplace, case):
    for command in ("solve", "bench"):
        ran = edgeplace(command, *case(), "--optimise", "money")
        assert ran.status == 2
        assert "the cluster has no currency" in ran.err
        assert "currency: EUR" in ran.err


@pytest.mark.parametrize("first", [True, False])
def test_a_preset_beside_a_list_is_refused(edgeplace, case, first):
    options = [["--optimise", "latency"], ["--objective", "wan"]]
    a, b = options if first else options[::-1]
    ran = edgeplace("solve", *case(), *a, *b)
    assert ran.status == 2
    assert "--optimise" in ran.err.splitlines()[-1]
    assert "--objective" in ran.err.splitlines()[-1]


def test_explain_takes_a_preset(edgeplace, case, tmp_path):
    files = case()
    plan = tmp_path / "plan.json"
    assert edgeplace("solve", *files, "-o", plan).status == 0
    ran = edgeplace("explain", *files, plan, "--optimise", "latency")
    assert ran.out.startswith("--optimise latency stands for --objective latency,wan")
    assert "worst path would be better" in ran.out


@pytest.mark.slow
def test_bench_compares_by_the_objective(edgeplace, case):
    files = case()
    backends = ("--backends", "milp,all-server", "--time-limit", "5")
    by_bytes = edgeplace("bench", *files, *backends)
    assert "best: edgeplace" in by_bytes.out
    assert "with the least WAN of all valid ones, 0 bit/s" in by_bytes.out
    by_latency = edgeplace("bench", *files, *backends, "--optimise", "latency")
    assert by_latency.status == 0
    assert "--optimise latency stands for" in by_latency.out
    assert "with the least worst path of all valid ones" in by_latency.out


def test_bench_of_instances_refuses_an_objective(edgeplace):
    ran = edgeplace("bench", "--optimise", "latency")
    assert ran.status == 2
    assert "belong to a job of your own" in ran.err


CURE = "use --optimise latency"


def test_a_word_where_latency_is_paid_for_bytes_that_cost_nothing(edgeplace, case):
    ran = edgeplace("solve", *case())
    assert ran.status == 0
    (said,) = (line for line in ran.out.splitlines() if CURE in line)
    assert "all-server" in said
    # It is true: that plan is faster.
    slow = json.loads(edgeplace("solve", *case(), "--json").out)
    fast = json.loads(edgeplace("solve", *case(), "--optimise", "latency", "--json").out)
    assert fast["evaluation"]["latency_ms"] < slow["evaluation"]["latency_ms"]
    assert any(CURE in note for note in slow["notes"])


@pytest.mark.parametrize(
    "changes",
    [
        {"link": {"price_per_byte": 2.0}},
        {"link": {"price_per_byte": "4 EUR/GB"}, "currency": "EUR"},
        {"link": {"bandwidth_bytes_per_s": 600_000}},
    ],
    ids=["weighted", "priced", "near its limit"],
)
def test_no_word_where_bytes_matter(edgeplace, case, changes):
    ran = edgeplace("solve", *case(**changes))
    assert ran.status == 0
    assert CURE not in ran.out


def test_no_word_where_the_user_has_chosen(edgeplace, case):
    assert CURE not in edgeplace("solve", *case(), "--optimise", "bytes").out
    assert CURE not in edgeplace("solve", *case(), "--objective", "wan,latency").out


def test_money_beside_bytes_everywhere(edgeplace, case, tmp_path):
    """400 kB/s of 4 EUR/GB, 500 GB of a month included; 0.011 cores at 0.04 EUR/h."""
    nodes = [dict(CLUSTER["nodes"][0]), CLUSTER["nodes"][1] | {"price_per_core_hour": "0.04 EUR/h"}]
    link = {"price_per_byte": "4 EUR/GB", "included_bytes": "500 GB"}
    files = case(link=link, nodes=nodes, currency="EUR")
    report, plan = tmp_path / "report.html", tmp_path / "plan.json"
    options = ("--objective", "latency,cost")
    ran = edgeplace("solve", *files, *options, "--full", "--report", report, "-o", plan)
    assert ran.status == 0
    money = (400_000 * 730.5 * 3600 / 1e9 - 500) * 4
    shown = f"{money:,.0f}"
    explained = edgeplace("explain", *files, plan, *options).out
    for text in (ran.out, report.read_text(), explained):
        assert shown in text
        assert "4 EUR/GB" in text
        assert "500 GB included in each" in text
        assert "EUR/month" in text
    assert f"cost {shown} EUR/month" in explained.splitlines()[0]
