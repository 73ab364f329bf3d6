"""The journal: it replays to the byte, survives torn ends and full disks, and has one writer."""

import errno
import json
import os

import pytest

from edgeplace.control.loop import journal_file
from edgeplace.control.loop.events import Started
from edgeplace.control.loop.journal import replay
from edgeplace.control.loop.journal_file import (
    MEMORY,
    NAME,
    Journal,
    JournalFullError,
    NotLeaderError,
    led,
    remembered,
)
from edgeplace.model import InvalidInputError
from tests.support.loops import BEGAN_S, polled, settings


@pytest.fixture
def kept(tmp_path):
    """A folder with a journal of a start and two polls."""
    journal = Journal(tmp_path)
    journal.append(Started(at_s=BEGAN_S, epoch=1, settings=settings()))
    journal.append(polled(10))
    journal.append(polled(20, (2000.0,) * 4))
    journal.close()
    return tmp_path


def lines(folder):
    return (folder / NAME).read_text().splitlines(keepends=True)


def test_it_replays_to_the_byte(kept):
    replayed = [line.text for line, _, _ in replay(lines(kept), "j")]
    assert replayed == lines(kept)


def test_a_loop_goes_on_where_the_last_one_was(kept):
    memory, before = remembered(kept)
    (kept / MEMORY).unlink()
    assert remembered(kept) == (memory, before), "the cache says what the journal says"
    again = Journal(kept)
    again.append(Started(at_s=BEGAN_S + 30, epoch=memory.epoch + 1, settings=settings()))
    again.close()
    assert [json.loads(text)["n"] for text in lines(kept)] == [1, 2, 3, 4]
    assert [line.text for line, _, _ in replay(lines(kept), "j")] == lines(kept)


@pytest.mark.parametrize("cache", ["", "{}", "[]", '{"before": "x", "size": 9, "memory": {}}'])
def test_a_cache_that_is_none_is_not_used(kept, cache):
    (kept / MEMORY).write_text(cache)
    assert remembered(kept)[0].lines == 3


@pytest.mark.parametrize("torn", [b'{"edgeplace_jour', b"\x00" * 50, b"\x00" * 50 + b"\n", b"{\n"])
def test_a_torn_last_line_is_cut_off_and_said(kept, torn):
    whole = (kept / NAME).read_bytes()
    with (kept / NAME).open("ab") as f:
        f.write(torn)
    journal = Journal(kept)
    assert (kept / NAME).read_bytes() == whole
    assert f"its last {len(torn)} bytes were cut off" in journal.mended
    assert journal.memory.lines == 3
    journal.close()


def test_a_line_lost_or_changed_in_the_middle_is_refused_by_its_number(kept):
    (kept / MEMORY).unlink()
    first, second, third = lines(kept)
    other = second.replace("1000.0", "1001.0", 1)
    for damaged, number in (([first, third], 2), ([first, other, third], 3)):
        (kept / NAME).write_text("".join(damaged))
        with pytest.raises(InvalidInputError, match=rf"jsonl:{number} does not follow"):
            remembered(kept)


def test_a_journal_of_another_version_is_refused(kept):
    (kept / MEMORY).unlink()
    text = (kept / NAME).read_text().replace('"edgeplace_journal":1', '"edgeplace_journal":2')
    (kept / NAME).write_text(text)
    with pytest.raises(InvalidInputError, match=r":1: version 2 of the journal is not known") as e:
        Journal(kept)
    assert "move the journal away" in e.value.cure
    assert (kept / NAME).read_text() == text
    assert not led(kept)


def test_two_loops_cannot_lead(kept):
    journal = Journal(kept)
    assert led(kept)
    with pytest.raises(NotLeaderError, match="another loop leads here"):
        Journal(kept)
    journal.close()
    assert not led(kept)
    Journal(kept).close()


def test_a_journal_that_somebody_else_writes_is_left_alone(kept):
    """Locks do not reach all hosts of a network file system."""
    journal = Journal(kept)
    with (kept / NAME).open("a") as f:
        f.write("x\n")
    with pytest.raises(NotLeaderError, match="somebody else has written"):
        journal.append(polled(30))
    journal.close()
    assert (kept / NAME).read_text().endswith("x\n")


def test_a_full_disk_leaves_the_journal_and_the_memory_as_they_were(kept, monkeypatch):
    journal = Journal(kept)
    before, memory = (kept / NAME).read_bytes(), journal.memory

    def half(file, data, at):
        os.lseek(file, at, os.SEEK_SET)
        return os.write(file, data[:10])

    monkeypatch.setattr(journal_file.os, "pwrite", half)
    with pytest.raises(JournalFullError, match="No space left on device"):
        journal.append(polled(30, (3000.0,) * 4))
    assert (kept / NAME).read_bytes() == before
    assert journal.memory == memory
    monkeypatch.undo()
    assert journal.append(polled(40, (3000.0,) * 4)).memory.lines == 4
    journal.close()
    assert [line.text for line, _, _ in replay(lines(kept), "j")] == lines(kept)


def test_a_disk_that_cannot_force_a_line_out_has_not_written_it(kept, monkeypatch):
    journal = Journal(kept)
    before = (kept / NAME).read_bytes()

    def fails(file):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(journal_file.os, "fsync", fails)
    with pytest.raises(JournalFullError, match="Input/output error"):
        journal.append(polled(30))
    assert (kept / NAME).read_bytes() == before
    journal.close()


def test_a_signal_while_a_line_is_forced_out_leaves_nothing_of_it(kept, monkeypatch):
    journal = Journal(kept)
    before = (kept / NAME).read_bytes()

    def interrupted(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(journal_file.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.append(polled(30))
    monkeypatch.undo()
    assert (kept / NAME).read_bytes() == before
    assert journal.append(polled(40, (3000.0,) * 4)).memory.lines == 4
    journal.close()
    assert [line.text for line, _, _ in replay(lines(kept), "j")] == lines(kept)


def test_a_line_that_is_being_written_is_left_out(kept):
    with (kept / NAME).open("a") as f:
        f.write('{"edgeplace_journal":1,"n":4')
    assert remembered(kept)[0].lines == 3


def test_a_week_fits_on_a_small_disk(kept):
    """At one poll each 10 s; sources of 20 subtasks."""
    many = tuple(float(10**12 + i) for i in range(20))
    journal = Journal(kept)
    size = (kept / NAME).stat().st_size
    journal.append(polled(30, many, places=None))
    journal.close()
    a_line = (kept / NAME).stat().st_size - size
    assert a_line * 7 * 8640 < 100e6
