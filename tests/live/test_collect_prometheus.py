"""`edgeplace flink collect --prometheus` on a real Prometheus that scrapes a real Flink."""

import io
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.model import Costs, read

REASON = "the testbed is not in the wheel, and not beside these tests"
config = pytest.importorskip("testbed.flink.config", reason=REASON)
job_jar = pytest.importorskip("testbed.flink.job_jar", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)
prometheus_server = pytest.importorskip("testbed.flink.prometheus", reason=REASON)
testbed_server = pytest.importorskip("testbed.server", reason=REASON)

pytestmark = pytest.mark.parametrize("flink_version", ["1.20.3"], indirect=True, scope="session")

SCRAPE_S = prometheus_server.SCRAPE_S
POLL_S = 5
WARM_UP_S = 20
"""In its first seconds, a JVM compiles: a window that begins a scrape later misses much of it."""
COLLECTED_S = 60
TOLERANCE = 0.02
TIME_TOLERANCE = 0.1
"""Of costs in processor time: the two windows differ by seconds, in which a machine may be busy."""
REPORTER = {
    **prometheus_server.REPORTER,
    # Longer than the time from the start of a poll to its readings, so that none of them is old.
    "metrics.fetcher.update-interval": "2 s",
}


@pytest.fixture
def reporter_ports() -> list[int]:
    return list(testbed_server.free_ports(3))


@pytest.fixture
def flink(home: Path, reporter_ports: list[int]) -> "Iterator[local_cluster.LocalCluster]":
    """A stock Flink whose processes report to Prometheus."""
    of_manager, *of_task_managers = ({prometheus_server.PORT: str(port)} for port in reporter_ports)
    task_managers = [
        local_cluster.TaskManagerSpec(f"pi-{i}", f"127.0.0.1{i}", 4, "680m", options=options)
        for i, options in enumerate(of_task_managers, start=1)
    ]
    with local_cluster.LocalCluster(
        home,
        task_managers,
        {**config.QUICK, **REPORTER},
        local_cluster.JobManagerSpec(options=of_manager),
    ) as cluster:
        cluster.wait_for_task_managers()
        yield cluster


@pytest.fixture
def prometheus(reporter_ports: list[int], tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus that scrapes the processes of Flink."""
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus: apt-get install prometheus")
    with prometheus_server.Prometheus(reporter_ports, tmp_path) as server:
        yield server.url


def edgeplace(*arguments: object) -> str:
    """Run a command that has to succeed, and return what it says."""
    out, err = io.StringIO(), io.StringIO()
    status = main([str(a) for a in arguments], Console(out, err))
    assert status is ExitStatus.OK, out.getvalue() + err.getvalue()
    return out.getvalue()


@pytest.mark.slow
def test_costs_are_those_of_the_rest_api(prometheus: str, flink, home: Path, tmp_path: Path):
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    jar = flink.rest.upload(job_jar.compile_own_job("CountingJob", home, flink.scratch))
    out = flink.scratch / "out"
    out.mkdir()
    job = flink.rest.run(
        jar,
        ("records=720000000", "per-second=20000", f"finish={out}/never", f"out={out}"),
        None,
        None,
    )
    flink.wait_until(
        lambda: flink.rest.get(f"/jobs/{job}")["state"] == "RUNNING", "the job to run", 60
    )
    time.sleep(WARM_UP_S)
    by_rest, by_prometheus = tmp_path / "rest", tmp_path / "prometheus"
    where = ("--jobmanager", flink.rest.url)
    said = json.loads(
        edgeplace(
            *("flink", "collect", *where, "-o", by_rest, "--interval", POLL_S),
            *("--duration", f"{COLLECTED_S}s", "--json"),
        )
    )
    found = json.loads(
        edgeplace(
            *("flink", "collect", "--prometheus", prometheus, "--job", job, "-o", by_prometheus),
            *("--from", _clock(said["from_ms"]), "--until", _clock(said["to_ms"])),
            *("--interval", SCRAPE_S, "--json"),
        )
    )
    assert [j["id"] for j in found["jobs"]] == [job]
    assert found["gaps"] == [] and found["missing"] == []

    cluster, graph = tmp_path / "cluster.yaml", tmp_path / "job.json"
    edgeplace("flink", "discover", *where, "-o", cluster, "--job-out", graph)
    measured = []
    for log in (by_rest, by_prometheus):
        costs = log.with_suffix(".json")
        edgeplace("costs", log, "--job", graph, "--cluster", cluster, "-o", costs)
        measured.append(read(costs, Costs))
    rest, prom = measured
    assert prom.placement == rest.placement
    assert [op.operator for op in prom.operators] == [op.operator for op in rest.operators]
    figures = [_figures(costs) for costs in (rest, prom)]
    assert len(figures[0]) >= 3 * len(rest.operators)
    for name, figure in figures[0].items():
        rel = TIME_TOLERANCE if name.endswith((" true rate", " CPU")) else TOLERANCE
        assert figures[1][name] == pytest.approx(figure, rel=rel), json.dumps(figures, indent=1)
    assert figures[1].keys() == figures[0].keys()


def _figures(costs: Costs) -> dict[str, float]:
    """Return every cost of operators and streams that was measured."""
    found: dict[str, float | None] = {}
    for op in costs.operators:
        for cost in op.classes:
            found[f"{op.operator} {cost.node_class} true rate"] = cost.true_rate_per_s
            found[f"{op.operator} {cost.node_class} CPU"] = cost.cpu_ms_per_record
        found[f"{op.operator} selectivity"] = op.selectivity
        if op.demand is not None:
            found[f"{op.operator} demand"] = sum(op.demand.rates_per_s)
    for stream in costs.streams:
        found[f"{stream.source} -> {stream.target} selectivity"] = stream.selectivity
        found[f"{stream.source} -> {stream.target} bytes"] = stream.bytes_per_record
    return {name: value for name, value in found.items() if value is not None}


def _clock(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))
