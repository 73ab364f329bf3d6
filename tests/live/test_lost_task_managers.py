"""TaskManagers that are not there: for a while, or not yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)
local_cluster = pytest.importorskip("testbed.flink.local_cluster", reason=REASON)

TASK_MANAGERS = (
    local_cluster.TaskManagerSpec("pi-1", "127.0.0.11", slots=2, process_memory="680m"),
    local_cluster.TaskManagerSpec("pi-2", "127.0.0.12", slots=2, process_memory="740m"),
    local_cluster.TaskManagerSpec("server-1", "127.0.0.21", slots=6, process_memory="840m"),
)


@pytest.fixture(scope="module")
def falling_back(home: Path, agent_jar: Path) -> Iterator[live_flink.AgentCluster]:
    """A cluster whose subtasks run elsewhere after 2 seconds without their TaskManager."""
    options = "lost=fallback,fallback-after-s=2"
    with live_flink.AgentCluster(home, agent_jar, options, TASK_MANAGERS) as live:
        yield live


def test_subtasks_run_elsewhere_and_come_home(falling_back: live_flink.AgentCluster) -> None:
    flink = falling_back
    out = flink.cluster.scratch / "out"
    out.mkdir()
    arguments = ["records=7200000", f"finish={out}/never", f"out={out}", "parallelism=2"]
    job = flink.submit("CountingJob", *arguments)
    tasks = sorted(flink.wait_for_running(job))
    places = dict(zip(tasks, ["pi-1", "pi-2", "server-1", "server-1"], strict=True))
    # By host, as a plan may name it.
    named = {task: {"pi-2": "127.0.0.12"}.get(place, place) for task, place in places.items()}
    flink.write_plan("counting", named)
    flink.wait_for_placement(job, places)

    flink.cluster.kill("pi-2")
    status = flink.wait_for_status(job, "away")
    assert [(each["task"], each["planned"]) for each in status["away"]] == [
        (tasks[1], "127.0.0.12")
    ]
    assert flink.placement(job)[tasks[1]] == status["away"][0]["runs_at"] != "pi-2"

    flink.cluster.start("pi-2")
    flink.wait_for_placement(job, places)
    assert flink.wait_for_status(job, "placed")["away"] == []


def test_a_job_waits_for_a_task_manager_it_has_never_seen(
    falling_back: live_flink.AgentCluster,
) -> None:
    """The slot it gets has the size that the TaskManager's slots have."""
    flink = falling_back
    flink.reset()
    # In order: a JobManager that is killed while it notes the end of a job may not start again.
    flink.cluster.stop("jobmanager")
    for each in TASK_MANAGERS:
        flink.cluster.kill(each.name)
    out = flink.cluster.scratch / "late"
    out.mkdir()
    flink.cluster.start("jobmanager")
    flink.wait_until(lambda: flink.rest.get("/taskmanagers") is not None, "the JobManager")
    tasks = [
        f"{name} ({i}/2)" for name in ("Source: numbers -> filter", "count -> sink") for i in (1, 2)
    ]
    places = dict(zip(tasks, ["pi-1", "pi-2", "pi-1", "pi-2"], strict=True))
    flink.write_plan("late", places)
    job = flink.submit(
        "CountingJob",
        "records=7200000",
        f"finish={out}/never",
        f"out={out}",
        "parallelism=2",
        "name=late",
    )
    assert flink.wait_for_status(job, "waiting")["waiting_for"] == ["pi-1", "pi-2"]
    for each in TASK_MANAGERS:
        flink.cluster.start(each.name)
    flink.wait_for_placement(job, places)

    def one_of_two_slots_taken() -> bool:
        seen = [flink.rest.get(f"/taskmanagers/{name}") for name in ("pi-1", "pi-2")]
        # Less the mark that means this TaskManager (REST gives MiB).
        return all(
            abs(2 * tm["freeResource"]["taskHeapMemory"] - tm["totalResource"]["taskHeapMemory"])
            <= 1
            for tm in seen
        )

    # The first to register may have taken what the other one was to have, until that was there;
    # Flink gives the slot of such a guest back when it has been idle for a while.
    flink.wait_until(one_of_two_slots_taken, "slots of the TaskManagers' own size")


def test_a_neighbour_that_registers_first_does_not_get_the_place(
    flink: live_flink.AgentCluster,
) -> None:
    """After a restart of the JobManager, the TaskManagers of a machine come in any order."""
    host = "127.0.0.21"
    own, neighbour = (tm.name for tm in flink.task_managers if tm.host == host)
    flink.cluster.kill(neighbour)
    flink.cluster.wait_for_task_managers()
    out = flink.cluster.scratch / "neighbours"
    out.mkdir()
    job = flink.submit(
        "CountingJob", "records=7200000", f"finish={out}/never", f"out={out}", "parallelism=2"
    )
    tasks = flink.wait_for_running(job)
    planned = dict.fromkeys(tasks, own)
    flink.write_plan(job, dict.fromkeys(tasks, host))
    flink.wait_for_placement(job, planned)
    flink.wait_for_status(job, "placed")
    flink.cluster.start(neighbour)
    flink.cluster.wait_for_task_managers()
    holders = flink.plans / f"{job}.holders"
    flink.wait_until(
        lambda: holders.read_text() == f"{host} {own} {neighbour}\n",
        f"a checkpoint beside {neighbour}",
    )

    flink.cluster.kill("jobmanager")
    flink.cluster.kill(own)
    flink.cluster.start("jobmanager")
    status = flink.wait_for_status(job, "waiting")
    flink.cluster.wait_for_task_managers()
    flink.wait_until(
        lambda: f"was TaskManager {own}" in str(flink.status(job)["reasons"]), f"not {status}"
    )
    flink.cluster.start(own)
    flink.wait_for_placement(job, planned)
