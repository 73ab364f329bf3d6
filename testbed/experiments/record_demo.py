"""Record the demo log: two sites of Pis, one server, a camera job placed by stock Flink."""

import gzip
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgeplace.adapters.flink.collect.poll import Poller
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.model import EdgeplaceError
from testbed.errors import TestbedError
from testbed.flink.home import flink_home
from testbed.flink.job_jar import compile_job
from testbed.flink.local_cluster import JOB_MANAGER, LocalCluster, TaskManagerSpec
from testbed.flink.rest import FlinkRest
from testbed.network.cpu_quota import machine_busy_s, require_quotas

POLL_SECONDS = 5.0
WARM_UP_SECONDS = 90.0

# Time between the fetch that a poll starts and the reading of the metrics.
_FETCH_SECONDS = 1.0
_PI_CORES = 0.25
_FRAMES_PER_SECOND = 100
_PI_SLOTS = 4
_PIS = {
    "pi-lyon-1": "127.0.0.11",
    "pi-lyon-2": "127.0.0.12",
    "pi-nice-1": "127.0.0.13",
    "pi-nice-2": "127.0.0.14",
}
# The job's sources ask for one "edge" each, so that stock Flink puts them on Pis only.
_EDGE = {"external-resources": "edge", "external-resource.edge.amount": str(_PI_SLOTS)}
_SERVER = TaskManagerSpec("server-1", "127.0.0.21", slots=14, process_memory="1300m")
_TASK_MANAGERS = (
    _SERVER,
    *(TaskManagerSpec(n, host, _PI_SLOTS, "640m", _PI_CORES, _EDGE) for n, host in _PIS.items()),
)
_SETTINGS = {
    "taskmanager.load-balance.mode": "SLOTS",
    "taskmanager.memory.managed.fraction": "0.2",
    "taskmanager.memory.jvm-metaspace.size": "160m",
    "taskmanager.memory.jvm-overhead.min": "64m",
    "taskmanager.memory.jvm-overhead.max": "64m",
    "taskmanager.memory.framework.heap.size": "64m",
    "taskmanager.memory.framework.off-heap.size": "48m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
    # Only the first compiler is used. It ends after seconds, even on a quarter of a core, so all
    # machines run the same machine code while they are measured.
    "env.java.opts.taskmanager": "-XX:TieredStopAtLevel=1",
    # A value between _FETCH_SECONDS and POLL_SECONDS, so that each poll causes exactly one fetch.
    "metrics.fetcher.update-interval": "2500 ms",
    "execution.checkpointing.interval": "10 s",
    "execution.checkpointing.incremental": "true",
    "state.backend.type": "rocksdb",
}
_JOB_SOURCE = Path(__file__).parents[1] / "jobs" / "SensorTelemetry.java"
_JOB_CLASS = "testbed.jobs.SensorTelemetry"

# The site at which the sensor of each source subtask is.
_SENSORS = "Source: sensors"
_SENSOR_SITES = ("lyon", "lyon", "nice", "nice")
# The operators with real work, to be measured on both kinds of machine.
_MEASURED = ("decode", "filter", "features")
_MEASURED_PER_PI = 2
# Two of these on one Pi take its whole quota, and each appears half as fast as it is.
_HEAVY = "decode"
_SUBMISSIONS = 80
_JOB_START_SECONDS = 90.0


def record(out: Path, seconds: float, warm_up: float = WARM_UP_SECONDS) -> None:
    """Start the cluster and the job, record the log, and print the load of the machine.

    Parameters
    ----------
    out
        The gzip'ed log; replaced only when the recording is complete.
    seconds
        How long to record.
    warm_up
        How long the job runs before that, for the compiler and the rates to settle.

    Raises
    ------
    TestbedError
        If the cluster or the job does not come up.
    """
    require_quotas()  # Before a long download.
    home = flink_home()
    with LocalCluster(home, _TASK_MANAGERS, _SETTINGS) as cluster:
        jar = compile_job(_JOB_SOURCE, _JOB_CLASS, home, cluster.scratch)
        job_id = _submit(cluster, cluster.rest.upload(jar))
        print(f"job {job_id} runs, warming up for {warm_up:.0f} s", flush=True)
        _sleep(cluster, warm_up)
        print(f"recording for {seconds:.0f} s", flush=True)
        before = _usage(cluster)
        with _complete_gzip(out) as log:
            _poll(cluster, job_id, log, seconds)
        _report(before, _usage(cluster))
        cluster.rest.cancel(job_id)
    print(f"{out}: {out.stat().st_size} bytes")


def _submit(cluster: LocalCluster, jar_id: str) -> str:
    """Submit the job again until stock Flink places it as required."""
    for attempt in range(1, _SUBMISSIONS + 1):
        job_id = cluster.rest.run(jar_id, [str(_FRAMES_PER_SECOND)])
        path = f"/jobs/{job_id}"

        def all_running(path: str = path) -> bool:
            vertices = cluster.rest.get(path)["vertices"]
            return bool(vertices) and all(v["status"] == "RUNNING" for v in vertices)

        def ended(path: str = path) -> bool:
            return bool(cluster.rest.get(path)["state"] == "CANCELED")

        cluster.wait_until(all_running, "start of the job", _JOB_START_SECONDS)
        placement = _placement(cluster.rest, path)
        if is_wanted(placement):
            print(f"submission {attempt} is placed as wanted", flush=True)
            return job_id
        cluster.rest.cancel(job_id)
        cluster.wait_until(ended, "end of the job", _JOB_START_SECONDS)
    raise TestbedError(f"not placed as wanted in {_SUBMISSIONS} submissions")


def _placement(rest: FlinkRest, job_path: str) -> dict[str, list[str]]:
    """Return each operator's TaskManagers, one per subtask."""
    return {
        vertex["name"]: [
            subtask["taskmanager-id"]
            for subtask in rest.get(f"{job_path}/vertices/{vertex['id']}")["subtasks"]
        ]
        for vertex in rest.get(job_path)["vertices"]
    }


def is_wanted(placement: Mapping[str, Sequence[str]]) -> bool:
    """Return whether the sources are at their sensors' sites and the work can be measured.

    For this, both kinds of machine must have each operator, and no Pi may have too much work.
    """
    sensors = zip(placement[_SENSORS], _SENSOR_SITES, strict=True)
    at_sensors = all(name.startswith(f"pi-{site}-") for name, site in sensors)
    work = [name for operator in _MEASURED for name in placement[operator]]
    both = all(0 < placement[o].count(_SERVER.name) < len(placement[o]) for o in _MEASURED)
    return (
        at_sensors
        and both
        and all(work.count(pi) <= _MEASURED_PER_PI for pi in _PIS)
        and all(placement[_HEAVY].count(pi) <= 1 for pi in _PIS)
    )


def _sleep(cluster: LocalCluster, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        cluster.check_alive()
        time.sleep(min(left, 1.0))


def _poll(cluster: LocalCluster, job_id: str, log: gzip.GzipFile, seconds: float) -> None:
    # One request at a time: the machine is measured meanwhile.
    with FlinkClient(cluster.rest.url) as client, ThreadPoolExecutor(1) as pool:
        poller = Poller(client, job_id, _FETCH_SECONDS, pool)
        start = time.monotonic()
        for number in range(round(seconds / POLL_SECONDS)):
            _sleep(cluster, start + number * POLL_SECONDS - time.monotonic())
            try:
                poll = poller.poll(describe=False)
            except EdgeplaceError as error:
                raise TestbedError(f"poll {number + 1}: {error.what}") from error
            if not poll.lines:
                raise TestbedError(f"poll {number + 1}: the job is {poll.state}, not RUNNING")
            log.write(poll.lines)


@contextmanager
def _complete_gzip(out: Path) -> Iterator[gzip.GzipFile]:
    """Open a gzip file that gets its name only when it is complete."""
    draft = out.with_name(out.name + ".part")
    try:
        with (
            draft.open("wb") as file,
            # Neither a name nor a time in the header: the bytes depend on the content only.
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        ):
            yield packed
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Usage:
    """Counters of processor time, in seconds, at one moment."""

    at: float
    machine_s: float
    cpu_s: dict[str, float]
    throttled_s: dict[str, float]


def _usage(cluster: LocalCluster) -> _Usage:
    names = [JOB_MANAGER, *(tm.name for tm in _TASK_MANAGERS)]
    uses = {name: cluster.cpu_use(name) for name in names}
    return _Usage(
        at=time.monotonic(),
        machine_s=machine_busy_s(),
        cpu_s={name: use.cpu_s for name, use in uses.items()},
        throttled_s={name: use.throttled_s for name, use in uses.items()},
    )


def _report(before: _Usage, after: _Usage) -> None:
    took = after.at - before.at
    busy = (after.machine_s - before.machine_s) / took
    used = {name: (cpu_s - before.cpu_s[name]) / took for name, cpu_s in after.cpu_s.items()}
    others = busy - sum(used.values())
    print(f"machine: {busy:.2f} of {os.cpu_count()} cores busy, {others:.2f} not by the cluster")
    for name, cores in used.items():
        # The time of all its threads together, so it can exceed 1 second per second.
        held = (after.throttled_s[name] - before.throttled_s[name]) / took
        print(f"{name}: {cores:.3f} cores, throttled {held:.2f} s/s")
