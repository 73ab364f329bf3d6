"""Logs of all formats with whatever goes wrong in them, by chance."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

T0 = 1_795_225_900_000
HOUR_MS = 3_600_000
"""From the start of a log to that of the next one: more than a log lasts."""
JOB = "a" * 32
_NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "-1", "0", "-0.0", "1e400", "x", "", " 7 ", "1_0", "3d"),
    *("0x1p3", "+nan", "-NaN", "nan", "inf", "٣", "1e5", "5.", ".5", "null"),
)
_JSON = (None, True, 5, 2.5, -1, "5", [], {}, [1], {"a": 1}, 2**70, float("nan"), [None], [{}])
_COUNTERS = (
    *("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut"),
    *("accumulateBusyTimeMs", "accumulateIdleTimeMs", "accumulateBackPressuredTimeMs"),
)
_GAUGES = ("busyTimeMsPerSecond", "numRecordsInPerSecond", "backPressuredTimeMsPerSecond", "queue")
_LABELS = 'job_id="j",job_name="n",task_id="v{v}",task_name="map \\"{v}\\"",subtask_index="{s}"'


def hostile_log(folder: Path, seed: int, hour: int) -> list[Path]:
    """Write files of each format, some damaged, of one hour, 0 to 4; return them."""
    dice = Random(seed)  # noqa: S311
    t0 = T0 + hour * HOUR_MS
    files = []
    for number in range(dice.randint(1, 3)):
        lines = list(_canonical(dice, t0, number))
        dice.shuffle(lines) if dice.random() < 0.2 else None
        files.append(_written(folder / f"{number}.jsonl", _damaged(lines, dice), dice))
    files.append(_written(folder / "seed.jsonl", _damaged(list(_meters(dice, hour)), dice), dice))
    files.append(_written(folder / "report.log", _damaged(list(_reports(dice, hour)), dice), dice))
    for poll in range(3):
        lines = _damaged(list(_exposition(dice, t0, poll)), dice)
        files.append(_written(folder / f"scrape-{poll}.txt", lines, dice))
        os.utime(files[-1], (t0 / 1000 + 5 * poll, t0 / 1000 + 5 * poll))
    files.append(_written(folder / "influx.lp", _damaged(list(_points(dice, t0)), dice), dice))
    files.append(_written(folder / "otlp.json", _damaged(list(_requests(dice, t0)), dice), dice))
    text = json.dumps(_matrix(dice, t0), indent=dice.choice((None, 1)))
    if dice.random() < 0.3:
        text = text[: dice.randrange(60, len(text))]
    files.append(_written(folder / "range.json", [text], dice))
    return files


def _written(path: Path, lines: list[bytes | str], dice: Random) -> Path:
    data = dice.choice((b"\n", b"\n", b"\r\n")).join(
        line if isinstance(line, bytes) else line.encode() for line in lines
    )
    data = dice.choice((b"", b"", b"\xef\xbb\xbf")) + data + dice.choice((b"", b"\n"))
    if dice.random() < 0.4:
        data = gzip.compress(data, mtime=0)
        if dice.random() < 0.5:
            data = data[: max(len(data) * dice.randint(60, 99) // 100, 40)]
        path = path.with_name(path.name + dice.choice((".gz", ".gz", "")))
    path.write_bytes(data)
    return path


def _damaged(lines: list[str], dice: Random) -> list[bytes | str]:
    """Return lines of which some are cut, doubled, glued together or changed in a place."""
    damaged: list[bytes | str] = lines[:1]
    for line in lines[1:]:
        at, fate = dice.randrange(len(line) + 1), dice.random()
        if fate < 0.03:
            damaged.append(line[:at])
        elif fate < 0.06:
            damaged += [line, line]
        elif fate < 0.08:
            damaged.append(line + line[:at])
        elif fate < 0.13:
            other = dice.choice(("", '"', ",", "}", "]", "\\", "\t", "é", "'", "0", " ", "\\ud800"))
            damaged.append(line[:at] + other + line[at + 1 :])
        elif fate < 0.15:
            damaged.append(line[:at].encode() + b"\xff\xe2\x82" + line[at:].encode())
        elif fate < 0.18:
            damaged += [line, dice.choice(("", "   ", "\t", "garbage", "{}", "[]", "5", "null"))]
        else:
            damaged.append(line)
    return damaged


def _canonical(dice: Random, t0: int, number: int) -> Iterator[str]:
    names = ["source", "map", "sink"]
    vertices = [{"id": n, "name": n, "parallelism": 2} for n in names]
    inputs = [{"id": "source", "ship_strategy": "HASH"}]

    def line(ts_ms: int, path: str, answer: object) -> str:
        fields = {"edgeplace_log": 1, "ts_ms": ts_ms, "path": path, "answer": answer}
        if dice.random() < 0.03:
            fields[dice.choice(list(fields))] = dice.choice(_JSON)
        if dice.random() < 0.01:
            del fields[dice.choice(list(fields))]
        return json.dumps(fields, separators=dice.choice(((",", ":"), None)))

    at = f"/jobs/{JOB}"
    yield line(t0, "/config", {"flink-version": "2.3.0"})
    yield line(t0, at, {"name": "n", "vertices": vertices, "now": dice.random()})
    nodes = [{"id": "source"}, {"id": "map", "inputs": inputs}]
    yield line(t0, f"{at}/plan", {"plan": {"name": "n", "nodes": nodes}})
    whole = [
        {"id": "source", "parallelism": 2, "description": 'a "b"\n<br/>'},
        {"id": "map", "inputs": inputs},
        {"id": "map", "inputs": [{"ship_strategy": "HASH"}]},
        {"inputs": inputs},
        None,
        "x",
    ]
    for _ in range(4):
        few = dice.sample(whole, dice.randint(0, 3))
        yield line(t0, f"{at}/plan", {"plan": dice.choice(({"nodes": few}, {"name": "n"}, few))})
        yield line(t0, at, {"vertices": vertices, "plan": {"nodes": few}})
        yield line(t0, at, {"vertices": [dice.choice((*vertices, {"id": "map"}, None))]})
    settings = {"key": "state.backend.type", "value": dice.choice(("rocksdb", 7, None))}
    for answer in ([settings], [settings, None], [settings, 3], {"errors": ["none"]}, "{}", 1, []):
        for path in ("/jobmanager/config", f"{at}/checkpoints/config", "/config", f"{at}/plan"):
            if dice.random() < 0.5:
                yield line(t0, path, answer)
    counted: dict[str, float] = {}
    place, attempt = "tm-1", 0
    polls = dice.randint(4, 40)
    for poll in range(number * polls, (number + 1) * polls + dice.randint(0, 2)):
        ts_ms = t0 + 5000 * poll + dice.choice((0, 0, 0, -9000, 3))
        if dice.random() < 0.1:
            place, attempt = f"tm-{dice.randint(1, 3)}", attempt + dice.randint(0, 1)
        for vertex in names:
            if dice.random() < 0.4:
                tasks = [
                    {"subtask": s, "attempt": attempt, "taskmanager-id": place} for s in range(2)
                ]
                yield line(ts_ms, f"{at}/vertices/{vertex}", {"subtasks": tasks})
            yield line(ts_ms + 1, f"{at}/vertices/{vertex}/metrics", _metrics(dice, counted))
        cpu = counted["cpu"] = counted.get("cpu", 0) + dice.randint(0, 10**10)
        items = [] if dice.random() < 0.1 else [{"id": "Status.JVM.CPU.Time", "value": str(cpu)}]
        yield line(ts_ms + 2, f"/taskmanagers/{place}/metrics", items)
        size = {
            "status": dice.choice(("COMPLETED", "COMPLETED", "IN_PROGRESS")),
            "state_size": dice.randint(0, 10**6),
            "checkpointed_size": dice.choice((dice.randint(0, 10**6), None, "x")),
        }
        yield line(ts_ms, f"{at}/checkpoints/details/{poll // 2}/subtasks/map", size)
        if dice.random() < 0.2:
            yield line(ts_ms, dice.choice(("/overview", "/jobs/overview", f"{at}/x", "")), {})


def _metrics(dice: Random, counted: dict[str, float]) -> list[object]:
    items: list[object] = []
    for subtask in range(2):
        for metric in (*_COUNTERS, "Source__s.numRecordsOut"):
            if dice.random() < 0.9:
                # Sums of such numbers depend on the order of additions.
                key = f"{subtask}.{metric}"
                step = dice.choice((0.1, 1 / 3, 1e-7, 1000, 12345.678)) * dice.randint(0, 9)
                counted[key] = 0.0 if dice.random() < 0.02 else counted.get(key, 0.0) + step
                items.append({"id": key, "value": str(counted[key])})
        for metric in _GAUGES:
            if dice.random() < 0.5:
                value = dice.choice((*_NUMBERS, str(1000 * dice.random())))
                items.append({"id": f"{subtask}.{metric}", "value": value})
    if dice.random() < 0.05:
        items.append(dice.choice((None, {}, {"id": "numRecordsIn", "value": "5"}, {"id": 7}, 3)))
    return items


def _meters(dice: Random, hour: int) -> Iterator[str]:
    for poll in range(dice.randint(2, 12)):
        stamp = f"2023-04-26T{19 + hour}:{30 + poll // 4}:{15 * (poll % 4):02d}.951337Z"
        entries: list[object] = [{"timestamp": stamp}]
        for subtask in range(2):
            entries.append(
                {
                    "vertexName": "Filter",
                    "subtask": str(subtask),
                    "numRecordsInPerSec": dice.choice((*_NUMBERS, "400.7", "33.1", 400)),
                    "numRecordsOutPerSec": str(300 * dice.random()),
                    "trueOutProcessingRate": dice.choice((*_NUMBERS, "800.0", "33.3")),
                    "backPressuredTimeMsPerSecond": dice.choice(("0", "12.5", None)),
                    "isBackPressured": "false",
                }
            )
        if dice.random() < 0.1:
            entries[dice.randrange(len(entries))] = dice.choice(_JSON)
        yield json.dumps(entries)


def _reports(dice: Random, hour: int) -> Iterator[str]:
    at = f"2026-11-21 {10 + hour}"
    yield f"{at}:00:00,000 INFO  starting"
    count = 0
    for report in range(dice.randint(2, 6)):
        yield f"{at}:0{report}:07,12{report} INFO  Slf4jReporter - "
        yield "=========================== Starting metrics report ==========================="
        yield ""
        yield "-- Counters -----"
        count += dice.randint(0, 9999)
        for subtask in range(2):
            task = f"host.taskmanager.tm-1.job.Map: a.b.{subtask}"
            for metric in ("numRecordsIn", "accumulateBusyTimeMs", "numBytesInLocal", "other"):
                yield f"{task}.{metric}: {dice.choice((count, count, *_NUMBERS))}"
            for chain in (["Source: s", "Source: s -> f"], ["x" * 80, f"Source: {'x' * 90} -> g"]):
                for name in dice.sample(chain, dice.randint(0, 2)):
                    of = f"host.taskmanager.tm-1.{dice.choice(('job', 'job', 'two'))}.{name}"
                    for metric in ("numRecordsOut", "numBytesOut", "accumulateIdleTimeMs"):
                        if metric != "accumulateIdleTimeMs" or "->" in name:
                            yield f"{of}.{subtask}.{metric}: {count}"
        if dice.random() < 0.2:
            continue
        yield f"host.taskmanager.tm-1.Status.JVM.CPU.Time: {count * 10**6}"
        yield "=========================== Finished metrics report ==========================="
        yield dice.choice(("a line of no report: x", f"{at}:00:09,000 INFO  more"))


def _exposition(dice: Random, t0: int, poll: int) -> Iterator[str]:
    yield "# HELP flink_x y"
    for vertex in range(2):
        for subtask in range(2):
            labels = _LABELS.format(v=vertex, s=subtask) + dice.choice((',tm_id="t"', ',host="h",'))
            for metric in ("numRecordsIn", "accumulateBusyTimeMs", "busyTimeMsPerSecond", "other"):
                value = dice.choice((1000 / 3 * poll, "NaN", "+Inf", "-Inf", 1.5e6 * poll))
                stamp = dice.choice(("", "", f" {t0 + 5000 * poll}"))
                yield f"flink_taskmanager_job_task_{metric}{{{labels}}} {value}{stamp}"
            labels += ',operator_name="Source: s"'
            yield f"flink_taskmanager_job_task_operator_numRecordsOut{{{labels}}} {77.7 * poll}"
    yield f'flink_taskmanager_Status_JVM_CPU_Time{{tm_id="t"}} {8e8 * poll}'
    yield "jvm_threads 12"


def _points(dice: Random, t0: int) -> Iterator[str]:
    yield f"jobmanager_taskSlotsTotal,host=h value=4i {t0}000000"
    for poll in range(dice.randint(2, 6)):
        at_ns = (t0 + 5000 * poll) * 10**6 + dice.choice((0, 999_999))
        for subtask in range(2):
            tags = rf"job_id=j,task_id=v,task_name=a\ ->\ b\,\=c,subtask_index={subtask}"
            tags += dice.choice((",tm_id=t", ",host=h", r",tm_id=t\\"))
            for metric in (*_COUNTERS, *_GAUGES, "operator_numRecordsOut,operator_name=Source\\ x"):
                count = int(1000 / 7 * poll)
                fields = (f"count={count}i", f"value={count / 3}", f"count={count}i,rate=3.5")
                others = (
                    'value="a, \\"b=1 c"',
                    f"value={dice.choice(_NUMBERS)}",
                    "x=1u",
                    "rate=9i",
                )
                value = dice.choice((*fields, *fields, *others))
                yield f"taskmanager_job_task_{metric},{tags} {value} {at_ns}"
        yield f"taskmanager_Status_JVM_CPU_Time,tm_id=t value={8 * 10**8 * poll}i {at_ns}"
        yield dice.choice(("# a comment", f"cpu,host=h usage=1 {at_ns}", "cpu,host=h usage=1"))


def _requests(dice: Random, t0: int) -> Iterator[str]:
    """Yield what a collector writes of Flink's OpenTelemetry reporter."""
    since_ns = t0 * 10**6
    for poll in range(dice.randint(2, 6)):
        at_ns = (t0 + 5000 * poll) * 10**6 + dice.choice((0, 999_999))
        known_ns = since_ns if dice.random() < 0.9 else 0
        times = {"startTimeUnixNano": str(known_ns), "timeUnixNano": str(at_ns)}
        since_ns = at_ns if dice.random() < 0.9 else since_ns
        metrics: list[object] = [{"name": "flink.jobmanager.numRunningJobs"}]
        for subtask in range(2):
            labels = {"job_id": "o", "task_id": "v", "subtask_index": str(subtask), "tm_id": "t"}
            for metric in (*_COUNTERS, *_GAUGES, "operator.numRecordsOut", "x.PerSecond.count"):
                given = {**labels, "operator_name": "Source: x"} if "op" in metric else labels
                point: dict[str, object] = {
                    **times,
                    "attributes": [
                        {"key": k, "value": {"stringValue": v}} for k, v in given.items()
                    ],
                    dice.choice(("asInt", "asDouble")): dice.choice(
                        (str(poll * 7), poll / 3, "NaN")
                    ),
                }
                if dice.random() < 0.05:
                    point[dice.choice(list(point))] = dice.choice((None, "x", 5, -5, [], {}))
                counter = {"aggregationTemporality": dice.choice((1, 1, 2)), "dataPoints": [point]}
                kind = {"sum": counter} if "num" in metric else {"gauge": {"dataPoints": [point]}}
                metrics.append({"name": f"flink.taskmanager.job.task.{metric}", **kind})
        if dice.random() < 0.1:
            metrics.append(dice.choice((None, {}, {"name": 5, "sum": {}}, {"gauge": None})))
        line = {"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"metrics": metrics}]}]}
        yield json.dumps(line, separators=dice.choice(((",", ":"), None)))
    yield dice.choice(
        ('{"resourceMetrics":[]}', '{"resourceMetrics":null}', '{"resourceMetrics":5}')
    )


def _matrix(dice: Random, t0: int) -> object:
    def series(metric: str, **more: object) -> dict[str, object]:
        labels = {"__name__": metric, "job_id": "r", "task_id": "v", "subtask_index": "0", **more}
        points = [
            [t0 / 1000 + 5 * poll + dice.choice((0.123, 0.0005)), str(1000 / 7 * poll)]
            for poll in range(dice.randint(0, 6))
        ]
        return {"metric": labels, "values": points}

    result: list[object] = [
        series("flink_taskmanager_job_task_numRecordsIn", tm_id="t"),
        series("flink_taskmanager_job_task_accumulateBusyTimeMs", task_attempt_num="0"),
        series("flink_taskmanager_job_task_operator_numRecordsOut", operator_name="Source: x"),
        series("up"),
    ]
    if dice.random() < 0.2:
        result.append(dice.choice(_JSON))
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}
