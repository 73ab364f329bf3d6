"""Reports of Flink's slf4j reporter in the log of a TaskManager.

A report has many lines. Its time is in the log4j prefix before its first line. A metric's line is
`<host>.taskmanager.<TaskManager>.<job>.<task>.<subtask>.<metric>: <value>`. Names of tasks and
metrics contain dots and colons, so the line is parsed from the right. A metric of an operator has
the same form as a metric of its task: a task is what has a metric that operators do not have. Of
operators, only the records that a source emits into its chain are of use.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

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
OF_TASKS = frozenset(
    name
    for column, names in (*r.COUNTERS.items(), *r.RATES.items())
    if "local" in column or "remote" in column or column.endswith(("_ms", "_ms_per_s"))
    for name in names
)
"""Metrics that a task has, and its operators do not: both count records and bytes."""
LONGEST_NAME = 80
"""Characters of the name of an operator that Flink keeps."""
EMITTED_AS = "numRecordsOut"
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
    report: list[_Line] = []
    for pos, line in enumerate(lines, 1):
        prefix = _PREFIX.search(line)
        if prefix:
            stamp = instant_ms(prefix[1].replace(",", "."))
            ts_ms = ts_ms if stamp is None else stamp
        if STARTS in line:
            _take(report, samples, ended=False)
            in_report = True
        elif ENDS in line:
            _take(report, samples, ended=True)
            in_report = False
        elif prefix:
            in_report = False
        text = line.strip(" ")
        if not in_report or not text or text.startswith(("-- ", "===")):
            continue
        if ts_ms is None or not _WHOLE_LINE.search(line):
            yield BadText(pos, CUT, line)
        elif found := _TASK_LINE.search(line):
            report.append(_Line(pos, ts_ms, *found.groups()))
        elif found := _TASK_MANAGER_LINE.search(line):
            manager, metric, value = found.groups()
            sample = samples.at(pos, name, r.TASK_MANAGER, ts_ms=ts_ms, vertex=manager)
            sample.take(metric, number(value))
        else:
            samples.at(pos, name, r.OTHER).take(None, None)
    _take(report, samples, ended=False)


class _Line(NamedTuple):
    """A metric of a task or of an operator."""

    pos: int
    ts_ms: int
    task_manager: str
    job: str
    of: str
    subtask: str
    metric: str
    value: str


def _take(report: list[_Line], samples: Samples, *, ended: bool) -> None:
    """Add the metrics of tasks in a report, and empty it."""
    tasks: dict[str, set[str]] = {}
    for line in report:
        if line.metric in OF_TASKS:
            tasks.setdefault(line.job, set()).add(line.of)
    for line in report:
        own = tasks.get(line.job, set())
        vertex, metric = line.of, line.metric
        # A reporter may be told to leave all of them out; in a report that is cut short, they may
        # only be missing.
        if vertex not in own and (own or not ended):
            chains = [task for task in own if task.startswith(chain_of(vertex))]
            if metric != EMITTED_AS or not vertex.startswith("Source") or len(chains) != 1:
                samples.at(line.pos, name, r.OTHER).take(None, None)
                continue
            vertex, metric = chains[0], r.EMITTED
        sample = samples.at(
            line.pos,
            name,
            r.TASK,
            ts_ms=line.ts_ms,
            job=line.job,
            job_name=line.job,
            vertex=vertex,
            name=vertex,
            subtask=whole(line.subtask),
            task_manager=line.task_manager,
        )
        sample.take(metric, number(line.value))
    report.clear()


def chain_of(operator: str) -> str:
    """Return what the name of the chain begins with that an operator is the first one of."""
    return f"{operator} -> "[:LONGEST_NAME]
