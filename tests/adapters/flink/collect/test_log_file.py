"""Files of a metric log: whole after a kill, rotated, and bounded on disk."""

import errno
import gzip
import os

import pytest

from edgeplace.adapters.flink.collect.log_file import LogFile, LogFolder
from edgeplace.model import InvalidInputError

MB = 10**6


def poll(number: int, size_bytes: int = 40) -> bytes:
    """Lines that gzip cannot make smaller."""
    return f"{number} {os.urandom(size_bytes // 2).hex()}\n".encode()


def names(folder) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_what_was_appended_can_be_read_before_it_is_closed(tmp_path):
    log = LogFolder(tmp_path / "log", MB)
    assert log.starts_file
    log.append(b"one\n")
    assert not log.starts_file
    log.append(b"two\n")
    [path] = (tmp_path / "log").iterdir()
    assert gzip.decompress(path.read_bytes()) == b"one\ntwo\n"
    assert log.written_bytes == path.stat().st_size
    log.close()


def test_a_log_goes_on_in_a_new_file(tmp_path):
    for text in (b"one\n", b"two\n"):
        log = LogFolder(tmp_path, MB)
        log.append(text)
        log.close()
    assert names(tmp_path) == ["metrics-000001.jsonl.gz", "metrics-000002.jsonl.gz"]


def test_a_process_that_only_looked_leaves_no_file(tmp_path):
    LogFolder(tmp_path, MB).close()
    assert names(tmp_path) == []


def test_the_oldest_files_go_and_other_files_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    log = LogFolder(tmp_path, 100_000)
    for number in range(60):
        log.append(poll(number, 6000))
        logs = [p for p in tmp_path.iterdir() if p.name.startswith("metrics-")]
        assert sum(p.stat().st_size for p in logs) <= 100_000
    log.close()
    assert log.removed > 0
    assert names(tmp_path)[-2:] == [f"metrics-{log.files:06d}.jsonl.gz", "notes.txt"]
    kept = b"".join(gzip.decompress(p.read_bytes()) for p in sorted(logs))
    numbers = [int(line.split()[0]) for line in kept.splitlines()]
    assert numbers == list(range(numbers[0], 60)) and len(numbers) > 20


def test_two_processes_do_not_write_into_one_folder(tmp_path):
    first = LogFolder(tmp_path, MB)
    with pytest.raises(InvalidInputError, match="another process") as e:
        LogFolder(tmp_path, MB)
    assert e.value.cure
    first.close()
    LogFolder(tmp_path, MB).close()


def test_a_file_is_new_and_ends_at_its_size(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    log = LogFile(path, 1000)
    taken = 0
    while log.append(poll(taken, 400)):
        taken += 1
    log.close()
    assert 1 <= taken < 10 and path.stat().st_size <= 1000
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == taken
    with pytest.raises(InvalidInputError, match="there already"):
        LogFile(path, 1000)


def test_a_full_disk_leaves_the_log_whole(tmp_path, monkeypatch):
    log = LogFolder(tmp_path, MB)
    log.append(b"one\n")
    write = os.write

    def half(file, data):
        write(file, bytes(data[: len(data) // 2]))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", half)
    with pytest.raises(InvalidInputError, match="No space left") as e:
        log.append(b"two\n")
    assert "--max-bytes" in e.value.cure
    monkeypatch.undo()
    log.close()
    [path] = tmp_path.iterdir()
    assert gzip.decompress(path.read_bytes()) == b"one\n"


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="no folder can be made"):
        LogFolder(tmp_path / "file" / "log", MB)
