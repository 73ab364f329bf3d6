"""Sources that keep the offsets of a Kafka in their checkpoint, and go on there after a kill."""

from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
kafka = pytest.importorskip("testbed.brokers.kafka", reason=REASON)
readings_run = pytest.importorskip("testbed.brokers.readings_run", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)


def test_a_killed_source_goes_on_at_its_offset_and_another_job_reads_all_again(
    flink: live_flink.AgentCluster, home: Path
) -> None:
    try:
        brokers = kafka.KafkaBrokers(home)
    except errors.TestbedError as error:
        pytest.skip(f"no Kafka in the cache, and {error}")
    # At first so slowly that the sensors are not done before the kill.
    with readings_run.ReadingsRun(flink, home, brokers, per_second=100, records=1500) as run:
        run.wait_for_readings("pi-1")
        run.set_rate(4000)
        run.take_away("pi-1", seconds=0)
        assert run.finish() == []
        sent_twice, came_again = run.again()
        # Offsets say exactly what a checkpoint has: only what was sent twice comes twice.
        assert came_again == sent_twice > 0
        assert run.read_anew() == []
