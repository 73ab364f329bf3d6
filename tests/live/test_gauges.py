"""The agent's figures among Flink's metrics: seen by a real Prometheus, asked by the dashboard."""

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main

REASON = "the testbed is not in the wheel, and not beside these tests"
agent_cluster = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
config = pytest.importorskip("testbed.flink.config", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)
prometheus_server = pytest.importorskip("testbed.reporters.prometheus", reason=REASON)
testbed_server = pytest.importorskip("testbed.server", reason=REASON)

# The check of all releases finds the members of Flink's that gauges need.

BOARD = Path(__file__).parents[2] / "docs" / "monitoring" / "grafana-placement.json"
IDS = ("pi-1", "server-1")
UNKNOWN = -1.0


@pytest.fixture(scope="module")
def ports() -> list[int]:
    return list(testbed_server.free_ports(1 + len(IDS)))


@pytest.fixture(scope="module")
def flink(home: Path, agent_jar: Path, ports: list[int]) -> "Iterator[agent_cluster.AgentCluster]":
    """A Flink whose processes report to Prometheus, with the agent."""
    of_manager, *of_task_managers = ({prometheus_server.PORT: str(port)} for port in ports)
    with agent_cluster.AgentCluster(
        home,
        agent_jar,
        task_managers=[
            local_cluster.TaskManagerSpec(name, f"127.0.0.1{i}", 4, "680m", options=options)
            for i, (name, options) in enumerate(zip(IDS, of_task_managers, strict=True), start=1)
        ],
        settings={**config.QUICK, **prometheus_server.REPORTER},
        job_manager=local_cluster.JobManagerSpec(options=of_manager),
        ha=False,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def prometheus(
    ports: list[int], tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[prometheus_server.Prometheus]":
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus_server.Prometheus(ports, folder) as server:
        yield server


@pytest.mark.slow
def test_the_plan_and_the_job_are_seen_in_prometheus(
    flink: agent_cluster.AgentCluster,
    prometheus: prometheus_server.Prometheus,
    tmp_path: Path,
) -> None:
    out = flink.cluster.scratch / "out"
    out.mkdir()
    endless = ("records=720000000", "per-second=20000", f"finish={out}/never", f"out={out}")
    job = flink.submit("CountingJob", *endless, "parallelism=1")
    flink.wait_for_running(job)
    seen(flink, prometheus, subtasks=2, exact=0, away=0, waiting=0, moves=0, lastMoveMs=UNKNOWN)
    seen(flink, prometheus, predictedWanBytesPerSecond=UNKNOWN, predictedHeadroom=UNKNOWN)

    ids = {each.task.split(" ")[0]: each.vertex_id for each in flink.rest.subtasks(job)}
    source, count = ids["Source:"], ids["count"]
    at_both = {source: ["pi-1"], count: ["server-1"]}
    the_other_way = {source: ["server-1"], count: ["pi-1"]}
    name = flink.rest.get(f"/jobs/{job}")["name"]
    # Of the two placements, at least one moves the job.
    for places in (the_other_way, at_both):
        uses = {name: {"bytes_per_s": {"lyon": {"cloud": 65_000.4}}}}
        apply(flink, tmp_path, name, places, uses=uses, headroom=1.53)
    seen(flink, prometheus, subtasks=2, exact=2, away=0, waiting=0)
    seen(flink, prometheus, predictedWanBytesPerSecond=65_000, predictedHeadroom=1.53)
    assert gauge(prometheus, "moves") >= 1
    assert gauge(prometheus, "lastMoveMs") > 0

    the_dashboard_shows_what_the_other_end_gets(flink, prometheus)

    # A rescaled job has another scheduler and the same metrics.
    apply(flink, tmp_path, name, {source: ["pi-1"] * 2, count: ["server-1"] * 2})
    seen(flink, prometheus, subtasks=4, exact=4, predictedWanBytesPerSecond=UNKNOWN)

    flink.cluster.kill("server-1")
    seen(flink, prometheus, subtasks=4, exact=0, waiting=4, away=0)
    flink.cluster.start("server-1")
    seen(flink, prometheus, exact=4, waiting=0)


def the_dashboard_shows_what_the_other_end_gets(
    flink: agent_cluster.AgentCluster, prometheus: prometheus_server.Prometheus
) -> None:
    """Every query of the dashboard has an answer, and its WAN is what the servers receive."""
    asked = {
        (panel["title"], target["refId"]): target["expr"]
        for panel in json.loads(BOARD.read_text())["panels"]
        for target in panel["targets"]
    }
    found: dict[tuple[str, str], list[float]] = {}

    received = "flink_taskmanager_job_task_Shuffle_Netty_Input_numBytesInRemote"
    asked["the other end", ""] = f'sum(rate({received}{{tm_id="server_1"}}[1m]))'

    def now() -> float:
        return found["WAN, predicted and now", "B"][0]

    def all_answer() -> bool:
        for key, query in asked.items():
            # Prometheus knows resource ids with other characters replaced by `_`.
            plain = query.replace("$job", ".*").replace("$edge", "pi.*")
            found[key] = prometheus.values(plain)
        return (
            all(len(values) == 1 for values in found.values())
            and now() > 0
            # The counters of both ends are scraped at different moments.
            and now() == pytest.approx(found["the other end", ""][0], rel=0.1)
        )

    try:
        flink.wait_until(all_answer, "an answer to each query of the dashboard")
    except errors.TestbedError:
        pytest.fail(json.dumps({" ".join(key): values for key, values in found.items()}))
    assert found["Subtasks where the plan says", "A"] == [1]
    assert found["WAN, predicted and now", "A"] == [65_000]
    assert found["WAN now over predicted", "A"][0] == pytest.approx(now() / 65_000, rel=0.2)


def seen(
    flink: agent_cluster.AgentCluster, prometheus: prometheus_server.Prometheus, **figures: float
) -> None:
    """Wait until Prometheus has these figures of the only job, all at once."""
    found: dict[str, float | None] = {}

    def met() -> bool:
        found.update({name: gauge(prometheus, name) for name in figures})
        return found == figures

    flink.wait_until(met, f"{figures} in Prometheus")


def gauge(prometheus: prometheus_server.Prometheus, name: str) -> float | None:
    values = prometheus.values(f"flink_jobmanager_job_edgeplace_{name}")
    assert len(values) <= 1, "a job has each metric once"
    return values[0] if values else None


def apply(
    flink: agent_cluster.AgentCluster,
    folder: Path,
    name: str,
    places: dict[str, list[str]],
    **promises: object,
) -> None:
    """Place a job by `edgeplace flink apply`."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"format": "edgeplace/plan", "jobs": {name: places}, **promises}))
    out, err = io.StringIO(), io.StringIO()
    words = ["flink", "apply", str(plan), "--jobmanager", flink.rest.url]
    status = main(words, Console(out, err))
    assert status is ExitStatus.OK, out.getvalue() + err.getvalue()
