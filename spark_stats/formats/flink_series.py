"""Names and labels of Flink's Prometheus reporter."""

from collections.abc import Callable
from typing import TypedDict

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats.fields import whole

TASK = "flink_taskmanager_job_task_"
OPERATOR = f"{TASK}operator_"
OF_TASK_MANAGER = "flink_taskmanager_"
MANGLED = {
    name.replace(".", "_"): name for name in r.USED_METRICS if "." in name and " " not in name
}
"""Name of a metric as the reporter writes it -> Flink's name."""
LONGEST = 200
"""Characters of a metric's name that are kept."""


class Series(TypedDict):
    """Columns of the long table that series have; see `long_table.COLUMNS`."""

    job: str | None
    job_name: str | None
    vertex: str | None
    name: str | None
    subtask: int | None
    attempt: int | None
    task_manager: str | None


def columns(series: str, label: Callable[[str], str | None]) -> tuple[str, Series, str]:
    """Return the kind, the columns of the long table, and the metric that a series gives.

    Parameters
    ----------
    series
        Name of a series that starts with `OF_TASK_MANAGER`.
    label
        Gives the value of a label, None where there is none.
    """
    task_manager = _first(label("tm_id"), label("host"))
    if not series.startswith(TASK):
        short = series[len(OF_TASK_MANAGER) :][:LONGEST]
        of_task_manager = Series(
            job=None,
            job_name=None,
            vertex=task_manager,
            name=None,
            subtask=None,
            attempt=None,
            task_manager=None,
        )
        return r.TASK_MANAGER, of_task_manager, MANGLED.get(short, short)
    if not series.startswith(OPERATOR):
        short = series[len(TASK) :][:LONGEST]
        metric = MANGLED.get(short, short)
    elif series == f"{OPERATOR}numRecordsOut" and (label("operator_name") or "").startswith(
        "Source"
    ):
        metric = r.EMITTED
    else:
        metric = series
    of_task = Series(
        job=_first(label("job_id"), label("job_name")),
        job_name=label("job_name"),
        vertex=_first(label("task_id"), label("task_name")),
        name=label("task_name"),
        subtask=whole(label("subtask_index")),
        attempt=whole(label("task_attempt_num"), 32),
        task_manager=task_manager,
    )
    return r.TASK, of_task, metric


def _first(*texts: str | None) -> str | None:
    return next((text for text in texts if text is not None), None)
