"""`edgeplace flink collect` and `discover` on a real Flink, and what their files are good for."""

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main
from edgeplace.model import Costs, Plan, read

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
flink_config = pytest.importorskip("testbed.flink.config", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)

PER_SECOND = 600
EMITTED_PER_SECOND = PER_SECOND / 2
"""The filter in the chain of the source keeps every other number."""
SITES = """\
sites:
  - {id: field, hosts: ["pi-*"], node_class: pi}
  - {id: hall, hosts: ["127.0.0.21"], node_class: server, tier: cloud}
node_classes: [{id: pi, speed: 0.5}, {id: server, speed: 1}]
links: [{source: field, target: hall, bandwidth_bytes_per_s: 1000000, delay_ms: 5, both_ways: true}]
"""


@pytest.fixture
def flink(home: Path) -> "Iterator[live_flink.AgentCluster]":
    """A stock Flink that renews its metrics each second and keeps its jobs."""
    one_a_site = live_flink.TASK_MANAGERS[::2]
    live = live_flink.AgentCluster(home, agent_jar=None, task_managers=one_a_site)
    settings = {**flink_config.QUICK, "metrics.fetcher.update-interval": "1 s"}
    live.cluster = local_cluster.LocalCluster(home, live.task_managers, settings, ha=True)
    with live:
        yield live


@pytest.fixture
def job(flink: live_flink.AgentCluster) -> str:
    out = flink.cluster.scratch / "out"
    out.mkdir()
    job_id: str = flink.submit(
        "CountingJob",
        "records=7200000",
        f"per-second={PER_SECOND}",
        f"finish={out}/never",
        f"out={out}",
    )
    flink.wait_for_running(job_id)
    return job_id


def edgeplace(*arguments: object) -> str:
    """Run a command that has to succeed, and return what it says."""
    out, err = io.StringIO(), io.StringIO()
    status = main([str(a) for a in arguments], Console(out, err))
    assert status is ExitStatus.OK, out.getvalue() + err.getvalue()
    return out.getvalue()


def wait_for(met: Callable[[], bool], what: str, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_from_a_running_job_to_a_plan(
    flink: live_flink.AgentCluster, job: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    log, said = tmp_path / "metrics", tmp_path / "said"
    where = ("--jobmanager", flink.rest.url)
    collect = [sys.executable, "-m", "edgeplace", "flink", "collect", *where]
    with (
        said.open("w") as err,
        subprocess.Popen(
            [*collect, "-o", str(log), "--interval", "2"],
            stderr=err,
            stdout=subprocess.PIPE,
            text=True,
        ) as collector,
    ):
        try:

            def grown_to(size_bytes: int) -> bool:
                return sum(p.stat().st_size for p in log.glob("*.gz")) > size_bytes

            wait_for(lambda: grown_to(20_000), "polls before the JobManager ends")
            flink.cluster.kill("jobmanager")
            wait_for(lambda: "a gap in the log" in said.read_text(), "a gap")
            flink.cluster.start("jobmanager")
            wait_for(
                lambda: "collecting continues after" in said.read_text(), "polls after the restart"
            )
            size = sum(p.stat().st_size for p in log.glob("*.gz"))
            wait_for(lambda: grown_to(size + 30_000), "more polls after the restart")
            collector.send_signal(signal.SIGINT)
            ended, _ = collector.communicate(timeout=60)
        finally:
            collector.kill()
    assert collector.returncode == ExitStatus.OK, ended + said.read_text()
    assert "gaps: 1, " in ended

    sites, cluster, graph = tmp_path / "sites.yaml", tmp_path / "c.yaml", tmp_path / "job.json"
    sites.write_text(SITES)
    found = edgeplace(
        "flink", "discover", *where, "--sites", sites, "-o", cluster, "--job-out", graph, "--ping"
    )
    assert f"({job})" in found and "from here" in found

    costs = tmp_path / "costs.json"
    edgeplace("costs", log, "--cluster", cluster, "-o", costs)
    measured = read(costs, Costs)
    [source] = [op for op in measured.operators if op.demand is not None]
    # The restart, and a machine full of other tests, hold the source back, but not this far.
    rate = sum(source.demand.rates_per_s)
    assert 0.5 * EMITTED_PER_SECOND < rate < 1.5 * EMITTED_PER_SECOND
    assert {op.operator for op in measured.operators} == set(measured.placement)
    places = {place for row in measured.placement.values() for place in row}
    assert places <= {tm.name for tm in flink.task_managers}

    # A log that was cut off in its last poll is read up to there.
    last = max(log.iterdir())
    last.write_bytes(last.read_bytes()[:-20])
    edgeplace("costs", log, "--cluster", cluster, "-o", costs)

    plan = tmp_path / "plan.json"
    # On a machine full of other tests, a paced source seems to be at its limit: then no plan keeps
    # the rate that was measured, and the best one is asked for.
    best = ("--objective", "throughput,wan")
    edgeplace("solve", graph, cluster, "--costs", costs, *best, "-o", plan)
    assert len(read(plan, Plan).jobs["counting"]) == len(measured.operators)
