"""A ledger gives what its log gives, however the log came to it."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import InvalidInputError, dump
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, measure
from edgeplace.spark_stats.ledger.folder import LedgerFolder
from tests.support.measured import START
from tests.support.segments import POLL_MS, POLLS, poll, segments, without_quarters

parquet = pytest.importorskip("pyarrow.parquet", reason="a ledger needs pyarrow")
pytestmark = pytest.mark.slow

numbers = st.sets(st.integers(1, POLLS - 1), max_size=3).map(sorted)


@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(cuts=numbers.filter(len), restarts=numbers, moves=numbers, order=st.randoms())
def test_piece_by_piece_is_the_whole(
    spark, recording, tmp_path_factory, cuts, restarts, moves, order
):
    folder = tmp_path_factory.mktemp("log")
    files = segments(recording, folder / "log", cuts, restarts, moves)
    here = dump(measure(files, None, spark=spark).costs)
    assert dump(measure(files, None).costs) == here

    mixed = order.sample(files, len(files))
    assert add_to_ledger(folder / "once", mixed, spark=spark) == ()
    for count in range(1, len(files) + 1):
        # The folder has the former segments, too.
        # With and without Spark, in turn.
        add_to_ledger(folder / "each", files[:count], spark=spark if count % 2 else None)
        add_to_ledger(folder / "without", files[:count])

    once, each, without = (
        dump(costs_from_ledger(folder / n, None)) for n in ("once", "each", "without")
    )
    assert without == each
    assert without_quarters(each) == without_quarters(once) == without_quarters(here)
    assert json.loads(once)["notes"] == json.loads(here)["notes"]


def test_a_ledger_older_than_a_metric_is_continued(engine, two, ledger):
    whole = sorted((two / "log").iterdir())
    newer = Path(shutil.copytree(ledger, ledger.with_name("newer")))
    files = list(ledger.rglob("*.carried*"))
    assert files
    for file in files:
        table = parquet.read_table(file)
        parquet.write_table(table.drop_columns(["since_ms", "emitted_per_s"]), file)
    for folder in (ledger, newer):
        add_to_ledger(folder, whole, spark=engine)
    assert dump(costs_from_ledger(ledger, None)) == dump(costs_from_ledger(newer, None))


def test_a_segment_is_counted_once(two, ledger, tmp_path):
    before = dump(costs_from_ledger(ledger, None))
    [note] = add_to_ledger(ledger, sorted((two / "log").iterdir())[:2])
    assert note == "2 segments are in the ledger and were not read"
    # Under another name it is read, and nothing of it is new.
    again = shutil.copy(two / "log" / "01.jsonl", tmp_path / "copy.jsonl")
    [note] = add_to_ledger(ledger, [again])
    assert note.startswith("24 samples are not newer than the last ones")
    after = without_quarters(dump(costs_from_ledger(ledger, None)))
    assert after["operators"] == without_quarters(before)["operators"]


def test_bad_lines_of_a_segment_that_was_rotated_count_once(two, tmp_path):
    log = Path(shutil.copytree(two / "log", tmp_path / "log"))
    files = sorted(log.iterdir())
    for number, file in enumerate(files):
        os.utime(file, (number, number))
    before = bad_lines(log, tmp_path / "ledger")
    assert before == len(files)
    files[0].rename(log / "old.jsonl")
    packed = log / "old.jsonl.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes()))
    os.utime(packed, (1, 1))
    files[1].unlink()
    assert bad_lines(log, tmp_path / "ledger") == before
    # A new file of the former name counts, too.
    shutil.copy(files[2], files[0])
    assert bad_lines(log, tmp_path / "ledger") == before + 1


def bad_lines(log: Path, ledger: Path) -> int:
    add_to_ledger(ledger, [log])
    return sum(LedgerFolder(ledger).manifest().bad_lines().values())


def test_a_file_that_grows_counts_what_is_new(two, ledger, tmp_path):
    files = sorted((two / "log").iterdir())
    grown = tmp_path / "metrics.jsonl"
    for count in (1, 2, 3):
        grown.write_bytes(b"".join(file.read_bytes() for file in files[:count]))
        add_to_ledger(tmp_path / "grown", [grown])
    found = without_quarters(dump(costs_from_ledger(tmp_path / "grown", None)))
    assert found == without_quarters(dump(measure(files, None).costs))


def test_a_segment_that_comes_too_late_is_said(two, tmp_path):
    files = sorted((two / "log").iterdir())
    add_to_ledger(tmp_path / "gap", [files[0], files[2]])
    [note] = add_to_ledger(tmp_path / "gap", [files[1]])
    assert "24 samples" in note
    assert "a new ledger of all segments" in note
    # The difference across the gap had counted what was in it.
    whole = measure(files, None).costs.operators
    for found, real in zip(costs_from_ledger(tmp_path / "gap", None).operators, whole, strict=True):
        assert found.classes[0].busy_s == pytest.approx(real.classes[0].busy_s, rel=0.05)


def test_costs_of_a_time(ledger):
    last = costs_from_ledger(ledger, None, last_s=100)
    assert START + POLL_MS * 11 <= last.from_ms < last.to_ms == START + POLL_MS * 15 + 6
    first = costs_from_ledger(ledger, None, between_ms=(0, START + 120_000))
    assert first.from_ms < START + POLL_MS
    assert first.to_ms < START + 180_000
    assert first.placement == last.placement
    with pytest.raises(InvalidInputError, match="nothing of that time") as e:
        costs_from_ledger(ledger, None, between_ms=(0, START - 10**9))
    assert "it has 2026-11-21T" in e.value.cure


def test_costs_of_a_time_have_its_state(ledger):
    """Without it, moves look free, and memory too."""
    whole, last = (costs_from_ledger(ledger, None, last_s=s).operators for s in (None, 100))
    assert any(op.state_bytes for op in whole)
    assert [op.state_bytes for op in last] == [op.state_bytes for op in whole]


def test_another_job_is_refused(ledger, recording):
    recording.folder.joinpath("other").mkdir()
    recording.folder = recording.folder / "other"
    for number in range(3):
        poll(recording, number, set(), set(), job="b" * 32)
    recording.lines = [line for line in recording.lines if "b" * 32 in line]
    with pytest.raises(InvalidInputError, match=r"of the job 'telemetry' \(a+\), the segments are"):
        add_to_ledger(ledger, [recording.write()])
    assert len(list(ledger.glob("*.sums.parquet"))) == 2


def test_a_time_is_answered_from_its_own_batches(engine, two, ledger):
    add_to_ledger(ledger, [two / "log"], spark=engine)
    assert [file.name for file in ledger.glob("*.carried.parquet")] == ["000003.carried.parquet"]
    times = {"between_ms": (START + 17 * POLL_MS, START + 22 * POLL_MS)}
    found = dump(costs_from_ledger(ledger, None, **times))
    # As an older edgeplace wrote it, every batch is read.
    manifest = json.loads((ledger / "manifest.json").read_text())
    for batch in manifest["batches"]:
        del batch["from_ms"], batch["to_ms"]
    older = Path(shutil.copytree(ledger, ledger.with_name("older")))
    (older / "manifest.json").write_text(json.dumps(manifest))
    assert dump(costs_from_ledger(older, None, **times)) == found
    assert dump(costs_from_ledger(older, None)) == dump(costs_from_ledger(ledger, None))
    # The names of the job are from the first segment.
    assert json.loads(found)["operators"][0]["name"] == "source"
    (ledger / "000001.sums.parquet").unlink()
    assert dump(costs_from_ledger(ledger, None, **times)) == found


def submitted_again(recording, first: int, job: str = "b" * 32) -> Path:
    """Write a segment of the same job under another id, from a poll on."""
    recording.job({"source": 1, "map": 2}, [("source", "map", "HASH")], job)
    for number in range(first, POLLS):
        poll(recording, number, set(), set(), job)
    recording.lines = [line for line in recording.lines if job in line]
    return recording.write()


def test_a_job_that_was_submitted_again_is_the_same_job(engine, ledger, recording):
    assert add_to_ledger(ledger, [submitted_again(recording, 16)], spark=engine) == ()
    found = costs_from_ledger(ledger, None)
    assert found.from_ms >= START + 16 * POLL_MS
    assert "'telemetry' was submitted 2 times; these are the costs of the last one" in found.notes
    earlier = costs_from_ledger(ledger, None, between_ms=(0, START + 10 * POLL_MS))
    assert earlier.to_ms < START + 12 * POLL_MS


def test_two_jobs_of_one_name_at_one_time_are_not_one(ledger, recording):
    add_to_ledger(ledger, [submitted_again(recording, 10)])
    with pytest.raises(InvalidInputError, match="the log has 2 jobs"):
        costs_from_ledger(ledger, None)


def test_a_sample_of_the_future_does_not_keep_later_ones_out(engine, two, ledger, recording):
    whole = without_quarters(dump(measure([two / "log"], None).costs))
    poll(recording, 10**8, set(), set())
    recording.job({"source": 9, "map": 9}, ts_ms=START + POLL_MS * 10**8)
    ahead = two / "log" / "02.jsonl"
    told = [line for line in recording.lines if "checkpoints/details" not in line]
    recording.lines = [*ahead.read_text().splitlines(), *told]
    [note] = add_to_ledger(ledger, [recording.write()], spark=engine)
    assert note.startswith("3 samples are more than 5 minutes ahead of this machine's clock")
    assert without_quarters(dump(costs_from_ledger(ledger, None))) == whole


def test_a_clock_that_is_behind_loses_nothing(ledger, recording):
    poll(recording, 10**8, set(), set())
    recording.lines = [line for line in recording.lines if "/metrics" in line]
    with pytest.raises(InvalidInputError, match="all 3 samples are more than 5 minutes ahead"):
        add_to_ledger(ledger, [recording.write()])
    assert len(list(ledger.glob("*.sums.parquet"))) == 2


def test_a_time_has_the_job_as_it_was_then(engine, ledger, recording):
    times = {"between_ms": (0, START + 120_000)}
    before = costs_from_ledger(ledger, None, **times)
    for number in range(16, POLLS):
        at_ms = START + POLL_MS * number
        recording.job({"source": 4, "map": 2}, [("source", "map", "HASH")], ts_ms=at_ms)
        poll(recording, number, set(), set())
    add_to_ledger(ledger, [recording.write()], spark=engine)
    assert dump(costs_from_ledger(ledger, None, **times)) == dump(before)
    # There the three others are taken to do the same.
    [now], [then] = (
        [op.demand for op in found.operators if op.demand]
        for found in (costs_from_ledger(ledger, None), before)
    )
    assert len(now.rates_per_s) == 4 * len(then.rates_per_s)


def test_a_name_that_is_used_again_begins_anew(engine, two, tmp_path):
    files = sorted((two / "log").iterdir())
    same = tmp_path / "metrics.jsonl"
    for file in files:
        shutil.copy(file, same)
        add_to_ledger(tmp_path / "again", [same], spark=engine)
    found = without_quarters(dump(costs_from_ledger(tmp_path / "again", None)))
    whole = without_quarters(dump(measure(files, None).costs))
    assert found["operators"] == whole["operators"]


def test_a_file_that_was_overwritten_is_read(two, tmp_path):
    files = sorted((two / "log").iterdir())
    size = max(file.stat().st_size for file in files)
    same = tmp_path / "metrics.jsonl"
    for number, file in enumerate(files):
        # Blanks at the end make files of one size.
        same.write_bytes(file.read_bytes().ljust(size))
        os.utime(same, (number, number))
        assert add_to_ledger(tmp_path / "again", [same]) == ()
    found = without_quarters(dump(costs_from_ledger(tmp_path / "again", None)))
    whole = without_quarters(dump(measure(files, None).costs))
    assert found["operators"] == whole["operators"]


def unnamed(recording, job: str, operators: tuple[str, str], first: int) -> Path:
    """Write a segment of a job that nobody has named."""
    recording.lines = []
    source, target = operators
    recording.job({source: 1, target: 1}, [(source, target, "HASH")], job, "Flink Streaming Job")
    for number in range(first, first + 5):
        for name in operators:
            counters = {"numRecordsIn": 1000 * number, "accumulateBusyTimeMs": 5 * number}
            recording.metrics(START + POLL_MS * number, name, job, **counters)
    return recording.write(f"{first}.jsonl")


def test_jobs_that_nobody_has_named_are_not_one_job(recording, tmp_path):
    ledger = tmp_path / "ledger"
    add_to_ledger(ledger, [unnamed(recording, "a" * 32, ("source", "map"), 0)])
    other = unnamed(recording, "b" * 32, ("camera", "detect"), 10)
    again = unnamed(recording, "c" * 32, ("source", "filter"), 20)
    for segments_given in ([other], [again, other]):
        with pytest.raises(InvalidInputError, match=r"the segments are of '.*' \(b+\)"):
            add_to_ledger(ledger, segments_given)
    assert add_to_ledger(ledger, [again]) == ()


def of_task_manager(recording, number: int) -> Path:
    """Write a segment that has no task: the job is down."""
    recording.lines = []
    for at in range(3):
        used = [{"id": "Status.JVM.CPU.Time", "value": str(1000 * number + at)}]
        recording.answer(START + POLL_MS * (number + at), "/taskmanagers/tm-1/metrics", used)
    return recording.write(f"tm-{number}.jsonl")


def test_a_batch_without_tasks_does_not_make_a_ledger_forget_its_job(recording, tmp_path):
    ledger = tmp_path / "ledger"
    first = unnamed(recording, "a" * 32, ("source", "map"), 0)
    # It has only ids, and is of a job that other reporters do not name either.
    first.write_text("".join(line + "\n" for line in recording.lines if "/metrics" in line))
    add_to_ledger(ledger, [first])
    jobs = LedgerFolder(ledger).manifest().jobs
    assert jobs
    add_to_ledger(ledger, [of_task_manager(recording, 6)])
    assert LedgerFolder(ledger).manifest().jobs == jobs
    with pytest.raises(InvalidInputError, match=r"the ledger .* is of the job"):
        add_to_ledger(ledger, [unnamed(recording, "b" * 32, ("camera", "detect"), 10)])


def test_a_job_without_a_name_is_known_by_the_operators_of_any_batch(recording, tmp_path):
    ledger = tmp_path / "ledger"
    add_to_ledger(ledger, [unnamed(recording, "a" * 32, ("source", "map"), 0)])
    add_to_ledger(ledger, [of_task_manager(recording, 6)])
    assert add_to_ledger(ledger, [unnamed(recording, "b" * 32, ("source", "filter"), 10)]) == ()
    with pytest.raises(InvalidInputError) as e:
        add_to_ledger(ledger, [unnamed(recording, "c" * 32, ("window", "sink"), 20)])
    assert "of a job without a name, add what its TaskManagers wrote in one command" in e.value.cure


def test_a_time_with_task_managers_alone_has_no_costs(recording, ledger):
    add_to_ledger(ledger, [of_task_manager(recording, 100)])
    with pytest.raises(InvalidInputError, match="has nothing of that time from a task") as e:
        costs_from_ledger(ledger, None, last_s=600)
    assert "it has 2026-" in e.value.cure


def test_the_command_line(two, ledger, tmp_path, capsys):
    from edgeplace.cli.main import main

    out = tmp_path / "costs.json"
    assert main(["costs", str(two / "log"), "--ledger", str(ledger), "-o", str(out)]) == 0
    assert "2 segments are in the ledger" in capsys.readouterr().err
    whole = measure([two / "log"], None).costs
    assert without_quarters(out.read_text()) == without_quarters(dump(whole))
    assert main(["costs", str(ledger), "--last", "2h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["to_ms"] == whole.to_ms
    new = [str(two / "log"), "--ledger", str(tmp_path / "new")]
    for argv, said in (
        ([str(two / "log"), "--last", "2h"], "--last is an option of a ledger, and"),
        ([str(ledger), "--between", "soon", "later"], "'soon' is no time"),
        (
            [*new, "--between", "2026-11-02", "2026-11-01"],
            "the second time is not after the first one",
        ),
        (
            [str(two / "log"), "--ledger", str(ledger), "-o", str(ledger / "manifest.json")],
            "it would overwrite what is read here",
        ),
        ([str(ledger), str(two / "log")], "is a ledger, and"),
        ([str(two / "log"), str(ledger)], "is a ledger, and"),
        ([str(ledger), str(ledger)], "is a ledger, and"),
        ([str(ledger), "--ledger", str(tmp_path / "other")], "is a ledger, and"),
        ([str(two / "log"), "--ledger", "s3a://logs/ledger"], "is no folder of this machine"),
        ([str(ledger), "--quarantine", "x"], "--quarantine is an option of logs alone"),
    ):
        assert main(["costs", *argv]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
