"""Metrics JSON lines of the BU flink-placement project: per-second meters, all values as text.

Each line is an array: the time, then an object for each subtask. `trueOutProcessingRate` there is
records *in* per busy second, so the busy time follows from it. There are neither counters nor
bytes, state or TaskManagers.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import placement_lines as of_format
from edgeplace.spark_stats.long_rows import STRICT_JSON, excerpt, long_rows, number

_LINE = "ARRAY<MAP<STRING, STRING>>"


def read(lines: DataFrame) -> DataFrame:
    """Return the long table."""
    parsed = lines.filter(F.trim("value") != "").select(
        "value",
        "file",
        "block",
        "pos",
        F.from_json("value", _LINE, STRICT_JSON).alias("line"),
    )
    timed = parsed.select(
        "*",
        F.unix_millis(F.try_to_timestamp(F.get("line", F.lit(0))["timestamp"])).alias("ts_ms"),
    )
    entry = timed.withColumn(
        "entry",
        F.explode_outer(F.filter("line", lambda e: e["vertexName"].isNotNull())),
    )
    good = F.col("entry").isNotNull() & F.col("ts_ms").isNotNull()
    items = entry.select(
        "*",
        good.alias("good"),
        F.explode_outer(
            F.when(
                good,
                F.concat(
                    F.filter(
                        F.map_entries("entry"),
                        lambda e: ~e["key"].isin(*of_format.NO_METRICS),
                    ),
                    F.array(
                        F.struct(F.lit("busyTimeMsPerSecond").alias("key"), _busy().alias("value"))
                    ),
                ),
            )
        ).alias("item"),
    )
    return long_rows(
        items,
        format=of_format.name,
        kind=F.when(F.col("good"), r.TASK).otherwise(r.BAD),
        # The log names no job; it has only one.
        job=F.when(F.col("good"), F.lit("")),
        vertex=F.when(F.col("good"), F.col("entry.vertexName")).otherwise(F.col("file")),
        name=F.when(F.col("good"), F.col("entry.vertexName"))
        .when(F.col("line").isNull(), of_format.NOT_JSON)
        .when(F.col("ts_ms").isNull(), of_format.NO_TIME)
        .otherwise(of_format.NO_VERTEX),
        subtask=F.when(F.col("good"), F.col("entry.subtask").try_cast("bigint")),
        ts_ms=F.when(F.col("good"), F.col("ts_ms")),
        metric=F.when(F.col("good") & F.col("item.value").isNotNull(), F.col("item.key")),
        value=number(F.col("item.value")),
        excerpt=F.when(~F.col("good"), excerpt(F.col("value"))),
    )


def _busy() -> Column:
    """Return busy milliseconds per second, null if the log does not give them.

    An infinite rate means records without busy time.
    """
    per_busy_second = number(F.col("entry.trueOutProcessingRate"))
    records_in = number(F.col("entry.numRecordsInPerSec"))
    busy = F.when(per_busy_second == float("inf"), F.lit(0.0)).when(
        (per_busy_second > 0) & ~F.isnan(per_busy_second), 1000.0 * records_in / per_busy_second
    )
    return busy.cast("string")
