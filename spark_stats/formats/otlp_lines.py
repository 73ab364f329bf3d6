"""JSON lines of OpenTelemetry's metrics, as a collector's file exporter writes them.

Each line is a request of Flink's OpenTelemetry reporter, or some of them together:
https://opentelemetry.io/docs/specs/otlp describes it. Names of metrics are those of the Prometheus
reporter with dots, and attributes are its labels. Gauges have Flink's values. A counter has what it
grew by in an interval (delta temporality), unless the collector has added that up.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import flink_series
from edgeplace.spark_stats.formats.fields import as_text, number, whole
from edgeplace.spark_stats.formats.json_text import parsed
from edgeplace.spark_stats.samples import BadText, Samples

name = "OpenTelemetry JSON lines"
expects = 'lines such as {"resourceMetrics":[{"scopeMetrics":[{"metrics":[...]}]}]}'
whole_files = False

DELTA = ("1", "AGGREGATION_TEMPORALITY_DELTA")
"""How a line says that a counter's value is what it grew by."""
RATE = "PerSecond"
"""What the name of a counter ends in if its value is a rate."""
NO_METRICS = "no metrics of OpenTelemetry, or cut short"
NS_PER_MS = 1_000_000
NO_START_MS = 0
"""Start of a counter's interval that is not known. No report ended then, so the interval counts as
one after a lost report.
"""

_LABELS = (
    *("job_id", "job_name", "task_id", "task_name", "subtask_index", "task_attempt_num"),
    *("tm_id", "host", "operator_name"),
)


class _NotItsShapeError(Exception):
    """A value has not the type that it has in OTLP."""


class _Point(NamedTuple):
    series: str
    labels: tuple[str | None, ...]
    since_ms: int | None
    """Start of the interval: the time of the report before."""
    ts_ms: int
    value: float | None
    grew: bool
    """Whether the value is what a counter grew by in the interval."""


def recognises(head: str) -> bool:
    """Return whether the file has metrics of OpenTelemetry."""
    return re.search(r'"resourceMetrics"\s*:\s*\[', head) is not None


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add the lines of one file to the samples, and yield those that cannot be read."""
    for pos, line in enumerate(lines, 1):
        if not line.strip(" "):
            continue
        try:
            points = list(_points(parsed(line)))
        except _NotItsShapeError:
            yield BadText(pos, NO_METRICS, line)
            continue
        for point in points:
            if point is None:
                samples.at(pos, name, r.OTHER).take(None, None)
            else:
                _take(point, samples)


def _take(point: _Point, samples: Samples) -> None:
    kind, columns, metric = _columns(point.series, point.labels)
    # No position, because reports that a collector had to repeat come late.
    sample = samples.at(0, name, kind, ts_ms=point.ts_ms, **columns)
    if point.grew and point.since_ms is not None:
        span_ms, value = point.ts_ms - point.since_ms, point.value
        rate = None if value is None or span_ms <= 0 else 1000.0 * value / span_ms
        sample.take(f"{metric}{RATE}", rate)
    else:
        sample.take(metric, point.value)
    # If a report was lost, the time of its TaskManager is not known either.
    if point.since_ms is not None and (point.grew or kind == r.TASK_MANAGER):
        sample.take(r.SINCE, float(point.since_ms))


def _points(line: Any) -> Iterator[_Point | None]:
    """Yield each point of Flink's TaskManagers, and None for another one or for no point."""
    if not isinstance(line, dict) or line.get("resourceMetrics") is None:
        raise _NotItsShapeError
    for resource in _objects(line, "resourceMetrics") or [{}]:
        for scope in _objects(resource, "scopeMetrics") or [{}]:
            for metric in _objects(scope, "metrics") or [{}]:
                yield from _of_metric(metric)


def _of_metric(metric: dict[str, Any]) -> Iterator[_Point | None]:
    gauge, counter = _object(metric, "gauge"), _object(metric, "sum")
    is_delta = as_text(counter.get("aggregationTemporality")) in DELTA
    series = (as_text(metric.get("name")) or "").replace(".", "_")
    useful = series.startswith(flink_series.OF_TASK_MANAGER)
    points = [(point, False) for point in _objects(gauge, "dataPoints")]
    points += [(point, is_delta) for point in _objects(counter, "dataPoints")]
    for point, grew in points or [({}, False)]:
        labels = _labels(_objects(point, "attributes"))
        ts_ms = _ms(point, "timeUnixNano")
        if not useful or ts_ms is None:
            yield None
            continue
        since_ms = _ms(point, "startTimeUnixNano")
        if grew and since_ms is None:
            since_ms = NO_START_MS
        texts = (as_text(point.get("asInt")), as_text(point.get("asDouble")))
        value = number(next((text for text in texts if text is not None), None))
        yield _Point(series, labels, since_ms, ts_ms, value, grew)


def _ms(point: dict[str, Any], field: str) -> int | None:
    """Return a time; None if it is not known, which 0 means in OTLP."""
    ns = whole(as_text(point.get(field)))
    return None if ns is None or ns <= 0 else ns // NS_PER_MS


def _labels(attributes: Sequence[dict[str, Any]]) -> tuple[str | None, ...]:
    found: dict[str | None, str | None] = {}
    for each in attributes:
        found.setdefault(
            as_text(each.get("key")), as_text(_object(each, "value").get("stringValue"))
        )
    return tuple(found.get(label) for label in _LABELS)


def _objects(of: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in an array, nulls as empty ones; none if there is no array."""
    array = of.get(key)
    if array is None:
        return []
    if not isinstance(array, list) or not all(x is None or isinstance(x, dict) for x in array):
        raise _NotItsShapeError
    return [x or {} for x in array]


def _object(of: dict[str, Any], key: str) -> dict[str, Any]:
    value = of.get(key)
    if value is not None and not isinstance(value, dict):
        raise _NotItsShapeError
    return value or {}


@lru_cache(maxsize=4096)
def _columns(series: str, labels: tuple[str | None, ...]) -> tuple[str, flink_series.Series, str]:
    given = dict(zip(_LABELS, labels, strict=True))
    return flink_series.columns(series, lambda wanted: given[wanted] or None)
