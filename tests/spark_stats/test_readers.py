import gzip
import json
import os
import re
from pathlib import Path

import pytest

from edgeplace.adapters.flink.collect import RangeLog, collect_whisper
from edgeplace.model import JobGraph, Operator, ShipStrategy, Stream
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


def test_prometheus_scrapes_are_dated_by_their_files(engine, cluster, tmp_path: Path):
    for poll in range(3):
        path = tmp_path / f"scrape-{poll}.txt"
        path.write_text(exposition(poll) + ("half{a=" if poll == 2 else ""))
        os.utime(path, (T0 + 5 * poll, T0 + 5 * poll))
    measurement = measure([tmp_path], cluster, spark=engine)
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


def test_prometheus_lines_may_carry_their_time(engine, tmp_path: Path):
    lines = [
        f'{TASK}_{name}{{job_id="j",task_id="v",task_name="m",subtask_index="0",tm_id="t"}} '
        f"{value * poll} {(T0 + 5 * poll) * 1000}"
        for poll in range(3)
        for name, value in (("numRecordsIn", 1000), ("accumulateBusyTimeMs", 500))
    ]
    path = tmp_path / "metrics.prom"
    path.write_text("\n".join(lines))
    assert only(measure([path], None, spark=engine)).classes[0].true_rate_per_s == pytest.approx(
        2000
    )


def test_prometheus_query_range(engine, cluster, tmp_path: Path):
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
    measurement = measure([path, broken], cluster, spark=engine)
    assert only(measurement).on("pi").true_rate_per_s == pytest.approx(4000)
    assert only(measurement).on("pi").samples == 3
    assert [Path(b.file).name for b in measurement.quarantine.lines()] == ["broken.json"]


def test_slf4j_reports(engine, data: Path, tmp_path: Path):
    text = gzip.decompress((data / "slf4j_reporter.log.gz").read_bytes()).decode()
    path = tmp_path / "taskmanager.log"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    measurement = measure([path], None, spark=engine)
    costs = {o.operator: o for o in measurement.costs.operators}
    assert set(costs) == {"Source: src", "map"}
    # From the first to the last report: 29,992 records in 30.021 s, 19,852 of them in the map.
    assert costs["Source: src"].demand.rates_per_s[0] == pytest.approx(999.73, rel=1e-4)
    assert costs["map"].selectivity == 1.0
    assert costs["map"].classes[0].true_rate_per_s == pytest.approx(48_990, rel=1e-3)
    assert measurement.samples.duplicates == 0
    assert measurement.quarantine.counts == {}
    assert any("no plan" in note for note in measurement.costs.notes)


def reports(lines, count=12, step_s=30):
    """Yield the reports of a TaskManager; `lines` gives those of one."""
    for number in range(count):
        at = step_s * number
        yield f"2026-11-21 10:{at // 60:02d}:{at % 60:02d},000 INFO  Slf4jReporter [] - "
        yield "=========================== Starting metrics report ==========================="
        yield "-- Counters ---"
        for of, metric, value in lines(number):
            yield f"pi.taskmanager.pi:1-a.a job.{of}.{metric}: {value}"
        yield "=========================== Finished metrics report ==========================="


CHAIN = "Source: readings -> filter -> map"


def chained(number: int, sink: bool):
    """Yield the metrics of a chain, with or without a sink in it, and of its operators."""
    chain = f"{CHAIN} -> Sink: files" if sink else CHAIN
    for subtask in range(2):
        for of, metric, value in (
            ("Source: readings", "numRecordsOut", 3000 * number),
            ("Source: readings", "numBytesOut", 0),
            ("filter", "numBytesIn", 0),
            ("filter", "numRecordsIn", 3000 * number),
            ("filter", "numRecordsOut", 600 * number),
            ("map", "numRecordsIn", 600 * number),
            ("map", "numRecordsOut", 600 * number),
            (chain, "numRecordsIn", 0),
            (chain, "numRecordsOut", 0 if sink else 600 * number),
            (chain, "numBytesOut", 24_000 * number),
            (chain, "accumulateBusyTimeMs", 1500 * number),
        ):
            yield f"{of}.{subtask}", metric, value


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_operators_in_slf4j_reports_are_no_tasks(engine, tmp_path: Path, sink, cut):
    path = tmp_path / "taskmanager.log"
    lines = list(reports(lambda number: chained(number, sink)))
    # The last report is still written: it has no task yet that could be told from an operator.
    path.write_text("\n".join([*lines, *lines[:9]] if cut else lines) + "\n")
    measured = measure([path], None, spark=engine)
    [own] = measured.costs.operators
    assert own.name == (f"{CHAIN} -> Sink: files" if sink else CHAIN)
    # The records that leave the chain; with a sink, none do, and those of the source count.
    assert own.demand.rates_per_s == pytest.approx([100.0, 100.0] if sink else [20.0, 20.0])
    assert measured.quarantine.counts == {}


def test_slf4j_reports_without_a_metric_of_tasks_alone(engine, tmp_path: Path):
    # Flink's filter.includes may leave them all out. A report does not tell tasks then.
    path = tmp_path / "taskmanager.log"
    path.write_text(
        "\n".join(reports(lambda number: [("map.0", "numRecordsIn", 300 * number)])) + "\n"
    )
    [own] = measure([path], None, spark=engine).costs.operators
    assert own.name == "map"


def points(poll: int, **tags: str) -> list[str]:
    """Return what Flink's InfluxDB reporter posts: counters, meters and gauges."""
    shown = {k: v for k, v in labels(task_name="map\\ ->\\ one\\,\\ a\\=b", **tags).items()}
    task = "".join(f",{k}={v}" for k, v in shown.items())
    fields = {
        f"job_task_numRecordsIn{task}": f"count={1000 * poll}i",
        f"job_task_numRecordsOut{task}": f"count={700 * poll}i",
        f"job_task_accumulateBusyTimeMs{task}": f"value={500.0 * poll}",
        f"job_task_numRecordsInPerSecond{task}": f"count={1000 * poll}i,rate=12.5",
        f"job_task_Shuffle_Netty_Input_numBytesInRemote{task}": f"count={90_000 * poll}i",
        f"job_task_operator_state{task}": 'value="half, done"',
        f"Status_JVM_CPU_Time,host=10_0_0_1,tm_id={shown['tm_id']}": f"value={8 * 10**8 * poll}i",
    }
    return [
        f"taskmanager_{series} {value} {(T0 + 5 * poll) * 10**9 + 999_999}"
        for series, value in fields.items()
    ]


def test_influx_points_in_any_order_and_one_field_a_line(engine, cluster, tmp_path: Path):
    lines = ["# DML", *(line for poll in range(4) for line in points(poll)), ""]
    split = [
        f"{series} {field} {at}"
        for series, fields, at in (line.rsplit(" ", 2) for line in lines if "PerSecond" in line)
        for field in fields.split(",")
    ]
    lines = [line for line in lines if "PerSecond" not in line] + split
    written = sorted(lines, reverse=True)
    whole, cut = lines[1], lines[1].rpartition(" ")[0]
    written += [cut, whole.replace(" count", " co,unt"), "jobmanager_numRunningJobs value=1i 5"]
    path = tmp_path / "flink.lp"
    path.write_text("\n".join(written))
    measurement = measure([path], cluster, spark=engine)
    cost = only(measurement)
    assert cost.on("pi").true_rate_per_s == pytest.approx(2000)
    assert cost.on("pi").samples == 3
    assert cost.on("pi").cpu_ms_per_record == pytest.approx(0.8)
    assert cost.selectivity == pytest.approx(0.7)
    assert measurement.costs.placement == {"v1": ("pi-1",)}
    assert (measurement.costs.from_ms, measurement.costs.to_ms) == (T0 * 1000, T0 * 1000 + 15_000)
    bad = list(measurement.quarantine.lines())
    assert [b.line for b in bad] == [len(written) - 2, len(written) - 1]
    assert {Path(b.file).name for b in bad} == {"flink.lp"}
    assert all("line protocol" in b.reason for b in bad)


def test_influx_counters_of_another_attempt_are_not_a_difference(engine, tmp_path: Path):
    lines = [line for poll in range(3) for line in points(poll)]
    # The new attempt has counted more than the old one.
    lines += [line for poll in range(8, 11) for line in points(poll, task_attempt_num="1")]
    path = tmp_path / "flink.lp"
    path.write_text("\n".join(lines))
    cost = only(measure([path], None, spark=engine)).classes[0]
    assert (cost.samples, cost.busy_s) == (4, pytest.approx(2))


def request(poll: int, temporality: object = 1, **attributes: str) -> dict[str, object]:
    """Return what a collector writes of a report: counters by what they grew, and gauges."""
    given = labels(task_name="map (one)", tm_id="10.0.0.1:4100-ab", host="10.0.0.1", **attributes)
    point = {
        "startTimeUnixNano": str((T0 + 5 * (poll - 1)) * 10**9 + 999_999),
        "timeUnixNano": str((T0 + 5 * poll) * 10**9 + 999_999),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in given.items()],
    }

    def counter(name: str, grew: int) -> dict[str, object]:
        value = {"asInt": str(grew if temporality == 1 else grew * (poll + 1))}
        counted = {"dataPoints": [{**point, **value}], "aggregationTemporality": temporality}
        return {"name": f"flink.taskmanager.{name}", "sum": {**counted, "isMonotonic": True}}

    def gauge(name: str, value: object) -> dict[str, object]:
        points = [{**point, "asDouble": value}]
        return {"name": f"flink.taskmanager.{name}", "gauge": {"dataPoints": points}}

    metrics = [
        counter("job.task.numRecordsIn", 1000),
        counter("job.task.numRecordsOut", 700),
        counter("job.task.numRecordsInPerSecond.count", 1000),
        gauge("job.task.numRecordsInPerSecond.rate", 12.5),
        counter("job.task.Shuffle.Netty.Input.numBytesInRemote", 90_000),
        gauge("job.task.accumulateBusyTimeMs", 500 * poll),
        gauge("Status.JVM.CPU.Time", 8e8 * poll),
        {"name": "flink.jobmanager.numRunningJobs", "summary": {"dataPoints": [{}]}},
    ]
    return {"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"metrics": metrics}]}]}


def otlp(path: Path, *requests: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in requests))
    return path


def test_what_a_counter_grew_by_is_of_its_interval_only(engine, cluster, tmp_path: Path):
    # The fourth report was lost, the sixth sent twice and late; the last one is cut.
    polls = [0, 1, 2, 4, 6, 5, 6, 7]
    path = otlp(tmp_path / "metrics.json", *map(request, polls))
    with path.open("a") as log:
        log.write(json.dumps(request(8))[:-40])
    measurement = measure([path], cluster, spark=engine)
    cost = only(measurement)
    # Over the lost interval nothing is known.
    assert cost.on("pi").true_rate_per_s == pytest.approx(2000)
    assert cost.on("pi").busy_s == pytest.approx(0.5 * 5)
    assert cost.on("pi").cpu_ms_per_record == pytest.approx(0.8)
    assert cost.selectivity == pytest.approx(0.7)
    assert "counters" not in cost.not_in_log
    assert measurement.costs.placement == {"v1": ("pi-1",)}
    # Of the task, and of its TaskManager.
    assert measurement.samples.resets == 2
    [bad] = measurement.quarantine.lines()
    assert (Path(bad.file).name, bad.line) == ("metrics.json", len(polls) + 1)
    assert "OpenTelemetry" in bad.reason


def test_0_is_a_time_that_is_not_known(engine, cluster, tmp_path: Path):
    def without_start(poll: int, temporality: int) -> dict[str, object]:
        text = json.dumps(request(poll, temporality))
        return json.loads(re.sub(r'(?<="startTimeUnixNano": ")\d+', "0", text))

    added_up = otlp(tmp_path / "added.json", *(without_start(poll, 2) for poll in range(4)))
    cost = only(measure([added_up], cluster, spark=engine)).on("pi")
    assert (cost.cpu_ms_per_record, cost.true_rate_per_s) == pytest.approx((0.8, 2000))
    # As after a lost report, nothing is known of the interval: its busy time does not count.
    grew = otlp(tmp_path / "grew.json", *map(request, range(4)), without_start(4, 1))
    cost = only(measure([grew], cluster, spark=engine)).on("pi")
    assert (cost.busy_s, cost.true_rate_per_s) == pytest.approx((1.5, 2000))


def test_counters_that_a_collector_has_added_up(engine, cluster, tmp_path: Path):
    path = otlp(tmp_path / "metrics.json", *(request(poll, 2) for poll in range(4)))
    cost = only(measure([path], cluster, spark=engine))
    assert cost.on("pi").cpu_ms_per_record == pytest.approx(0.8)
    assert cost.on("pi").true_rate_per_s == pytest.approx(2000)


@pytest.mark.parametrize("reporter", ["influx_reporter.lp", "otlp_reporter.jsonl", "whisper.tar"])
def test_costs_are_those_of_the_rest_api_in_the_same_run(data: Path, tmp_path: Path, reporter: str):
    """Of one run of Flink 2.3.0 on a busy machine: all logs have about the same minute."""
    source, count = "cbc357ccb763df2852fee8c4fc7d55f2", "90bea66de1c231edf33913ecd54406c1"
    # The reporters know no plan.
    job = JobGraph(
        name="counting",
        operators=(
            Operator(id=source, name="Source: numbers -> filter", parallelism=3),
            Operator(id=count, name="count -> sink", parallelism=3),
        ),
        streams=(Stream(source=source, target=count, ship_strategy=ShipStrategy.HASH),),
    )
    rest = measure([data / "reporters_rest.jsonl.gz"], None, job=job).costs
    log = data / f"{reporter}.gz"
    if reporter.startswith("whisper"):
        from_s, until_s = (at_ms / 1000 for at_ms in (rest.from_ms, rest.to_ms))
        found, packed = RangeLog(tmp_path / "log", 10**6), log
        log = found.where
        collect_whisper(
            packed, found, lambda share: None, job=None, from_s=from_s - 5, until_s=until_s + 1
        )
    costs = measure([log], None, job=job).costs
    assert costs.placement == rest.placement
    for one, other in zip(rest.operators, costs.operators, strict=True):
        assert other.operator == one.operator
        [here], [there] = one.classes, other.classes
        # The one that was busy for less than 5 s in all has other figures by chance.
        rel = 0.02 if here.busy_s > 60 else 0.1
        assert there.true_rate_per_s == pytest.approx(here.true_rate_per_s, rel=rel)
        assert there.cpu_ms_per_record == pytest.approx(here.cpu_ms_per_record, rel=rel)
        if one.demand is not None:
            assert sum(other.demand.rates_per_s) == pytest.approx(
                sum(one.demand.rates_per_s), rel=0.02
            )
    [one], [other] = rest.streams, costs.streams
    assert other.selectivity == pytest.approx(one.selectivity, rel=0.02)
    assert other.bytes_per_record == pytest.approx(one.bytes_per_record, rel=0.02)
    assert other.local_bytes_per_s == pytest.approx(one.local_bytes_per_s, rel=0.02)


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


def test_metrics_json_lines_of_per_second_meters(engine, cluster, tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("\n".join([*(seed_line(p) for p in range(8)), seed_line(9)[:50]]))
    measurement = measure([path], cluster, placement={"Filter": ("pi-1", "server")}, spark=engine)
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


def test_files_of_several_formats_are_read_together(engine, cluster, recording, tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("\n".join(seed_line(p) for p in range(4)))
    recording.answer(0, "/config", {})
    measurement = measure(
        [path, recording.write()], cluster, placement={"Filter": ("pi-1", "server")}, spark=engine
    )
    assert measurement.samples.values.keys() == {"metrics JSON lines", "canonical log"}
    assert only(measurement).on("pi").true_rate_per_s == pytest.approx(800)
