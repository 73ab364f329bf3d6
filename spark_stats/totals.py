"""The sums of a log as Python objects, for each subtask, quarter and TaskManager."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from edgeplace.spark_stats.sums_table import SUM_KEYS


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
    """The sum of several totals."""

    def __init__(self, measured: Iterable[QuarterTotals]) -> None:
        self._sums: dict[str, float] = {}
        for t in measured:
            for name, value in t.sums.items():
                self._sums[name] = self._sums.get(name, 0.0) + value

    def __contains__(self, name: str) -> bool:
        """Return whether the log has this sum."""
        return name in self._sums

    def __getitem__(self, name: str) -> float:
        """Return a sum, 0 if the log does not have it."""
        return self._sums.get(name, 0.0)

    def ratio(self, above: str, below: str) -> float | None:
        """Return one sum over another, None if there is nothing to divide by."""
        if above not in self or self[below] <= 0:
            return None
        return self[above] / self[below]


def rate_per_s(measured: Iterable[QuarterTotals], name: str) -> float | None:
    """Return a sum per second, added over subtasks; None if the log does not have it.

    The sum of each subtask is divided by its own time, so that a subtask that restarted and lost a
    part of the window has the same weight as the others.
    """
    by_subtask: dict[int, list[QuarterTotals]] = {}
    for t in measured:
        by_subtask.setdefault(t.subtask, []).append(t)
    rates = [Total(ts).ratio(name, "dt_ms") for ts in by_subtask.values()]
    known = [x for x in rates if x is not None]
    return 1000.0 * sum(known) if known else None


def subtasks_seen(measured: Iterable[QuarterTotals]) -> set[int]:
    """Return the subtasks with at least one difference in the log."""
    return {t.subtask for t in measured if t.sums.get("dt_ms", 0.0) > 0}
