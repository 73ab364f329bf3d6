"""Readings that a Kafka keeps: offsets in the checkpoint, and replay."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from testbed.brokers.kafka_server import Kafka, kafka_client
from testbed.brokers.readings_run import SENSORS, SITES, ReadingsRun
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home

_AFTER_S = 20
"""So long the sensors go on once the site is back."""


class KafkaBrokers:
    """One broker, with a topic that has a partition for each site.

    Raises
    ------
    TestbedError
        If Kafka is not in the cache and npm cannot download it.
    """

    job = "KafkaReadings"
    producer = "KafkaProducer"

    def __init__(self, home: Path) -> None:
        self._home = home
        self.libraries = (kafka_client(),)

    def start(self, folder: Path, cleanup: ExitStack) -> None:
        """Start the broker and its ZooKeeper."""
        self._kafka = cleanup.enter_context(Kafka(folder, self._home, len(SITES)))

    def job_arguments(self) -> Sequence[str]:
        """Return the broker, and that source subtask i reads partition i."""
        return (f"broker={self._kafka.address}", f"partitions={len(SITES)}")

    def producer_arguments(self, site: int) -> Sequence[str]:
        """Return the broker and the partition of a site."""
        return (f"broker={self._kafka.address}", f"partition={site}")

    def beside(self, site: int) -> Sequence[str]:
        """Return nothing: all is on loopback."""
        return ()

    def ready_for(self, job: str) -> bool:
        """Return true: it keeps what comes before there is a reader, too."""
        return True


def kafka(version: str, away_seconds: float, per_second: int) -> bool:
    """Kill a site's TaskManager while its sensors go on, then read all once more.

    Print what came of it; return whether nothing was lost or doubled either time.

    Parameters
    ----------
    version
        Release of Flink.
    away_seconds
        How long the site's TaskManager is away.
    per_second
        Messages of each site.
    """
    home = flink_home(version)
    brokers = KafkaBrokers(home)
    records = int((away_seconds + _AFTER_S) * per_second / SENSORS)
    with (
        AgentCluster(home, JAR) as flink,
        ReadingsRun(flink, home, brokers, per_second, records) as run,
    ):
        print(f"Kafka 0.9.0.1, {len(SITES)} sites, {per_second} messages/s each", flush=True)
        away = run.take_away(SITES[0], away_seconds)
        print(f"{SITES[0]} was away for {away.seconds:.0f} s")
        problems = run.finish()
        twice, again = run.again()
        print(f"{len(SITES) * SENSORS * records} readings sent, {twice} of them twice")
        print(f"{again} messages came again and were counted once", flush=True)
        anew = run.read_anew()
        print("a second job has read all from the beginning")
    for problem in (*problems, *(f"read anew: {each}" for each in anew)):
        print(problem)
    well = not problems and not anew and again == twice
    print("nothing lost, nothing doubled, nothing read twice" if well else "NOT as it should be")
    return well
