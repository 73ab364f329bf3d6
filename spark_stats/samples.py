"""Samples of a log: what one subtask, or another fact of the log, had at one time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.sums_table import TIMELESS, Key

_COLUMNS = {name: i for i, names in enumerate(r.METRICS.values()) for name in names}
_GAUGE = "busyTimeMsPerSecond"
_INFINITE = (float("inf"), float("-inf"))
EXCERPT = 200
"""Characters of a bad line that are kept."""


class BadText(NamedTuple):
    """A line that could not be read."""

    line: int
    """Its number in the file, from 1."""
    reason: str
    text: str


class Sample:
    """The values of one subtask at one time; attributes as in `wide_table.wide_rows`."""

    __slots__ = (
        "at_ms",
        "attempt",
        "carried",
        "file",
        "first_at_ms",
        "infinite",
        "key",
        "metrics",
        "not_a_number",
        "pos",
        "rows",
        "snapshots",
        "unreadable",
        "unused",
        "values",
    )

    def __init__(self, key: Key, file: str | int | None) -> None:
        self.key = key
        self.file = file
        """What tells the file from others; None: it is in several."""
        self.metrics: list[float | None] = [None] * len(r.METRICS)
        self.at_ms: int | None = None
        self.first_at_ms: int | None = None
        self.attempt: int | None = None
        self.pos = 0
        self.snapshots = self.values = self.unused = self.rows = 0
        self.not_a_number = self.infinite = self.unreadable = 0
        self.carried = False

    def take(self, metric: str | None, value: float | None) -> None:
        """Add a reading; without a metric, the fact that there was one."""
        self.rows += 1
        if metric is not None:
            self.values += 1
        if metric == _GAUGE:
            # A task has this metric once; others may come from its operators too.
            self.snapshots += 1
        column = _COLUMNS.get(metric) if metric is not None else None
        if column is None and metric is not None:
            self.unused += 1
        if value is None:
            if column is not None:
                self.unreadable += 1
        elif value != value:
            self.not_a_number += 1
        elif value in _INFINITE:
            self.infinite += 1
        elif column is not None:
            held = self.metrics[column]
            if held is None or value > held:
                self.metrics[column] = value


@dataclass
class SourceFile:
    """A file that is read: its name, and its modification time in ms since the epoch."""

    name: str
    modified_ms: int


class Samples:
    """The samples of a log, by key. Repeated readings are merged."""

    def __init__(self) -> None:
        self.file = SourceFile("", 0)
        """The file from which the next readings come."""
        self._found: dict[Key, Sample] = {}

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._found.values())

    def at(
        self,
        pos: int,
        log_format: str,
        kind: str,
        *,
        ts_ms: int | None = None,
        attempt: int | None = None,
        job: str | None = None,
        job_name: str | None = None,
        vertex: str | None = None,
        name: str | None = None,
        subtask: int | None = None,
        task_manager: str | None = None,
        document: str | None = None,
    ) -> Sample:
        """Return the sample with these keys, to which a line adds; columns as in the long table.

        Parameters
        ----------
        pos
            Number of the line.
        """
        timed = None if kind in TIMELESS else ts_ms
        key = Key(
            log_format, kind, job, job_name, vertex, name, subtask, timed, task_manager, document
        )
        sample = self._found.get(key)
        if sample is None:
            sample = self._found[key] = Sample(key, self.file.name)
        elif sample.file != self.file.name:
            # A snapshot in several files has no position in one of them.
            sample.file = None
        sample.pos = max(sample.pos, pos)
        sample.at_ms = larger(sample.at_ms, ts_ms)
        if ts_ms is not None and (sample.first_at_ms is None or ts_ms < sample.first_at_ms):
            sample.first_at_ms = ts_ms
        sample.attempt = larger(sample.attempt, attempt)
        return sample

    def bad(self, log_format: str, found: BadText) -> None:
        """Count a line that could not be read."""
        counted = self.at(found.line, log_format, r.BAD, vertex=self.file.name, name=found.reason)
        counted.take(None, None)


def larger(held: Any, other: Any) -> Any:
    """Return the larger of two values; None is none."""
    if held is None or other is None:
        return other if held is None else held
    return max(held, other)
