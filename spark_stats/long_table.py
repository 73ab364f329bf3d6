"""The long table that every reader makes: one row for each reading, for any format of log.

A *reading* is one value of one metric of one subtask at one time. Besides readings of tasks, the
table has the other facts of a log; the column `kind` distinguishes them.
"""

from collections.abc import Mapping
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

TASK = "task"
"""A metric of a subtask; without a metric, the fact that it ran on `task_manager`."""
TASK_MANAGER = "task manager"
"""A metric of a TaskManager, whose id is in `vertex`."""
CHECKPOINT = "checkpoint"
"""A size of one vertex in a completed checkpoint, whose number is in `ts_ms`."""
DOCUMENT = "document"
"""A REST answer kept as text in `document`; its path is in `vertex`."""
BAD = "bad"
"""A line that could not be read; the file is in `vertex`, the reason in `name`."""
OTHER = "other"
"""A line that was read and is not used."""

COLUMNS: Mapping[str, str] = {
    "format": "string",
    "kind": "string",
    "job": "string",
    "job_name": "string",
    "vertex": "string",
    "name": "string",
    "subtask": "bigint",
    "attempt": "int",
    "task_manager": "string",
    "ts_ms": "bigint",
    "metric": "string",
    "value": "double",
    "document": "string",
    "excerpt": "string",
    "file": "string",
    "block": "bigint",
    "pos": "bigint",
}
"""Columns of the long table. `file`, `block` and `pos` give the position of the line."""

EMITTED = "source operator numRecordsOut"
"""The name that readers give to the counter `numRecordsOut` of a source operator in a chain."""

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "records_in": ("numRecordsIn",),
    "records_out": ("numRecordsOut",),
    "bytes_in": ("numBytesIn",),
    "bytes_out": ("numBytesOut",),
    "emitted": (EMITTED,),
    "bytes_in_local": ("Shuffle.Netty.Input.numBytesInLocal", "numBytesInLocal"),
    "bytes_in_remote": ("Shuffle.Netty.Input.numBytesInRemote", "numBytesInRemote"),
    "busy_ms": ("accumulateBusyTimeMs",),
    "idle_ms": ("accumulateIdleTimeMs",),
    "back_pressured_ms": ("accumulateBackPressuredTimeMs",),
    "cpu_ns": ("Status.JVM.CPU.Time",),
}
"""Column -> Flink's names of a counter that only grows. `emitted` is what the source operator in a
chain emits: the task's own counter stays at 0 where the chain has no output."""

RATES: Mapping[str, tuple[str, ...]] = {
    "records_in_per_s": ("numRecordsInPerSecond", "numRecordsInPerSec"),
    "records_out_per_s": ("numRecordsOutPerSecond", "numRecordsOutPerSec"),
    "bytes_in_per_s": ("numBytesInPerSecond",),
    "bytes_out_per_s": ("numBytesOutPerSecond",),
    "busy_ms_per_s": ("busyTimeMsPerSecond",),
    # Flink's spelling, and the spelling of some tools.
    "back_pressured_ms_per_s": ("backPressuredTimeMsPerSecond", "backPressureTimeMsPerSecond"),
}
"""Column -> Flink's names of a rate, the fallback where its counter is not in the log."""

CHECKPOINT_SIZES: Mapping[str, tuple[str, ...]] = {
    "state_bytes": ("state_size",),
    "checkpointed_bytes": ("checkpointed_size",),
}

METRICS: Mapping[str, tuple[str, ...]] = {**COUNTERS, **RATES, **CHECKPOINT_SIZES}

USED_METRICS = frozenset(name for names in METRICS.values() for name in names)


class Reader(Protocol):
    """Reads one format of log into the long table."""

    name: str
    expects: str
    """What a file of this format looks like, for error messages."""
    whole_files: bool
    """True if a file is one document, False if it is made of lines."""

    def recognises(self, head: str) -> bool:
        """Return whether a file that starts with `head` is of this format."""

    def read(self, lines: DataFrame) -> DataFrame:
        """Return the long table of `lines` (value, file, block, pos, modified_ms)."""


def long_rows(rows: DataFrame, **columns: Column | str) -> DataFrame:
    """Return `rows` in the shape of the long table, with null in the columns not given.

    Text stands for a literal. The place of the line is taken from `rows`.
    """
    place = {c: F.col(c) for c in ("file", "block", "pos")}
    given = {k: F.lit(v) if isinstance(v, str) else v for k, v in columns.items()}
    return rows.select(
        *(
            {**place, **given}.get(name, F.lit(None)).cast(kind).alias(name)
            for name, kind in COLUMNS.items()
        )
    )


def number(text: Column) -> Column:
    """Return text as a double, null where it is none; NaN and Infinity are kept."""
    return text.try_cast("double")


def excerpt(text: Column) -> Column:
    """Return the start of a bad line."""
    return F.make_valid_utf8(F.substring(text, 1, 200))
