"""Prometheus text exposition: the answer of Flink's reporter to a scrape.

Lines of a scrape may end in a time. Without it, the file's modification time is used. So
differences need several scrapes, each in its own file.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import flink_series
from edgeplace.spark_stats.formats.fields import number, whole
from edgeplace.spark_stats.samples import BadText, Samples

name = "Prometheus text"
expects = "lines such as flink_taskmanager_job_task_numRecordsIn{job_id=...} 123"
whole_files = False

SAMPLE = (
    r"^\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*"
    r'(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?'
    r"\s+(\S+)(?:\s+(-?\d+))?\s*$"
)
LABEL = r'[{{,]\s*{}="((?:[^"\\]|\\.)*)"'
NO_LINE = "no line of a Prometheus exposition"

_SAMPLE = re.compile(SAMPLE, re.ASCII)


def recognises(head: str) -> bool:
    """Return whether the file has lines of an exposition with metrics of Flink."""
    return any(
        line.startswith(("# HELP flink_", "# TYPE flink_"))
        or (line.startswith("flink_") and "{" in line)
        for line in head.splitlines()
    )


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add the lines of one file to the samples, and yield those that cannot be read."""
    modified_ms = samples.file.modified_ms
    for pos, line in enumerate(lines, 1):
        text = line.strip(" ")
        if not text or text.startswith("#"):
            continue
        found = _SAMPLE.match(line)
        if found is None:
            yield BadText(pos, NO_LINE, line)
            continue
        series, labels, value, stamp = found.groups()
        if not series.startswith(flink_series.OF_TASK_MANAGER):
            samples.at(pos, name, r.OTHER).take(None, None)
            continue
        kind, columns, metric = _columns(series, labels or "")
        at_ms = whole(stamp)
        ts_ms = modified_ms if at_ms is None else at_ms
        sample = samples.at(pos, name, kind, ts_ms=ts_ms, **columns)
        sample.take(metric, number(value))


@lru_cache(maxsize=4096)
def _columns(series: str, labels: str) -> tuple[str, flink_series.Series, str]:
    def label(wanted: str) -> str | None:
        found = re.search(LABEL.format(wanted), labels, re.ASCII)
        return (found[1] if found else None) or None

    return flink_series.columns(series, label)
