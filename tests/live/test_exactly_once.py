import random

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
counting = pytest.importorskip("testbed.experiments.counting", reason=REASON)
soak = pytest.importorskip("testbed.experiments.soak", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

LONGEST_SECONDS = 600


def test_three_moves_and_a_dead_task_manager_lose_and_double_nothing(
    flink: live_flink.AgentCluster,
) -> None:
    run = counting.CountingRun(flink, LONGEST_SECONDS)
    events = soak.Soak(flink, run.job_id, random.Random(1))  # noqa: S311 - no secret

    for event in (events.move, events.move, events.kill_task_manager, events.move):
        event()

    assert run.finish() == []
