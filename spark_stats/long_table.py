"""The long table that every reader makes: one row for each reading, for any format of log.

A *reading* is one value of one metric of one subtask at one time. Besides readings of tasks, the
table has the other facts of a log; the column `kind` distinguishes them.
"""

from collections.abc import Mapping

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
    "buffers_in_local": ("Shuffle.Netty.Input.numBuffersInLocal", "numBuffersInLocal"),
    "buffers_in_remote": ("Shuffle.Netty.Input.numBuffersInRemote", "numBuffersInRemote"),
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
    "emitted_per_s": (f"{EMITTED}PerSecond",),
    "bytes_in_local_per_s": (
        "Shuffle.Netty.Input.numBytesInLocalPerSecond",
        "numBytesInLocalPerSecond",
    ),
    "bytes_in_remote_per_s": (
        "Shuffle.Netty.Input.numBytesInRemotePerSecond",
        "numBytesInRemotePerSecond",
    ),
    "busy_ms_per_s": ("busyTimeMsPerSecond",),
    # Flink's spelling, and the spelling of some tools.
    "back_pressured_ms_per_s": ("backPressuredTimeMsPerSecond", "backPressureTimeMsPerSecond"),
}
"""Column -> Flink's names of a rate, the fallback where its counter is not in the log."""

CHECKPOINT_SIZES: Mapping[str, tuple[str, ...]] = {
    "state_bytes": ("state_size",),
    "checkpointed_bytes": ("checkpointed_size",),
}

ACKNOWLEDGED = "latest_ack_timestamp"
"""When the last subtask of a vertex had its part of a checkpoint done, ms since the epoch."""

SINCE = "start of the interval"
"""The name that readers give to the time, in ms since the epoch, since which the rates of a sample
are. Rates are then no means of a meter, but what a counter grew by in this interval."""

METRICS: Mapping[str, tuple[str, ...]] = {
    **COUNTERS,
    **RATES,
    **CHECKPOINT_SIZES,
    "since_ms": (SINCE,),
    "acknowledged_ms": (ACKNOWLEDGED,),
}

USED_METRICS = frozenset(name for names in METRICS.values() for name in names)
