"""The sums of a small log on this machine, without Spark."""

import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from edgeplace.spark_stats.files import LogFiles, is_gzip, log_files, on_disk, reading
from edgeplace.spark_stats.formats import Format
from edgeplace.spark_stats.log_sums import LogSums
from edgeplace.spark_stats.quarantine import BadLine
from edgeplace.spark_stats.samples import EXCERPT, Samples, SourceFile
from edgeplace.spark_stats.sums_table import RECENT_CHECKPOINTS
from edgeplace.spark_stats.unpacking import unpacked
from edgeplace.spark_stats.without_spark.adding import sums_with_minutes
from edgeplace.spark_stats.without_spark.differences import deltas

MOST_BYTES = 100_000_000
"""Bytes of a log up to which Spark is not worth its start."""
PACKED = 10
"""Times that the bytes of a gzip file count."""

_BOM = "\ufeff"


def small_log(paths: Sequence[str | Path]) -> LogFiles | None:
    """Return the files of a log if they are on this machine and small, else None.

    Raises
    ------
    InvalidInputError
        As `files.log_files` does.
    """
    if not on_disk(paths):
        return None
    files = log_files(paths)
    return files if is_small(files) else None


def is_small(files: LogFiles) -> bool:
    """Return whether files are too small to wait for Spark."""
    each = [file for _, file in files.each()]
    size = sum(files.sizes[file] * (PACKED if is_gzip(Path(file)) else 1) for file in each)
    return size <= MOST_BYTES


def log_sums(files: LogFiles, report: Callable[[str, float], None]) -> LogSums:
    """Read a log once; return its sums, and what reads its bad lines again.

    Parameters
    ----------
    files
        The files of the log.
    report
        Called with the name of each step and the completed share of the work.
    """
    samples = samples_of(files, report)
    rows = sums_with_minutes(deltas(samples, RECENT_CHECKPOINTS))
    return LogSums.of(rows, files.cut_short, files.empty, lambda: _bad_lines(files))


def samples_of(files: LogFiles, report: Callable[[str, float], None]) -> Samples:
    """Return the samples of a log. Damaged files are noted in `files.cut_short`."""
    samples = Samples()
    each = list(files.each())
    for number, (log_format, file) in enumerate(each):
        report("reading the log", 0.9 * number / len(each))
        with reading(file):
            samples.file = _log_file(file)
            for bad in log_format.read(_lines(file, log_format, files.cut_short), samples):
                samples.bad(log_format.name, bad)
    return samples


def _bad_lines(files: LogFiles) -> Iterator[BadLine]:
    for log_format, file in files.each():
        # The samples of one file at a time, because they are made again, and nobody wants them.
        samples = Samples()
        with reading(file):
            samples.file = _log_file(file)
            for bad in log_format.read(_lines(file, log_format, {}), samples):
                yield BadLine(file, bad.line, bad.reason, bad.text[:EXCERPT])


def _log_file(file: str) -> SourceFile:
    return SourceFile(file, os.stat(file).st_mtime_ns // 1_000_000)


def _lines(file: str, log_format: Format, cut_short: dict[str, int]) -> Iterator[str]:
    """Yield the lines of a file, or all of it if the format is one of documents."""
    with Path(file).open("rb") as plain:
        source: io.RawIOBase | io.BufferedReader = plain
        if is_gzip(Path(file)):
            source = _Unpacked(plain)
        # None: every usual end of a line counts; "": and is kept.
        text = io.TextIOWrapper(
            io.BufferedReader(source),
            encoding="utf-8",
            errors="replace",
            newline="" if log_format.whole_files else None,
        )
        if log_format.whole_files:
            yield text.read()
        else:
            for number, line in enumerate(text):
                whole = line.removesuffix("\n")
                yield whole.removeprefix(_BOM) if number == 0 else whole
        if isinstance(source, _Unpacked) and source.lines_to_damage is not None:
            cut_short[file] = source.lines_to_damage


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, up to the damage if it is damaged."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self.lines_to_damage: int | None = None
        """Number of lines before the damage, if there is any and it was reached."""
        self._chunks = unpacked(packed)
        self._chunk = memoryview(b"")
        self._lines, self._last = 0, b"\n"

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; return the number of bytes, 0 at the end."""
        if not self._chunk:
            self._chunk = memoryview(self._next())
        count = min(len(buffer), len(self._chunk))
        buffer[:count] = self._chunk[:count]
        self._chunk = self._chunk[count:]
        return count

    def _next(self) -> bytes:
        try:
            chunk = next(self._chunks, b"")
        except (EOFError, zlib.error):
            self.lines_to_damage = self._lines + (self._last != b"\n")
            return b""
        self._lines += chunk.count(b"\n")
        self._last = chunk[-1:] or self._last
        return chunk
