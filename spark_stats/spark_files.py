"""The files of a log where Spark finds them: every URI, pattern and folder that it can read.

Nothing is opened on this machine. Spark lists the files, reads their starts, and unpacks what it
cannot read itself on its executors.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import reduce
from urllib.parse import unquote

from pyspark import cloudpickle
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats import unpacking
from edgeplace.spark_stats.files import UNKNOWN_FORMAT, empty_log, of_ledger
from edgeplace.spark_stats.formats import Format, format_of
from edgeplace.spark_stats.readers import READERS, Read
from edgeplace.spark_stats.staging import WHOLE, text_lines

_HEADS_A_JOB = 32
_HEAD = (100, 1000)
"""Lines of the start of a file, and characters of each."""
_LONG_HEADS = ((40_000, 200), (16, 1 << 18))
"""As `_HEAD`, for files whose first report comes after a long start-up log, and for those whose
lines begin with a long answer.
"""
_LARGEST_BYTES = 2**31 - 1
"""Of a file that Spark takes as one value. A larger one may well be intact."""
_PATTERN = re.compile(r"([*?\[\]{}\\])")

# Executors need no edgeplace: they get the functions of this module with the work.
cloudpickle.register_pickle_by_value(unpacking)  # type: ignore[no-untyped-call]


@dataclass
class SparkFiles:
    """The files of a log, sorted by format. The interface is `staging.Log`."""

    by_format: dict[str, tuple[Format, list[str]]] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    cut_short: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    modified_ms: dict[str, int] = field(default_factory=dict)
    by_content: set[str] = field(default_factory=set)
    """Files that Spark would misread by their names, or cannot read to their ends."""

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""
        kept = {
            name: (log_format, [f for f in files if f not in known])
            for name, (log_format, files) in self.by_format.items()
        }
        self.by_format = {name: part for name, part in kept.items() if part[1]}
        self.cut_short = {f: lines for f, lines in self.cut_short.items() if f not in known}

    def original(self, spark_path: str) -> str:
        """Return the file for a path as Spark reports it."""
        return _uri(unquote(spark_path))

    def lines(self, session: SparkSession) -> Iterator[tuple[Read, DataFrame]]:
        """Yield what reads a format with the lines that it is to read."""
        for name, (log_format, files) in self.by_format.items():
            parts = []
            if plain := [f for f in files if f not in self.by_content]:
                parts.append(text_lines(session, _literal(plain), log_format.whole_files))
            if odd := [f for f in files if f in self.by_content]:
                unpack = (
                    unpacking.document_batches if log_format.whole_files else unpacking.line_batches
                )
                content = _unpacked(session, odd, unpack, unpacking.LINE_COLUMNS)
                # As in the paths of lines that Spark reads itself.
                file = F.replace("file", F.lit("%"), F.lit("%25"))
                parts.append(content.withColumn("file", file))
            yield READERS[name], reduce(DataFrame.unionByName, parts)

    def mend(self, session: SparkSession) -> bool:
        """Find gzip files that are damaged, of which the readable part is read from now on.

        This is called after Spark has failed. It returns whether to read again: because a file is
        damaged, or has grown since it was listed.
        """
        packed = [
            file
            for _, files in self.by_format.values()
            for file in files
            if file.endswith(".gz")
            and file not in self.by_content
            and self.sizes[file] <= _LARGEST_BYTES
        ]
        if not packed:
            return False
        found = self.look_into(session, packed)
        self.by_content |= self.cut_short.keys() & set(packed)
        return any(row.damaged or row.bytes != self.sizes[row.file] for row in found)

    def look_into(self, session: SparkSession, files: Sequence[str]) -> list[Row]:
        """Return `unpacking.CONDITION_COLUMNS` of files, and note those that are damaged."""
        found = _unpacked(
            session, files, unpacking.condition_batches, unpacking.CONDITION_COLUMNS
        ).collect()
        self.cut_short |= {row.file: row.lines for row in found if row.damaged}
        return found


def spark_files(paths: Sequence[str], session: SparkSession) -> SparkFiles:
    """Find the files, and the format of each by its content.

    Parameters
    ----------
    paths
        URIs, patterns, and folders whose files are all taken, with those of folders in them.
    session
        The session to read with.

    Raises
    ------
    InvalidInputError
        If there is no such file, if one has an unknown format, or if all are empty.
    """
    listed = _listed(paths, session)
    found = SparkFiles(
        sizes={file: size for file, (size, _) in listed.items()},
        modified_ms={file: modified_ms for file, (_, modified_ms) in listed.items()},
    )
    heads = {f: "" for f, size in found.sizes.items() if size == 0}
    full = [f for f in found.sizes if f not in heads]
    starts = _heads(session, full, *_HEAD)
    found.by_content = {f for f in full if f not in starts or starts[f][0] == "1F8B"}
    if found.by_content:
        heads |= {row.file: row.head for row in found.look_into(session, sorted(found.by_content))}
    heads |= {f: starts[f][1] for f in full if f not in found.by_content}
    formats = {f: format_of(heads[f]) for f in found.sizes}
    for longer in _LONG_HEADS:
        unknown = [
            f for f in full if f not in found.by_content and formats[f] is None and heads[f].strip()
        ]
        formats |= {
            f: format_of(head) for f, (_, head) in _heads(session, unknown, *longer).items()
        }
    for file in found.sizes:
        log_format = formats[file]
        if not heads[file].strip():
            found.empty.append(file)
            found.cut_short.pop(file, None)
        elif log_format is None:
            raise InvalidInputError(
                f"{file} is of no known log format; it starts with {heads[file].strip()[:60]!r}",
                UNKNOWN_FORMAT,
            )
        else:
            found.by_format.setdefault(log_format.name, (log_format, []))[1].append(file)
    if not found.by_format:
        raise empty_log(paths)
    return found


def _listed(paths: Sequence[str], session: SparkSession) -> dict[str, tuple[int, int]]:
    """Return the size of each file, and when it was modified (ms since the epoch)."""
    listed: dict[str, tuple[int, int]] = {}
    for path in paths:
        try:
            table = (
                session.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
            )
            # The table has no rows of files without content.
            there = {_uri(unquote(file)): (0, 0) for file in table.inputFiles()}
            modified_ms = F.unix_millis("modificationTime").alias("modified_ms")
            files = table.select("path", "length", modified_ms).collect()
        except AnalysisException as e:
            if e.getCondition() != "PATH_NOT_FOUND":
                raise
            raise InvalidInputError(
                f"there is no file {path} where Spark runs",
                "give the URI of a recorded log, of a folder, or a pattern, as the machines of "
                "Spark see it",
            ) from e
        if not there and path.rstrip("/").rpartition("/")[2].startswith((".", "_")):
            raise InvalidInputError(
                f"Spark reads no file {path}: it passes over names that begin with a dot or _",
                "rename it, or copy it to this machine",
            )
        listed |= there | {_uri(f.path): (f.length, f.modified_ms) for f in files}
    return {f: each for f, each in sorted(listed.items()) if not of_ledger(f.rpartition("/")[2])}


def _heads(
    session: SparkSession, files: Sequence[str], count: int, width: int
) -> dict[str, tuple[str, str]]:
    """Return the first two bytes of each file as hexadecimal digits, and its start.

    A file of which Spark reads no line is not in the result.
    """
    result: dict[str, tuple[str, str]] = {}
    for first in range(0, len(files), _HEADS_A_JOB):
        some = files[first : first + _HEADS_A_JOB]
        tables = [
            session.read.option("ignoreCorruptFiles", "true")
            .text(_literal([file]))
            .select(
                F.lit(first + i).alias("file"),
                F.hex(F.substring(F.col("value").cast("binary"), 1, 2)).alias("magic"),
                F.make_valid_utf8(F.substring("value", 1, width)).alias("start"),
            )
            .limit(count)
            for i, file in enumerate(some)
        ]
        for row in reduce(DataFrame.unionByName, tables).collect():
            magic, start = result.get(files[row.file], (row.magic, ""))
            result[files[row.file]] = (magic, f"{start}{row.start}\n")
    return result


def _unpacked(
    session: SparkSession, files: Sequence[str], unpack: Callable[..., object], columns: str
) -> DataFrame:
    """Return what a function of `unpacking` makes of the contents of files."""
    contents = (
        session.read.format("binaryFile")
        .options(**WHOLE)
        .load(_literal(files))
        .select(
            F.regexp_replace("path", "^file:/(?!/)", "file:///").alias("file"),
            F.unix_millis("modificationTime").alias("modified_ms"),
            "content",
        )
    )
    return contents.mapInArrow(unpack, columns)  # type: ignore[arg-type]


def _literal(files: Sequence[str]) -> list[str]:
    """Return files as Spark reads them if their names are no patterns."""
    return [_PATTERN.sub(r"\\\1", file) for file in files]


def _uri(path: str) -> str:
    """Return a path as Spark reports it, in the form that people write."""
    return re.sub(r"^file:/(?!/)", "file:///", path)
