"""Differences added up: `counter_deltas.sums` and `sums_with_minutes` in plain Python."""

from collections.abc import Iterable, Mapping
from typing import Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.samples import larger
from edgeplace.spark_stats.sums_table import (
    BIN_KEYS,
    COUNTS,
    KEYS,
    MISSING,
    OF_CHECKPOINT,
    OF_MINUTE,
    OF_PART,
    SUM_KEYS,
    SUMMED,
    TIMED,
    SumRow,
)
from edgeplace.spark_stats.without_spark.differences import COLUMN, Delta, key_of

_TIME = KEYS.index("ts_ms")
_BUSY = SUMMED.index("busy_ms")
_NOTHING = (None,) * len(SUMMED)
_OF_PART = {c: MISSING[c] for c in OF_PART}
_TIMED = {end: SUMMED.index(column) for end, column in TIMED.items()}
_STATE, _CHECKPOINTED, _ACKNOWLEDGED = (
    COLUMN[c] for c in ("state_bytes", "checkpointed_bytes", "acknowledged_ms")
)
_FLAGS = {
    "good": "intervals",
    "metered": "metered_intervals",
    "busy_gauged": "gauged_intervals",
    "reset": "resets",
    "clock_jump": "clock_jumps",
    "repeat": "repeats",
}
_LARGEST = ("state_bytes", "to_ms", *OF_CHECKPOINT)
SUMS = (
    *("dt_ms", "gauged_ms", *SUMMED, *(f"timed_{end}" for end in TIMED)),
    *(*(f"square_{end}" for end in TIMED), *MISSING.values()),
    *("intervals", "busy_intervals", *list(_FLAGS.values())[1:]),
    *("duplicates", "samples", *COUNTS, "state_bytes", "checkpointed_bytes", "checkpointed_last"),
    *("checkpoint_net", "checkpoint_path", *OF_CHECKPOINT, "from_ms", "to_ms"),
)
"""Columns of sums, in the order of `counter_deltas.sums`."""


class _Sum:
    """The sums of one key. Values are added in order of time, on which last digits depend."""

    def __init__(self) -> None:
        self.of: dict[str, Any] = {
            **dict.fromkeys(SUMS),
            **dict.fromkeys(("busy_intervals", "duplicates", "samples"), 0),
            **dict.fromkeys((*_FLAGS.values(), *COUNTS), 0),
        }
        self.sizes = 0.0
        self.size_count = 0
        self.last_ms: int | None = None

    def add(self, difference: Delta) -> None:
        """Add one difference."""
        of, sample = self.of, difference.sample
        for flag, column in _FLAGS.items():
            of[column] += getattr(difference, flag)
        for column in COUNTS:
            of[column] += getattr(sample, column)
        of["duplicates"] += max(sample.snapshots - 1, 0)
        of["samples"] += sample.values > 0
        from_ms = sample.first_at_ms if sample.key.ts_ms is None else sample.key.ts_ms
        if from_ms is not None and (of["from_ms"] is None or from_ms < of["from_ms"]):
            of["from_ms"] = from_ms
        of["to_ms"] = larger(of["to_ms"], sample.at_ms)
        if difference.good:
            self._add_time(difference)
        if sample.key.kind == r.CHECKPOINT:
            self._add_sizes(difference)

    def _add_time(self, difference: Delta) -> None:
        of, happened, dt_ms = self.of, difference.happened, difference.dt_ms or 0
        busy = happened[_BUSY]
        timed = happened if busy is not None else _NOTHING
        values = (*happened, difference.gauged_ms, *(timed[place] for place in _TIMED.values()))
        self._plus("dt_ms", dt_ms)
        for (column, missing), value in zip(MISSING.items(), values, strict=True):
            if value is None:
                held = of[missing]
                of[missing] = dt_ms if held is None else held + dt_ms
            else:
                held = of[column]
                of[column] = value if held is None else held + value
        if busy is not None and busy > 0:
            of["busy_intervals"] += 1
            for name, place in _TIMED.items():
                records = happened[place]
                if records is not None:
                    self._plus(f"square_{name}", records * records / busy)

    def _add_sizes(self, difference: Delta) -> None:
        of, sample = self.of, difference.sample
        of["held_bytes"] = larger(of["held_bytes"], sample.metrics[_STATE])
        of["written_bytes"] = larger(of["written_bytes"], sample.metrics[_CHECKPOINTED])
        of["acknowledged_ms"] = larger(of["acknowledged_ms"], sample.metrics[_ACKNOWLEDGED])
        if not difference.recent:
            return
        of["state_bytes"] = larger(of["state_bytes"], sample.metrics[_STATE])
        size, ts_ms = sample.metrics[_CHECKPOINTED], sample.key.ts_ms
        if size is not None:
            self.sizes += size
            self.size_count += 1
            of["checkpointed_bytes"] = self.sizes / self.size_count
        # For checkpoints, the column of the time has their number.
        if ts_ms is not None and (self.last_ms is None or ts_ms > self.last_ms):
            self.last_ms, of["checkpointed_last"] = ts_ms, size
        step = difference.checkpoint_step
        if step is not None:
            self._plus("checkpoint_net", step)
            self._plus("checkpoint_path", abs(step))

    def _plus(self, column: str, value: float | None) -> None:
        if value is not None:
            held = self.of[column]
            self.of[column] = value if held is None else held + value


def sums(differences: Iterable[Delta]) -> list[SumRow]:
    """Return a row for each of `BIN_KEYS`, as a ledger has them."""
    return [
        SumRow(zip(BIN_KEYS, key, strict=True), **own.of)
        for key, own in _by_key(differences, lambda d: d.bin_ms).items()
    ]


def sums_with_minutes(differences: Iterable[Delta]) -> list[SumRow]:
    """Return a row for each of `SUM_KEYS`, with the minutes of each in `minutes`."""
    timed = (r.TASK, r.TASK_MANAGER, r.CHECKPOINT)

    def minute(difference: Delta) -> tuple[int | None, int | None]:
        own = difference.sample.key.kind in timed
        return difference.quarter, difference.bin_ms if own else None

    parts: dict[tuple[Any, ...], dict[int | None, Mapping[str, Any]]] = {}
    for key, own in _by_key(differences, minute).items():
        *subtask, (quarter, bin_ms) = key
        parts.setdefault((*subtask, quarter), {})[bin_ms] = own.of
    return [_together(key, own) for key, own in parts.items()]


def _missing(of: Mapping[str, Any]) -> dict[str, int | None] | None:
    """Return, of what is known for a part of a minute, the time in which it is not."""
    if not any(of[c] is not None and of[missing] for c, missing in _OF_PART.items()):
        return None
    return {c: None if of[c] is None else of[missing] for c, missing in _OF_PART.items()}


def _by_key(differences: Iterable[Delta], last: Any) -> dict[tuple[Any, ...], _Sum]:
    found: dict[tuple[Any, ...], _Sum] = {}
    for difference in differences:
        key = key_of(difference)
        of = (*key[:_TIME], *key[_TIME + 1 :], last(difference))
        own = found.get(of)
        if own is None:
            own = found[of] = _Sum()
        own.add(difference)
    return found


def _together(key: tuple[Any, ...], parts: Mapping[int | None, Mapping[str, Any]]) -> SumRow:
    """Return the sums of all minutes of a key."""
    # In order of time, because the last digits of a sum depend on it.
    in_order = sorted(parts, key=lambda bin_ms: -1 if bin_ms is None else bin_ms)
    of: dict[str, Any] = dict.fromkeys(SUMS)
    sizes = [parts[b]["checkpointed_bytes"] for b in in_order]
    sizes = [size for size in sizes if size is not None]
    for part in (parts[bin_ms] for bin_ms in in_order):
        for column, value in part.items():
            held = of[column]
            if column in _LARGEST:
                of[column] = larger(held, value)
            elif column == "checkpointed_bytes":
                of[column] = sum(sizes) / len(sizes) if sizes else None
            elif column == "checkpointed_last" or value is None or held is None:
                of[column] = held if value is None else value
            else:
                of[column] = min(held, value) if column == "from_ms" else held + value
    seen = (*OF_MINUTE, *OF_CHECKPOINT)
    minutes = [
        SumRow({"bin_ms": b, "missing": _missing(parts[b])}, **{c: parts[b][c] for c in seen})
        for b in in_order
        if b is not None
        and (
            parts[b]["dt_ms"] is not None
            or parts[b]["resets"] > 0
            or parts[b]["held_bytes"] is not None
        )
    ]
    return SumRow(zip(SUM_KEYS, key, strict=True), **of, minutes=minutes)
