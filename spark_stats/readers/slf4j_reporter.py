"""Reports of Flink's slf4j reporter in the log of a TaskManager.

A report has many lines. Its time is in the log4j prefix before its first line. A metric's line is
`<host>.taskmanager.<TaskManager>.<job>.<task>.<subtask>.<metric>: <value>`. Names of tasks and
metrics contain dots and colons, so the line is parsed from the right. A metric of an operator has
the same form as a metric of its task.
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
    )
    text = F.trim("value")
    said = placed.filter(
        F.col("in_report") & (text != "") & ~text.startswith("-- ") & ~text.startswith("===")
    ).select(
        "*",
        F.col("value").rlike(of_format.TASK_LINE).alias("of_task"),
        F.col("value").rlike(of_format.TASK_MANAGER_LINE).alias("of_task_manager"),
        (~F.col("value").rlike(of_format.WHOLE_LINE) | F.col("ts_ms").isNull()).alias("bad"),
    )
    task, manager = F.col("of_task") & ~F.col("bad"), F.col("of_task_manager") & ~F.col("bad")

    def of_task(group: int) -> Column:
        return F.when(task, F.regexp_extract("value", of_format.TASK_LINE, group))

    def of_manager(group: int) -> Column:
        return F.when(
            ~task & manager, F.regexp_extract("value", of_format.TASK_MANAGER_LINE, group)
        )

    return long_rows(
        said,
        format=of_format.name,
        kind=F.when(F.col("bad"), r.BAD)
        .when(task, r.TASK)
        .when(manager, r.TASK_MANAGER)
        .otherwise(r.OTHER),
        job=of_task(2),
        job_name=of_task(2),
        vertex=F.when(F.col("bad"), F.col("file")).otherwise(F.coalesce(of_task(3), of_manager(1))),
        name=F.when(F.col("bad"), of_format.CUT).otherwise(of_task(3)),
        subtask=of_task(4).try_cast("bigint"),
        task_manager=of_task(1),
        ts_ms=F.when(task | manager, F.col("ts_ms")),
        metric=F.coalesce(of_task(5), of_manager(2)),
        value=number(F.coalesce(of_task(6), of_manager(3))),
        excerpt=F.when(F.col("bad"), excerpt(F.col("value"))),
    )
