"""The files of a log: their formats, and copies of those that Spark cannot read directly."""

import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats.long_table import Reader
from edgeplace.spark_stats.readers import READERS, reader_of
from edgeplace.spark_stats.unpacking import GZIP_MAGIC, unpacked

_HEAD_BYTES = 1 << 16
# A reporter's first report can come after a long start-up log.
_LONG_HEAD_BYTES = 1 << 22
_PATTERN = re.compile(r"[*?\[{]")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
# Spark interprets these characters as patterns, and files with these first characters as hidden.
_MISREAD = re.compile(r"[*?\[\]{}\\,]|/[._][^/]*$")

CUT_SHORT = "the gzip data end too early or are damaged; what came before was used"
UNKNOWN_FORMAT = "known are: " + "; ".join(f"{known.name} ({known.expects})" for known in READERS)


class Log(Protocol):
    """The files of a log, on this machine (`LogFiles`) or where Spark finds them."""

    empty: list[str]
    """Files without content."""
    cut_short: dict[str, int]
    """Damaged gzip file -> number of lines that could be read."""
    sizes: dict[str, int]
    """Bytes of each file, when it was found."""

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""

    def original(self, spark_path: str) -> str:
        """Return the file as the caller named it, for a path as Spark reports it."""

    def lines(self, session: SparkSession) -> Iterator[tuple[Reader, DataFrame]]:
        """Yield each reader with the lines that it is to read."""

    def mend(self, session: SparkSession) -> bool:
        """Find the damaged files after Spark has failed; return whether to read again."""


@dataclass
class LogFiles:
    """The files of a log, sorted by format, under names that Spark can read.

    Files whose names Spark would misread, and gzip files that are damaged, are put into a private
    folder, which lives as long as this object.
    """

    by_reader: dict[str, list[str]] = field(default_factory=dict)
    """Name of a reader -> files, as Spark is to read them."""
    empty: list[str] = field(default_factory=list)
    cut_short: dict[str, int] = field(default_factory=dict)
    """Damaged gzip file -> number of lines that could be read."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of each file, by the caller's name for it, when it was found."""
    _originals: dict[str, str] = field(default_factory=dict)
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def original(self, spark_path: str) -> str:
        """Return the file as the caller named it, for a path as Spark reports it."""
        plain = unquote(spark_path.removeprefix("file://").removeprefix("file:"))
        return self._originals.get(plain, plain)

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""
        kept = {
            name: [f for f in files if self.original(f) not in known]
            for name, files in self.by_reader.items()
        }
        self.by_reader = {name: files for name, files in kept.items() if files}

    def lines(self, session: SparkSession) -> Iterator[tuple[Reader, DataFrame]]:
        """Yield each reader with the lines that it is to read."""
        for name, files in self.by_reader.items():
            reader = next(known for known in READERS if known.name == name)
            yield reader, text_lines(session, files, reader)

    def mend(self, session: SparkSession) -> bool:
        """Replace damaged gzip files by their readable part; return whether any was damaged."""
        return mend_gzip(self)

    def staging_place(self, original: Path) -> Path:
        """Return a new path in the private folder for a file."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="edgeplace-log-")
        place = Path(self._folder.name) / f"{len(self._originals):06d}"
        return place.with_name(place.name + (".gz" if _is_gzip(original) else ".log"))

    def rename(self, place: Path, original: str) -> str:
        """Record that `place` has the file that the caller calls `original`."""
        self._originals[str(place)] = original
        return str(place)


def log_files(paths: Sequence[str | Path]) -> LogFiles:
    """Find the format of each file by its content.

    Parameters
    ----------
    paths
        Files, and folders whose files are all taken.

    Raises
    ------
    InvalidInputError
        If a file does not exist or has an unknown format, or if all files are empty.
    """
    found = LogFiles()
    listed = [file for path in paths for file in _listed(Path(path))]
    for file in listed:
        found.sizes[str(file)] = file.stat().st_size
        head = _head(file, _HEAD_BYTES)
        if not head.strip():
            found.empty.append(str(file))
            continue
        reader = reader_of(head) or reader_of(_head(file, _LONG_HEAD_BYTES))
        if reader is None:
            raise InvalidInputError(
                f"{file} is of no known log format; it starts with {head.strip()[:60]!r}",
                UNKNOWN_FORMAT,
            )
        found.by_reader.setdefault(reader.name, []).append(_as_spark_reads(file, found))
    if not found.by_reader:
        raise empty_log(paths)
    return found


def mend_gzip(files: LogFiles) -> bool:
    """Replace damaged gzip files by their readable part; return whether any was damaged.

    A file that grows may be intact now, and was not when Spark read it. This is called only after
    Spark has failed, so that intact files cause no extra cost.
    """
    mended = False
    for listed in files.by_reader.values():
        for i, path in enumerate(listed):
            original = files.original(path)
            if original in files.cut_short or not _is_gzip(Path(path)):
                continue
            place = files.staging_place(Path(path)).with_suffix(".log")
            lines = _salvage(Path(path), place)
            if lines is not None:
                files.cut_short[original] = lines
            elif Path(path).stat().st_size == files.sizes[original]:
                place.unlink()
                continue
            listed[i] = files.rename(place, original)
            mended = True
    return mended


def on_disk(paths: Sequence[str | Path]) -> bool:
    """Return whether all paths are paths of this machine: no URI, and no pattern of file names."""
    return not any(
        _URI.match(str(path)) or (_PATTERN.search(str(path)) and not Path(path).exists())
        for path in paths
    )


def empty_log(paths: Sequence[str | Path]) -> InvalidInputError:
    """Return the error of a log that has nothing in it."""
    names = ", ".join(str(p) for p in paths) or "no file"
    return InvalidInputError(
        f"the metric log is empty: {names}",
        "record for some minutes while the job runs (edgeplace flink collect)",
    )


def text_lines(session: SparkSession, paths: Sequence[str], reader: Reader) -> DataFrame:
    """Return the lines (value, file, block, pos, modified_ms) of files that Spark can read."""
    return session.read.text(list(paths), wholetext=reader.whole_files).select(
        "value",
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("pos"),
        F.unix_millis("_metadata.file_modification_time").alias("modified_ms"),
    )


def _listed(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(p.absolute() for p in path.iterdir() if p.is_file())
    if path.exists() and not path.is_file():
        raise InvalidInputError(
            f"{path} is no file on a disk, but a pipe or a device", "save the log to a file first"
        )
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}", "give the path of a recorded log")
    return [path.absolute()]


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as f:
        return f.read(2) == GZIP_MAGIC


def _head(path: Path, size: int) -> str:
    """Return the start of a file as text, as far as it can be read."""
    with path.open("rb") as f:
        data = f.read(size)
    if data.startswith(GZIP_MAGIC):
        try:
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, size)
        except zlib.error:
            data = b""
    return data.decode("utf-8", errors="replace")


def _as_spark_reads(file: Path, files: LogFiles) -> str:
    misnamed = _is_gzip(file) != (file.suffix == ".gz")
    if not misnamed and not _MISREAD.search(str(file)):
        return str(file)
    place = files.staging_place(file)
    place.symlink_to(file)
    return files.rename(place, str(file))


def _salvage(file: Path, place: Path) -> int | None:
    """Write the part of `file` that can be unpacked and return its number of lines; None if the
    file is intact.
    """
    lines, last = 0, b"\n"
    with place.open("wb") as out, file.open("rb") as packed:
        try:
            for chunk in unpacked(packed):
                out.write(chunk)
                lines += chunk.count(b"\n")
                last = chunk[-1:]
        except (EOFError, zlib.error):
            return lines + (last != b"\n")
    return None
