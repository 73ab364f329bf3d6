"""The sums of new segments by Spark."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.by_spark import long_tables
from edgeplace.spark_stats.counter_deltas import deltas, sums
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.ledger.new_sums import OF_SUBTASK, NewSums
from edgeplace.spark_stats.ledger.times import latest_ms
from edgeplace.spark_stats.session import local_session
from edgeplace.spark_stats.staging import Log
from edgeplace.spark_stats.sums_table import BIN_KEYS, IN_TIME, SumRow
from edgeplace.spark_stats.wide_table import wide_rows

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_COUNTED = (r.TASK, r.TASK_MANAGER)


def read(files: Log, carried: "pa.Table | None", spark: SparkSession | None) -> NewSums:
    """Return the sums of new segments.

    Parameters
    ----------
    files
        The segments that the ledger does not have.
    carried
        The last samples in the ledger, if it has any.
    spark
        The session to use; None: a local one.
    """
    with in_clear_words():
        session = spark or local_session()
        before = None if carried is None else session.createDataFrame(carried)
        try:
            return _read(session, files, before)
        except (PySparkException, Py4JError):
            if not files.mend(session):
                raise
        return _read(session, files, before)


def _read(session: SparkSession, files: Log, before: DataFrame | None) -> NewSums:
    end_ms = latest_ms()
    samples = wide_rows(long_tables(session, files)).persist()
    try:
        together = samples
        if before is not None:
            # A ledger may be older than a metric.
            kept = [c for c in samples.columns if c in before.columns]
            together = samples.unionByName(before.select(*kept), allowMissingColumns=True)
        of_subtask = Window.partitionBy(*OF_SUBTASK)
        counted = F.col("kind").isin(*_COUNTED)
        marked = together.withColumn(
            "until_ms", F.max(F.when(F.col("carried"), F.col("ts_ms"))).over(of_subtask)
        ).withColumn(
            "late",
            ~F.col("carried")
            & counted
            & F.coalesce(F.col("ts_ms") <= F.col("until_ms"), F.lit(False)),
        )
        marked = marked.withColumn(
            "ahead", ~F.col("late") & F.coalesce(F.col("first_at_ms") > end_ms, F.lit(False))
        ).withColumn("at_ms", F.when(F.col("at_ms") > end_ms, end_ms).otherwise(F.col("at_ms")))
        [passed_over] = (
            marked.filter(F.col("values") > 0)
            .agg(F.count_if("late").alias("late"), F.count_if("ahead").alias("ahead"))
            .collect()
        )
        in_time = marked.filter(~F.col("late") & ~F.col("ahead")).drop("late", "ahead", "until_ms")
        table = sums(deltas(in_time, recent_checkpoints=None), BIN_KEYS).toArrow()
        rows = [SumRow(row) for row in table.to_pylist()]
        carry_on = _tail(in_time.filter(counted)).toArrow()
        late, ahead = passed_over
        return NewSums(rows, late, ahead, table, carry_on, _bad_lines(rows, files))
    finally:
        samples.unpersist()


def _bad_lines(rows: Sequence[Any], files: Log) -> dict[str, int]:
    bad = dict.fromkeys(files.cut_short, 1)
    for row in rows:
        if row.kind == r.BAD:
            file = files.original(row.vertex)
            bad[file] = bad.get(file, 0) + row["rows"]
    return bad


def _tail(samples: DataFrame) -> DataFrame:
    """Return the last sample of each subtask with values, and the answers about it after that."""
    of_subtask = Window.partitionBy(*OF_SUBTASK)
    so_far = of_subtask.orderBy(*IN_TIME).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = {c: F.last(c, ignorenulls=True).over(so_far) for c in ("task_manager", "attempt")}
    last = F.max(F.when(F.col("values") > 0, F.col("ts_ms"))).over(of_subtask)
    return (
        samples.withColumns({**told, "last_ms": last})
        .filter(F.col("last_ms").isNull() | (F.col("ts_ms") >= F.col("last_ms")))
        .drop("last_ms")
        # A file of this name may begin anew. What follows is newer in any case.
        .withColumns({"carried": F.lit(True), "file_hash": F.lit(None).cast("bigint")})
    )
