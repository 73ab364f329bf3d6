"""The wide table: one row for each subtask and time, made of the readings."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.sums_table import KEYS, TIMELESS


def wide_rows(long: DataFrame) -> DataFrame:
    """Return one row for each subtask and time, with a column for each metric.

    Repeated readings are merged, so overlapping files do no harm. All aggregates are numbers and
    text is in the keys, because a text among the aggregates makes Spark sort instead of hash.

    Parameters
    ----------
    long
        The long table (`long_table.COLUMNS`).

    Returns
    -------
    DataFrame
        `KEYS`, `attempt`, a double for each of `long_table.METRICS`, and the counts `snapshots` (of
        one metric; more than 1 means duplicates), `values`, `unused` (metrics of no use here),
        `not_a_number` and `infinite` (values without a meaning, taken as missing), and `unreadable`
        (values that are no numbers at all), the place of the line: `file_hash`, `pos`, and
        `carried`, which is false.
    """
    timeless = F.col("kind").isin(*TIMELESS)
    value = F.col("value")
    infinite = value.isin(float("inf"), float("-inf"))
    keyed = long.select(
        *(F.col(k) for k in KEYS if k != "ts_ms"),
        F.when(~timeless, F.col("ts_ms")).alias("ts_ms"),
        F.col("ts_ms").alias("at_ms"),
        "attempt",
        "metric",
        F.expr(_slots()).alias("slot"),
        "value",
        F.isnan(value).alias("not_a_number"),
        infinite.alias("infinite"),
        F.xxhash64("file").alias("file_hash"),
        "pos",
    )
    # A filter on an aggregate skips the update of its buffer, unlike an aggregate of a CASE. Each
    # value belongs to one column in twenty, so this halves the time.
    usable = "NOT not_a_number AND NOT infinite"
    return keyed.groupBy(*KEYS).agg(
        *(
            F.expr(f"max(value) FILTER (WHERE slot = {slot} AND {usable})").alias(column)
            for slot, column in enumerate(r.METRICS)
        ),
        F.expr("max(attempt) FILTER (WHERE attempt IS NOT NULL)").alias("attempt"),
        F.max("at_ms").alias("at_ms"),
        F.min("at_ms").alias("first_at_ms"),
        # A task has this metric once; others may come from its operators too.
        F.expr("count(1) FILTER (WHERE metric = 'busyTimeMsPerSecond')").alias("snapshots"),
        F.count("metric").alias("values"),
        F.expr("count(1) FILTER (WHERE slot IS NULL AND metric IS NOT NULL)").alias("unused"),
        F.expr("count(1) FILTER (WHERE not_a_number)").alias("not_a_number"),
        F.expr("count(1) FILTER (WHERE infinite)").alias("infinite"),
        F.expr("count(1) FILTER (WHERE value IS NULL AND slot IS NOT NULL)").alias("unreadable"),
        F.count(F.lit(1)).alias("rows"),
        # A snapshot in several files has no position in one of them.
        F.expr("CASE WHEN min(file_hash) = max(file_hash) THEN max(file_hash) END").alias(
            "file_hash"
        ),
        F.max("pos").alias("pos"),
        F.lit(False).alias("carried"),
    )


def _slots() -> str:
    """Return, in SQL, the number of the column of a metric, null if the metric is not used."""
    cases = (
        f"WHEN metric IN ({', '.join(map(repr, names))}) THEN {slot}"
        for slot, names in enumerate(r.METRICS.values())
    )
    return f"CASE {' '.join(cases)} END"
