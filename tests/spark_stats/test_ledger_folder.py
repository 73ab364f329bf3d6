"""What the folder of a ledger survives: killed writers, lost and damaged files, other folders."""

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from edgeplace.model import InvalidInputError, dump
from edgeplace.spark_stats import add_to_ledger, costs_from_ledger, is_ledger, measure
from edgeplace.spark_stats.ledger import folder as ledger_folder
from tests.support.segments import poll, without_quarters

parquet = pytest.importorskip("pyarrow.parquet", reason="a ledger needs pyarrow")
pytestmark = pytest.mark.slow


class Killed(BaseException):
    """What stops a writer between two of its steps."""


def test_a_writer_that_is_killed_at_any_step_loses_nothing(two, tmp_path, monkeypatch):
    files = sorted((two / "log").iterdir())
    of_files = [without_quarters(dump(measure(files[:n], None).costs)) for n in (1, 2, 3)]
    left = 0

    def stepwise(step):
        def counted(*args, **more):
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return step(*args, **more)

        return counted

    for owner, name in (
        (ledger_folder, "_sync"),
        (ledger_folder, "write_text"),
        (parquet, "write_table"),
        (Path, "replace"),
        (Path, "unlink"),
    ):
        monkeypatch.setattr(owner, name, stepwise(getattr(owner, name)))

    def after(steps: int | None, ledger: Path, segments_given: list[Path]) -> bool:
        nonlocal left
        left = 10**9 if steps is None else steps
        try:
            add_to_ledger(ledger, segments_given)
        except Killed:
            return False
        finally:
            left = 10**9
        return True

    for held in (0, 1):
        for steps in range(99):
            ledger = tmp_path / f"{held} {steps}"
            if held:
                assert after(None, ledger, files[:1])
            ended = after(steps, ledger, files[held : held + 1])
            if held or ended:
                found = without_quarters(dump(costs_from_ledger(ledger, None)))
                assert found in of_files[held - 1 + ended : held + 1]
            assert after(None, ledger, files[held:])
            assert without_quarters(dump(costs_from_ledger(ledger, None))) == of_files[2]
            if ended:
                break
        assert steps > 5


def test_a_lost_manifest_is_not_a_new_ledger(two, ledger):
    (ledger / "manifest.json").unlink()
    with pytest.raises(InvalidInputError, match="no manifest of a ledger names"):
        measure([ledger], None)
    for file in ledger.glob("000002.*"):
        file.unlink()
    with pytest.raises(InvalidInputError, match=r"is no ledger: it has 000001"):
        add_to_ledger(ledger, [two / "log"])


def test_a_ledger_without_metrics_has_no_costs_yet(recording, tmp_path):
    recording.job({"source": 1, "map": 2})
    add_to_ledger(tmp_path / "ledger", [recording.write()])
    with pytest.raises(InvalidInputError, match="no metrics of a task yet"):
        costs_from_ledger(tmp_path / "ledger", None, last_s=60)
    for number in range(3):
        poll(recording, number, set(), set())
    assert add_to_ledger(tmp_path / "ledger", [recording.write("later.jsonl")]) == ()
    assert costs_from_ledger(tmp_path / "ledger", None, last_s=60).operators


def test_a_first_batch_that_was_not_written_keeps_no_job(recording, tmp_path, monkeypatch):
    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    ledger = tmp_path / "ledger"
    for job, name in (("b" * 32, "billing"), ("a" * 32, "Flink Streaming Job")):
        recording.lines = []
        recording.job({"source": 1, "map": 2}, [("source", "map", "HASH")], job, name)
        for number in range(3):
            poll(recording, number, set(), set(), job)
        segment = recording.write(f"{name}.jsonl")
        with monkeypatch.context() as patched:
            patched.setattr(parquet, "write_table", full)
            with pytest.raises(OSError, match="No space left"):
                add_to_ledger(ledger, [segment])
    assert add_to_ledger(ledger, [segment]) == ()


def test_a_table_that_does_not_reach_the_disk_is_not_named(two, ledger, monkeypatch):
    def lost(file: int) -> None:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EIO, "Input/output error")

    before = (ledger / "manifest.json").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lost)
        with pytest.raises(OSError, match="Input/output error"):
            add_to_ledger(ledger, [two / "log"])
    assert (ledger / "manifest.json").read_bytes() == before
    add_to_ledger(ledger, [two / "log"])
    whole = measure([two / "log"], None).costs
    assert without_quarters(dump(costs_from_ledger(ledger, None))) == without_quarters(dump(whole))


def test_what_a_killed_writer_left_is_not_counted(two, ledger):
    before = dump(costs_from_ledger(ledger, None))
    (ledger / "000003.sums.parquet").write_bytes(b"half")
    (ledger / ".000003.carried.parquet").write_bytes(b"half")
    assert dump(costs_from_ledger(ledger, None)) == before
    add_to_ledger(ledger, [two / "log"])
    whole = measure([two / "log"], None).costs
    assert without_quarters(dump(costs_from_ledger(ledger, None))) == without_quarters(dump(whole))


def test_a_damaged_ledger_is_refused(ledger):
    (ledger / "000002.sums.parquet").write_bytes(b"half")
    with pytest.raises(InvalidInputError, match=r"000002\.sums\.parquet, .* is damaged"):
        costs_from_ledger(ledger, None)
    shutil.copy(ledger / "000002.carried.parquet", ledger / "000002.sums.parquet")
    with pytest.raises(InvalidInputError, match=r"000002\.sums\.parquet is damaged: it has no \w+"):
        costs_from_ledger(ledger, None)
    (ledger / "000002.sums.parquet").unlink()
    with pytest.raises(InvalidInputError, match=r"000002\.sums\.parquet, .* is not there"):
        costs_from_ledger(ledger, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": "edgeplace/ledger", "version": 1}', "is of version 1"),
        ('{"format": "edgeplace/ledger", "ver', "is damaged"),
        ('{"format": "edgeplace/ledger", "version": 2, "batches": 3}', "is damaged"),
        ("", "is damaged"),
    ],
)
def test_a_manifest_that_cannot_be_read(two, ledger, text, said):
    (ledger / "manifest.json").write_text(text)
    assert is_ledger(ledger)
    with pytest.raises(InvalidInputError, match=said) as e:
        costs_from_ledger(ledger, None)
    assert "a new ledger" in e.value.cure
    with pytest.raises(InvalidInputError, match=said):
        add_to_ledger(ledger, [two / "log"])


def test_a_folder_of_something_else_is_no_ledger(two, tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InvalidInputError, match=r"is no ledger: it has mine\.txt"):
        add_to_ledger(tmp_path, [two / "log"])
    assert not is_ledger(tmp_path)
    assert not is_ledger(
        "s3a://logs/{" + ",".join(f"2026-11-{day:02d}" for day in range(1, 31)) + "}"
    )


def test_an_empty_ledger_has_no_costs(tmp_path):
    with pytest.raises(InvalidInputError, match="is empty"):
        costs_from_ledger(tmp_path, None)


def test_one_writer_at_a_time(two, ledger):
    from edgeplace.spark_stats.ledger.folder import LedgerFolder

    writing = LedgerFolder(ledger).for_writing()
    with writing, pytest.raises(InvalidInputError, match="another process adds"):
        add_to_ledger(ledger, [two / "log"])
