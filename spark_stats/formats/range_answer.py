"""Answers of Prometheus to `query_range`: each file is one JSON document with a matrix of
series.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import flink_series
from edgeplace.spark_stats.formats.fields import as_text, number, within
from edgeplace.spark_stats.formats.json_text import parsed
from edgeplace.spark_stats.samples import BadText, Samples

name = "Prometheus query_range"
expects = 'a JSON document with "resultType": "matrix"'
whole_files = True

NO_MATRIX = "no matrix in it, or cut short"


def recognises(head: str) -> bool:
    """Return whether the file is a matrix."""
    return re.search(r'"resultType"\s*:\s*"matrix"', head) is not None


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add documents to the samples, and yield those that cannot be read."""
    for pos, text in enumerate(lines, 1):
        matrix = _matrix(parsed(text))
        if matrix is None:
            yield BadText(pos, NO_MATRIX, text)
            continue
        for series in matrix or [{}]:
            _take(series or {}, pos, samples)


def _matrix(answer: Any) -> list[Any] | None:
    data = answer.get("data") if isinstance(answer, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        return None
    return result if all(s is None or isinstance(s, dict) for s in result) else None


def _take(series: dict[str, Any], pos: int, samples: Samples) -> None:
    labels = series.get("metric")
    said = labels if isinstance(labels, dict) else {}
    points = series.get("values")
    if not (isinstance(points, list) and all(p is None or isinstance(p, list) for p in points)):
        points = []

    def label(wanted: str) -> str | None:
        return as_text(said.get(wanted))

    called = label("__name__") or ""
    useful = called.startswith(flink_series.OF_TASK_MANAGER)
    if useful:
        kind, columns, metric = flink_series.columns(called, label)
    for point in points or [None]:
        if not useful:
            samples.at(pos, name, r.OTHER).take(None, None)
            continue
        stamp, value = ((*map(as_text, point), None, None) if point else (None, None))[:2]
        seconds = number(stamp)
        ts_ms = None if seconds is None else _rounded(1000 * seconds)
        sample = samples.at(pos, name, kind, ts_ms=ts_ms, **columns)
        sample.take(metric, number(value))


def _rounded(value: float) -> int | None:
    """Return the nearest integer, halves away from 0."""
    if not math.isfinite(value):
        return None
    nearest = math.floor(abs(value))
    nearest += abs(value) - nearest >= 0.5
    return within(int(math.copysign(nearest, value)), 64)
