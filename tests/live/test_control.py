"""`edgeplace control run` on a real Flink: it sees a rule broken, moves the job, and says why."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.control.loop.journal import replay
from edgeplace.model import Costs, JobGraph, write
from edgeplace.model.cost import ClassCost, OperatorCost, StreamCost

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

pytestmark = pytest.mark.parametrize("flink_version", ["2.3.0"], indirect=True, scope="session")

SITES = """\
sites:
  - {id: field, hosts: ["pi-*"]}
  - {id: hall, hosts: ["127.0.0.21"], tier: cloud}
links: [{source: field, target: hall, bandwidth_bytes_per_s: 1000000, delay_ms: 5, both_ways: true}]
"""
CONTROL = """\
jobmanager: {url}
job: counting
cluster: cluster.yaml
costs: costs.json
rules: rules.yaml
mode: apply
poll_s: 2
settle_s: 1
"""
SECONDS = 300.0
"""It takes some twenty on a machine that does nothing else."""


def edgeplace(*arguments: object) -> "list[str]":
    return [sys.executable, "-m", "edgeplace", *map(str, arguments)]


def costs(job: JobGraph) -> Costs:
    """Return costs by which every machine bears every operator."""
    classes = (ClassCost(node_class="default", true_rate_per_s=1e6),)
    return Costs(
        job=job.name,
        operators=tuple(
            OperatorCost(operator=op.id, classes=classes, selectivity=0.5) for op in job.operators
        ),
        streams=tuple(
            StreamCost(source=s.source, target=s.target, selectivity=0.5, bytes_per_record=20)
            for s in job.streams
        ),
    )


def test_it_moves_what_stands_where_it_may_not(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    out = flink.cluster.scratch / "out-control"
    out.mkdir()
    job = flink.submit(
        "CountingJob",
        "records=7200000",
        "per-second=600",
        f"finish={out}/never",
        f"out={out}",
        "chaining=false",
    )
    placed = flink.wait_for_running(job)
    sites = tmp_path / "sites.yaml"
    sites.write_text(SITES)
    found = ("--sites", sites, "-o", tmp_path / "cluster.yaml")
    discover = edgeplace("flink", "discover", "--jobmanager", flink.rest.url, *found)
    subprocess.run(discover, check=True, timeout=300, capture_output=True)
    with FlinkClient(flink.rest.url) as client:
        graph = LiveFlink(client).job_graph(job)
    write(costs(graph), tmp_path / "costs.json")
    sink = next(op for op in graph.operators if op.name == "sink")
    others = sorted({tm.name for tm in flink.task_managers} - set(placed.values()))
    goal = others[0]
    (tmp_path / "rules.yaml").write_text(
        f"rules: [{{kind: pin, operators: [{sink.id!r}], to: {goal}}}]\n"
    )
    (tmp_path / "control.yaml").write_text(CONTROL.format(url=flink.rest.url))

    journal = tmp_path / "control" / "journal.jsonl"
    run = edgeplace("control", "run", tmp_path / "control.yaml", "--i-know")
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as loop:
        try:
            deadline = time.monotonic() + SECONDS
            while not (journal.exists() and " applied; watches" in journal.read_text()):
                assert time.monotonic() < deadline, journal.read_text()
                assert loop.poll() is None, loop.communicate()[0]
                time.sleep(0.2)
            loop.send_signal(signal.SIGTERM)
            told, _ = loop.communicate(timeout=300)
        finally:
            loop.kill()
    assert loop.returncode == ExitStatus.OK, told
    assert "must: what runs breaks rule of pin" in told
    after = flink.placement(job)
    assert {after[task] for task in after if task.startswith("sink ")} == {goal}
    stayed = {task: tm for task, tm in after.items() if not task.startswith("sink ")}
    assert stayed == {task: tm for task, tm in placed.items() if not task.startswith("sink ")}
    lines = journal.read_text().splitlines(keepends=True)
    assert [line.text for line, _, _ in replay(lines, "journal")] == lines
    assert json.loads(lines[-1])["says"] == "ends: Ctrl-C or a signal"
