"""Data that is born at the edge: an MQTT broker at each site, and a site that is away."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from testbed.brokers.mosquitto import Mosquitto, find_mosquitto
from testbed.brokers.readings_run import SENSORS, SITES, ReadingsRun
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home

_SECONDS = 180.0


class MqttBrokers:
    """A Mosquitto at each site."""

    job = "MqttReadings"
    producer = "MqttProducer"
    libraries: Sequence[Path] = ()

    def start(self, folder: Path, cleanup: ExitStack) -> None:
        """Start the brokers."""
        self._brokers = [cleanup.enter_context(Mosquitto(folder / site)) for site in SITES]

    def job_arguments(self) -> Sequence[str]:
        """Return the addresses of the brokers."""
        return (f"brokers={','.join(broker.address for broker in self._brokers)}",)

    def producer_arguments(self, site: int) -> Sequence[str]:
        """Return the address of the site's own broker."""
        return (f"broker={self._brokers[site].address}",)

    def beside(self, site: int) -> Sequence[str]:
        """Return nothing: all is on loopback."""
        return ()

    def ready_for(self, job: str) -> bool:
        """Return whether each broker knows the session: before, it keeps nothing for it."""
        return all(b.has_subscriber(f"{job}-{i}") for i, b in enumerate(self._brokers))


@dataclass(frozen=True)
class SiteAway:
    """What a run with a site away has shown.

    Parameters
    ----------
    seconds
        How long the site was away: until its TaskManager was registered again.
    waited
        The site's messages that waited in its broker when it was back.
    caught_up_seconds
        From the TaskManager's return until all of these were committed.
    sent
        New readings of all sensors.
    sent_twice, came_again
        Messages that sensors sent twice, and messages that came once more.
    problems
        Readings that were lost or doubled.
    """

    seconds: float
    waited: int
    caught_up_seconds: float
    sent: int
    sent_twice: int
    came_again: int
    problems: list[str]


def mqtt(version: str, away_seconds: float, per_second: int) -> bool:
    """Let a site be away while its sensors go on, print what came of it; return if all is well.

    Parameters
    ----------
    version
        Release of Flink.
    away_seconds
        How long the site's TaskManager is away.
    per_second
        Messages of each site.
    """
    find_mosquitto()
    home = flink_home(version)
    # Some more, so that there are messages after the return, too.
    records = int((away_seconds + 40) * per_second / SENSORS)
    with (
        AgentCluster(home, JAR) as flink,
        ReadingsRun(flink, home, MqttBrokers(), per_second, records) as run,
    ):
        print(f"{len(SITES)} sites, {per_second} messages/s each; {SITES[0]} goes", flush=True)
        counted, gone = run.take_away(SITES[0], away_seconds)
        back = time.monotonic()
        sent = int(gone * per_second)
        print(f"{SITES[0]} is back", flush=True)
        flink.wait_until(
            lambda: run.count(SITES[0]) >= counted + sent, "what waited in the broker", _SECONDS
        )
        caught_up = time.monotonic() - back
        problems = run.finish()
        twice, again = run.again()
        total = len(SITES) * SENSORS * records
        result = SiteAway(gone, sent, caught_up, total, twice, again, problems)
    return _report(result)


def _report(result: SiteAway) -> bool:
    print(f"away {result.seconds:.0f} s: about {result.waited} messages waited in the broker")
    print(f"all of them committed {result.caught_up_seconds:.1f} s after the return")
    print(f"{result.sent} readings sent, {result.sent_twice} of them twice")
    print(f"{result.came_again} messages came again and were counted once")
    for problem in result.problems:
        print(problem)
    print("nothing lost, nothing doubled" if not result.problems else "NOT as it should be")
    return not result.problems
