"""The table of sums that a log becomes, and the definitions behind it that need no Spark."""

from typing import Any, NamedTuple

from edgeplace.spark_stats import long_table as r


class Key(NamedTuple):
    """What a sample is of: one subtask, or other fact of a log, at one time.

    Attributes as the columns of the long table.
    """

    format: str
    kind: str
    job: str | None
    job_name: str | None
    vertex: str | None
    name: str | None
    subtask: int | None
    ts_ms: int | None
    task_manager: str | None
    document: str | None


KEYS = Key._fields

IN_TIME = ("ts_ms", "values", "format", "job_name", "name", "task_manager", "document")
"""The order of the samples of a subtask; nulls come first, and no two samples are equal."""

TIMELESS = (r.DOCUMENT, r.BAD, r.OTHER)
"""Kinds of rows that are counted, not separated by time."""

COUNTS_FELL = ("records_in", "records_out", "emitted", "bytes_in", "bytes_out", "cpu_ns")
TIMES_FELL = ("busy_ms", "back_pressured_ms")
CLOCK_JITTER_MS = 1000.0
"""A restart sets counters to 0. Accumulated times are differences of clocks and may step back a
little, so only a larger step is a restart."""

STATES_OF_A_TASK = ("busy_ms", "idle_ms", "back_pressured_ms")
"""Counters whose steps are the time that has passed by the clock of the task's machine."""
JUMPED_RATIO = 2.0
JUMPED_MS = 120_000.0
"""A clock has jumped if more time has passed by that of the log than by that of the task's machine,
or the other way round, by this factor and this time: Flink may answer with values that are some
polls old. After a pause, that is so in two differences, one each way, and neither counts."""

NOT_OF_METERS = ("records_in", "records_out", "emitted", "since_ms")
"""A sample without any of these has per-second meters only."""

QUARTERS = 4
RECENT_CHECKPOINTS = 10
"""Number of checkpoints that determine the size of the state."""

SUMMED = tuple(c for c in r.COUNTERS if c != "idle_ms")
"""Counters whose differences are used."""

TIMED = {"in": "records_in", "out": "records_out", "emitted": "emitted"}
"""End of the name of a sum over differences whose busy time is known -> its counter."""

KNOWN_BY = {
    **{c: c for c in (*SUMMED, "gauged_ms")},
    **{f"{of}_{end}": f"timed_{end}" for of in ("timed", "square") for end in TIMED},
}
"""Sum of differences -> the one that tells in which of them it is known."""
MISSING = {c: f"{c}_missing_ms" for c in dict.fromkeys(KNOWN_BY.values())}
"""Sum -> the sum of the time in which it is not known. A quotient of two sums that are not known at
the same times is one of their mean rates."""

BIN_MS = 60_000
"""Width of the time bins of a ledger."""

SUBTASK = tuple(k for k in KEYS if k != "ts_ms")
SUM_KEYS = (*SUBTASK, "quarter")
BIN_KEYS = (*SUBTASK, "bin_ms")
COUNTS = ("values", "unused", "not_a_number", "infinite", "unreadable", "rows")
OF_MINUTE = (
    *("dt_ms", "cpu_ns", "records_in", "records_out", "emitted", "bytes_out"),
    *("bytes_in_local", "bytes_in_remote", "buffers_in_local", "buffers_in_remote"),
    *("busy_ms", "back_pressured_ms", "resets"),
)
"""Sums that the regression of CPU time, the flush law and the rates of a part of the time need for
each minute. Besides, each minute has `missing`: of those known for a part of it, the time in which
they are not; null if there are none."""
OF_PART = tuple(c for c in OF_MINUTE if c in MISSING)
"""Those that may be known for a part of a minute."""

OF_CHECKPOINT = ("held_bytes", "written_bytes", "acknowledged_ms")
"""State of each checkpoint, what was written of it, and its time: of all of them, not of the recent
ones only.
"""


MOST_SUBTASKS = 1 << 15
"""Flink's largest parallelism."""


def is_of_subtask(row: Any) -> bool:
    """Return whether a row of sums is of a subtask; a series may name none."""
    return row.kind == r.TASK and row.subtask is not None and 0 <= row.subtask < MOST_SUBTASKS


class SumRow(dict[str, Any]):
    """A row of the table, with its columns as attributes, too: like a row of Spark."""

    def __getattr__(self, column: str) -> Any:
        try:
            return self[column]
        except KeyError as e:
            raise AttributeError(column) from e

    def asDict(self) -> dict[str, Any]:
        """Return the columns."""
        return self
