"""The sums of a log by Spark."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.counter_deltas import deltas, sums_with_minutes
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.files import log_files, on_disk
from edgeplace.spark_stats.log_sums import LogSums
from edgeplace.spark_stats.quarantine import BadLine
from edgeplace.spark_stats.session import local_session, on_this_machine
from edgeplace.spark_stats.spark_files import spark_files
from edgeplace.spark_stats.staging import Log, StagedFiles
from edgeplace.spark_stats.wide_table import wide_rows

_Tables = Sequence[tuple[DataFrame, DataFrame]]
"""Lines of files, and the long table made of them."""


def log_sums(
    paths: Sequence[str | Path],
    spark: SparkSession | None,
    report: Callable[[str, float], None],
) -> LogSums:
    """Read a log once; return its sums, and what reads its bad lines again.

    Parameters
    ----------
    paths, spark, report
        As in `measurement.measure`.

    Raises
    ------
    InvalidInputError, MissingExtraError, SparkUnavailableError
        As in `measurement.measure`.
    """
    files = find_log(paths, spark)
    with in_clear_words():
        report("starting Spark", 0.02)
        session = spark or local_session()
        report("reading the log", 0.05)
        rows, tables = _read(session, files)
    return LogSums.of(rows, files.cut_short, files.empty, lambda: _bad_lines(tables, files))


def find_log(paths: Sequence[str | Path], spark: SparkSession | None) -> Log:
    """Return the files of a log. Spark starts only if they are not on this machine."""
    if on_this_machine(spark) and on_disk(paths):
        return StagedFiles(log_files(paths))
    with in_clear_words():
        return spark_files([str(p) for p in paths], spark or local_session())


def long_tables(session: SparkSession, log: Log) -> DataFrame:
    """Return the long table of all files."""
    return reduce(DataFrame.unionByName, (long for _, long in _tables(session, log)))


def _read(spark: SparkSession, files: Log) -> tuple[list[Any], _Tables]:
    """Read the log; return its sums and the tables behind them."""
    tables = _tables(spark, files)
    try:
        return _sums(tables), tables
    except (PySparkException, Py4JError):
        if not files.mend(spark):
            raise
    tables = _tables(spark, files)
    return _sums(tables), tables


def _sums(tables: _Tables) -> list[Any]:
    long = reduce(DataFrame.unionByName, (long for _, long in tables))
    return sums_with_minutes(deltas(wide_rows(long))).collect()


def _tables(spark: SparkSession, files: Log) -> _Tables:
    return tuple((lines, read(lines)) for read, lines in files.lines(spark))


def _bad_lines(tables: _Tables, files: Log) -> Iterator[BadLine]:
    with in_clear_words():
        for lines, long in tables:
            for row in numbered(lines, long).toLocalIterator():
                yield BadLine(files.original(row.file), row.line, row.reason, row.text)


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
