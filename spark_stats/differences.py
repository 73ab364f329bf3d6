"""From samples to sums: what happened between two samples of a subtask, summed by quarter."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from edgeplace.spark_stats import readings as r

# A restart sets counters to 0. Accumulated times are differences of clocks and may step back a
# little, so only a larger step is a restart.
_COUNTS = ("records_in", "records_out", "bytes_in", "bytes_out", "emitted", "cpu_ns")
_TIMES = ("busy_ms", "back_pressured_ms")
_CLOCK_JITTER_MS = 1000.0

QUARTERS = 4

SUM_KEYS = ("kind", "job", "vertex", "subtask", "task_manager", "quarter")


def differences(samples: DataFrame) -> DataFrame:
    """Return what each subtask did between one sample and the next.

    A pair of samples with a restart, a counter reset or a move to another TaskManager between them
    says nothing and is passed over, as is one whose clock ran backwards; both are counted.

    Parameters
    ----------
    samples
        What `samples.samples` returns, of one job.

    Returns
    -------
    DataFrame
        A row for each sample: `good` (the row has a difference to the sample before), `dt_ms`, a
        difference for each of `readings.COUNTERS`, taken from the rate times `dt_ms` where the
        counter is not there (`metered`), `gauged_ms` (busy time by the gauge), and the flags
        `reset`, `clock_jump` and `repeat`.
    """
    by_time = Window.partitionBy("kind", "job", "vertex", "subtask").orderBy("ts_ms", "has_values")
    so_far = by_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    measured = (
        samples.filter(F.col("kind").isin(r.TASK, r.TASK_MANAGER))
        .withColumn("has_values", F.col("values") > 0)
        .withColumn("task_manager", F.last("task_manager", ignorenulls=True).over(so_far))
        .withColumn("attempt", F.last("attempt", ignorenulls=True).over(so_far))
        .filter("has_values")
    )
    remembered = ["ts_ms", "attempt", "task_manager", "file_hash", "pos", *r.COUNTERS]
    paired = measured.withColumn("before", F.lag(F.struct(*remembered)).over(by_time))

    def step(column: str) -> Column:
        return F.col(column) - F.col(f"before.{column}")

    def differs(column: str) -> Column:
        return F.coalesce(F.col(column) != F.col(f"before.{column}"), F.lit(False))

    fell = _any(
        *(step(c) < 0 for c in _COUNTS),
        *(step(c) < -_CLOCK_JITTER_MS for c in _TIMES),
    )
    flagged = paired.select(
        "*",
        # A meter speaks of the time before its sample. The first has no sample before it, so it
        # gets the time to the next one.
        F.coalesce(
            step("ts_ms"),
            F.when(
                F.col("records_in").isNull() & F.col("records_out").isNull(),
                F.lead("ts_ms").over(by_time) - F.col("ts_ms"),
            ),
        ).alias("dt_ms"),
        (fell | differs("attempt") | differs("task_manager")).alias("reset"),
        # In one file, lines are in the order they were written.
        _any(~differs("file_hash") & (step("pos") < 0)).alias("clock_jump"),
        (
            F.col("before").isNotNull()
            & ~_any(*(differs(c) for c in r.COUNTERS))
            & F.col("idle_ms").isNotNull()
        ).alias("repeat"),
    )
    good = _any(F.col("dt_ms") > 0) & ~F.col("reset") & ~F.col("clock_jump")
    seconds = F.col("dt_ms") / 1000.0
    rate = {c: f"{c}_per_s" for c in r.COUNTERS if f"{c}_per_s" in r.RATES}

    def happened(column: str) -> Column:
        by_counter = step(column)
        # A negative rate is how some tools write "not known".
        by_rate = (
            F.when(F.col(rate[column]) >= 0, F.col(rate[column]) * seconds)
            if column in rate
            else F.lit(None)
        )
        return F.when(F.col("good"), F.coalesce(by_counter, by_rate)).alias(column)

    gauged = F.when(F.col("good"), F.col("busy_ms_per_s") * seconds)
    return flagged.withColumn("good", good).select(
        "kind",
        "job",
        "vertex",
        "subtask",
        "task_manager",
        "ts_ms",
        "good",
        F.when(F.col("good"), F.col("dt_ms")).alias("dt_ms"),
        *(happened(c) for c in r.COUNTERS),
        F.when(gauged >= 0, gauged).alias("gauged_ms"),
        (F.col("good") & F.col("records_in").isNull() & F.col("records_out").isNull()).alias(
            "metered"
        ),
        (F.col("good") & F.col("busy_ms").isNull() & (F.col("busy_ms_per_s") >= 0)).alias(
            "busy_gauged"
        ),
        "reset",
        "clock_jump",
        "repeat",
    )


def sums(differences: DataFrame, from_ms: int, to_ms: int) -> DataFrame:
    """Return the differences added up: a row for each of `SUM_KEYS`, small enough to collect.

    Parameters
    ----------
    differences
        What `differences` returns.
    from_ms, to_ms
        The window, which is cut into quarters.

    Returns
    -------
    DataFrame
        `SUM_KEYS` and sums: of time, of each counter, and with `timed_` before the name of those
        differences whose busy time is known, as true rates need. `square_in` and `square_out` are
        the sums of records²/busy ms, from which the spread of the rates follows.
    """
    middle = F.col("ts_ms") - F.coalesce(F.col("dt_ms"), F.lit(0)) / 2
    share = (middle - from_ms) / max(to_ms - from_ms, 1)
    quarter = F.least(F.greatest(F.floor(share * QUARTERS), F.lit(0)), F.lit(QUARTERS - 1))
    busy = F.col("busy_ms")
    records = {"in": "records_in", "out": "records_out", "emitted": "emitted"}
    return (
        differences.withColumn("quarter", quarter.cast("int"))
        .groupBy(*SUM_KEYS)
        .agg(
            F.sum("dt_ms").alias("dt_ms"),
            F.sum("gauged_ms").alias("gauged_ms"),
            *(F.sum(c).alias(c) for c in r.COUNTERS),
            *(
                F.sum(F.when(busy.isNotNull(), F.col(c))).alias(f"timed_{k}")
                for k, c in records.items()
            ),
            *(
                F.sum(F.when(busy > 0, F.col(c) * F.col(c) / busy)).alias(f"square_{k}")
                for k, c in records.items()
            ),
            F.sum(F.when(F.col("back_pressured_ms").isNotNull(), F.col("dt_ms"))).alias(
                "watched_ms"
            ),
            F.count(F.when(F.col("good"), 1)).alias("intervals"),
            F.count(F.when(busy > 0, 1)).alias("busy_intervals"),
            *(
                F.count(F.when(F.col(flag), 1)).alias(f"{flag}s")
                for flag in ("metered", "busy_gauged", "reset", "clock_jump", "repeat")
            ),
            F.max("ts_ms").alias("last_ms"),
        )
    )


def _any(*conditions: Column) -> Column:
    """Return whether any condition holds; one that cannot be judged does not."""
    result = F.lit(False)
    for condition in conditions:
        result = result | F.coalesce(condition, F.lit(False))
    return result
