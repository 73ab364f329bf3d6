"""`edgeplace flink collect --whisper`: files worked out by Graphite's document."""

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from edgeplace.adapters.flink.collect.whisper_file import WhisperError, points, read
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.spark_stats import measure

T0 = 1_795_225_900
STEP_S = 5


def whisper(*archives: tuple[int, int, Sequence[tuple[int, float]]]) -> bytes:
    """Return a file with archives: seconds a point, number of points, points in any order."""
    header = struct.pack("!2LfL", 1, 86400, 0.5, len(archives))
    offset = len(header) + 12 * len(archives)
    described, rings = b"", b""
    for step_s, count, given in archives:
        described += struct.pack("!3L", offset, step_s, count)
        slots = [*given, *[(0, 0.0)] * (count - len(given))]
        rings += b"".join(struct.pack("!Ld", *slot) for slot in slots)
        offset += 12 * count
    return header + described + rings


def ticks(per_s: float, count: int = 13, first: int = 0) -> list[tuple[int, float]]:
    return [(T0 + STEP_S * i, per_s * STEP_S * i) for i in range(first, count)]


TASK = "h_1/taskmanager/pi-1/word-count/Source:-a-->-b/0"
FILES = {
    f"{TASK}/numRecordsIn/count": 0.0,
    f"{TASK}/numRecordsOut/count": 0.0,
    f"{TASK}/accumulateBusyTimeMs": 500.0,
    f"{TASK}/numRecordsOutPerSecond/m1_rate": 3.0,
    # An operator alone has no busy time, and the task has no output but this.
    "h_1/taskmanager/pi-1/word-count/Source:-a/0/numRecordsOut/count": 100.0,
    "h_1/taskmanager/pi-1/word-count/b/0/numRecordsOut/count": 7.0,
    "h_1/taskmanager/pi-1/Status/JVM/CPU/Time": 2e8,
    "h_1/jobmanager/Status/JVM/CPU/Time": 1.0,
    "servers/a/cpu": 1.0,
}


@pytest.fixture
def graphite(tmp_path: Path) -> Path:
    """A folder of Whisper files, as Carbon's."""
    for name, per_s in FILES.items():
        path = tmp_path / "whisper" / f"{name}.wsp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(whisper((STEP_S, 100, ticks(per_s)), (60, 10, [(T0, 0.0)])))
    return tmp_path / "whisper"


def series(log: Path) -> list[dict[str, object]]:
    documents = [json.loads(gzip.decompress(p.read_bytes())) for p in sorted(log.iterdir())]
    return [one for document in documents for one in document["data"]["result"]]


def test_a_folder_and_a_tar_of_it_give_the_costs_of_the_job(edgeplace, graphite: Path, tmp_path):
    packed = tmp_path / "whisper.tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(graphite, ".")
    logs = [tmp_path / "one", tmp_path / "two"]
    for place, log in zip((graphite, packed), logs, strict=True):
        ran = edgeplace("flink", "collect", "--whisper", place, "--job", "word count", "-o", log)
        assert ran.status is ExitStatus.OK, ran.err
        assert "'word-count' in 60 s from 5 files" in ran.out
    assert sorted(map(str, series(logs[0]))) == sorted(map(str, series(logs[1])))
    [cost] = measure([logs[0]], None).costs.operators
    assert cost.name == "Source:-a-->-b"
    assert cost.classes[0].true_rate_per_s == pytest.approx(200)
    assert cost.classes[0].cpu_ms_per_record == pytest.approx(2)
    assert sum(cost.demand.rates_per_s) == pytest.approx(100)


def test_a_time_is_read_from_the_finest_archive_that_reaches_back_to_it():
    fine = ticks(1.0, 20, first=10)
    # What is left of the round before, in a slot that was not written since.
    content = whisper((STEP_S, 12, [(T0 - 15, 5.0), *fine]), (60, 5, [(T0, 0.0)]))
    assert points(content, None, None) == fine
    assert points(content, T0 + 60, T0 + 70) == [(T0 + 5 * i, 5.0 * i) for i in (12, 13, 14)]
    assert points(content, T0 - 60, None) == [(T0, 0.0)]
    assert points(whisper((1, 3, [])), None, None) == []


@pytest.mark.parametrize("averages", [[], [(T0 + 60 * i, 0.5) for i in range(30)]])
def test_a_young_file_is_read_from_the_finest_archive_that_keeps_points_for_so_long(averages):
    last = T0 + 1800
    exact = [(at_s, 1.0) for at_s in range(T0 + 10, last + 1, 10)]
    content = whisper((1, 3600, exact), (60, 1440, averages))
    for from_s in (None, last - 1900, last - 3000):
        assert points(content, from_s, None) == exact
    assert points(content, last - 1700, None) == exact[9:]
    assert points(content, last - 7200, None) == (averages or exact)


@pytest.mark.parametrize("at", [0, 3, 15, 20, 60, -1])
def test_a_file_that_is_cut_short_is_named_and_left_out(edgeplace, graphite, tmp_path, at):
    whole = (graphite / f"{TASK}/accumulateBusyTimeMs.wsp").read_bytes()
    with pytest.raises(WhisperError):
        points(whole[:at], None, None)
    damaged = graphite / f"{TASK}/numRecordsIn/count.wsp"
    damaged.write_bytes(whole[:at])
    ran = edgeplace("flink", "collect", "--whisper", graphite, "-o", tmp_path / "log")
    assert ran.status is ExitStatus.OK
    assert f"{TASK}/numRecordsIn/count.wsp was skipped: " in ran.err


def test_what_is_no_whisper_file_is_said():
    with pytest.raises(WhisperError, match=r"no Whisper file|not that of"):
        points(b"PNG and so on, for a while, and longer" * 9, None, None)


def test_no_more_is_read_than_a_file_may_have():
    whole = whisper((1, 3, [(T0, 1.0)]))
    assert read(io.BytesIO(whole + b"0" * 5000)) == whole
    large = struct.pack("!2LfL", 1, 86400, 0.5, 1) + struct.pack("!3L", 28, 1, 10**9)
    with pytest.raises(WhisperError, match="larger than 500,000,000 bytes"):
        read(io.BytesIO(large))


def test_task_managers_report_at_different_moments(edgeplace, graphite, tmp_path):
    # On a host with the name of a part of the path; all of them are silent for a minute.
    times = [*range(0, 100, 10), *range(160, 260, 10)]
    for path in graphite.rglob("*.wsp"):
        other = path.relative_to(graphite / "h_1") if "h_1" in path.parts else Path("none.wsp")
        other = graphite / "taskmanager" / str(other).replace("pi-1", "pi-2")
        other.parent.mkdir(parents=True, exist_ok=True)
        for to, first in ((path, T0), (other, T0 + 1)):
            to.write_bytes(whisper((1, 3600, [(first + at_s, 1.0) for at_s in times])))
    log = tmp_path / "log"
    ran = edgeplace("flink", "collect", "--whisper", graphite, "-o", log, "--json")
    assert json.loads(ran.out)["gaps"] == [
        {"from_ms": 1000 * (T0 + 91), "to_ms": 1000 * (T0 + 160)}
    ]
    assert {one["metric"]["tm_id"] for one in series(log)} == {"pi-1", "pi-2"}


def test_a_file_that_may_not_be_read_is_named_and_left_out(
    edgeplace, graphite, tmp_path, monkeypatch
):
    closed = graphite / f"{TASK}/numRecordsIn/count.wsp"
    opened = Path.open

    def refuses(path: Path, *args: object, **more: object) -> object:
        if path == closed:
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **more)

    monkeypatch.setattr(Path, "open", refuses)
    ran = edgeplace("flink", "collect", "--whisper", graphite, "-o", tmp_path / "log")
    assert ran.status is ExitStatus.OK
    assert f"{TASK}/numRecordsIn/count.wsp was skipped: Permission denied" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--job", "other"), "no job 'other': word-count"),
        (("--job", "a" * 32), "is an id, and Graphite's names have none"),
        (("--interval", "5"), "--interval does not go with --whisper"),
        (("--until", "2020-01-01T00:00Z"), "no point in this time"),
        (("--whisper", ""), "--whisper has no place"),
    ],
)
def test_a_wrong_question_is_refused(edgeplace, graphite, tmp_path, arguments, said):
    log = tmp_path / "log"
    ran = edgeplace("flink", "collect", "--whisper", graphite, "-o", log, *arguments)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err
    assert not log.exists() or not any(log.iterdir())


def test_a_damaged_tar_and_an_empty_folder(edgeplace, graphite, tmp_path):
    (tmp_path / "empty").mkdir()
    places = [(tmp_path / "empty", "no Whisper file")]
    for kind in ("gz", "xz", "bz2"):
        packed = tmp_path / f"whisper.tar.{kind}"
        with tarfile.open(packed, f"w:{kind}") as tar:
            tar.add(graphite, ".")
        content = packed.read_bytes()
        middle = len(content) // 2
        for damage, left in (
            ("short", content[:middle]),
            ("other", content[:middle] + b"\xff" * 40 + content[middle + 40 :]),
        ):
            packed.with_suffix(f".{damage}").write_bytes(left)
            places.append((packed.with_suffix(f".{damage}"), "or it is cut short"))
    for place, said in places:
        ran = edgeplace("flink", "collect", "--whisper", place, "-o", tmp_path / "log")
        assert ran.status is ExitStatus.INVALID_INPUT
        assert said in ran.err


def test_two_jobs_have_to_be_told_apart(edgeplace, graphite, tmp_path):
    other = graphite / TASK.replace("word-count", "other_job") / "accumulateBusyTimeMs.wsp"
    other.parent.mkdir(parents=True)
    other.write_bytes(whisper((STEP_S, 100, ticks(1.0))))
    ran = edgeplace("flink", "collect", "--whisper", graphite, "-o", tmp_path / "log")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "2 jobs: other_job, word-count" in ran.err
