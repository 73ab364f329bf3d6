"""A job that reads brokers, its sources at the sites, and the sensors that speak to the brokers."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from testbed.brokers.counted import Sensor, committed, wrong_readings
from testbed.errors import TestbedError
from testbed.flink.agent_cluster import AgentCluster
from testbed.flink.job_jar import compile_own_job
from testbed.process import launch, stop

SITES = ("pi-1", "pi-2")
"""The TaskManagers of the sources, one at each site."""
SERVER = "server-1"
SENSORS = 4
"""Of each site."""
TWICE_EVERY = 50
"""Each so many-th message of a sensor is sent twice."""
_AT_SITES = ("Source: readings", "fresh", "combine")
_AT_SERVER = ("sink: Writer -> sink: Committer",)
_SECONDS = 180.0


class Brokers(Protocol):
    """Brokers that readings go through.

    Attributes
    ----------
    job, producer
        Classes of the testbed's jobs that read from them and write to them.
    """

    job: str
    producer: str

    @property
    def libraries(self) -> Sequence[Path]:
        """Return jars that both need."""

    def start(self, folder: Path, cleanup: ExitStack) -> None:
        """Start them; ``folder`` is theirs and made here, ``cleanup`` ends them."""

    def job_arguments(self) -> Sequence[str]:
        """Return what the job must know of them."""

    def producer_arguments(self, site: int) -> Sequence[str]:
        """Return what the sensors of a site must know of them."""

    def beside(self, site: int) -> Sequence[str]:
        """Return what a command begins with that runs at a site."""

    def ready_for(self, job: str) -> bool:
        """Return whether what sensors send from now on waits for the job of this name."""


@dataclass(frozen=True)
class SiteAway:
    """How long a site was away, until all was back: in seconds, and its readings committed then."""

    seconds: float
    committed: int


class ReadingsRun:
    """A running job whose sources are at the sites, and sensors that speak to the brokers.

    Parameters
    ----------
    flink
        A cluster that has `SITES` and `SERVER`.
    home
        Its Flink home.
    brokers
        What is between the sensors and the job.
    per_second
        Messages of each site, until `set_rate`.
    records
        Messages of each sensor, without those that are sent twice.

    Raises
    ------
    TestbedError
        If a broker is missing, or the job does not run as planned in time.
    """

    def __init__(
        self, flink: AgentCluster, home: Path, brokers: Brokers, per_second: int, records: int
    ) -> None:
        self._flink = flink
        self._home = home
        self._brokers = brokers
        self._per_second = per_second
        self._records = records
        self._name = brokers.job
        self._folder = flink.cluster.scratch / self._name
        self._out = self._folder / "out"
        self._out.mkdir(parents=True)
        self._rate = self._folder / "rate"
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            self._brokers.start(self._folder / "brokers", cleanup)
            self.job_id = self._start_job(self._name, self._out)
            self._flink.wait_until(
                lambda: self._brokers.ready_for(self._name), "sources at brokers", _SECONDS
            )
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

    def wait_for_readings(self, site: str) -> None:
        """Wait until the first readings of a site are committed."""
        self._flink.wait_until(lambda: self.count(site) > 0, f"readings of {site}", _SECONDS)

    def set_rate(self, per_second: int) -> None:
        """Let the sensors of each site send so many messages/s from now on."""
        draft = self._rate.with_suffix(".new")
        draft.write_text(str(per_second))
        draft.rename(self._rate)
        self._per_second = per_second

    def take_away(self, site: str, seconds: float) -> SiteAway:
        """Kill a site's TaskManager, and start it again after so many seconds."""

        def start_again() -> None:
            self._flink.cluster.start_missing()

        return self.without(site, seconds, lambda: self._flink.cluster.kill(site), start_again)

    def without(
        self, site: str, seconds: float, take: Callable[[], None], give_back: Callable[[], None]
    ) -> SiteAway:
        """Take something away once readings of a site are committed, and give it back."""
        self.wait_for_readings(site)
        start = time.monotonic()
        take()
        time.sleep(seconds)
        before = self.count(site)
        give_back()
        return SiteAway(time.monotonic() - start, before)

    def wait_for_count(self, site: str, count: int) -> float:
        """Wait until so many readings of a site are committed; return how many seconds it took."""
        start = time.monotonic()
        self._flink.wait_until(
            lambda: self.count(site) >= count, f"{count} readings of {site}", _SECONDS
        )
        return time.monotonic() - start

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
        return self._wrong(self._out)

    def read_anew(self) -> list[str]:
        """Let a second job read what the brokers have kept, from the beginning; as `finish`."""
        out = self._folder / "anew"
        out.mkdir()
        self._start_job(f"{self._name}-anew", out)
        return self._wrong(out)

    def again(self) -> tuple[int, int]:
        """Return how many messages the sensors sent twice, and how many came once more."""
        return self._twice, sum(each.again for each in self.committed().values())

    @property
    def _twice(self) -> int:
        return len(SITES) * SENSORS * (self._records // TWICE_EVERY)

    def _start_job(self, name: str, out: Path) -> str:
        self.places = {
            f"{task} ({i}/{len(SITES)})": site
            for task in _AT_SITES
            for i, site in enumerate(SITES, 1)
        } | {f"{task} (1/1)": SERVER for task in _AT_SERVER}
        self._flink.write_plan(name, self.places)
        job_id = self._flink.submit(
            self._brokers.job,
            *self._brokers.job_arguments(),
            *(f"out={out}", f"name={name}"),
            libraries=self._brokers.libraries,
        )
        self._flink.wait_for_placement(job_id, self.places, _SECONDS)
        return job_id

    def _wrong(self, out: Path) -> list[str]:
        expected = len(SITES) * SENSORS * self._records

        def all_here() -> bool:
            found = committed(out).values()
            return sum(each.count for each in found) >= expected and (
                sum(each.again for each in found) >= self._twice
            )

        try:
            self._flink.wait_until(all_here, f"{expected} readings", _SECONDS)
        except TestbedError as error:
            print(error)
        names = [f"{site}-{i}" for site in SITES for i in range(SENSORS)]
        return wrong_readings(committed(out), names, self._records)

    def _start_sensors(self, cleanup: ExitStack) -> list[subprocess.Popen[bytes]]:
        producer, libraries = self._brokers.producer, self._brokers.libraries
        jar = compile_own_job(producer, self._home, self._folder, libraries)
        # The libraries may log by Flink's.
        class_path = f"{jar}:{self._home}/lib/*" if libraries else str(jar)
        processes = []
        for i, site in enumerate(SITES):
            command = [
                *self._brokers.beside(i),
                *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"),
                *("-cp", class_path, f"testbed.jobs.{producer}"),
                *self._brokers.producer_arguments(i),
                *(f"site={site}", f"sensors={SENSORS}", f"records={self._records}"),
                *(f"per-second={self._per_second}", f"rate-file={self._rate}"),
                f"twice-every={TWICE_EVERY}",
            ]
            log = self._folder / f"sensors-{site}.log"
            process = launch(command, log, {"PATH": os.environ["PATH"]})
            cleanup.callback(stop, process)
            processes.append(process)
        return processes
