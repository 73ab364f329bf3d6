import gzip
import json
import os
from pathlib import Path

import pytest

from edgeplace.spark_stats import Measurement, measure

TASK = "flink_taskmanager_job_task"
T0 = 1_795_225_900


def only(measurement: Measurement):
    return measurement.costs.operators[0]


def labels(**changes: str) -> dict[str, str]:
    return {
        "job_id": "j1",
        "job_name": "telemetry",
        "task_id": "v1",
        "task_name": "map__one_",
        "subtask_index": "0",
        "task_attempt_num": "0",
        "tm_id": "10_0_0_1:4100_ab",
        "host": "10_0_0_1",
        **changes,
    }


def exposition(poll: int) -> str:
    series = {
        f"{TASK}_numRecordsIn": 1000.0 * poll,
        f"{TASK}_numRecordsOut": 700.0 * poll,
        f"{TASK}_accumulateBusyTimeMs": 500.0 * poll,
        f"{TASK}_Shuffle_Netty_Input_numBytesInRemote": 9e4 * poll,
        f"{TASK}_busyTimeMsPerSecond": "NaN",
        f"{TASK}_mailboxQueueSize": "+Inf",
    }
    shown = ",".join(f'{k}="{v}"' for k, v in labels(task_name=r"map \"one\"").items())
    text = "# HELP flink_x y\n# TYPE flink_x gauge\n"
    text += "".join(f"{name}{{{shown},}} {value}\n" for name, value in series.items())
    text += 'flink_taskmanager_Status_JVM_CPU_Time{tm_id="10_0_0_1:4100_ab",} ' + f"{8e8 * poll}\n"
    return text + "jvm_threads 12\n"


def test_prometheus_scrapes_are_dated_by_their_files(spark, cluster, tmp_path: Path):
    for poll in range(3):
        path = tmp_path / f"scrape-{poll}.txt"
        path.write_text(exposition(poll) + ("half{a=" if poll == 2 else ""))
        os.utime(path, (T0 + 5 * poll, T0 + 5 * poll))
    measurement = measure([tmp_path], cluster, spark=spark)
    cost = only(measurement)
    assert (cost.operator, cost.on("pi").true_rate_per_s) == ("v1", pytest.approx(2000))
    assert cost.selectivity == pytest.approx(0.7)
    assert cost.on("pi").cpu_ms_per_record == pytest.approx(0.8)
    assert measurement.costs.placement == {"v1": ("pi-1",)}
    assert measurement.costs.job == "telemetry"
    assert (measurement.costs.from_ms, measurement.costs.to_ms) == (T0 * 1000, T0 * 1000 + 10_000)
    assert (measurement.samples.not_a_number, measurement.samples.infinite) == (3, 3)
    [bad] = measurement.quarantine.lines()
    assert (Path(bad.file).name, bad.text) == ("scrape-2.txt", "half{a=")


def test_prometheus_lines_may_carry_their_time(spark, tmp_path: Path):
    lines = [
        f'{TASK}_{name}{{job_id="j",task_id="v",task_name="m",subtask_index="0",tm_id="t"}} '
        f"{value * poll} {(T0 + 5 * poll) * 1000}"
        for poll in range(3)
        for name, value in (("numRecordsIn", 1000), ("accumulateBusyTimeMs", 500))
    ]
    path = tmp_path / "metrics.prom"
    path.write_text("\n".join(lines))
    assert only(measure([path], None, spark=spark)).classes[0].true_rate_per_s == pytest.approx(
        2000
    )


def test_prometheus_query_range(spark, cluster, tmp_path: Path):
    def matrix(name: str, per_poll: float, **more: str) -> dict[str, object]:
        return {
            "metric": {"__name__": f"{TASK}_{name}", **labels(), **more},
            "values": [[T0 + 5 * poll + 0.123, str(per_poll * poll)] for poll in range(4)],
        }

    answer = {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                matrix("numRecordsIn", 1000),
                matrix("accumulateBusyTimeMs", 250),
                matrix("operator_numRecordsOut", 1000, operator_name="map"),
            ],
        },
    }
    path = tmp_path / "range.json"
    path.write_text(json.dumps(answer, indent=2))
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(answer, indent=2)[:-40])
    measurement = measure([path, broken], cluster, spark=spark)
    assert only(measurement).on("pi").true_rate_per_s == pytest.approx(4000)
    assert only(measurement).on("pi").samples == 3
    assert [Path(b.file).name for b in measurement.quarantine.lines()] == ["broken.json"]


def test_slf4j_reports(spark, data: Path, tmp_path: Path):
    text = gzip.decompress((data / "slf4j_reporter.log.gz").read_bytes()).decode()
    path = tmp_path / "taskmanager.log"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    measurement = measure([path], None, spark=spark)
    costs = {o.operator: o for o in measurement.costs.operators}
    assert set(costs) == {"Source: src", "map"}
    # From the first to the last report: 29,992 records in 30.021 s, 19,852 of them in the map.
    assert costs["Source: src"].demand.rates_per_s[0] == pytest.approx(999.73, rel=1e-4)
    assert costs["map"].selectivity == 1.0
    assert costs["map"].classes[0].true_rate_per_s == pytest.approx(48_990, rel=1e-3)
    assert measurement.samples.duplicates == 0
    assert measurement.quarantine.counts == {}
    assert any("no plan" in note for note in measurement.costs.notes)


def seed_line(poll: int) -> str:
    def entry(vertex: str, subtask: int, records_in: float, rate: str) -> dict[str, str]:
        return {
            "vertexName": vertex,
            "subtask": str(subtask),
            "numRecordsInPerSec": str(records_in),
            "numRecordsOutPerSec": str(0.7 * records_in),
            "trueOutProcessingRate": rate,
            "selectivityRatio": "NaN" if records_in == 0 else "0.7",
            "backPressuredTimeMsPerSecond": "0",
            "isBackPressured": "false",
        }

    stamp = {"timestamp": f"2023-04-26T19:{30 + poll // 4}:{15 * (poll % 4):02d}.951337Z"}
    return json.dumps([stamp, entry("Filter", 0, 400, "800.0"), entry("Filter", 1, 0, "NaN")])


def test_metrics_json_lines_of_per_second_meters(spark, cluster, tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("\n".join([*(seed_line(p) for p in range(8)), seed_line(9)[:50]]))
    measurement = measure([path], cluster, placement={"Filter": ("pi-1", "server")}, spark=spark)
    cost = only(measurement)
    # The rate there is records in per busy second, whatever its name says.
    assert cost.on("pi").true_rate_per_s == pytest.approx(800)
    assert cost.on("pi").busy_s == pytest.approx(0.5 * 8 * 15)
    assert cost.on("server") is None
    assert cost.selectivity == pytest.approx(0.7)
    assert {"counters", "bytes", "state"} <= set(cost.not_in_log)
    assert measurement.samples.not_a_number == 16
    assert any("meters" in note for note in cost.notes)
    assert [b.line for b in measurement.quarantine.lines()] == [9]


def test_files_of_several_formats_are_read_together(spark, cluster, recording, tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("\n".join(seed_line(p) for p in range(4)))
    recording.answer(0, "/config", {})
    measurement = measure(
        [path, recording.write()], cluster, placement={"Filter": ("pi-1", "server")}, spark=spark
    )
    assert measurement.samples.values.keys() == {"metrics JSON lines", "canonical log"}
    assert only(measurement).on("pi").true_rate_per_s == pytest.approx(800)
