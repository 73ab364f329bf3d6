import errno
import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from edgeplace.cli.main import main
from edgeplace.model import InvalidInputError, dump
from edgeplace.spark_stats import BadLine, add_to_ledger, costs_from_ledger, measure
from edgeplace.spark_stats.files import log_files
from edgeplace.spark_stats.formats import format_of

START = 1_795_225_900_000


@contextmanager
def small_blocks(spark) -> Iterator[None]:
    """Let Spark read so little at once that numbers of lines have to be put together."""
    if spark is None:
        yield
        return
    size = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)


def rate(measurement) -> float:
    return measurement.costs.operators[0].classes[0].true_rate_per_s


@pytest.mark.parametrize(("polls", "known"), [(2, False), (3, False), (4, True)])
def test_one_or_two_differences_have_no_spread(engine, recording, polls: int, known: bool):
    recording.grow(polls)
    [cost] = measure([recording.write()], None, spark=engine).costs.operators[0].classes
    assert (cost.relative_spread is not None) is known


def test_an_empty_log_says_what_to_do(engine, tmp_path: Path):
    empty = tmp_path / "log.jsonl"
    empty.write_text("")
    with pytest.raises(InvalidInputError, match="empty") as e:
        measure([empty], None, spark=engine)
    assert "record" in e.value.cure


@pytest.mark.spark
def test_a_folder_has_the_same_files_on_this_machine_and_for_spark(recording, tmp_path, spark):
    from edgeplace.spark_stats.spark_files import spark_files

    recording.grow()
    log = recording.write().read_text()
    hidden = ("_tmp/d", ".e", "day/_f", "ledger/manifest.json", "ledger/000001.sums.parquet")
    for name in ("a.jsonl", "day/b", "day/=1/c", "_h=1/g", "a b [1].log", *hidden):
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "h.jsonl").write_text(log)
    (tmp_path / "logs" / "tm-2").symlink_to(tmp_path / "elsewhere")
    here = log_files([tmp_path / "logs"]).sizes
    there = spark_files([(tmp_path / "logs").as_uri()], spark).sizes
    assert here == {file.removeprefix("file://"): size for file, size in there.items()}
    assert not any(file.endswith(hidden) for file in here)
    assert len(here) >= 5


def test_folders_behind_links_belong_to_a_log(recording, tmp_path: Path):
    there, log = tmp_path / "there", tmp_path / "log"
    there.mkdir()
    log.mkdir()
    recording.answer(0, "/jobs/x", {})
    recording.write("there/metrics.jsonl")
    (log / "tm-2").symlink_to(there)
    (there / "back").symlink_to(log)
    (log / ".hidden").symlink_to(there)
    assert [*log_files([log]).sizes] == [str(log / "tm-2" / "metrics.jsonl")]


@pytest.mark.parametrize("unread", ["log/tm-2", "log/tm-2/metrics.jsonl"])
def test_what_may_not_be_read_in_a_folder_is_named(
    recording, tmp_path: Path, monkeypatch, capsys, unread: str
):
    (tmp_path / "log" / "tm-2").mkdir(parents=True)
    recording.answer(0, "/jobs/x", {})
    recording.write("log/metrics.jsonl")
    recording.write("log/tm-2/metrics.jsonl")
    refused = tmp_path / unread

    def refusing(step):  # Root may read everything.
        def of(path, *args, **more):
            if Path(path) == refused:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return step(path, *args, **more)

        return of

    monkeypatch.setattr(os, "scandir", refusing(os.scandir))
    monkeypatch.setattr(Path, "open", refusing(Path.open))
    assert main(["costs", str(tmp_path / "log")]) == 2
    assert f"{refused} cannot be read: Permission denied" in capsys.readouterr().err


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(InvalidInputError, match=r"no file .*gone\.jsonl"):
        measure([tmp_path / "gone.jsonl"], None)


@pytest.mark.parametrize(
    "content", [b"hello\nworld\n", b"\x00\x01\x02\xff" * 100, b'{"a": 1}\n', b"\x1f\x8bbroken"]
)
def test_a_file_of_no_known_format_is_named_with_what_is_known(tmp_path: Path, content: bytes):
    path = tmp_path / "notes.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"notes\.jsonl\.gz") as e:
        measure([path], None)
    assert "edgeplace_log" in e.value.cure or "record" in e.value.cure


def test_a_log_without_metrics_says_so(engine, recording):
    recording.answer(START, "/config", {"flink-version": "2.3.0"})
    with pytest.raises(InvalidInputError, match="no metrics of a running job") as e:
        measure([recording.write()], None, spark=engine)
    assert "record for some minutes" in e.value.cure


def test_bad_lines_are_numbered_in_several_files_and_do_not_stop_the_run(engine, recording):
    good = recording.lines
    recording.grow()
    lines = list(good)
    half = lines[2][: len(lines[2]) // 2]
    recording.lines = [lines[0], "not json", lines[1], half, "", lines[2]]
    first = recording.write("first.jsonl", newline="\r\n")
    recording.lines = [
        '{"edgeplace_log": 2, "ts_ms": 1, "path": "/config", "answer": {}}',
        lines[3],
        '{"edgeplace_log": 1, "path": "/config", "answer": {}}',
        '{"edgeplace_log": 1, "ts_ms": 1, "path": "/jobs/x/vertices/y/metrics", "answer": 1}',
        lines[4],
    ]
    second = recording.write("second [1].jsonl")
    with small_blocks(engine):
        measurement = measure([first, second], None, spark=engine)
        bad = sorted(measurement.quarantine.lines(), key=lambda b: (b.file, b.line))
    assert rate(measurement) == pytest.approx(2000)
    cut = "not JSON, or cut short"
    assert bad == [
        BadLine(str(first), 2, cut, "not json"),
        BadLine(str(first), 4, cut, half[:200]),
        BadLine(str(second), 1, "edgeplace_log of an unknown version", recording.lines[0]),
        BadLine(str(second), 3, "no ts_ms in it", recording.lines[2]),
        BadLine(str(second), 4, "the answer is not what its path promises", recording.lines[3]),
    ]
    assert len(measurement.quarantine) == 5
    assert measurement.quarantine.counts[cut] == 2
    assert any("quarantine" in note for note in measurement.costs.notes)


def test_many_bad_lines_among_good_ones(engine, recording):
    recording.grow()
    good = recording.lines
    recording.lines = [good[0]] + ["garbage " * 5] * 20_000 + good[1:]
    measurement = measure([recording.write()], None, spark=engine)
    assert rate(measurement) == pytest.approx(2000)
    assert len(measurement.quarantine) == 20_000
    numbers = [bad.line for bad in measurement.quarantine.lines()]
    assert sorted(numbers) == list(range(2, 20_002))


def cut(recording, path: Path) -> Path:
    """Write the first half of a gzip file."""
    for poll in range(200):
        recording.metrics(
            START + 5000 * poll,
            "map",
            numRecordsIn=1000 * poll,
            accumulateBusyTimeMs=500 * poll,
            currentInputWatermark=hash((poll, "noise")),
        )
    packed = gzip.compress("\n".join(recording.lines).encode())
    path.write_bytes(packed[: len(packed) // 2])
    return path


def test_a_cut_gzip_file_is_used_as_far_as_it_goes(engine, recording, tmp_path: Path):
    path = cut(recording, tmp_path / "log.jsonl.gz")
    measurement = measure([path], None, spark=engine)
    assert rate(measurement) == pytest.approx(2000)
    bad = list(measurement.quarantine.lines())
    assert {b.file for b in bad} == {str(path)}
    assert "gzip data end too early" in bad[0].reason
    # The last line is cut too; both are about the same place.
    assert {b.line for b in bad} == {bad[0].line}
    assert any("gzip" in note for note in measurement.costs.notes)


@pytest.mark.spark
def test_names_with_a_percent_sign_are_the_same_for_spark(spark, recording, tmp_path: Path):
    folder = tmp_path / "logs" / "ts=08%3A00"
    folder.mkdir(parents=True)
    path = cut(recording, folder / "log.jsonl.gz")
    uri = (tmp_path / "logs").as_uri()
    there = measure([uri], None, spark=spark)
    assert {bad.file for bad in there.quarantine.lines()} == {f"file://{path}"}
    assert add_to_ledger(tmp_path / "ledger", [uri], spark=spark) == ()
    assert costs_from_ledger(tmp_path / "ledger", None).notes == there.costs.notes


@pytest.mark.spark
def test_a_new_segment_without_a_line_adds_nothing_by_uri(spark, recording, tmp_path: Path):
    recording.grow()
    recording.folder = tmp_path / "logs"
    recording.folder.mkdir()
    recording.write()
    uri = recording.folder.as_uri()
    add_to_ledger(tmp_path / "ledger", [uri], spark=spark)
    before = dump(costs_from_ledger(tmp_path / "ledger", None))
    (recording.folder / "packed.jsonl.gz").write_bytes(gzip.compress(b""))
    (recording.folder / "blank.jsonl").write_text("\n")
    [note] = add_to_ledger(tmp_path / "ledger", [uri], spark=spark)
    assert note == "1 segment is in the ledger and was not read"
    assert dump(costs_from_ledger(tmp_path / "ledger", None)) == before


@pytest.mark.spark
@pytest.mark.parametrize("name", ["log.jsonl.gz", "log.jsonl"])
@pytest.mark.parametrize("ignored", ["false", "true"])
def test_nothing_of_a_cut_gzip_file_is_lost_in_silence(
    spark, recording, tmp_path: Path, name: str, ignored: str
):
    path = cut(recording, tmp_path / name)
    here = measure([path], None)
    setting = "spark.sql.files.ignoreCorruptFiles"
    before = spark.conf.get(setting)
    spark.conf.set(setting, ignored)
    try:
        for log in (path, path.as_uri()):
            there = measure([log], None, spark=spark)
            assert dump(there.costs).replace("file://", "") == dump(here.costs)
            lines = [replace(b, file=b.file[-len(name) :]) for b in there.quarantine.lines()]
            assert lines == [replace(b, file=name) for b in here.quarantine.lines()]
    finally:
        spark.conf.set(setting, before)
    assert any("gzip data end too early" in note for note in here.costs.notes)


def test_a_large_intact_file_beside_a_damaged_one_is_left_alone():
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    from edgeplace.spark_stats.spark_files import SparkFiles

    asked = []

    class Remembering(SparkFiles):
        def look_into(self, session, files):
            asked.append(files)
            return []

    sizes = {"s3a://logs/a.gz": 2**31, "s3a://logs/b.gz": 5}
    canonical = format_of('{"edgeplace_log":1,')
    files = Remembering({canonical.name: (canonical, list(sizes))}, sizes=sizes)
    files.mend(None)
    assert asked == [["s3a://logs/b.gz"]]


@pytest.mark.spark
def test_lines_are_the_same_wherever_they_are_unpacked(spark, recording, tmp_path: Path):
    recording.grow()
    recording.lines.insert(2, "garbage")
    text = ("\ufeff" + "\r".join(recording.lines[:4]) + "\r\n" + recording.lines[4]).encode()
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    here, by_uri = measure([plain], None), measure([packed.as_uri()], None, spark=spark)
    assert dump(by_uri.costs) == dump(here.costs)
    numbers = [[bad.line for bad in each.quarantine.lines()] for each in (here, by_uri)]
    assert numbers == [[3], [3]]


@pytest.mark.spark
def test_lines_that_begin_with_a_long_answer_are_known_everywhere(spark, recording, tmp_path: Path):
    for poll in range(5):
        counters = {"numRecordsIn": 1000 * poll, "accumulateBusyTimeMs": 500 * poll}
        more = {f"mine_{i}": 1 for i in range(500)}
        recording.metrics(START + 5000 * poll, "map", **counters, **more)
    recording.lines = [json.dumps(json.loads(line), sort_keys=True) for line in recording.lines]
    log = recording.write()
    assert log.read_text().index("edgeplace_log") > 10_000
    there = measure([log.as_uri()], None, spark=spark)
    assert dump(there.costs) == dump(measure([log], None).costs)


@pytest.mark.spark
def test_a_name_that_spark_passes_over_is_said(spark, recording):
    recording.grow()
    log = recording.write("_today.jsonl")
    with pytest.raises(InvalidInputError, match=r"reads no file .*_today\.jsonl"):
        measure([log.as_uri()], None, spark=spark)


def test_a_file_that_is_named_twice_is_read_once(engine, recording, tmp_path: Path):
    recording.grow()
    recording.lines.append("garbage")
    log = recording.write()
    twice = measure([tmp_path, log], None, spark=engine)
    assert dump(twice.costs) == dump(measure([log], None, spark=engine).costs)


def test_series_without_a_job_are_passed_over_beside_a_job(engine, tmp_path: Path):
    def line(poll: int, name: str, value: float, job: str) -> str:
        labels = f'{job}task_id="v",task_name="m",subtask_index="0",tm_id="t"'
        at_ms = START + 5000 * poll
        return f"flink_taskmanager_job_task_{name}{{{labels}}} {value * poll} {at_ms}"

    counters = (("numRecordsIn", 1000.0), ("accumulateBusyTimeMs", 500.0))
    lines = [line(poll, *each, 'job_id="j",') for poll in range(5) for each in counters]
    log = tmp_path / "metrics.prom"
    log.write_text("\n".join([*lines, *(line(poll, *counters[0], "") for poll in range(2))]))
    measurement = measure([log], None, spark=engine)
    assert rate(measurement) == pytest.approx(2000)
    assert "2 snapshots name no job and were passed over" in measurement.costs.notes
    log.write_text("\n".join(text.replace('job_id="j",', "") for text in lines))
    assert rate(measure([log], None, spark=engine)) == pytest.approx(2000)


@pytest.mark.parametrize("part", [0.5, 0.99])
def test_a_gzip_file_that_grows_while_spark_reads_it_is_read_again(
    recording, tmp_path: Path, part: float
):
    pytest.importorskip("pyspark", reason="the spark extra is not installed")
    from edgeplace.spark_stats.staging import StagedFiles

    recording.grow()
    lines = "\n".join(recording.lines).encode() + b"\n"
    packed = gzip.compress(lines) + gzip.compress(lines)
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(packed[: int(len(packed) * part)])
    files = StagedFiles(log_files([path]))
    path.write_bytes(packed)
    assert files.mend_gzip()
    assert Path(files.place(str(path))).read_bytes() == 2 * lines
    assert not files.cut_short
    assert not StagedFiles(log_files([path])).mend_gzip()


def test_gzip_is_known_by_content_not_by_name(engine, recording, tmp_path: Path):
    recording.grow()
    text = recording.write().read_bytes()
    packed, plain = tmp_path / "_packed.jsonl", tmp_path / "plain.gz"
    packed.write_bytes(gzip.compress(text))
    plain.write_bytes(text)
    assert rate(measure([packed], None, spark=engine)) == pytest.approx(2000)
    assert rate(measure([plain], None, spark=engine)) == pytest.approx(2000)


def test_rotated_and_overlapping_files_are_one_log(engine, recording, tmp_path: Path):
    recording.grow()
    lines = recording.lines
    for number, part in enumerate((lines[:3], lines[2:])):
        recording.lines = part
        recording.write(f"log.{number}")
    (tmp_path / "log.2").write_text("")
    measurement = measure([tmp_path], None, spark=engine)
    assert measurement.costs.operators[0].classes[0].samples == 4
    assert any("log.2 is empty" in note for note in measurement.costs.notes)


def test_unknown_metrics_and_paths_are_counted_and_ignored(engine, recording):
    for poll in range(3):
        recording.metrics(
            START + 5000 * poll, "map", numRecordsIn=10 * poll, mailboxQueueSize=1, numBytesIn="x"
        )
        recording.answer(START + 5000 * poll, "/overview", {"taskmanagers": 3})
    measurement = measure([recording.write()], None, spark=engine)
    assert (measurement.samples.unused, measurement.samples.unreadable) == (3, 3)
    assert measurement.samples.other_lines == 3
    assert measurement.quarantine.counts == {}
    assert "busy time" in measurement.costs.operators[0].not_in_log
