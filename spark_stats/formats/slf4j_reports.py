"""Reports of Flink's slf4j reporter in the log of a TaskManager.

A report has many lines. Its time is in the log4j prefix before its first line. A metric's line is
`<host>.taskmanager.<TaskManager>.<job>.<task>.<subtask>.<metric>: <value>`. Names of tasks and
metrics contain dots and colons, so the line is parsed from the right. A metric of an operator has
the same form as a metric of its task.
"""

import re
from collections.abc import Iterable, Iterator

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats.fields import instant_ms, number, whole
from edgeplace.spark_stats.samples import BadText, Samples

name = "slf4j reporter"
expects = 'a TaskManager log with "Starting metrics report"'
whole_files = False

PREFIX = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) "
STARTS, ENDS = "=== Starting metrics report ===", "=== Finished metrics report ==="
_USED = "|".join(sorted((m.replace(".", r"\.") for m in r.USED_METRICS), key=len, reverse=True))
TASK_LINE = rf"^[^.]*\.taskmanager\.([^.]*)\.([^.]*)\.(.+)\.(\d+)\.({_USED}): (\S+)\s*$"
TASK_MANAGER_LINE = rf"^[^.]*\.taskmanager\.([^.]*)\.({_USED}): (\S+)\s*$"
WHOLE_LINE = r"^\S[^.]*\..+: ?\S"
CUT = "a line of a report that is cut short"

_PREFIX, _TASK_LINE, _TASK_MANAGER_LINE, _WHOLE_LINE = (
    re.compile(pattern, re.ASCII) for pattern in (PREFIX, TASK_LINE, TASK_MANAGER_LINE, WHOLE_LINE)
)


def recognises(head: str) -> bool:
    """Return whether a report begins in the file."""
    return "Starting metrics report" in head


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add the lines of one file to the samples, and yield those of reports that cannot be read."""
    ts_ms, in_report = None, False
    for pos, line in enumerate(lines, 1):
        prefix = _PREFIX.search(line)
        if prefix:
            stamp = instant_ms(prefix[1].replace(",", "."))
            ts_ms = ts_ms if stamp is None else stamp
        if STARTS in line:
            in_report = True
        elif prefix or ENDS in line:
            in_report = False
        text = line.strip(" ")
        if not in_report or not text or text.startswith(("-- ", "===")):
            continue
        if ts_ms is None or not _WHOLE_LINE.search(line):
            yield BadText(pos, CUT, line)
        else:
            _take(line, pos, ts_ms, samples)


def _take(line: str, pos: int, ts_ms: int, samples: Samples) -> None:
    if found := _TASK_LINE.search(line):
        task_manager, job, vertex, subtask, metric, value = found.groups()
        sample = samples.at(
            pos,
            name,
            r.TASK,
            ts_ms=ts_ms,
            job=job,
            job_name=job,
            vertex=vertex,
            name=vertex,
            subtask=whole(subtask),
            task_manager=task_manager,
        )
        sample.take(metric, number(value))
    elif found := _TASK_MANAGER_LINE.search(line):
        manager, metric, value = found.groups()
        samples.at(pos, name, r.TASK_MANAGER, ts_ms=ts_ms, vertex=manager).take(
            metric, number(value)
        )
    else:
        samples.at(pos, name, r.OTHER).take(None, None)
