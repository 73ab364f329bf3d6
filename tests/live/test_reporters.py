"""Costs by each way that Flink's metrics can go beside those by REST, of one run."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgeplace.model import Costs

REASON = "the testbed is not in the wheel, and not beside these tests"
comparison = pytest.importorskip("testbed.reporters.comparison", reason=REASON)
recording = pytest.importorskip("testbed.reporters.recording", reason=REASON)

COLLECTED_S = 120
"""The logs begin and end up to 2 s apart, and Carbon rounds times to whole seconds."""
WAYS = ("Prometheus", "VictoriaMetrics", "InfluxDB", "OpenTelemetry", "Whisper")
RUNS = 2
"""A second run decides if the first is off: beside other work, a record may cost twice as much in
the seconds that one log has at its ends, and another has not."""
TOLERANCE = 0.02
"""Of every cost of operators that run for a minute and are not weak.

Flink counts a wait as busy until it ends (busy is what is neither idle nor held back, and these
grow when a wait ends). So readings of other moments differ by some 30 ms, in whatever way they are
read, and the cost of three subtasks that are busy for 7 s in all by 3 % (docs/collect.md).
"""


@dataclass(frozen=True)
class Run:
    """The logs of a run, and the costs by each way that its metrics went."""

    folder: Path
    costs: dict[str, Costs]

    def figures(self, way: str) -> dict[str, float]:
        return dict(comparison.figures(self.costs[way]))


@pytest.fixture(scope="module")
def run(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    for name, package in (
        ("prometheus", "prometheus"),
        ("victoria-metrics", "victoria-metrics"),
        ("carbon-cache", "graphite-carbon"),
    ):
        if shutil.which(name) is None:
            pytest.skip(f"no {name}: apt-get install {package}")
    pytest.importorskip("opentelemetry.proto", reason="no opentelemetry-proto: uv sync")
    for number in range(RUNS):
        folder = tmp_path_factory.mktemp("reporters") / f"run-{number}"
        recording.record(folder, home, COLLECTED_S)
        ran = Run(folder, comparison.costs(folder))
        by_rest = pytest.approx(ran.figures(comparison.REST), rel=TOLERANCE)
        if all(ran.figures(way) == by_rest for way in WAYS):
            break
    return ran


@pytest.mark.parametrize("server", ["prometheus", "victoria"])
def test_a_server_that_scrapes_has_the_job_without_gaps(run: Run, server: str):
    said = json.loads((run.folder / f"{server}-said.json").read_text())
    assert [job["name"] for job in said["jobs"]] == ["counting"]
    assert said["gaps"] == [] and said["missing"] == []


def test_no_cost_of_the_run_is_weak(run: Run):
    operators = run.costs[comparison.REST].operators
    assert {op.name for op in operators} == {"Source: numbers -> filter", "count -> sink"}
    assert [cost.weak for op in operators for cost in op.classes] == [""] * len(operators)


@pytest.mark.parametrize("way", WAYS)
def test_costs_are_those_of_the_rest_api(run: Run, way: str):
    by_rest, by_way = run.costs[comparison.REST], run.costs[way]
    assert by_way.placement == by_rest.placement
    assert [op.operator for op in by_way.operators] == [op.operator for op in by_rest.operators]
    assert len(run.figures(way)) == 7
    assert run.figures(way) == pytest.approx(run.figures(comparison.REST), rel=TOLERANCE)
    # Two logs, not one that was read twice.
    assert run.figures(way) != run.figures(comparison.REST)
