"""Costs of one run by Prometheus, InfluxDB, OpenTelemetry and Whisper against Flink's REST API.

    python benchmarks/reporters.py FOLDER [--seconds 300]
    python benchmarks/reporters.py FOLDER

If FOLDER is new, a Flink on this machine runs a job with all four reporters, while `edgeplace
flink collect` polls it: the logs go into FOLDER. Then the costs of each log are compared with those
of the polls, over the same time. Needs Debian's `prometheus` and `graphite-carbon`, and
`opentelemetry-proto` of PyPI (it is no dependency of edgeplace): Debian and PyPI have no collector,
so the script writes the reporter's requests as the JSON of a collector's file exporter.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeplace.adapters.flink.collect import RangeLog, collect_whisper
from edgeplace.model import Cluster, Costs, JobGraph, read
from edgeplace.spark_stats import measure

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.flink import config, job_jar, local_cluster  # noqa: E402
from testbed.flink.carbon import Carbon  # noqa: E402
from testbed.flink.home import flink_home  # noqa: E402
from testbed.flink.prometheus import PORT, REPORTER, SCRAPE_S, Prometheus  # noqa: E402
from testbed.flink.push_receiver import PushReceiver  # noqa: E402
from testbed.server import free_ports  # noqa: E402

EDGEPLACE = Path(sys.executable).with_name("edgeplace")
INTERVAL_S = 5
WARM_UP_S = 30
PER_SECOND = 100_000
"""Records, so many that each operator is busy for a minute."""
METRICS = "*:numRecords*,numBytes*,accumulate*,busyTimeMsPerSecond,Time"
"""What the reporters report, as `filter.includes` has it."""
REPORTERS = ("prom", "influx", "otel", "graphite")


def record(folder: Path, seconds: int) -> None:
    """Run the job, and write the logs."""
    folder.mkdir(parents=True)
    home = flink_home()
    interval = f"{INTERVAL_S} SECONDS"
    ports = free_ports(3)
    of_manager, *of_task_managers = ({PORT: str(port)} for port in ports)
    task_managers = [
        local_cluster.TaskManagerSpec(f"pi-{i}", f"127.0.0.1{i}", 4, "720m", options=options)
        for i, options in enumerate(of_task_managers, start=1)
    ]
    job_manager = local_cluster.JobManagerSpec(options=of_manager)
    with (
        Prometheus(ports, folder) as prometheus,
        PushReceiver(folder / "influx.lp", folder / "otlp.bin") as receiver,
        Carbon(folder / "carbon", "1s:2h") as carbon,
    ):
        options = {
            **config.QUICK,
            "metrics.fetcher.update-interval": "2 s",
            **REPORTER,
            **receiver.reporters(interval),
            **carbon.reporter(interval),
            **{f"metrics.reporter.{name}.filter.includes": METRICS for name in REPORTERS},
        }
        with local_cluster.LocalCluster(home, task_managers, options, job_manager) as flink:
            flink.wait_for_task_managers()
            jar = flink.rest.upload(job_jar.compile_own_job("CountingJob", home, flink.scratch))
            out = flink.scratch / "out"
            out.mkdir()
            arguments = (f"per-second={PER_SECOND}", f"records={7200 * PER_SECOND}")
            arguments += (f"finish={out}/no", f"out={out}")
            job = flink.rest.run(jar, arguments, None, None)
            flink.wait_until(
                lambda: flink.rest.get(f"/jobs/{job}")["state"] == "RUNNING", "the job to run", 60
            )
            time.sleep(WARM_UP_S)
            where = ("--jobmanager", flink.rest.url)
            before = os.getloadavg()
            said = _edgeplace(
                *("flink", "collect", *where, "-o", folder / "rest", "--json"),
                *("--interval", INTERVAL_S, "--duration", f"{seconds}s"),
            )
            window = {key: json.loads(said)[key] for key in ("from_ms", "to_ms")}
            window |= {"load_before": before, "load_after": os.getloadavg()}
            (folder / "window.json").write_text(json.dumps(window))
            _edgeplace(
                *("flink", "collect", "--prometheus", prometheus.url, "--job", job),
                *("--from", _clock(window["from_ms"]), "--until", _clock(window["to_ms"])),
                *("--interval", SCRAPE_S, "-o", folder / "prometheus"),
            )
            _edgeplace(
                *("flink", "discover", *where, "-o", folder / "cluster.yaml"),
                *("--job-out", folder / "job.json"),
            )
            # The last reports.
            time.sleep(2 * INTERVAL_S)


def compare(folder: Path) -> None:
    """Print each cost of the polls, and how far those of the other logs are from it."""
    window = json.loads((folder / "window.json").read_text())
    # The reporters' first difference is to begin where that of the polls does.
    from_ms, to_ms = window["from_ms"] - 1000 * INTERVAL_S // 2, window["to_ms"] + 2000
    print(f"load before {window['load_before']}, after {window['load_after']}")
    logs = {"REST": folder / "rest", "Prometheus": folder / "prometheus"}
    logs["InfluxDB"] = cut = folder / "cut.lp"
    with (folder / "influx.lp").open() as lines, cut.open("w") as out:
        out.writelines(x for x in lines if from_ms <= int(x.rsplit(" ", 1)[1]) // 10**6 <= to_ms)
    logs["OpenTelemetry"] = cut = folder / "cut.jsonl"
    with cut.open("w") as out:
        for request in _requests(folder / "otlp.bin"):
            if from_ms <= _time_ms(request) <= to_ms:
                out.write(json.dumps(request, separators=(",", ":")) + "\n")
    logs["Whisper"] = folder / "from-whisper"
    shutil.rmtree(logs["Whisper"], ignore_errors=True)
    log = RangeLog(logs["Whisper"], 10**9)
    collect_whisper(
        folder / "carbon" / "whisper",
        log,
        lambda share: None,
        job=None,
        from_s=from_ms / 1000,
        until_s=to_ms / 1000,
    )
    log.close()
    cluster, job = read(folder / "cluster.yaml", Cluster), read(folder / "job.json", JobGraph)
    found = {
        name: _figures(measure([place], cluster, job=job).costs) for name, place in logs.items()
    }
    print(f"{'':52}{'REST':>14}" + "".join(f"{name:>15}" for name in list(logs)[1:]))
    for figure, value in found["REST"].items():
        others = (100 * (of[figure] / value - 1) for of in list(found.values())[1:])
        print(f"{figure:52}{value:14.6g}" + "".join(f"{other:+14.2f}%" for other in others))


def _figures(costs: Costs) -> dict[str, float]:
    found: dict[str, float | None] = {}
    for op in costs.operators:
        for cost in op.classes:
            found[f"{op.name}: busy s"] = cost.busy_s
            found[f"{op.name}: true rate"] = cost.true_rate_per_s
            found[f"{op.name}: CPU ms a record"] = cost.cpu_ms_per_record
        if op.demand is not None:
            found[f"{op.name}: records/s"] = sum(op.demand.rates_per_s)
    for stream in costs.streams:
        found["stream: selectivity"] = stream.selectivity
        found["stream: bytes a record"] = stream.bytes_per_record
        found["stream: local bytes/s"] = stream.local_bytes_per_s
    return {name: value for name, value in found.items() if value}


def _requests(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the requests in a file of `PushReceiver`, in the JSON form of the specification."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    data, at = file.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        request = ExportMetricsServiceRequest.FromString(data[at + 4 : at + 4 + size])
        at += 4 + size
        yield MessageToDict(request, use_integers_for_enums=True)


def _clock(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))


def _time_ms(request: dict[str, Any]) -> int:
    [scope, *_] = request["resourceMetrics"][0]["scopeMetrics"]
    metric = next(m for m in scope["metrics"] if "gauge" in m)
    return int(metric["gauge"]["dataPoints"][0]["timeUnixNano"]) // 10**6


def _edgeplace(*arguments: object) -> str:
    done = subprocess.run(
        [EDGEPLACE, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=300)
    args = parser.parse_args()
    if not args.folder.exists():
        record(args.folder, args.seconds)
    compare(args.folder)
