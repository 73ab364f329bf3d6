"""Costs of one run by each way that its metrics went, over the same time."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeplace.adapters.flink.collect import RangeLog, collect_whisper
from edgeplace.model import Cluster, Costs, JobGraph, read
from edgeplace.spark_stats import measure
from testbed.reporters.recording import REPORT_S

REST = "REST"


def costs(folder: Path) -> dict[str, Costs]:
    """Return the costs by the REST API and by each reporter, of what `record` has written.

    The reports are cut to the time of the polls, as near as their interval allows.
    """
    window = json.loads((folder / "window.json").read_text())
    half_ms = 1000 * REPORT_S // 2
    from_ms, to_ms = window["from_ms"] - half_ms, window["to_ms"] + half_ms
    logs = {
        REST: folder / "rest",
        "Prometheus": folder / "prometheus",
        "VictoriaMetrics": folder / "victoria",
        "InfluxDB": _cut_lines(folder, from_ms, to_ms),
        "OpenTelemetry": _cut_requests(folder, from_ms, to_ms),
        "Whisper": _cut_whisper(folder, from_ms, to_ms),
    }
    cluster, job = read(folder / "cluster.yaml", Cluster), read(folder / "job.json", JobGraph)
    return {name: measure([log], cluster, job=job).costs for name, log in logs.items()}


def figures(costs: Costs) -> dict[str, float]:
    """Return each cost that `solve` uses, by the name of its operator or of a stream's source."""
    found: dict[str, float | None] = {}
    names = {op.operator: op.name for op in costs.operators}
    for op in costs.operators:
        for cost in op.classes:
            found[f"{op.name}: true rate"] = cost.true_rate_per_s
            found[f"{op.name}: CPU ms a record"] = cost.cpu_ms_per_record
        found[f"{op.name}: selectivity"] = op.selectivity
        if op.demand is not None:
            found[f"{op.name}: records/s"] = sum(op.demand.rates_per_s)
    for stream in costs.streams:
        found[f"after {names[stream.source]}: selectivity"] = stream.selectivity
        found[f"after {names[stream.source]}: bytes a record"] = stream.bytes_per_record
    return {name: value for name, value in found.items() if value}


def _cut_lines(folder: Path, from_ms: int, to_ms: int) -> Path:
    cut = folder / "cut.lp"
    with (folder / "influx.lp").open() as lines, cut.open("w") as out:
        out.writelines(
            line
            for line in lines
            # A report without points is an empty line.
            if line.strip() and from_ms <= int(line.rsplit(" ", 1)[1]) // 10**6 <= to_ms
        )
    return cut


def _cut_requests(folder: Path, from_ms: int, to_ms: int) -> Path:
    cut = folder / "cut.jsonl"
    with cut.open("w") as out:
        for request in _requests(folder / "otlp.bin"):
            if from_ms <= _time_ms(request) <= to_ms:
                out.write(json.dumps(request, separators=(",", ":")) + "\n")
    return cut


def _cut_whisper(folder: Path, from_ms: int, to_ms: int) -> Path:
    cut = folder / "from-whisper"
    shutil.rmtree(cut, ignore_errors=True)
    log = RangeLog(cut, 10**9)
    collect_whisper(
        folder / "carbon" / "whisper",
        log,
        lambda share: None,
        job=None,
        from_s=from_ms / 1000,
        until_s=to_ms / 1000,
    )
    log.close()
    return cut


def _requests(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the requests in a file of `PushReceiver`, in the JSON form of the specification."""
    from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    data, at = file.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        request = ExportMetricsServiceRequest.FromString(data[at + 4 : at + 4 + size])
        at += 4 + size
        yield MessageToDict(request, use_integers_for_enums=True)


def _time_ms(request: dict[str, Any]) -> int:
    [scope, *_] = request["resourceMetrics"][0]["scopeMetrics"]
    metric = next(m for m in scope["metrics"] if "gauge" in m)
    return int(metric["gauge"]["dataPoints"][0]["timeUnixNano"]) // 10**6
