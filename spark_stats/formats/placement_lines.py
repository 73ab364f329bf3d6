"""Metrics JSON lines of the BU flink-placement project: per-second meters, all values as text.

Each line is an array: the time, then an object for each subtask. `trueOutProcessingRate` there is
records *in* per busy second, so the busy time follows from it. There are neither counters nor
bytes, state or TaskManagers.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats.fields import as_text, instant_ms, number, whole
from edgeplace.spark_stats.formats.json_text import parsed
from edgeplace.spark_stats.samples import BadText, Samples

name = "metrics JSON lines"
expects = 'JSON lines that start with [{"timestamp": and hold "vertexName"'
whole_files = False

NO_METRICS = ("vertexName", "subtask", "isBackPressured")
NOT_JSON, NO_TIME, NO_VERTEX = "not JSON, or cut short", "no timestamp in it", "no vertex in it"


def recognises(head: str) -> bool:
    """Return whether any line is of this format: the first one may be damaged."""
    return any(
        line.lstrip().startswith("[") and '"vertexName"' in line for line in head.splitlines()
    )


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add the lines of one file to the samples, and yield those that cannot be read."""
    for pos, line in enumerate(lines, 1):
        if not line.strip(" "):
            continue
        entries = _entries(parsed(line))
        if entries is None:
            yield BadText(pos, NOT_JSON, line)
            continue
        ts_ms = instant_ms(entries[0].get("timestamp")) if entries else None
        # The log names no job; it has only one.
        of_subtasks = [e for e in entries if e.get("vertexName") is not None]
        if ts_ms is None:
            yield from [BadText(pos, NO_TIME, line)] * max(len(of_subtasks), 1)
        elif not of_subtasks:
            yield BadText(pos, NO_VERTEX, line)
        else:
            for entry in of_subtasks:
                _take(entry, pos, ts_ms, samples)


def _entries(line: Any) -> list[dict[str, str | None]] | None:
    """Return the objects of a line, their values as text; None if it has something else."""
    if not isinstance(line, list) or not all(e is None or isinstance(e, dict) for e in line):
        return None
    return [{key: as_text(value) for key, value in (e or {}).items()} for e in line]


def _take(entry: Mapping[str, str | None], pos: int, ts_ms: int, samples: Samples) -> None:
    vertex = entry["vertexName"]
    sample = samples.at(
        pos,
        name,
        r.TASK,
        ts_ms=ts_ms,
        job="",
        vertex=vertex,
        name=vertex,
        subtask=whole(entry.get("subtask")),
    )
    for metric, value in entry.items():
        if metric not in NO_METRICS:
            sample.take(None if value is None else metric, number(value))
    busy = _busy(entry)
    sample.take(None if busy is None else "busyTimeMsPerSecond", busy)


def _busy(entry: Mapping[str, str | None]) -> float | None:
    """Return busy milliseconds per second, None if the log does not give them.

    An infinite rate means records without busy time.
    """
    per_busy_second = number(entry.get("trueOutProcessingRate"))
    records_in = number(entry.get("numRecordsInPerSec"))
    if per_busy_second is None or not per_busy_second > 0:
        return None
    if per_busy_second == float("inf"):
        return 0.0
    return None if records_in is None else 1000.0 * records_in / per_busy_second
