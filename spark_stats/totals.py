"""The sums of a log as Python objects, for each subtask, quarter and TaskManager."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from edgeplace.spark_stats.sums_table import KNOWN_BY, MISSING, SUM_KEYS


@dataclass(frozen=True)
class QuarterTotals:
    """The sums of one subtask in one quarter of the window, on one TaskManager."""

    vertex: str
    """Id of the operator; of the TaskManager, for sums of a TaskManager."""
    subtask: int
    quarter: int
    sums: Mapping[str, float]
    """Sums by name, as in `counter_deltas.sums`, without those that the log does not have."""
    location: str | None = None
    """TaskManager as the log names it."""
    task_manager: str | None = None
    """TaskManager as the cluster names it."""
    node_class: str | None = None
    """None: not known where it ran."""


def quarter_totals(row: Any) -> QuarterTotals:
    """Return a collected row of `counter_deltas.sums`."""
    fields = row.asDict()
    return QuarterTotals(
        vertex=row.vertex,
        subtask=-1 if row.subtask is None else row.subtask,
        quarter=row.quarter or 0,
        location=row.task_manager,
        sums={
            k: float(v)
            for k, v in fields.items()
            if k not in (*SUM_KEYS, "minutes") and v is not None
        },
    )


class Total:
    """The sum of several totals.

    What is not known all the time in which its subtask was observed is taken at its mean rate.
    """

    def __init__(self, measured: Iterable[QuarterTotals]) -> None:
        measured = tuple(measured)
        self._sums: dict[str, float] = {}
        for t in measured:
            for name, value in t.sums.items():
                self._sums[name] = self._sums.get(name, 0.0) + value
        self._parts: list[dict[str, float]] = []
        """The sums of each subtask, if some of them are known for a part of the time only."""
        if any(name in self._sums and by in self._sums for name, by in MISSING.items()):
            self._parts = _at_mean_rates(measured)
            self._sums = {name: sum(p.get(name, 0.0) for p in self._parts) for name in self._sums}

    def __contains__(self, name: str) -> bool:
        """Return whether the log has this sum."""
        return name in self._sums

    def __getitem__(self, name: str) -> float:
        """Return a sum, 0 if the log does not have it."""
        return self._sums.get(name, 0.0)

    def ratio(self, above: str, below: str) -> float | None:
        """Return one sum over another, of the subtasks that have both; None if there is nothing to
        divide by.
        """
        if above not in self or self[below] <= 0:
            return None
        if not self._parts:
            return self[above] / self[below]
        both = [own for own in self._parts if above in own and below in own]
        divisor = sum(own[below] for own in both)
        return sum(own[above] for own in both) / divisor if divisor > 0 else None

    def is_partly_missing(self, name: str) -> bool:
        """Return whether a sum is known for a part of the time or of the subtasks only."""
        observed = [own for own in self._parts if own.get("dt_ms", 0.0) > 0]
        known = [own for own in observed if name in own]
        part_time = any(own.get(MISSING[name], 0.0) > 0 for own in known)
        return 0 < len(known) < len(observed) or part_time


def _at_mean_rates(measured: Iterable[QuarterTotals]) -> list[dict[str, float]]:
    """Return the sums of each subtask, for all the time in which it was observed."""
    by_subtask: dict[tuple[str, int], dict[str, float]] = {}
    for t in measured:
        own = by_subtask.setdefault((t.vertex, t.subtask), {})
        for name, value in t.sums.items():
            own[name] = own.get(name, 0.0) + value
    for own in by_subtask.values():
        whole_ms = own.get("dt_ms", 0.0)
        for name, told_by in KNOWN_BY.items():
            missing_ms = own.get(MISSING[told_by], 0.0)
            if name in own and 0 < missing_ms < whole_ms:
                own[name] *= whole_ms / (whole_ms - missing_ms)
    return list(by_subtask.values())


def rate_per_s(measured: Iterable[QuarterTotals], name: str) -> float | None:
    """Return a sum per second, added over subtasks; None if the log does not have it.

    The sum of each subtask is divided by its own time, so that a subtask that restarted and lost a
    part of the window has the same weight as the others. One without it counts as their mean.
    """
    measured = tuple(measured)
    known = rates_per_s(measured, name)
    if not known:
        return None
    return sum(known.values()) * (len(subtasks_seen(measured)) / len(known))


def rates_per_s(measured: Iterable[QuarterTotals], name: str) -> dict[int, float]:
    """Return subtask -> a sum per second, of each subtask that has it in the log."""
    by_subtask: dict[int, list[QuarterTotals]] = {}
    for t in measured:
        by_subtask.setdefault(t.subtask, []).append(t)
    per_ms = {i: Total(ts).ratio(name, "dt_ms") for i, ts in sorted(by_subtask.items())}
    return {i: 1000.0 * rate for i, rate in per_ms.items() if rate is not None}


def subtasks_seen(measured: Iterable[QuarterTotals]) -> set[int]:
    """Return the subtasks with at least one difference in the log."""
    return {t.subtask for t in measured if t.sums.get("dt_ms", 0.0) > 0}
