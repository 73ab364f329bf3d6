"""Reports of Flink's slf4j reporter in the log of a TaskManager.

A report has many lines. Its time is in the log4j prefix before its first line. A metric's line is
`<host>.taskmanager.<TaskManager>.<job>.<task>.<subtask>.<metric>: <value>`. Names of tasks and
metrics contain dots and colons, so the line is parsed from the right. A metric of an operator has
the same form as a metric of its task: a task is what has a metric that operators do not have. Of
operators, only the records that a source emits into its chain are of use.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import slf4j_reports as of_format
from edgeplace.spark_stats.long_rows import excerpt, long_rows, number


def read(lines: DataFrame) -> DataFrame:
    """Return the long table; lines outside of reports are ignored."""
    time = F.try_to_timestamp(
        F.concat(F.regexp_extract("value", of_format.PREFIX, 1), F.lit("Z")),
        F.lit("yyyy-MM-dd HH:mm:ss,SSSX"),
    )
    in_order = Window.partitionBy("file").orderBy("block", "pos")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    starts = F.col("value").contains(of_format.STARTS)
    ends = F.col("value").contains(of_format.ENDS) | F.col("value").rlike(of_format.PREFIX)
    placed = lines.select(
        "*",
        F.last(F.unix_millis(time), ignorenulls=True).over(so_far).alias("ts_ms"),
        F.coalesce(
            F.last(F.when(starts, True).when(ends, False), ignorenulls=True).over(so_far),
            F.lit(False),
        ).alias("in_report"),
        F.count_if(starts).over(so_far).alias("report"),
        F.col("value").contains(of_format.ENDS).alias("ends"),
    )
    text = F.trim("value")
    told = (text != "") & ~text.startswith("-- ") & ~text.startswith("===")
    said = placed.filter(F.col("ends") | (F.col("in_report") & told)).select(
        "*",
        F.col("value").rlike(of_format.TASK_LINE).alias("of_task"),
        F.col("value").rlike(of_format.TASK_MANAGER_LINE).alias("of_task_manager"),
        (~F.col("value").rlike(of_format.WHOLE_LINE) | F.col("ts_ms").isNull()).alias("bad"),
    )
    of_task = _of_tasks(said)
    task = F.col("vertex").isNotNull()
    manager = F.col("of_task_manager") & ~F.col("of_task") & ~F.col("bad")

    def of_manager(group: int) -> Column:
        return F.when(manager, F.regexp_extract("value", of_format.TASK_MANAGER_LINE, group))

    return long_rows(
        of_task,
        format=of_format.name,
        kind=F.when(F.col("bad"), r.BAD)
        .when(task, r.TASK)
        .when(manager, r.TASK_MANAGER)
        .otherwise(r.OTHER),
        job=F.when(task, F.col("job")),
        job_name=F.when(task, F.col("job")),
        vertex=F.when(F.col("bad"), F.col("file")).otherwise(
            F.coalesce(F.col("vertex"), of_manager(1))
        ),
        name=F.when(F.col("bad"), of_format.CUT).otherwise(F.col("vertex")),
        subtask=F.when(task, F.col("subtask").try_cast("bigint")),
        task_manager=F.when(task, F.col("task_manager")),
        ts_ms=F.when(task | manager, F.col("ts_ms")),
        metric=F.coalesce(F.when(task, F.col("metric")), of_manager(2)),
        value=number(F.coalesce(F.when(task, F.col("said")), of_manager(3))),
        excerpt=F.when(F.col("bad"), excerpt(F.col("value"))),
    )


def _of_tasks(said: DataFrame) -> DataFrame:
    """Return the lines with the task that each is of in `vertex`, null if it is of none."""
    parts = ("task_manager", "job", "of", "subtask", "metric", "said")
    of_task = F.col("of_task") & ~F.col("bad")
    taken = said.select(
        "*",
        *(
            F.when(of_task, F.regexp_extract("value", of_format.TASK_LINE, group)).alias(part)
            for group, part in enumerate(parts, 1)
        ),
    )
    of_report = Window.partitionBy("file", "report")
    named = F.struct("job", "of")
    by_report = taken.select(
        "*",
        F.collect_set(F.when(F.col("metric").isin(*of_format.OF_TASKS), named))
        .over(of_report)
        .alias("tasks"),
        F.max("ends").over(of_report).alias("ended"),
    ).filter(~F.col("ends"))
    own = F.filter("tasks", lambda task: task["job"] == F.col("job"))
    chain = F.substring(F.concat("of", F.lit(" -> ")), 1, of_format.LONGEST_NAME)
    chains = F.filter(own, lambda task: F.startswith(task["of"], chain))
    emitted = (
        (F.col("metric") == of_format.EMITTED_AS)
        & F.col("of").startswith("Source")
        & (F.size(chains) == 1)
    )
    # A reporter may be told to leave all of them out; in a report that is cut short, they may only
    # be missing.
    is_task = F.exists(own, lambda task: task["of"] == F.col("of")) | (
        (F.size(own) == 0) & F.col("ended")
    )
    return by_report.select(
        *said.columns,
        *(part for part in parts if part not in ("of", "metric")),
        F.when(is_task, F.col("of")).when(emitted, F.get(chains, F.lit(0))["of"]).alias("vertex"),
        F.when(is_task, F.col("metric")).when(emitted, r.EMITTED).alias("metric"),
    )
