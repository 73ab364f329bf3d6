"""Counter differences between two samples of a subtask, and their sums by quarter of the log."""

import operator
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.sums_table import (
    BIN_MS,
    CLOCK_JITTER_MS,
    COUNTS,
    COUNTS_FELL,
    IN_TIME,
    JUMPED_MS,
    JUMPED_RATIO,
    KEYS,
    MISSING,
    NOT_OF_METERS,
    OF_CHECKPOINT,
    OF_MINUTE,
    OF_PART,
    QUARTERS,
    RECENT_CHECKPOINTS,
    STATES_OF_A_TASK,
    SUM_KEYS,
    SUMMED,
    TIMED,
    TIMES_FELL,
)

_TOLD = {"task_manager": "told_task_manager", "attempt": "told_attempt"}
"""Column -> its name when answers about vertices are filled in."""


def deltas(samples: DataFrame, recent_checkpoints: int | None = RECENT_CHECKPOINTS) -> DataFrame:
    """Return the counter differences of each subtask between one sample and the next.

    A pair of samples is ignored if there was a restart, a counter reset, a move to another
    TaskManager or an interval that is not in the log between them, or if a clock was set: that of
    the log, or that of the task's machine. Both kinds are counted.

    Parameters
    ----------
    samples
        What `wide_table.wide_rows` returns, with a column `carried`: true in samples that were
        counted before, and serve as those to subtract.
    recent_checkpoints
        Number of last checkpoints that determine the sizes; None: all.

    Returns
    -------
    DataFrame
        A row for each sample that is not carried, of all kinds, so that one pass over the log gives
        everything: `good` (the row has a difference to the sample before), `dt_ms`, `quarter` of
        the time in which the subtask was seen, `bin_ms` (start of its minute; of checkpoints, their
        number), a difference for each of `SUMMED`, taken from the rate times `dt_ms` where the
        counter is not there (`metered`), `gauged_ms` (busy time by the gauge), and the flags
        `reset`, `clock_jump` and `repeat`. Of checkpoints, `checkpoint_step`, by how many bytes
        more than the one before was written; it and the sizes are null in those that are not among
        the last ones, and `held_bytes`, the state, is not.
    """
    by_time = Window.partitionBy("kind", "job", "vertex", "subtask").orderBy(*IN_TIME)
    so_far = by_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    all_of_it = by_time.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    of_task = F.col("kind") == r.TASK
    # Answers about vertices say where a subtask runs from then on. They are not needed afterwards,
    # and neither are checkpoints in progress. Columns that the order of time depends on keep their
    # names and values until the last window, or Spark would sort again for it.
    placed = (
        samples.select(
            "*",
            F.xxhash64(*r.COUNTERS).alias("state"),
        )
        .select(
            "*",
            *(F.last(c, ignorenulls=True).over(so_far).alias(told) for c, told in _TOLD.items()),
        )
        .filter((F.col("values") > 0) | ~F.col("kind").isin(r.TASK, r.CHECKPOINT))
    )
    remembered = ["ts_ms", "file_hash", "pos", "state", *SUMMED, "idle_ms", "checkpointed_bytes"]
    paired = placed.select(
        "*",
        F.lag(F.struct(*_TOLD.values(), *remembered)).over(by_time).alias("before"),
        F.lead("ts_ms").over(by_time).alias("next_ms"),
        F.min("ts_ms").over(all_of_it).alias("first_ms"),
        F.max("ts_ms").over(all_of_it).alias("last_ms"),
        (
            F.lit(None)
            if recent_checkpoints is None
            else F.lead(F.lit(True), recent_checkpoints).over(by_time)
        ).alias("is_old"),
    ).filter(~F.col("carried"))

    def step(column: str) -> Column:
        return F.col(column) - F.col(f"before.{column}")

    def differs(column: str) -> Column:
        return F.coalesce(F.col(column) != F.col(f"before.{column}"), F.lit(False))

    fell = _any(
        *(step(c) < 0 for c in COUNTS_FELL),
        *(step(c) < -CLOCK_JITTER_MS for c in TIMES_FELL),
    )
    lost = _any(F.col("since_ms") != F.col("before.ts_ms"))
    passed = reduce(operator.add, (step(c) for c in STATES_OF_A_TASK))
    same_file = F.col("file_hash") == F.col("before.file_hash")
    meters_only = reduce(operator.and_, (F.col(c).isNull() for c in NOT_OF_METERS))
    flagged = paired.select(
        "*",
        # A meter describes the time before its sample. The first sample has none before it, so it
        # gets the time to the next one.
        F.coalesce(
            step("ts_ms"), F.when(of_task & meters_only, F.col("next_ms") - F.col("ts_ms"))
        ).alias("dt_ms"),
        (fell | lost | differs(_TOLD["attempt"]) | differs(_TOLD["task_manager"])).alias("reset"),
        # In one file, lines are in the order they were written. Documents are in no order of time.
        _any(
            F.col("ts_ms").isNotNull() & same_file & (step("pos") < 0),
            (passed > 0) & (step("ts_ms") > JUMPED_RATIO * passed + JUMPED_MS),
            passed > JUMPED_RATIO * step("ts_ms") + JUMPED_MS,
        ).alias("clock_jump"),
        (F.col("before").isNotNull() & F.col("idle_ms").isNotNull() & ~differs("state")).alias(
            "repeat"
        ),
    )
    recent = F.col("is_old").isNull()
    seconds = F.col("dt_ms") / 1000.0
    good = F.col("good")

    def happened(column: str) -> Column:
        rate = f"{column}_per_s"
        # A negative rate is how some tools write "not known".
        by_rate = (
            F.when(F.col(rate) >= 0, F.col(rate) * seconds) if rate in r.RATES else F.lit(None)
        )
        return F.when(good, F.coalesce(step(column), by_rate)).alias(column)

    return flagged.withColumn(
        "good",
        F.col("kind").isin(r.TASK, r.TASK_MANAGER)
        & _any(F.col("dt_ms") > 0)
        & ~F.col("reset")
        & ~F.col("clock_jump"),
    ).select(
        *(F.col(_TOLD.get(c, c)).alias(c) for c in KEYS),
        "at_ms",
        "first_at_ms",
        _quarter().alias("quarter"),
        _bin().alias("bin_ms"),
        "good",
        F.when(good, F.col("dt_ms")).alias("dt_ms"),
        *(happened(c) for c in SUMMED),
        F.when(good & (F.col("busy_ms_per_s") >= 0), F.col("busy_ms_per_s") * seconds).alias(
            "gauged_ms"
        ),
        (good & meters_only & of_task).alias("metered"),
        (good & F.col("busy_ms").isNull() & (F.col("busy_ms_per_s") >= 0)).alias("busy_gauged"),
        F.when(recent, step("checkpointed_bytes")).alias("checkpoint_step"),
        *(F.when(recent, F.col(size)).alias(size) for size in r.CHECKPOINT_SIZES),
        F.col("state_bytes").alias("held_bytes"),
        F.col("checkpointed_bytes").alias("written_bytes"),
        *("acknowledged_ms", "reset", "clock_jump", "repeat", "snapshots", *COUNTS),
    )


def sums(differences: DataFrame, keys: Sequence[str] = SUM_KEYS) -> DataFrame:
    """Return the differences added up: a row for each of `keys`, small enough to collect.

    Parameters
    ----------
    differences
        What `deltas` returns.
    keys
        `SUM_KEYS`, or `BIN_KEYS` for a ledger.

    Returns
    -------
    DataFrame
        The keys and sums: of time, of each counter, and with `timed_` before the name of those
        differences whose busy time is known, as true rates need. `square_in`, `square_out` and
        `square_emitted` are the sums of records²/busy ms, from which the spread of the rates
        follows. `MISSING` has the names of the times in which they are not known. Of checkpoints,
        the largest state, mean and last of the bytes written (`checkpointed_last`), and how these
        went from one to the next: `checkpoint_net` is the sum of the steps, `checkpoint_path` that
        of their sizes.
    """
    busy = F.col("busy_ms")
    timed = {k: F.when(busy.isNotNull(), F.col(c)) for k, c in TIMED.items()}
    squares = {k: F.when(busy > 0, F.col(c) * F.col(c) / busy) for k, c in TIMED.items()}
    values = {
        "gauged_ms": F.col("gauged_ms"),
        **{c: F.col(c) for c in SUMMED},
        **{f"timed_{k}": value for k, value in timed.items()},
        **{f"square_{k}": value for k, value in squares.items()},
    }
    return differences.groupBy(*keys).agg(
        F.sum("dt_ms").alias("dt_ms"),
        *(F.sum(value).alias(c) for c, value in values.items()),
        *(
            F.sum(F.when(values[c].isNull(), F.col("dt_ms"))).alias(missing)
            for c, missing in MISSING.items()
        ),
        F.count(F.when(F.col("good"), 1)).alias("intervals"),
        F.count(F.when(busy > 0, 1)).alias("busy_intervals"),
        *(
            F.count(F.when(F.col(flag), 1)).alias(column)
            for flag, column in (
                ("metered", "metered_intervals"),
                ("busy_gauged", "gauged_intervals"),
                ("reset", "resets"),
                ("clock_jump", "clock_jumps"),
                ("repeat", "repeats"),
            )
        ),
        F.sum(F.greatest(F.col("snapshots") - 1, F.lit(0))).alias("duplicates"),
        F.count(F.when(F.col("values") > 0, 1)).alias("samples"),
        *(F.sum(c).alias(c) for c in COUNTS),
        F.max("state_bytes").alias("state_bytes"),
        F.avg("checkpointed_bytes").alias("checkpointed_bytes"),
        # For checkpoints, the column of the time has their number.
        F.max_by("checkpointed_bytes", "ts_ms").alias("checkpointed_last"),
        F.sum("checkpoint_step").alias("checkpoint_net"),
        F.sum(F.abs("checkpoint_step")).alias("checkpoint_path"),
        *(F.max(c).alias(c) for c in OF_CHECKPOINT),
        F.min(F.coalesce("ts_ms", "first_at_ms")).alias("from_ms"),
        F.max("at_ms").alias("to_ms"),
    )


def sums_with_minutes(differences: DataFrame) -> DataFrame:
    """Return what `sums` does, with the minutes of each row.

    The columns of a subtask and of a minute are added up in the partition where they are, so this
    is the same pass over the log.

    Parameters
    ----------
    differences
        What `deltas` returns.

    Returns
    -------
    DataFrame
        Besides, `minutes`: a list of `bin_ms`, `OF_MINUTE`, `missing` and `OF_CHECKPOINT`, in no
        order; of checkpoints, one for each, with its number.
    """
    timed = F.col("kind").isin(r.TASK, r.TASK_MANAGER, r.CHECKPOINT)
    minute = F.when(timed, F.col("bin_ms"))
    keys = (*SUM_KEYS, "bin_ms")
    # In order of time, because the last digits of a sum depend on it.
    parts = sums(differences.withColumn("bin_ms", minute), keys).sortWithinPartitions(*keys)
    largest = ("state_bytes", "to_ms", *OF_CHECKPOINT)
    sizes = ("checkpointed_bytes", "checkpointed_last")
    added = [c for c in parts.columns if c not in (*keys, *largest, *sizes, "from_ms")]
    used = F.col("bin_ms").isNotNull() & (
        F.col("dt_ms").isNotNull() | (F.col("resets") > 0) | F.col("held_bytes").isNotNull()
    )
    part = {c: F.when(F.col(c).isNotNull(), F.col(MISSING[c])) for c in OF_PART}
    missing = F.when(
        F.coalesce(*part.values()).isNotNull(), F.struct(*(ms.alias(c) for c, ms in part.items()))
    )
    of_minute = ("bin_ms", *OF_MINUTE, *OF_CHECKPOINT)
    seen = F.when(used, F.struct(*of_minute, missing.alias("missing")))
    written = F.col("checkpointed_last")
    return parts.groupBy(*SUM_KEYS).agg(
        *(F.sum(c).alias(c) for c in added),
        *(F.max(c).alias(c) for c in largest),
        F.avg("checkpointed_bytes").alias("checkpointed_bytes"),
        F.max_by(written, F.when(written.isNotNull(), F.col("bin_ms"))).alias("checkpointed_last"),
        F.min("from_ms").alias("from_ms"),
        F.collect_list(seen).alias("minutes"),
    )


def _quarter() -> Column:
    """Return the quarter of the subtask's time that has the middle of a difference."""
    middle = _middle_ms() - F.col("first_ms")
    span = F.greatest(F.col("last_ms") - F.col("first_ms"), F.lit(1))
    quarter = F.floor(QUARTERS * middle / span)
    of_task = F.col("kind") == r.TASK
    return F.when(of_task, F.least(F.greatest(quarter, F.lit(0)), F.lit(QUARTERS - 1)).cast("int"))


def _bin() -> Column:
    """Return the minute that has the middle of a difference; of checkpoints, their number."""
    minute = F.floor(_middle_ms() / BIN_MS).cast("bigint") * BIN_MS
    return F.when(F.col("kind") == r.CHECKPOINT, F.col("ts_ms")).otherwise(minute)


def _middle_ms() -> Column:
    return F.col("ts_ms") - F.coalesce(F.col("dt_ms"), F.lit(0)) / 2


def _any(*conditions: Column) -> Column:
    """Return whether any condition holds; a null condition does not."""
    result = F.lit(False)
    for condition in conditions:
        result = result | F.coalesce(condition, F.lit(False))
    return result
