"""One job whose metrics are read by four reporters and Flink's REST API, all at once."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink import config, job_jar, local_cluster
from testbed.reporters.carbon import Carbon
from testbed.reporters.prometheus import (
    PORT,
    REPORTER,
    SCRAPE_S,
    Prometheus,
    VictoriaMetrics,
)
from testbed.reporters.push_receiver import PushReceiver
from testbed.server import free_ports

REPORT_S = 2
"""Seconds between two reports, and between two scrapes."""
POLL_S = 2.5
"""Seconds between two polls of the REST API, the fewest with `FETCH`."""
FETCH = "2 s"
WARM_UP_S = 20
"""In its first seconds, a JVM compiles: a window that begins a report later misses much of it."""
PER_SECOND = 100_000
"""Records/s, so many that each operator is busy for more than a tenth of the time."""
RETENTION = "1s:2h"
"""What Carbon keeps: with this step, it rounds no time of a report."""
METRICS = "*:numRecords*,numBytes*,accumulate*,busyTimeMsPerSecond,Time"
"""What is reported, as `filter.includes` has it."""
_REPORTERS = ("prom", "influx", "otel", "graphite")


def record(folder: Path, home: Path, seconds: int) -> None:
    """Run `CountingJob` on a Flink of this machine, and write the logs.

    Parameters
    ----------
    folder
        Made here. `logs` reads what is in it.
    home
        The Flink home, 2.3 or later: older ones report to OpenTelemetry by gRPC only.
    seconds
        How long the REST API is polled.

    Raises
    ------
    TestbedError
        If there is no ``prometheus``, ``victoria-metrics`` or ``carbon-cache``, or a command fails.
    """
    folder.mkdir(parents=True)
    ports = free_ports(3)
    of_manager, *of_task_managers = ({PORT: str(port)} for port in ports)
    task_managers = [
        local_cluster.TaskManagerSpec(f"pi-{i}", f"127.0.0.1{i}", 4, "720m", options=options)
        for i, options in enumerate(of_task_managers, start=1)
    ]
    job_manager = local_cluster.JobManagerSpec(options=of_manager)
    interval = f"{REPORT_S} SECONDS"
    with (
        Prometheus(ports, folder) as prometheus,
        VictoriaMetrics(ports, folder) as victoria,
        PushReceiver(folder / "influx.lp", folder / "otlp.bin") as receiver,
        Carbon(folder / "carbon", RETENTION) as carbon,
    ):
        options = {
            **config.QUICK,
            "metrics.fetcher.update-interval": FETCH,
            **REPORTER,
            **receiver.reporters(interval),
            **carbon.reporter(interval),
            **{f"metrics.reporter.{name}.filter.includes": METRICS for name in _REPORTERS},
        }
        with local_cluster.LocalCluster(home, task_managers, options, job_manager) as flink:
            flink.wait_for_task_managers()
            job = _submit(flink, home)
            time.sleep(WARM_UP_S)
            servers = {"prometheus": prometheus.url, "victoria": victoria.url}
            _collect(folder, flink.rest.url, servers, job, seconds)
            # The last reports.
            time.sleep(2 * REPORT_S)


def _submit(flink: local_cluster.LocalCluster, home: Path) -> str:
    jar = flink.rest.upload(job_jar.compile_own_job("CountingJob", home, flink.scratch))
    out = flink.scratch / "out"
    out.mkdir()
    # One subtask counts: it has more to do, so its busy time is the better known.
    arguments = (f"per-second={PER_SECOND}", f"records={7200 * PER_SECOND}", "count-parallelism=1")
    job: str = flink.rest.run(jar, (*arguments, f"finish={out}/no", f"out={out}"), None, None)
    flink.wait_until(
        lambda: flink.rest.get(f"/jobs/{job}")["state"] == "RUNNING", "the job to run", 60
    )
    return job


def _collect(folder: Path, rest: str, servers: Mapping[str, str], job: str, seconds: int) -> None:
    where = ("--jobmanager", rest)
    before = os.getloadavg()
    said = _edgeplace(
        *("flink", "collect", *where, "-o", folder / "rest", "--json"),
        *("--interval", POLL_S, "--duration", f"{seconds}s"),
    )
    window = {key: json.loads(said)[key] for key in ("from_ms", "to_ms")}
    window |= {"load_before": before, "load_after": os.getloadavg()}
    (folder / "window.json").write_text(json.dumps(window))
    for name, url in servers.items():
        said = _edgeplace(
            *("flink", "collect", "--prometheus", url, "--job", job, "--json"),
            *("--from", _clock(window["from_ms"]), "--until", _clock(window["to_ms"])),
            *("--interval", SCRAPE_S, "-o", folder / name),
        )
        (folder / f"{name}-said.json").write_text(said)
    _edgeplace(
        *("flink", "discover", *where, "-o", folder / "cluster.yaml"),
        *("--job-out", folder / "job.json"),
    )


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def _edgeplace(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "edgeplace", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise TestbedError(done.stdout + done.stderr)
    return done.stdout
