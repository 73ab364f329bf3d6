"""Data that is born at the edge: an MQTT broker at each site, and a site that is away."""

import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.errors import TestbedError
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home
from testbed.flink.job_jar import compile_own_jobs
from testbed.flink.mosquitto import Mosquitto, find_mosquitto
from testbed.process import launch, stop

SITES = ("pi-1", "pi-2")
"""The TaskManagers beside the brokers."""
SERVER = "server-1"
SENSORS = 4
"""Of each site."""
TWICE_EVERY = 50
"""Each so many-th message of a sensor is sent twice."""
_JOB = "mqtt"
_AT_SITES = ("Source: readings", "fresh", "combine")
_AT_SERVER = ("sink: Writer -> sink: Committer",)
_SECONDS = 180.0


@dataclass
class Sensor:
    """What is known of one sensor's readings.

    Parameters
    ----------
    count
        New readings.
    sum
        Of their values.
    last
        Largest number.
    again
        Messages that came once more.
    """

    count: int = 0
    sum: int = 0
    last: int = -1
    again: int = 0


def committed(folder: Path) -> dict[str, Sensor]:
    """Return sensor -> what the exactly-once sink has committed so far."""
    sensors: dict[str, Sensor] = {}
    for file in folder.glob("[!.]*"):
        for line in file.read_text().splitlines():
            name, *numbers = line.split()
            count, total, last, again = map(int, numbers)
            sensor = sensors.setdefault(name, Sensor())
            sensor.count += count
            sensor.sum += total
            sensor.last = max(sensor.last, last)
            sensor.again += again
    return sensors


def wrong_readings(found: Mapping[str, Sensor], sensors: list[str], records: int) -> list[str]:
    """Compare with sensors that have sent the numbers from 0 to ``records`` - 1.

    A number that is counted twice or lost changes the count. `Sensor.again` is not judged.
    """
    wanted = (records, sum(number % 100 for number in range(records)), records - 1)
    problems = []
    for name in sorted({*sensors, *found}):
        each = found.get(name, Sensor())
        if name not in sensors:
            problems.append(f"{name}: nobody has sent this")
        elif (each.count, each.sum, each.last) != wanted:
            problems.append(
                f"{name}: count, sum and last number are {(each.count, each.sum, each.last)} "
                f"instead of {wanted}"
            )
    return problems


class MqttRun:
    """A running job whose sources are at the brokers' sites, and sensors that speak to the brokers.

    Parameters
    ----------
    flink
        A cluster that has `SITES` and `SERVER`.
    home
        Its Flink home.
    per_second
        Messages of each site.
    records
        Messages of each sensor, without those that are sent twice.

    Raises
    ------
    TestbedError
        If there is no Mosquitto, or the job does not run as planned in time.
    """

    def __init__(self, flink: AgentCluster, home: Path, per_second: int, records: int) -> None:
        self._flink = flink
        self._home = home
        self._per_second = per_second
        self._records = records
        self._folder = flink.cluster.scratch / _JOB
        self._out = self._folder / "out"
        self._out.mkdir(parents=True)
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            self._brokers = [
                cleanup.enter_context(Mosquitto(self._folder / site)) for site in SITES
            ]
            self.places = {
                f"{task} ({i}/{len(SITES)})": site
                for task in _AT_SITES
                for i, site in enumerate(SITES, 1)
            } | {f"{task} (1/1)": SERVER for task in _AT_SERVER}
            self._flink.write_plan(_JOB, self.places)
            brokers = ",".join(broker.address for broker in self._brokers)
            self.job_id = self._flink.submit(
                "MqttReadings", f"brokers={brokers}", f"out={self._out}", f"name={_JOB}"
            )
            self._flink.wait_for_placement(self.job_id, self.places, _SECONDS)
            self._flink.wait_until(self._subscribed, "subscriptions", _SECONDS)
            self._sensors = self._start_sensors(cleanup)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flink.let_go()
        self._cleanup.close()

    def committed(self) -> dict[str, Sensor]:
        """Return sensor -> what is committed so far."""
        return committed(self._out)

    def count(self, site: str = "") -> int:
        """Return the new readings of a site that are committed so far, of all if none is named."""
        return sum(each.count for name, each in self.committed().items() if name.startswith(site))

    def take_away(self, site: str, seconds: float) -> tuple[int, float]:
        """Kill a site's TaskManager after a checkpoint, and start it again after so many seconds.

        Return how many of the site's readings were committed before it came back, and after how
        many seconds its TaskManager was registered again.
        """
        self._flink.wait_until(lambda: self.count(site) > 0, f"readings of {site}", _SECONDS)
        start = time.monotonic()
        self._flink.cluster.kill(site)
        time.sleep(seconds)
        before = self.count(site)
        self._flink.cluster.start_missing()
        return before, time.monotonic() - start

    def finish(self) -> list[str]:
        """Wait until all messages are sent and counted; return the faults, none if all is well.

        Raises
        ------
        TestbedError
            If the job does not run where it is planned, or a process fails.
        """
        for process in self._sensors:
            if process.wait(_SECONDS + self._records * SENSORS / self._per_second) != 0:
                raise TestbedError(f"a site's sensors ended with code {process.returncode}")
        self._flink.wait_for_placement(self.job_id, self.places, _SECONDS)
        expected = len(SITES) * SENSORS * self._records
        twice = len(SITES) * SENSORS * (self._records // TWICE_EVERY)

        def all_here() -> bool:
            found = self.committed().values()
            return sum(each.count for each in found) >= expected and (
                sum(each.again for each in found) >= twice
            )

        try:
            self._flink.wait_until(all_here, f"{expected} readings", _SECONDS)
        except TestbedError as error:
            print(error)
        names = [f"{site}-{i}" for site in SITES for i in range(SENSORS)]
        return wrong_readings(self.committed(), names, self._records)

    def again(self) -> tuple[int, int]:
        """Return how many messages the sensors sent twice, and how many came once more."""
        sent = len(SITES) * SENSORS * (self._records // TWICE_EVERY)
        return sent, sum(each.again for each in self.committed().values())

    def _subscribed(self) -> bool:
        return all(b.has_subscriber(f"{_JOB}-{i}") for i, b in enumerate(self._brokers))

    def _start_sensors(self, cleanup: ExitStack) -> list[subprocess.Popen[bytes]]:
        jar = compile_own_jobs(["MqttProducer"], self._home, self._folder)
        processes = []
        for site, broker in zip(SITES, self._brokers, strict=True):
            command = [
                *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"),
                *("-cp", str(jar), "testbed.jobs.MqttProducer"),
                *(f"broker={broker.address}", f"site={site}", f"sensors={SENSORS}"),
                *(f"records={self._records}", f"per-second={self._per_second}"),
                f"twice-every={TWICE_EVERY}",
            ]
            log = self._folder / f"sensors-{site}.log"
            process = launch(command, log, {"PATH": os.environ["PATH"]})
            cleanup.callback(stop, process)
            processes.append(process)
        return processes


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
    with AgentCluster(home, JAR) as flink, MqttRun(flink, home, per_second, records) as run:
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
