"""The files of a log on this machine as Spark reads them.

Files whose names Spark would misread, and gzip files that are damaged, are put into a private
folder, which lives as long as the object.
"""

import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from edgeplace.spark_stats.files import LogFiles, is_gzip
from edgeplace.spark_stats.readers import READERS, Read
from edgeplace.spark_stats.unpacking import unpacked

# Spark interprets these characters as patterns, and files with these first characters as hidden.
_MISREAD = re.compile(r"[*?\[\]{}\\,]|/[._][^/]*$")


WHOLE = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""Options of a read: what cannot be read is an error, whatever Spark's settings say."""


class Log(Protocol):
    """The files of a log, on this machine (`StagedFiles`) or where Spark finds them."""

    empty: list[str]
    """Files without content."""
    cut_short: dict[str, int]
    """Damaged gzip file -> number of lines that could be read."""
    sizes: dict[str, int]
    """Bytes of each file, when it was found."""
    modified_ms: dict[str, int]
    """When each file was modified, in ms since the epoch."""

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""

    def original(self, spark_path: str) -> str:
        """Return the file as the caller named it, for a path as Spark reports it."""

    def lines(self, session: SparkSession) -> Iterator[tuple[Read, DataFrame]]:
        """Yield what reads a format with the lines that it is to read."""

    def mend(self, session: SparkSession) -> bool:
        """Find the damaged files after Spark has failed; return whether to read again."""


class StagedFiles:
    """The files of a log, sorted by format, under names that Spark can read."""

    def __init__(self, files: LogFiles) -> None:
        self.empty = files.empty
        self.cut_short = files.cut_short
        self.sizes = files.sizes
        self.modified_ms = files.modified_ms
        self._files = files
        self._places: dict[str, str] = {}
        self._originals: dict[str, str] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def original(self, spark_path: str) -> str:
        """Return the file as the caller named it, for a path as Spark reports it."""
        plain = unquote(spark_path.removeprefix("file://").removeprefix("file:"))
        return self._originals.get(plain, plain)

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""
        self._files.leave_out(known)

    def lines(self, session: SparkSession) -> Iterator[tuple[Read, DataFrame]]:
        """Yield what reads a format with the lines that it is to read."""
        for name, (log_format, files) in self._files.by_format.items():
            places = [self.place(file) for file in files]
            yield READERS[name], text_lines(session, places, log_format.whole_files)

    def mend(self, session: SparkSession) -> bool:
        """Replace damaged gzip files by their readable part; return whether any was damaged."""
        return self.mend_gzip()

    def mend_gzip(self) -> bool:
        """Replace damaged gzip files by their readable part; return whether any was damaged.

        A file that grows may be intact now, and was not when Spark read it. This is called only
        after Spark has failed, so that intact files cause no extra cost.
        """
        mended = False
        for _, file in self._files.each():
            if file in self.cut_short or not is_gzip(Path(file)):
                continue
            place = self._new_place(".log")
            lines = _salvage(Path(file), place)
            # A scrape is dated by its file.
            shutil.copystat(file, place)
            if lines is not None:
                self.cut_short[file] = lines
            elif Path(file).stat().st_size == self.sizes[file]:
                place.unlink()
                continue
            self._rename(place, file)
            mended = True
        return mended

    def place(self, file: str) -> str:
        """Return the path under which Spark is to read a file."""
        if file not in self._places:
            packed = is_gzip(Path(file))
            if packed == (Path(file).suffix == ".gz") and not _MISREAD.search(file):
                return file
            place = self._new_place(".gz" if packed else ".log")
            place.symlink_to(file)
            self._rename(place, file)
        return self._places[file]

    def _new_place(self, suffix: str) -> Path:
        """Return a new path in the private folder."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="edgeplace-log-")
        return Path(self._folder.name) / f"{len(self._originals):06d}{suffix}"

    def _rename(self, place: Path, original: str) -> None:
        self._originals[str(place)] = original
        self._places[original] = str(place)


def text_lines(session: SparkSession, paths: Sequence[str], whole_files: bool) -> DataFrame:
    """Return the lines (value, file, block, pos, modified_ms) of files that Spark can read."""
    return (
        session.read.options(**WHOLE)
        .text(list(paths), wholetext=whole_files)
        .select(
            "value",
            F.col("_metadata.file_path").alias("file"),
            F.col("_metadata.file_block_start").alias("block"),
            F.monotonically_increasing_id().alias("pos"),
            F.unix_millis("_metadata.file_modification_time").alias("modified_ms"),
        )
    )


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
