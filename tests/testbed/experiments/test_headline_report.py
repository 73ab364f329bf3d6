"""Predictions from costs of all WANs, and how they are held against what was measured."""

import json
import re
from pathlib import Path

import pytest

from edgeplace import JobGraph
from edgeplace.model import (
    ClassCost,
    Cluster,
    Link,
    Node,
    Operator,
    OperatorCost,
    ShipStrategy,
    Site,
    SourceDemand,
    Stream,
    StreamCost,
    TaskManager,
    write,
)
from testbed.experiments.headline_report import CLUSTER, ENVIRONMENT, errors, job_file, predicted

PLACEMENT = {"s": ["pi"], "combine": ["pi"], "sink": ["server"]}


def combining(rate_per_s: float, selectivity: float) -> JobGraph:
    """Return a job with costs as measured at one rate; what it puts out is the link's traffic."""
    cost = OperatorCost(operator="s", demand=SourceDemand(rates_per_s=(rate_per_s,)))
    source = Operator(id="s", name="s", parallelism=1, born_at=("edge",), cost=cost)
    costs = (
        StreamCost(source="s", target="combine", selectivity=1, bytes_per_record=91),
        StreamCost(source="combine", target="sink", selectivity=selectivity, bytes_per_record=100),
    )
    return JobGraph(
        name="words",
        operators=(
            source,
            Operator(id="combine", name="combine", parallelism=1),
            Operator(id="sink", name="sink", parallelism=1),
        ),
        streams=tuple(
            Stream(source=c.source, target=c.target, ship_strategy=ShipStrategy.FORWARD, cost=c)
            for c in costs
        ),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cluster = Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(
            Node(id="pi", site="edge", node_class="pi", cores=1),
            Node(id="server", site="cloud", node_class="server", cores=1),
        ),
        task_managers=(
            TaskManager(id="pi", node="pi", slots=4),
            TaskManager(id="server", node="server", slots=4),
        ),
        links=tuple(
            Link(source=a, target=b, bandwidth_bytes_per_s=1, delay_ms=0)
            for a, b in (("edge", "cloud"), ("cloud", "edge"))
        ),
    )
    write(cluster, tmp_path / CLUSTER)
    idle = {"edge -> cloud": 500.0, "cloud -> edge": 0.0}
    (tmp_path / ENVIRONMENT).write_text(json.dumps({"idle_link_bytes_per_s": idle}))
    return tmp_path


def cell(mbit_per_s: float, per_subtask: float = 100) -> dict[str, object]:
    return {
        "workload": "word-count",
        "mbit_per_s": mbit_per_s,
        "policies": ["edgeplace"],
        "placement": PLACEMENT,
        "per_subtask": per_subtask,
        "full": {"per_subtask": per_subtask},
    }


def test_what_a_combiner_puts_out_is_known_at_the_rates_of_all_wans(folder: Path):
    write(combining(100, 1.0), folder / job_file("word-count", 0.5))
    # 62.5 kB/s carry 625 records/s, if the combiner puts out one for each that comes in ...
    alone = predicted(folder, cell(0.5))["sustained_per_subtask"]
    assert alone == pytest.approx(625)
    # ... and 12,500, if it puts out no more at 10,000 records/s than at 1,000: 500.
    write(combining(1_000, 0.5), folder / job_file("word-count", 4))
    write(combining(10_000, 0.05), folder / job_file("word-count", 50))
    both = predicted(folder, cell(0.5))["sustained_per_subtask"]
    assert both == pytest.approx(12_500)
    # Another workload's costs say nothing, and the traffic at the rate of its own costs stays.
    write(combining(1_000, 9.0), folder / job_file("q1-map", 4))
    assert predicted(folder, cell(0.5)) == {
        "wan_bytes_per_s": pytest.approx(10_000),
        "latency_ms": pytest.approx(predicted(folder, cell(0.5))["latency_ms"]),
        "utilisation": pytest.approx(0.16),
        "sustained_per_subtask": pytest.approx(12_500),
        "sustained_at_speed_of_costs": pytest.approx(12_500),
    }


def test_cores_do_the_work_of_their_speed(folder: Path):
    job = combining(100, 1e-6)
    [source, *others] = job.operators
    slow = ClassCost(node_class="pi", true_rate_per_s=1_000, cpu_ms_per_record=1)
    cost = source.cost.model_copy(update={"classes": (slow,)})
    operators = (source.model_copy(update={"cost": cost}), *others)
    write(job.model_copy(update={"operators": operators}), folder / job_file("word-count", 50))
    full = {"per_subtask": 100, "core_speed": 12.0}
    at_work = {**cell(50), "core_speed_of_costs": 20.0, "full": full}

    said = predicted(folder, {**at_work, "background_cores": {"pi": 0.1}})

    # One core of 1 ms a record, of which Flink has a tenth when nothing is to do.
    assert said["sustained_at_speed_of_costs"] == pytest.approx(900)
    assert said["sustained_per_subtask"] == pytest.approx(500)
    # A cell that does not tell its speed counts as one of the same speed.
    assert predicted(folder, cell(50))["sustained_per_subtask"] == pytest.approx(1_000)


def test_a_link_carries_no_more_than_it_can(folder: Path):
    write(combining(100, 1.0), folder / job_file("word-count", 0.5))

    said = predicted(folder, cell(0.5, 10_000))

    # 1 MB/s of records for 62.5 kB/s, of which Flink takes 500 B/s without any job.
    assert said["utilisation"] == pytest.approx(16)
    assert said["wan_bytes_per_s"] == pytest.approx(62_000)


@pytest.mark.parametrize(("utilisation", "counted"), [(0.7, 1), (0.71, 0)])
def test_latency_is_compared_where_there_is_room(utilisation, counted):
    said = {
        "wan_bytes_per_s": 10.0,
        "latency_ms": 90.0,
        "sustained_per_subtask": 400.0,
        "sustained_at_speed_of_costs": 400.0,
    }
    seen = {
        **cell(4),
        "workload": "q1-map",
        "predicted": {**said, "utilisation": utilisation},
        "steady": {"wan_bytes_per_s": 10.0, "latency": {"p95_ms": 100.0}},
        "full": {"per_subtask": 400.0},
    }

    assert [each.relative for each in errors([seen], 0.0).latency] == [
        pytest.approx(-0.1)
    ] * counted


@pytest.mark.parametrize(
    ("sustained", "offered", "error"),
    [
        (100.0, 100.0, 0.0),  # all that was offered: more might have been sustained
        (99.0, 100.0, 100 / 99 - 1),
        (90.0, 100.0, 400 / 90 - 1),
        (100.0, None, 3.0),  # measured before it was written down
        (800.0, 800.0, -0.5),
    ],
)
def test_what_was_sustained_as_offered_is_no_limit(sustained, offered, error):
    full = {"per_subtask": sustained}
    if offered is not None:
        full["offered_per_subtask"] = offered
    seen = {
        **cell(4),
        "predicted": {
            "wan_bytes_per_s": 10.0,
            "latency_ms": 1.0,
            "sustained_per_subtask": 400.0,
            "sustained_at_speed_of_costs": 500.0,
            "utilisation": 0.5,
        },
        "steady": {"wan_bytes_per_s": 10.0, "latency": None},
        "full": full,
    }
    [found] = errors([seen], 0.0).sustained
    assert found.relative == pytest.approx(error)


ROOT = Path(__file__).parents[3]


def _shown(file: str, row: str) -> list[list[str]]:
    """Return the four rates of each row of a table."""
    text = (ROOT / file).read_text()
    return [
        [cell.strip() for cell in found.split("|")] for found in re.findall(row, text, re.MULTILINE)
    ]


ALL = _shown("benchmarks/headline/README.md", r"^\| [\w-]+ \| [\d.]+ \|(.*?)\|[^|]*\|[^|]*\|$")
SOME = _shown("README.md", r"^\| [^|]+ \|((?: [^|]*/s\**? \|){3} [^|]*/s\**? )\|$")


def test_the_most_is_in_bold_whoever_sustains_it():
    assert (len(ALL), len(SOME)) == (33, 6)
    for shown in ALL + SOME:
        plain = [cell.strip("*") for cell in shown]
        best = plain[max(range(4), key=lambda i: _per_s(plain[i]))]
        assert shown == [f"**{cell}**" if cell == best else cell for cell in plain]


def test_the_readme_shows_rows_of_the_whole_table():
    assert all(row in ALL for row in SOME)


def _per_s(text: str) -> float:
    number, unit = text.removeprefix("≥ ").removesuffix("/s").split(" ")
    return float(number) * {"": 1, "k": 1e3, "M": 1e6}[unit]
