"""Lines that could not be read. They are always counted; their numbers are computed on request."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.files import CUT_SHORT, Log


@dataclass(frozen=True)
class BadLine:
    """A line of a log that could not be read."""

    file: str
    line: int
    """Its number, from 1."""
    reason: str
    text: str
    """The start of the line."""


@dataclass(frozen=True)
class Quarantine:
    """The lines of a log that could not be read. None of them stops the run."""

    counts: Mapping[str, int]
    """Reason -> number of lines."""
    _tables: tuple[tuple[DataFrame, DataFrame], ...]
    _files: Log

    def __len__(self) -> int:
        """Return the number of bad lines."""
        return sum(self.counts.values())

    def lines(self) -> Iterator[BadLine]:
        """Yield every bad line. This reads the log once more, in bounded memory."""
        for file, line in self._files.cut_short.items():
            yield BadLine(file, line, CUT_SHORT, "")
        for lines, long in self._tables:
            for row in numbered(lines, long).toLocalIterator():
                yield BadLine(self._files.original(row.file), row.line, row.reason, row.text)


def numbered(lines: DataFrame, long: DataFrame) -> DataFrame:
    """Return (file, line, reason, text) of the bad lines.

    Spark cuts a file into blocks and numbers rows upwards within each; a line's number is its row
    less the first row of its block, plus the lines of the blocks before.

    Parameters
    ----------
    lines
        The text table (file, block, pos).
    long
        The long table made of it, with rows of kind `long_table.BAD`.
    """
    blocks = lines.groupBy("file", "block").agg(
        F.min("pos").alias("first_pos"), F.count(F.lit(1)).alias("length")
    )
    before = blocks.alias("a").join(
        blocks.alias("b"),
        (F.col("a.file") == F.col("b.file")) & (F.col("b.block") < F.col("a.block")),
        "left",
    )
    offsets = before.groupBy("a.file", "a.block", "a.first_pos").agg(
        F.coalesce(F.sum("b.length"), F.lit(0)).alias("lines_before")
    )
    bad = long.filter(F.col("kind") == r.BAD)
    return bad.join(F.broadcast(offsets), ["file", "block"]).select(
        "file",
        (F.col("lines_before") + F.col("pos") - F.col("first_pos") + 1).alias("line"),
        F.col("name").alias("reason"),
        F.coalesce("excerpt", F.lit("")).alias("text"),
    )
