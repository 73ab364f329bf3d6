"""Names and labels of Flink's Prometheus reporter."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats.flink_series import (
    LONGEST,
    MANGLED,
    OF_TASK_MANAGER,
    OPERATOR,
    TASK,
)


def of_flink(series: Column) -> Column:
    """Return whether a series is one of a TaskManager of Flink."""
    return series.startswith(OF_TASK_MANAGER)


def columns(series: Column, label: Callable[[str], Column]) -> dict[str, Column]:
    """Return the columns of the long table that a series' name and labels give.

    Parameters
    ----------
    series
        Name of the series.
    label
        Gives the value of a label, null where there is none.
    """
    of_operator = series.startswith(OPERATOR)
    of_task = series.startswith(TASK) & ~of_operator
    of_source = (
        of_operator
        & label("operator_name").startswith("Source")
        & (series == f"{OPERATOR}numRecordsOut")
    )
    in_task = of_task | of_operator
    short = F.when(of_task, F.substring(series, len(TASK) + 1, LONGEST)).otherwise(
        F.substring(series, len(OF_TASK_MANAGER) + 1, LONGEST)
    )
    metric = short
    for mangled, plain in MANGLED.items():
        metric = F.when(short == mangled, plain).otherwise(metric)
    task_manager = F.coalesce(label("tm_id"), label("host"))
    return {
        "kind": F.when(in_task, r.TASK).otherwise(r.TASK_MANAGER),
        "job": F.when(in_task, F.coalesce(label("job_id"), label("job_name"))),
        "job_name": F.when(in_task, label("job_name")),
        "vertex": F.when(in_task, F.coalesce(label("task_id"), label("task_name"))).otherwise(
            task_manager
        ),
        "name": F.when(in_task, label("task_name")),
        "subtask": F.when(in_task, label("subtask_index").try_cast("bigint")),
        "attempt": F.when(in_task, label("task_attempt_num").try_cast("int")),
        "task_manager": F.when(in_task, task_manager),
        "metric": F.when(of_source, r.EMITTED).when(of_operator, series).otherwise(metric),
    }
