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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats import unpacking
from edgeplace.spark_stats.files import UNKNOWN_FORMAT, empty_log, of_ledger
from edgeplace.spark_stats.formats import Format, format_of
from edgeplace.spark_stats.readers import READERS, Read
from edgeplace.spark_stats.staging import text_lines

_HEADS_A_JOB = 32
_HEAD = (100, 1000)
"""Lines of the start of a file, and characters of each."""
_LONG_HEAD = (40_000, 200)
"""As `_HEAD`, for files whose first report comes after a long start-up log."""
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
    by_content: set[str] = field(default_factory=set)
    """Files that Spark would misread by their names, or cannot read to their ends."""

    def leave_out(self, known: Set[str]) -> None:
        """Do not read these files."""
        kept = {
            name: (log_format, [f for f in files if f not in known])
            for name, (log_format, files) in self.by_format.items()
        }
        self.by_format = {name: part for name, part in kept.items() if part[1]}

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
                parts.append(_unpacked(session, odd, unpack, unpacking.LINE_COLUMNS))
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
            if file.endswith(".gz") and file not in self.by_content
        ]
        if not packed:
            return False
        found = _unpacked(
            session, packed, unpacking.condition_batches, unpacking.CONDITION_COLUMNS
        ).collect()
        for row in found:
            if row.damaged:
                self.cut_short[row.file] = row.lines
                self.by_content.add(row.file)
        return any(row.damaged or row.bytes != self.sizes[row.file] for row in found)


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
    found = SparkFiles(sizes=_listed(paths, session))
    heads = {f: "" for f, size in found.sizes.items() if size == 0}
    full = [f for f in found.sizes if f not in heads]
    starts = _heads(session, full, *_HEAD)
    found.by_content = {f for f in full if f not in starts or starts[f][0] == "1F8B"}
    if found.by_content:
        table = _unpacked(
            session, sorted(found.by_content), unpacking.head_batches, unpacking.HEAD_COLUMNS
        )
        heads |= {row.file: row.head for row in table.collect()}
    heads |= {f: starts[f][1] for f in full if f not in found.by_content}
    formats = {f: format_of(heads[f]) for f in found.sizes}
    unknown = [
        f for f in full if f not in found.by_content and formats[f] is None and heads[f].strip()
    ]
    longer = _heads(session, unknown, *_LONG_HEAD)
    formats |= {f: format_of(longer[f][1]) for f in unknown if f in longer}
    for file in found.sizes:
        log_format = formats[file]
        if not heads[file].strip():
            found.empty.append(file)
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


def _listed(paths: Sequence[str], session: SparkSession) -> dict[str, int]:
    """Return the size of each file."""
    sizes: dict[str, int] = {}
    for path in paths:
        try:
            table = (
                session.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
            )
            # The table has no rows of files without content.
            sizes |= {_uri(unquote(file)): 0 for file in table.inputFiles()}
            files = table.select("path", "length").collect()
        except AnalysisException as e:
            if e.getCondition() != "PATH_NOT_FOUND":
                raise
            raise InvalidInputError(
                f"there is no file {path} where Spark runs",
                "give the URI of a recorded log, of a folder, or a pattern, as the machines of "
                "Spark see it",
            ) from e
        sizes |= {_uri(f.path): f.length for f in files}
    return {f: size for f, size in sorted(sizes.items()) if not of_ledger(f.rpartition("/")[2])}


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
