import random

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
kinds = pytest.importorskip("testbed.experiments.kinds_of_state", reason=REASON)
soak = pytest.importorskip("testbed.experiments.soak", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)

RECORDS = 400_000
PACE = ("per-second=200",)
"""With three sources, RECORDS last for eleven minutes unless the run is told to finish."""


def test_changes_failures_and_a_savepoint_lose_and_double_nothing(
    flink: live_flink.AgentCluster,
) -> None:
    run = kinds.KindsRun(flink, RECORDS, "short-soak", PACE)
    events = soak.Soak(flink, run, random.Random(1))  # noqa: S311 - no secret

    events.move()
    events.kill_task_manager()
    events.kill_at("restoring", of_job_manager=False)
    events.kill_at("cancelling", of_job_manager=True)
    events.savepoint_and_resume()

    assert run.finish() == []
