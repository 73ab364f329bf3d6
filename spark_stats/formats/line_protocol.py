"""InfluxDB line protocol, as Flink's InfluxDB reporter posts it.

A point is `<measurement>,<tag>=<text>,... <field>=<value>,... <time in ns>`. Measurements and tags
are the names and labels of the Prometheus reporter. A counter has the field `count`, a gauge
`value`, a meter both `count` and `rate`. A database may give each field a line of its own, and sort
lines by series, so their order says nothing of the time.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import flink_series
from edgeplace.spark_stats.formats.fields import number, whole
from edgeplace.spark_stats.samples import BadText, Samples

name = "InfluxDB line protocol"
expects = "lines such as taskmanager_job_task_numRecordsIn,host=... count=123i 1700000000000000000"
whole_files = False

PREFIX = "flink_"
"""What the names of the Prometheus reporter have in front."""
_KEY = r"[^\\,= \"]+(?:\\.[^\\,= ]*)*"
_TEXT = r"[^\\, ]*(?:\\.[^\\, ]*)*"
_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_FIELD = rf'{_KEY}=(?:{_QUOTED}|[^ ,"]+)'
POINT = rf"^\s*({_KEY})((?:,{_KEY}={_TEXT})*) +({_FIELD}(?:,{_FIELD})*) +(\d+)\s*$"
TAG = rf",{{}}=({_TEXT})"
FIELD = rf'(?:^|,){{}}=([^ ,"]+|{_QUOTED})'
ESCAPED = r"\\([,= \\])"
INTEGER = r"(?<=\d)[iu]$"
"""What integers end in."""
FIELDS = ("value", "rate", "count")
"""Fields with the value of a metric; the first that is there counts."""
METER = "PerSecond"
"""End of the names of meters. Their field `count` is no rate."""
NO_POINT = "no point of InfluxDB's line protocol with its time"
NS_PER_MS = 1_000_000

_POINT = re.compile(POINT, re.ASCII)
_FIELDS = {field: re.compile(FIELD.format(field), re.ASCII) for field in FIELDS}
_INTEGER = re.compile(INTEGER, re.ASCII)
_HEAD = re.compile(r"^\s*(?:task|job)manager_[^, ]*,\S", re.ASCII)


def recognises(head: str) -> bool:
    """Return whether the file has points of Flink's metrics."""
    return any(_HEAD.match(line) and "=" in line for line in head.splitlines())


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add the lines of one file to the samples, and yield those that cannot be read."""
    for pos, line in enumerate(lines, 1):
        text = line.strip(" ")
        if not text or text.startswith("#"):
            continue
        found = _POINT.match(line)
        at_ns = whole(found[4]) if found else None
        if found is None or at_ns is None:
            yield BadText(pos, NO_POINT, line)
            continue
        measurement, tags, fields, _ = found.groups()
        value = _value(measurement, fields)
        if value is None or not f"{PREFIX}{measurement}".startswith(flink_series.OF_TASK_MANAGER):
            samples.at(pos, name, r.OTHER).take(None, None)
            continue
        kind, columns, metric = _columns(measurement, tags)
        # No position, because the order of lines is none of time.
        sample = samples.at(0, name, kind, ts_ms=at_ns // NS_PER_MS, **columns)
        sample.take(metric, number(_INTEGER.sub("", value)))


def _value(measurement: str, fields: str) -> str | None:
    for field, pattern in _FIELDS.items():
        found = pattern.search(fields)
        if found and not (field == "count" and measurement.endswith(METER)):
            return found[1]
    return None


@lru_cache(maxsize=4096)
def _columns(measurement: str, tags: str) -> tuple[str, flink_series.Series, str]:
    def label(wanted: str) -> str | None:
        found = re.search(TAG.format(wanted), tags, re.ASCII)
        return (re.sub(ESCAPED, r"\1", found[1]) if found else None) or None

    return flink_series.columns(f"{PREFIX}{measurement}", label)
