"""What Flink and the agent do when Kubernetes replaces a pod: same id, another address."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main

REASON = "the testbed is not in the wheel, and not beside these tests"
agent_cluster = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
config = pytest.importorskip("testbed.flink.config", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)

TIMEOUTS = 2
"""How often Flink gives up waiting for slots while a pod is away. By default it does so every five
minutes: twice are the ten minutes that a test has not.
"""
SETTINGS = {"slot.request.timeout": "6 s"}
CHECKPOINTS = 4
"""A second each, as the attempts of a TaskManager to register."""


def spec(name: str, host: str, resource_id: str = "") -> "local_cluster.TaskManagerSpec":
    options = {"taskmanager.resource-id": resource_id} if resource_id else {}
    return local_cluster.TaskManagerSpec(name, host, 4, "680m", options=options)


@pytest.fixture
def flink(home: Path, agent_jar: Path) -> "Iterator[agent_cluster.AgentCluster]":
    with agent_cluster.AgentCluster(
        home,
        agent_jar,
        task_managers=[spec("pi-1", "127.0.0.11"), spec("server-1", "127.0.0.21")],
        settings={**config.QUICK, **SETTINGS},
        ha=False,
    ) as cluster:
        yield cluster


def placed(flink: agent_cluster.AgentCluster) -> tuple[str, dict[str, str]]:
    """Start a job whose first task runs on pi-1 by its plan; return its id and its places."""
    out = flink.cluster.scratch / "out"
    out.mkdir()
    endless = ("records=720000000", f"finish={out}/never", f"out={out}")
    job = flink.submit("CountingJob", *endless, "parallelism=1")
    tasks = sorted(flink.wait_for_running(job), reverse=True)
    places = dict(zip(tasks, ["server-1", "pi-1"], strict=True))
    flink.write_plan("counting", places)
    flink.wait_for_placement(job, places)
    flink.wait_for_checkpoint(job)
    return job, places


def address_of(flink: agent_cluster.AgentCluster, resource_id: str) -> str:
    known = {tm["id"]: tm["path"] for tm in flink.rest.get("/taskmanagers")["taskmanagers"]}
    return str(known.get(resource_id, ""))


def restarts(flink: agent_cluster.AgentCluster, job: str) -> int:
    found = flink.rest.get(f"/jobs/{job}/metrics", ["numRestarts"])
    return int(found[0]["value"]) if found else 0


def test_a_pod_comes_back_with_another_address_and_a_second_one_does_not_steal(
    flink: agent_cluster.AgentCluster,
) -> None:
    job, places = placed(flink)
    flink.cluster.kill("pi-1")
    assert flink.wait_for_status(job, "waiting")["waiting_for"] == ["pi-1"]
    flink.wait_until(lambda: not address_of(flink, "pi-1"), "the end of pi-1")
    before = restarts(flink, job)
    flink.wait_until(
        lambda: restarts(flink, job) >= before + TIMEOUTS, "several timeouts of slot requests"
    )
    flink.cluster.add(spec("pod-2", "127.0.0.13", "pi-1"))
    flink.wait_for_placement(job, places)
    assert "127.0.0.13" in address_of(flink, "pi-1")
    assert flink.rest.checkpoints(job)["restored"] > 0
    flink.wait_for_checkpoint(job)

    # The former one was only cut off: now there are two. Attempts count restarts at once; the
    # metric is what Flink fetched before.
    before = [s.attempt for s in flink.rest.subtasks(job)]
    flink.cluster.start("pi-1")
    refused: list[dict[str, str]] = []

    def is_refused() -> bool:
        refused[:] = (flink.agent() or {}).get("refused", [])
        return bool(refused)

    flink.wait_until(is_refused, "the refusal of the second pi-1")
    assert refused == [{"id": "pi-1", "host": "127.0.0.11", "registered_host": "127.0.0.13"}]
    for _ in range(CHECKPOINTS):
        flink.wait_for_checkpoint(job)
    assert "127.0.0.13" in address_of(flink, "pi-1")
    assert flink.placement(job) == places
    assert [s.attempt for s in flink.rest.subtasks(job)] == before
    out, err = io.StringIO(), io.StringIO()
    words = ["flink", "doctor", "--jobmanager", flink.rest.url]
    assert main(words, Console(out, err)) is ExitStatus.HINDERED
    assert "'pi-1' at 127.0.0.11 is refused" in " ".join(out.getvalue().split())

    # Once one of them is gone, the other is the pi-1 that the plan names.
    flink.cluster.kill("pod-2")
    flink.wait_until(lambda: "127.0.0.11" in address_of(flink, "pi-1"), "the other pi-1")
    flink.wait_for_placement(job, places)
