"""A job without a plan that starts during a move: the move happens, or nothing happens."""

import time

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

KEYS = 24
SLOTS = 22
"""Of all TaskManagers together."""
WIDTH = 4


def submit(flink: live_flink.AgentCluster, name: str, parallelism: int) -> str:
    out = flink.cluster.scratch / "out-unplanned"
    out.mkdir(exist_ok=True)
    job: str = flink.submit(
        "CountingJob",
        f"records={2 * KEYS * parallelism * 50_000}",
        f"parallelism={parallelism}",
        f"finish={out}/never",
        f"out={out}",
        f"name={name}",
    )
    return job


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.3])
def test_it_takes_no_slot_from_a_move(flink: live_flink.AgentCluster, seconds: float) -> None:
    # The first submission of a class compiles it.
    flink.rest.cancel(submit(flink, "warm", 1))
    tasks = ("Source: numbers -> filter", "count -> sink")
    subtasks = [f"{task} ({i}/{WIDTH})" for task in tasks for i in range(1, WIDTH + 1)]
    on_server, on_pi = (dict.fromkeys(subtasks, place) for place in ("server-1", "pi-1"))
    flink.write_plan("planned", on_server)
    planned = submit(flink, "planned", WIDTH)
    flink.wait_for_placement(planned, on_server)
    flink.wait_for_checkpoint(planned)
    before = flink.rest.subtasks(planned)

    sha256 = flink.write_plan("planned", on_pi)
    time.sleep(seconds)
    # It wants all slots that the planned job leaves, before the move and after it.
    other = submit(flink, "unplanned", SLOTS - WIDTH)

    flink.wait_until(
        lambda: (
            (flink.status(planned) or {}).get("plan_sha256") == sha256
            and flink.status(planned)["state"] in ("placed", "rejected")
        ),
        "an end of the move",
    )
    if flink.status(planned)["state"] == "placed":
        assert flink.placement(planned) == on_pi
    else:
        assert flink.status(planned)["reasons"]
        assert flink.rest.subtasks(planned) == before
    flink.wait_for_running(other)
    flink.wait_for_checkpoint(planned)
