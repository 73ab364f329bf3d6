"""Machines that take nothing new, that are gone, or that come back under another name."""

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

# One release is enough: what differs between releases is none of this.

SERVERS = ("server-1", "server-2")


def command(
    flink: live_flink.AgentCluster, *arguments: object, ends: ExitStatus = ExitStatus.OK
) -> str:
    """Run a command of `edgeplace flink`, and return what it says."""
    out, err = io.StringIO(), io.StringIO()
    words = ["flink", *map(str, arguments), "--jobmanager", flink.rest.url]
    status = main(words, Console(out, err))
    assert status is ends, out.getvalue() + err.getvalue()
    return out.getvalue() + err.getvalue()


def submitted(flink: live_flink.AgentCluster, name: str, parallelism: int) -> str:
    out = flink.cluster.scratch / f"out-{name}"
    out.mkdir(exist_ok=True)
    job_id: str = flink.submit(
        "CountingJob",
        "records=7200000",
        f"finish={out}/never",
        f"out={out}",
        f"name={name}",
        f"parallelism={parallelism}",
    )
    return job_id


def test_a_drained_machine_takes_nothing_new_until_it_is_uncordoned(
    flink: live_flink.AgentCluster, tmp_path: Path
) -> None:
    for server in SERVERS:
        assert "nothing new is put on" in command(flink, "drain", server, "--for", "1h")
    full = submitted(flink, "full", 8)
    assert set(flink.wait_for_running(full).values()) == {"pi-1", "pi-2"}

    unplanned = submitted(flink, "unplanned", 1)
    reasons: list[str] = []

    def said() -> bool:
        reasons[:] = (flink.status(unplanned) or {"reasons": []})["reasons"]
        return bool(reasons)

    flink.wait_until(said, "the reason why the job waits")
    assert "waits for slots, and TaskManagers with free ones take nothing new" in reasons[0]
    assert not flink.placement(unplanned)
    examined = " ".join(command(flink, "doctor", ends=ExitStatus.HINDERED).split())
    assert "server-1 takes nothing new until" in examined
    assert "has no plan, and the job waits for slots" in examined
    tasks = sorted(flink.wait_for_running(full))
    plan = tmp_path / "schedulercfg"
    plan.write_text("".join(f"{task}; server-1\n" for task in tasks))
    refused = command(flink, "apply", plan, "--job", "full", ends=ExitStatus.NOT_APPLIED)
    assert "'server-1' takes nothing new until" in refused
    by_hand = flink.write_plan("full", dict.fromkeys(tasks, "server-1"))
    rejected = flink.wait_for_status(full, "rejected", by_hand)
    assert "server-1 takes nothing new until" in rejected["reasons"][0]

    done = json.loads(command(flink, "uncordon", "server-1", "--json"))
    assert (done["end"], len(done["cordons"])) == ("applied", 1)
    assert set(flink.wait_for_running(unplanned).values()) == {"server-1"}
    assert "nothing to do" in command(flink, "uncordon", "server-1")


def test_a_planned_job_waits_and_a_cordon_ends_by_itself(flink: live_flink.AgentCluster) -> None:
    tasks = ["Source: numbers -> filter (1/1)", "count -> sink (1/1)"]
    flink.write_plan("late", dict.fromkeys(tasks, "pi-1"))
    command(flink, "drain", "127.0.0.11", "--for", "20s", "--timeout", "20")
    ends_s = time.time() + 20
    job = submitted(flink, "late", 1)
    waiting = flink.wait_for_status(job, "waiting")
    assert waiting["waiting_for"] == ["pi-1"]
    assert "pi-1 takes nothing new until" in waiting["reasons"][0]
    flink.wait_for_placement(job, dict.fromkeys(tasks, "pi-1"))
    # The drain has begun some time before.
    assert time.time() > ends_s - 20


def test_a_machine_that_is_gone_is_drained(flink: live_flink.AgentCluster) -> None:
    job = submitted(flink, "stranded", 2)
    tasks = sorted(flink.wait_for_running(job))
    planned = dict(zip(tasks, ["pi-1", "pi-2", "server-1", "pi-2"], strict=True))
    flink.write_plan("stranded", planned)
    flink.wait_for_placement(job, planned)
    flink.wait_for_checkpoint(job)
    flink.cluster.kill("pi-2")
    flink.wait_for_status(job, "waiting")
    flink.wait_until(
        lambda: "pi-2" not in {t["id"] for t in flink.rest.get("/taskmanagers")["taskmanagers"]},
        "the end of pi-2",
    )
    said = command(flink, "drain", "pi-2", "--for", "1h")
    assert "pi-2 is empty" in said
    now = flink.wait_for_running(job)
    assert "pi-2" not in now.values()
    assert {task: place for task, place in now.items() if planned[task] != "pi-2"} == {
        task: place for task, place in planned.items() if place != "pi-2"
    }
    flink.cluster.start("pi-2")
    flink.cluster.wait_for_task_managers()
    other = submitted(flink, "other", 3)
    assert "pi-2" not in flink.wait_for_running(other).values()
    flink.rest.cancel(other)
    command(flink, "drain", "pi-2", "--undo")
    flink.wait_for_placement(job, planned)


@pytest.fixture
def renamed(flink: live_flink.AgentCluster) -> Iterator[str]:
    """pi-2 comes back as another pod, at the same host."""
    config = flink.cluster.conf_dir("pi-2") / "config.yaml"
    text = config.read_text()
    try:
        config.write_text(text.replace('"pi-2"', '"pod-x7k2"'))
        yield "pod-x7k2"
    finally:
        config.write_text(text)
        flink.cluster.kill("pi-2")


def test_a_task_manager_with_another_id_at_the_same_host_has_the_place(
    flink: live_flink.AgentCluster, tmp_path: Path, renamed: str
) -> None:
    job = submitted(flink, "pods", 2)
    tasks = sorted(flink.wait_for_running(job))
    flink.wait_for_checkpoint(job)
    plan = tmp_path / "schedulercfg"
    places = dict(zip(tasks, ["pi-1", "127.0.0.12", "server-1", "127.0.0.12"], strict=True))
    plan.write_text("".join(f"{task}; {place}\n" for task, place in places.items()))
    command(flink, "apply", plan)
    # The host stays in the file: an id would die with the pod.
    assert (flink.plans / "pods.schedulercfg").read_text() == plan.read_text()
    flink.wait_for_placement(job, {t: "pi-2" if "127" in p else p for t, p in places.items()})
    flink.cluster.kill("pi-2")
    flink.cluster.start("pi-2")
    flink.wait_for_placement(job, {t: renamed if "127" in p else p for t, p in places.items()})
    assert flink.wait_for_status(job, "placed")["moves"] == 1
