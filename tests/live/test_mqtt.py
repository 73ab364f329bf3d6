"""Sources of MQTT brokers: a site that is away loses nothing, and doubles nothing."""

import shutil
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
mqtt = pytest.importorskip("testbed.brokers.mqtt", reason=REASON)
readings_run = pytest.importorskip("testbed.brokers.readings_run", reason=REASON)
live_flink = pytest.importorskip("testbed.flink.agent_cluster", reason=REASON)


def test_what_sensors_say_while_a_site_is_away_is_counted_once(
    flink: live_flink.AgentCluster, home: Path
) -> None:
    if not shutil.which("mosquitto", path="/usr/bin:/usr/sbin"):
        pytest.skip("no mosquitto: apt-get install mosquitto")
    brokers = mqtt.MqttBrokers()
    with readings_run.ReadingsRun(flink, home, brokers, per_second=400, records=300) as run:
        run.take_away("pi-1", seconds=1)
        assert run.finish() == []
        sent_twice, came_again = run.again()
    # A kill between a checkpoint and its acknowledgement lets more come again.
    assert came_again >= sent_twice > 0
