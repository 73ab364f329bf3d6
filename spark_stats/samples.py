"""From readings to samples: one wide row for each subtask and time."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import readings as r

KEYS = (
    "format",
    "kind",
    "job",
    "job_name",
    "vertex",
    "name",
    "subtask",
    "ts_ms",
    "task_manager",
    "document",
)


def samples(long: DataFrame) -> DataFrame:
    """Return one row for each subtask and time, with a column for each metric.

    Repeated readings fall together, so overlapping files do no harm. All aggregates are numbers:
    text is in the keys, since text among the aggregates would make Spark sort instead of hash.

    Parameters
    ----------
    long
        The long table (`readings.COLUMNS`).

    Returns
    -------
    DataFrame
        `KEYS`, `attempt`, a double for each of `readings.METRICS`, and the counts `snapshots` (of
        one metric; more than 1 means duplicates), `values`, `unused` (metrics of no use here),
        `not_a_number` and `infinite` (values without a meaning, taken as missing), and `unreadable`
        (values that are no numbers at all), and the place of the line: `file_hash`, `pos`.
    """
    # Documents and bad lines are counted, not told apart by time.
    timeless = F.col("kind").isin(r.DOCUMENT, r.BAD, r.OTHER)
    value, metric = F.col("value"), F.col("metric")
    infinite = value.isin(float("inf"), float("-inf"))
    usable = F.when(~F.isnan(value) & ~infinite, value)
    keyed = long.select(
        *(F.col(k) for k in KEYS if k != "ts_ms"),
        F.when(~timeless, F.col("ts_ms")).alias("ts_ms"),
        F.col("ts_ms").alias("at_ms"),
        "attempt",
        "metric",
        "value",
        usable.alias("usable"),
        F.xxhash64("file").alias("file_hash"),
        "pos",
    )
    return keyed.groupBy(*KEYS).agg(
        *(
            F.max(F.when(_is_any(metric, names), F.col("usable"))).alias(column)
            for column, names in r.METRICS.items()
        ),
        F.max("attempt").alias("attempt"),
        F.max("at_ms").alias("at_ms"),
        # A task has this metric once; others may come from its operators too.
        F.count(F.when(metric == "busyTimeMsPerSecond", 1)).alias("snapshots"),
        F.count("metric").alias("values"),
        F.count(F.when(~metric.isin(*r.USED_METRICS), 1)).alias("unused"),
        F.count(F.when(F.isnan(value), 1)).alias("not_a_number"),
        F.count(F.when(infinite, 1)).alias("infinite"),
        F.count(F.when(metric.isin(*r.USED_METRICS) & value.isNull(), 1)).alias("unreadable"),
        F.count(F.lit(1)).alias("rows"),
        F.max("file_hash").alias("file_hash"),
        F.max("pos").alias("pos"),
    )


def _is_any(column: Column, names: tuple[str, ...]) -> Column:
    return column == names[0] if len(names) == 1 else column.isin(*names)
