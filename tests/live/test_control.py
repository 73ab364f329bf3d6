"""`edgeplace control run` on a real Flink: it moves and rescales a job, and says why."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.control.loop.journal import replay
from edgeplace.model import Costs, JobGraph, write
from edgeplace.model.cost import ClassCost, OperatorCost, StreamCost

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

SITES = """\
sites:
  - {id: field, hosts: ["pi-*"]}
  - {id: hall, hosts: ["127.0.0.21"], tier: cloud}
links: [{source: field, target: hall, bandwidth_bytes_per_s: 1000000, delay_ms: 5, both_ways: true}]
"""
ONE_SITE = """\
sites:
  - {id: hall, hosts: ["*"], tier: cloud}
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
"""It takes some twenty, or 150 after a step in rate, on a machine that does nothing else."""


def edgeplace(*arguments: object) -> "list[str]":
    return [sys.executable, "-m", "edgeplace", *map(str, arguments)]


def costs(job: JobGraph, count_per_s: float = 1e6) -> Costs:
    """Return costs by which a subtask of `count` bears so many records/s, and all others bear all
    that comes.
    """
    rates, sources = {"count": count_per_s}, {op.id for op in job.sources()}
    return Costs(
        job=job.name,
        operators=tuple(
            OperatorCost(
                operator=op.id,
                classes=(ClassCost(node_class="default", true_rate_per_s=rates.get(op.name, 1e6)),),
                selectivity=0.5,
            )
            for op in job.operators
        ),
        streams=tuple(
            StreamCost(
                source=s.source,
                target=s.target,
                selectivity=1.0 if s.source in sources else 0.5,
                bytes_per_record=20,
            )
            for s in job.streams
        ),
    )


@dataclass(frozen=True)
class Watched:
    """A counting job, the files of a loop that watches it, and the loop's journal."""

    job: str
    graph: JobGraph
    folder: Path

    @property
    def control(self) -> Path:
        return self.folder / "control.yaml"

    @property
    def journal(self) -> Path:
        return self.folder / "control" / "journal.jsonl"

    @property
    def rate(self) -> Path:
        """Takes another rate of a source subtask."""
        return self.folder / "rate"

    def wait_for(self, text: str, loop: "subprocess.Popen[str]") -> None:
        """Wait until a line with this text is on record: a signal takes back one that is not."""
        deadline = time.monotonic() + SECONDS
        # The line after it is written when it is on the disk.
        while not (self.journal.exists() and text in self.journal.read_text().rpartition("\n{")[0]):
            assert time.monotonic() < deadline, self.journal.read_text()
            assert loop.poll() is None, loop.communicate()[0]
            time.sleep(0.2)

    @contextmanager
    def led(self) -> "Iterator[subprocess.Popen[str]]":
        """Run the loop, and end it in order: its journal has to replay to the byte."""
        run = edgeplace("control", "run", self.control, "--i-know")
        with subprocess.Popen(run, stdout=PIPE, stderr=STDOUT, text=True) as loop:
            try:
                yield loop
                loop.send_signal(signal.SIGTERM)
                told, _ = loop.communicate(timeout=300)
            finally:
                loop.kill()
        assert loop.returncode == ExitStatus.OK, told
        lines = self.journal.read_text().splitlines(keepends=True)
        assert [line.text for line, _, _ in replay(lines, "journal")] == lines
        assert json.loads(lines[-1])["says"] == "ends: Ctrl-C or a signal"


def watched(
    flink: live_flink.AgentCluster, folder: Path, *arguments: str, sites: str = SITES
) -> Watched:
    """Start a job, and write what a loop over it needs but costs and rules."""
    out = flink.cluster.scratch / f"out-{folder.name}"
    out.mkdir()
    job = flink.submit(
        "CountingJob",
        "records=7200000",
        f"finish={folder}/rate",
        f"out={out}",
        "chaining=false",
        *arguments,
    )
    flink.wait_for_running(job)
    at = folder / "sites.yaml"
    at.write_text(sites)
    found = ("--sites", at, "-o", folder / "cluster.yaml")
    discover = edgeplace("flink", "discover", "--jobmanager", flink.rest.url, *found)
    subprocess.run(discover, check=True, timeout=300, capture_output=True)
    with FlinkClient(flink.rest.url) as client:
        graph = LiveFlink(client).job_graph(job)
    (folder / "control.yaml").write_text(CONTROL.format(url=flink.rest.url))
    return Watched(job, graph, folder)


def test_it_moves_what_stands_where_it_may_not(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    case = watched(flink, tmp_path, "per-second=600")
    placed = flink.placement(case.job)
    write(costs(case.graph), tmp_path / "costs.json")
    sink = next(op for op in case.graph.operators if op.name == "sink")
    goal = min({tm.name for tm in flink.task_managers} - set(placed.values()))
    (tmp_path / "rules.yaml").write_text(
        f"rules: [{{kind: pin, operators: [{sink.id!r}], to: {goal}}}]\n"
    )
    with case.led() as loop:
        case.wait_for(" applied; watches", loop)
    assert "must: what runs breaks rule of pin" in case.journal.read_text()
    after = flink.placement(case.job)
    assert {after[task] for task in after if task.startswith("sink ")} == {goal}
    stayed = {task: tm for task, tm in after.items() if not task.startswith("sink ")}
    assert stayed == {task: tm for task, tm in placed.items() if not task.startswith("sink ")}


def test_a_step_in_rate_is_answered_by_more_subtasks_and_a_person_takes_them_back(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    """Two counts bear half of 300 records/s, and half as much again, and not half of 900."""
    # Over a WAN a move may be worth it before the step, by where Flink has put the job.
    job = "per-second=300", "count-parallelism=2"
    case = watched(flink, tmp_path, *job, sites=ONE_SITE)
    write(costs(case.graph, count_per_s=160.0), tmp_path / "costs.json")
    (tmp_path / "rules.yaml").write_text("rules: []\n")
    with case.control.open("a") as more:
        more.write("rescale: {count: 1..5}\n")

    def subtasks() -> dict[str, int]:
        found = flink.rest.get(f"/jobs/{case.job}")
        assert found["state"] == "RUNNING"
        return {v["name"]: v["parallelism"] for v in found["vertices"]}

    before = subtasks()
    assert before["count"] == before["sink"] == 2
    with case.led() as loop:
        case.wait_for("keeps up: ", loop)
        assert subtasks() == before
        case.rate.write_text("300")
        case.wait_for(" applied; watches", loop)
        placed = flink.wait_for_running(case.job)
        after = subtasks()
        assert after == before | {"count": after["count"], "sink": after["count"]}
        assert after["count"] in (4, 5)
        (planned,) = [
            effect["places"]
            for line in case.journal.read_text().splitlines()
            for effect in json.loads(line)["effects"]
            if effect["kind"] == "apply"
        ]
        names = {op.id: op.name for op in case.graph.operators}
        assert placed == {
            f"{names[op]} ({i}/{len(row)})": tm
            for op, row in planned.items()
            for i, tm in enumerate(row, 1)
        }
        assert flink.rest.latest_checkpoint(case.job, "restored") is not None
        asked = edgeplace("control", "back", case.control)
        subprocess.run(asked, check=True, timeout=300, capture_output=True)
        case.wait_for("the former placement runs", loop)
        flink.wait_for_running(case.job)
        assert subtasks() == before


@pytest.fixture
def field(flink: live_flink.AgentCluster) -> Iterator[tuple[str, ...]]:
    """TaskManagers that a test may kill or freeze: the next one gets them anew."""
    names = ("pi-1", "pi-2")
    yield names
    for name in names:
        with suppress(KeyError):
            flink.cluster.kill(name)


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_when_a_site_is_lost_the_job_goes_where_it_was_planned(
    flink: live_flink.AgentCluster,
    field: tuple[str, ...],
    how: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sources run at the hall, the rest in the field, which is lost: Flink sees closed ports, or
    no heartbeat for 10 s.
    """
    tasks = {"Source: numbers": 3, "filter": 3, "count": 3, "sink": 3}
    planned = {
        f"{task} ({i}/3)": ("server-1" if task in ("Source: numbers", "filter") else "pi-1")
        for task, n in tasks.items()
        for i in range(1, n + 1)
    }
    flink.write_plan("counting", planned)
    case = watched(flink, tmp_path, "per-second=300")
    write(costs(case.graph), tmp_path / "costs.json")
    (tmp_path / "rules.yaml").write_text("rules: []\n")
    with case.control.open("a") as more:
        more.write("survive: [field]\n")
    flink.wait_for_placement(case.job, planned)
    with case.led() as loop:
        case.wait_for("if site field is lost: ", loop)
        killed_s = time.time()
        for name in field:
            getattr(flink.cluster, how)(name)
        case.wait_for(" applied; watches", loop)
    after = flink.wait_for_running(case.job)
    assert set(after.values()) <= {"server-1", "server-2"}
    lines = [json.loads(line) for line in case.journal.read_text().splitlines()]
    lost = next(x for x in lines if "lost" in x["says"] and x["event"].get("registered"))
    done = next(x for x in lines if " applied; watches" in x["says"])
    noticed_s, done_s = lost["event"]["at_s"], done["event"]["at_s"]
    with capsys.disabled():
        print(
            f"site lost ({how}): noticed after {noticed_s - killed_s:.1f} s, elsewhere "
            f"{done_s - noticed_s:.1f} s later"
        )
