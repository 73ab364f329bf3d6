"""A journal on disk: one writer, lines whole or not at all, each forced to the disk.

The memory is kept beside it as a cache: it spares folding the journal from its beginning.
"""

import contextlib
import errno
import fcntl
import json
import os
from pathlib import Path

from pydantic import ValidationError

from edgeplace.control.loop.events import AnyEvent
from edgeplace.control.loop.journal import FIRST, digest, read_event, written
from edgeplace.control.loop.memory import Memory
from edgeplace.control.loop.step import Stepped, step
from edgeplace.model import EdgeplaceError, InvalidInputError, lock, output

NAME = "journal.jsonl"
MEMORY = "memory.json"
_LOCK = ".leader"
_TAIL_BYTES = 2**20


class NotLeaderError(EdgeplaceError):
    """Another loop leads here, or has written the journal."""


class JournalFullError(EdgeplaceError):
    """A line could not be written; the journal is as it was before."""


class Journal:
    """The journal of a folder, to be written by one loop at a time.

    Attributes
    ----------
    memory
        What the loop remembers.
    mended
        What was wrong with the end of the file; empty: nothing.

    Raises
    ------
    NotLeaderError
        If another loop leads.
    InvalidInputError
        If the folder cannot be used, or the journal is damaged before its last line.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.mended = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = lock(folder / _LOCK, os.O_RDWR | os.O_CREAT)
        except BlockingIOError as e:
            raise NotLeaderError(
                f"{folder}: another loop leads here", "end it, or give this one another `folder`"
            ) from e
        except OSError as e:
            raise InvalidInputError(
                f"{folder}: no journal can be kept there: {e.strerror}", "choose another `folder`"
            ) from e
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._cut_torn_end()
            self.memory, self._before = remembered(folder)
            self._size = os.fstat(self._file).st_size
        except OSError as e:
            os.close(self._lock)
            raise InvalidInputError(
                f"{self.path}: cannot be read: {e.strerror}", "check its permissions"
            ) from e
        except InvalidInputError:
            os.close(self._lock)
            raise

    def append(self, event: AnyEvent) -> Stepped:
        """Step, and put the event on record before anything is done about it.

        Raises
        ------
        JournalFullError
            If the line cannot be written: the memory is as before, and nothing may be done.
        NotLeaderError
            If somebody else has written the journal.
        """
        stepped = step(self.memory, event)
        line = written(stepped, event, self._before)
        self._check_ours()
        data, former = line.encode(), (self._size, self._before, self.memory)
        try:
            done = os.pwrite(self._file, data, self._size)
            if done < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
            self._size += len(data)
            self._before, self.memory = digest(line), stepped.memory
        except BaseException as e:
            # A signal may come here as well: file and memory are of one mind all the same.
            self._size, self._before, self.memory = former
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            if not isinstance(e, OSError):
                raise
            raise JournalFullError(
                f"{self.path}: a line cannot be written: {e.strerror}",
                "free some space there; the loop goes on by itself then",
            ) from e
        self._cache()
        return stepped

    def close(self) -> None:
        """End leading."""
        os.close(self._file)
        os.close(self._lock)

    def _check_ours(self) -> None:
        """Raise if the file is not as this loop has left it: a lock does not reach all hosts."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        ours = os.fstat(self._file)
        if there is None or there.st_ino != ours.st_ino or there.st_size != self._size:
            raise NotLeaderError(
                f"{self.path}: somebody else has written or moved it",
                "only one loop may lead: end the others, then start this one again",
            )

    def _cut_torn_end(self) -> None:
        """Cut off what the last power cut has left of a line."""
        size = whole = os.fstat(self._file).st_size
        while whole:
            at = max(0, whole - _TAIL_BYTES)
            tail = os.pread(self._file, whole - at, at)
            last = tail.splitlines(keepends=True)[-1]
            if last.endswith(b"\n") and _is_json(last):
                break
            whole -= len(last)
        if whole < size:
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
            self.mended = f"the journal's end was torn: its last {size - whole} bytes were cut off"

    def _cache(self) -> None:
        """Write the memory beside the journal; it is only a cache, so a full disk does no harm."""
        entry = {"before": self._before, "size": self._size, "memory": self.memory}
        dumped = entry | {"memory": self.memory.model_dump(mode="json", exclude_defaults=True)}
        path = self.path.with_name(MEMORY)
        draft = path.with_name(f".{MEMORY}")
        with contextlib.suppress(OSError):
            draft.write_text(json.dumps(dumped))
            output.put(draft, path)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def led(folder: Path) -> bool:
    """Return whether a loop leads in a folder now."""
    try:
        probe = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(probe)
    return False


def remembered(folder: Path) -> tuple[Memory, str]:
    """Return the memory that the journal of a folder gives, and the digest of its last line.

    A last line that is still being written is left out.

    Raises
    ------
    InvalidInputError
        If the journal cannot be read, or a line before the last is damaged.
    """
    path = folder / NAME
    memory, before, at = _cached(folder)
    try:
        with path.open("rb") as f:
            f.seek(at)
            for data in f:
                if not data.endswith(b"\n"):
                    break
                line = data.decode(errors="replace")
                event = read_event(line, f"{path}:{memory.lines + 1}", before)
                stepped = step(memory, event)
                memory, before = stepped.memory, digest(line)
    except FileNotFoundError:
        return Memory(), FIRST
    except OSError as e:
        raise InvalidInputError(f"{path}: cannot be read: {e.strerror}", "check the folder") from e
    return memory, before


def _cached(folder: Path) -> tuple[Memory, str, int]:
    """Return the memory of the cache, if the journal still holds the line that it is of."""
    nothing = Memory(), FIRST, 0
    try:
        entry = json.loads((folder / MEMORY).read_text())
        memory = Memory.model_validate(entry["memory"])
        before, size = str(entry["before"]), int(entry["size"])
        with (folder / NAME).open("rb") as f:
            at = max(0, size - _TAIL_BYTES)
            f.seek(at)
            tail = f.read(size - at)
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return nothing
    lines = tail.splitlines(keepends=True)
    if len(tail) < size - at or not lines or digest(lines[-1].decode(errors="replace")) != before:
        return nothing
    return memory, before, size
