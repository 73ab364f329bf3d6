"""The sums of new segments without Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.files import LogFiles
from edgeplace.spark_stats.ledger.new_sums import OF_SUBTASK, NewSums
from edgeplace.spark_stats.ledger.times import latest_ms
from edgeplace.spark_stats.samples import Sample
from edgeplace.spark_stats.sums_table import BIN_KEYS, COUNTS, KEYS, MISSING, Key
from edgeplace.spark_stats.without_spark.adding import SUMS, sums
from edgeplace.spark_stats.without_spark.differences import by_subtask, deltas, told
from edgeplace.spark_stats.without_spark.reading import samples_of

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_COUNTED = (r.TASK, r.TASK_MANAGER)
_TEXTS = ("format", "kind", "job", "job_name", "vertex", "name", "task_manager", "document")
_AT = ("attempt", "at_ms", "snapshots", *COUNTS, "file_hash", "pos", "carried")
_WHOLE = (
    *("subtask", "ts_ms", "bin_ms", "dt_ms", "from_ms", "to_ms", "duplicates", *MISSING.values()),
    *("intervals", "busy_intervals", "metered_intervals", "gauged_intervals", "resets"),
    *("clock_jumps", "repeats", "samples", *COUNTS, "at_ms", "snapshots", "file_hash", "pos"),
)


def read(files: LogFiles, carried: "pa.Table | None") -> NewSums:
    """Return the sums of new segments.

    Parameters
    ----------
    files
        The segments that the ledger does not have.
    carried
        The last samples in the ledger, if it has any.
    """
    samples = list(samples_of(files, lambda step, share: None))
    for sample in samples:
        sample.file = None if sample.file is None else _hash(str(sample.file))
    end_ms = latest_ms()
    before = [] if carried is None else [_sample(row) for row in carried.to_pylist()]
    until: dict[tuple[object, ...], int] = {}
    for sample in before:
        until[_subtask(sample)] = max(sample.key.ts_ms or 0, until.get(_subtask(sample), 0))
    in_time, late, ahead = before, 0, 0
    for sample in samples:
        if sample.at_ms is not None:
            sample.at_ms = min(sample.at_ms, end_ms)
        if (sample.first_at_ms or 0) > end_ms:
            ahead += sample.values > 0
        elif _is_late(sample, until):
            late += sample.values > 0
        else:
            in_time.append(sample)
    rows = sums(deltas(in_time, recent_checkpoints=None))
    bad = dict.fromkeys(files.cut_short, 1)
    for row in rows:
        if row.kind == r.BAD:
            bad[row.vertex] = bad.get(row.vertex, 0) + row["rows"]
    tail = list(_tail(s for s in in_time if s.key.kind in _COUNTED))
    columns = (*KEYS, *r.METRICS, *_AT)
    return NewSums(rows, late, ahead, _table(rows, (*BIN_KEYS, *SUMS)), _table(tail, columns), bad)


def _subtask(sample: Sample) -> tuple[object, ...]:
    return tuple(getattr(sample.key, k) for k in OF_SUBTASK)


def _is_late(sample: Sample, until: Mapping[tuple[object, ...], int]) -> bool:
    ts_ms, last_ms = sample.key.ts_ms, until.get(_subtask(sample))
    return (
        sample.key.kind in _COUNTED
        and ts_ms is not None
        and last_ms is not None
        and ts_ms <= last_ms
    )


def _hash(file: str) -> int:
    return int.from_bytes(blake2b(file.encode(), digest_size=8).digest(), "big", signed=True)


def _tail(samples: Iterable[Sample]) -> Iterator[dict[str, Any]]:
    """Yield the last sample of each subtask with values, and the answers about it after that."""
    for own in by_subtask(samples):
        times = [s.key.ts_ms or 0 for s in own if s.values > 0]
        last = max(times, default=None)
        for sample, task_manager, attempt in told(own):
            if last is None or (sample.key.ts_ms or 0) >= last:
                yield {
                    **dict(zip(KEYS, sample.key, strict=True)),
                    **dict(zip(r.METRICS, sample.metrics, strict=True)),
                    **{name: getattr(sample, name) for name in _AT if name != "file_hash"},
                    # A file of this name may begin anew. What follows is newer in any case.
                    "file_hash": None,
                    "task_manager": task_manager,
                    "attempt": attempt,
                    "carried": True,
                }


def _sample(row: Mapping[str, Any]) -> Sample:
    """Return a sample that was carried on."""
    sample = Sample(Key(*(row[k] for k in KEYS)), row["file_hash"])
    # A ledger may be older than a metric.
    sample.metrics = [row.get(metric) for metric in r.METRICS]
    for name in _AT:
        if name != "file_hash":
            setattr(sample, name, row[name])
    return sample


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    types = {
        **dict.fromkeys(_TEXTS, pa.string()),
        **dict.fromkeys(_WHOLE, pa.int64()),
        "attempt": pa.int32(),
        "carried": pa.bool_(),
    }
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in columns])
    return pa.Table.from_pylist([dict(row) for row in rows], schema)
