"""Split aggregates count each record once, whatever comes in the middle, and obey weights."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.flink_releases import on_both

REASON = "the testbed is not in the wheel, and not beside these tests"
split = pytest.importorskip("testbed.experiments.split_words", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

RECORDS = 200_000
"""For 200 s, unless the run is told to finish."""
PACE = ("per-second=500",)
ROUTERS = 2
PATIENCE_S = 180.0
"""For a job to run: on a busy machine a new JVM alone takes more than a minute."""


def spread(flink: live_flink.AgentCluster, job: str) -> dict[str, Any]:
    (found,) = flink.keys(job)["splits"]
    return found


def wait_until_followed(
    flink: live_flink.AgentCluster, run: split.SplitRun, weights: Sequence[float], sha256: str
) -> None:
    """Wait until all routers use the weights of a file, and have spread a whole second by them."""

    def followed() -> bool:
        said = flink.keys(run.job_id)
        if said is None or said["used_sha256"] != sha256:
            return False
        now = spread(flink, run.job_id)
        loads = now["load_records_per_s"]
        idle = [i for i, weight in enumerate(weights) if weight == 0]
        return (
            now["routers_following"] == ROUTERS
            and now["weights"] == {"*": list(weights)}
            and now["records_per_s"] > 0
            and all(loads[i] == 0 for i in idle)
        )

    flink.wait_until(followed, f"weights {weights} in use, not {flink.keys(run.job_id)}")


def wait_for_refusal(flink: live_flink.AgentCluster, job: str, sha256: str) -> str:
    flink.wait_until(lambda: flink.keys(job)["shares_sha256"] == sha256, "the file to be judged")
    (reason,) = flink.keys(job)["refused"]
    return str(reason)


def kill_what_runs(flink: live_flink.AgentCluster, job: str, task: str) -> None:
    """Kill the TaskManager of a task after a checkpoint, and wait until the job runs again."""
    flink.wait_for_checkpoint(job)
    before = flink.rest.subtasks(job)
    flink.cluster.kill(flink.placement(job)[task])
    flink.cluster.start_missing()
    # Until Flink notices, REST shows the job as it was.
    flink.wait_until(
        lambda: flink.rest.subtasks(job) != before, "the failure to be noticed", PATIENCE_S
    )
    flink.cluster.wait_for_task_managers()
    flink.wait_for_running(job, PATIENCE_S)


@on_both
def test_failures_moves_and_changes_of_weights_lose_and_double_nothing(
    flink: live_flink.AgentCluster,
) -> None:
    run = split.SplitRun(flink, RECORDS, "split", PACE)
    job = run.job_id
    flink.wait_for_running(job, PATIENCE_S)
    flink.wait_until(lambda: flink.keys(job) is not None, "a report of the routers")
    weights = [1.0, 2.0, 0.0, 3.0]
    wait_until_followed(flink, run, weights, run.write_shares(weights, "# epoch: 7\n"))

    # What is not right as a whole changes nothing.
    lower = run.write_shares([1.0, 1.0, 1.0, 1.0], "# epoch: 6\n")
    assert "its epoch is 6, and 7 was seen" in wait_for_refusal(flink, job, lower)
    half = flink.write_plan_file("split.shares", f"{split.COMBINE} (1/4); 1".encode())
    assert "half written" in wait_for_refusal(flink, job, half)
    assert spread(flink, job)["weights"] == {"*": weights}

    # Weights survive a failure, from the checkpoint: the file is no longer of use.
    places = flink.placement(job)
    kill_what_runs(flink, job, f"{split.COMBINE} (1/4)")
    assert spread(flink, job)["weights"] == {"*": weights}

    # A move to fewer subtasks: weights are then for other workers.
    tasks = [task for task in places if not task.startswith(split.COMBINE)]
    tasks += [f"{split.COMBINE} ({i}/3)" for i in (1, 2, 3)]
    hosts = ["server-1", "server-2", "pi-2"]
    plan = {task: hosts[i % len(hosts)] for i, task in enumerate(sorted(tasks))}
    flink.wait_for_status(job, "placed", flink.write_plan("split", plan))
    flink.wait_until(lambda: spread(flink, job)["workers"] == 3, "the routers to see 3 workers")
    assert spread(flink, job)["weights"] is None
    three = [2.0, 0.0, 1.0]
    wait_until_followed(flink, run, three, run.write_shares(three))
    assert run.finish() == []


def test_unaligned_checkpoints(flink: live_flink.AgentCluster) -> None:
    run = split.SplitRun(flink, RECORDS, "split-unaligned", [*PACE, "unaligned=true"])
    flink.wait_for_running(run.job_id, PATIENCE_S)
    kill_what_runs(flink, run.job_id, f"{split.COMBINE} (2/4)")
    assert run.finish() == []
