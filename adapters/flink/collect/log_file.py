"""Files of a metric log: gzip'ed, written poll by poll, rotated and bounded on disk.

Each append is one gzip member. So a log is complete up to its last poll if the process is killed,
and can be read while it is written.
"""

import gzip
import os
import re
import time
from pathlib import Path
from typing import Protocol

from edgeplace.model import InvalidInputError, lock

_NAME = re.compile(r"metrics-([0-9]{6,})\.jsonl\.gz")
_ROTATE_AFTER_S = 3600.0
_ROTATE_BYTES = 64_000_000
_LEAST_FILES = 16
"""Largest share of the log that the removal of the oldest file deletes."""


class MetricLog(Protocol):
    """The destination of a metric log."""

    written_bytes: int
    files: int
    """Files that were created."""

    @property
    def where(self) -> Path:
        """The file, or the folder of files."""

    @property
    def starts_file(self) -> bool:
        """Whether the next append begins a file, which must be usable without the others."""

    def append(self, lines: bytes) -> bool:
        """Append complete lines; return whether there was space for them.

        Raises
        ------
        InvalidInputError
            If they cannot be written; no part of them is in the log then.
        """

    def close(self) -> None:
        """Close the log."""


class LogFile:
    """One new file, which accepts lines up to its maximum size.

    Raises
    ------
    InvalidInputError
        If the file exists, or cannot be written.
    """

    def __init__(self, path: str | Path, max_bytes: int) -> None:
        self.where = Path(path)
        self.written_bytes = 0
        self.files = 1
        self._max_bytes = max_bytes
        self._part = _Part(self.where)

    @property
    def starts_file(self) -> bool:
        """As `MetricLog.starts_file`."""
        return not self.written_bytes

    def append(self, lines: bytes) -> bool:
        """As `MetricLog.append`."""
        member = _member(lines)
        if self._part.size_bytes + len(member) > self._max_bytes:
            return False
        self._part.write(member)
        self.written_bytes += len(member)
        return True

    def close(self) -> None:
        """As `MetricLog.close`."""
        self._part.close()


class LogFolder:
    """A folder of files.

    If they have too many bytes, the oldest are removed. An existing log is continued in a new
    file, and its files count. Other files in the folder are not touched. There is always space.

    Attributes
    ----------
    removed
        Number of files removed.

    Raises
    ------
    InvalidInputError
        If the folder cannot be made or is being written by another process.
    """

    def __init__(self, folder: str | Path, max_bytes: int) -> None:
        self.where = Path(folder)
        self.written_bytes = 0
        self.files = 0
        self.removed = 0
        self._max_bytes = max_bytes
        self._part: _Part | None = None
        try:
            self.where.mkdir(parents=True, exist_ok=True)
            # The folder is open as long as this object exists, because it holds the lock.
            self._folder = lock(self.where, os.O_RDONLY | os.O_DIRECTORY)
        except BlockingIOError as e:
            raise InvalidInputError(
                f"{self.where}: another process is writing a log there", "choose another folder"
            ) from e
        except OSError as e:
            raise InvalidInputError(
                f"{self.where}: no folder can be made there: {e.strerror}", "choose another folder"
            ) from e

    @property
    def starts_file(self) -> bool:
        """As `MetricLog.starts_file`."""
        return self._part is None

    def append(self, lines: bytes) -> bool:
        """As `MetricLog.append`."""
        member = _member(lines)
        if self._part is None:
            # The name has a number instead of a time, because clocks may be set back.
            number = max(self._numbered(), default=0) + 1
            self._part = _Part(self.where / f"metrics-{number:06d}.jsonl.gz")
            self.files += 1
        part = self._part
        self._make_room(len(member), part.path)
        part.write(member)
        self.written_bytes += len(member)
        size_bytes = min(_ROTATE_BYTES, self._max_bytes // _LEAST_FILES)
        if part.size_bytes >= size_bytes or time.monotonic() - part.since_s >= _ROTATE_AFTER_S:
            part.close()
            self._part = None
        return True

    def closed(self) -> list[Path]:
        """Return the files that nothing is appended to any more, the oldest first."""
        current = self._part.path if self._part else None
        return [path for _, path in sorted(self._numbered().items()) if path != current]

    def close(self) -> None:
        """As `MetricLog.close`."""
        if self._part:
            self._part.close()
        os.close(self._folder)

    def _numbered(self) -> dict[int, Path]:
        """Return the files of the log by their numbers."""
        hits = ((_NAME.fullmatch(p.name), p) for p in self.where.iterdir())
        return {int(hit[1]): path for hit, path in hits if hit}

    def _make_room(self, size_bytes: int, current: Path) -> None:
        old = [path for _, path in sorted(self._numbered().items())]
        sizes = {path: path.stat().st_size for path in old if path.is_file()}
        too_much = sum(sizes.values()) + size_bytes - self._max_bytes
        for path, size in sizes.items():
            if too_much <= 0 or path == current:
                return
            path.unlink(missing_ok=True)
            too_much -= size
            self.removed += 1


class _Part:
    """One file, to which complete gzip members are appended or nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self.since_s = time.monotonic()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o666)
        except FileExistsError:
            raise InvalidInputError(
                f"{path}: this file is there already",
                "choose another name, or give a folder: a log in a folder is continued",
            ) from None
        except OSError as e:
            raise self._unwritable(e) from e

    def write(self, member: bytes) -> None:
        left = memoryview(member)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as e:
            os.ftruncate(self._file, self.size_bytes)
            raise self._unwritable(e) from e
        self.size_bytes += len(member)

    def close(self) -> None:
        os.close(self._file)

    def _unwritable(self, error: OSError) -> InvalidInputError:
        return InvalidInputError(
            f"{self.path}: cannot be written: {error.strerror}",
            "free some space there or lower --max-bytes, or choose another place",
        )


def _member(lines: bytes) -> bytes:
    return gzip.compress(lines, 6, mtime=0)
