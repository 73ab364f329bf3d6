"""What each subtask and each TaskManager did in each minute, as arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.arrays import Bools, Floats, Ints
from edgeplace.spark_stats.sums_table import OF_MINUTE, OF_PART, is_of_subtask

_values = attrgetter(*OF_MINUTE)


@dataclass(frozen=True)
class SubtaskMinutes:
    """The minutes of one subtask on one TaskManager, or of a TaskManager: n of them, one or
    more unless `only` has left none.

    Attributes
    ----------
    kind, job, vertex
        As in the long table.
    subtask
        -1 for a TaskManager.
    location
        TaskManager as the log names it; None: not known.
    at_ms
        Start of each minute, ms since the epoch, ascending, shape (n,).
    dt_ms
        Time in which it was observed, shape (n,).
    resets
        Number of restarts, shape (n,).
    sums
        Each of `OF_PART` -> its sum in each minute, shape (n,). What is known for a part of a
        minute is taken at its mean rate; NaN: nothing of it is known.
    """

    kind: str
    job: str | None
    vertex: str
    subtask: int
    location: str | None
    at_ms: Ints
    dt_ms: Floats
    resets: Floats
    sums: Mapping[str, Floats]

    def knows(self, name: str) -> Bools:
        """Return in which minutes a sum is known, shape (n,)."""
        return ~np.isnan(self.sums[name])

    def known(self, name: str) -> Floats:
        """Return a sum in each minute, 0 where it is not known, shape (n,)."""
        return _or_0(self.sums[name])

    def only(self, rows: Bools) -> "SubtaskMinutes":
        """Return it with some of its minutes."""
        return replace(
            self,
            at_ms=self.at_ms[rows],
            dt_ms=self.dt_ms[rows],
            resets=self.resets[rows],
            sums={name: values[rows] for name, values in self.sums.items()},
        )

    def emitting(self) -> "SubtaskMinutes":
        """Return it with the records that the source emits as those out."""
        return replace(self, sums={**self.sums, "records_out": self.sums["emitted"]})


Owner = tuple[str, str | None, str, int, str | None]
"""The first five attributes of `SubtaskMinutes`."""


def owner_of(row: Any) -> Owner | None:
    """Return whose sums a row has; None if they are not of a subtask or a TaskManager."""
    if row.kind == r.TASK_MANAGER or is_of_subtask(row):
        subtask = -1 if row.subtask is None else int(row.subtask)
        return row.kind, row.job, row.vertex, subtask, row.task_manager
    return None


def minutes_of(rows: Iterable[Any]) -> list[SubtaskMinutes]:
    """Return the minutes of each subtask and TaskManager.

    Parameters
    ----------
    rows
        What `counter_deltas.sums_with_minutes` returns, collected.
    """
    owners: dict[Owner, int] = {}
    which, parts = [], []
    for row in rows:
        owner = owner_of(row)
        if owner is not None:
            number = owners.setdefault(owner, len(owners))
            which += [number] * len(row.minutes)
            parts += row.minutes
    return put_together(
        {number: owner for owner, number in owners.items()},
        np.array(which, dtype=np.int64),
        np.array([part.bin_ms for part in parts], dtype=np.int64),
        _table([_values(part) for part in parts], len(OF_MINUTE)),
        _table([_missing(part.missing) for part in parts], len(OF_PART)),
    )


_NONE = (0.0,) * len(OF_PART)


def _missing(missing: Any) -> tuple[float | None, ...]:
    return _NONE if missing is None else tuple([missing[name] for name in OF_PART])


def _table(rows: Sequence[Sequence[float | None]], columns: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(-1, columns)


def _or_0(values: Floats) -> Floats:
    return np.where(np.isnan(values), 0.0, values)


# What is too large for a sum is too large for a cost, and refused there.
@np.errstate(over="ignore", invalid="ignore")
def put_together(
    owners: Mapping[int, Owner], which: Ints, at_ms: Ints, values: Floats, missing_ms: Floats
) -> list[SubtaskMinutes]:
    """Return the minutes of each owner that has some. A minute may come in several parts.

    Parameters
    ----------
    owners
        Number -> whose minutes they are.
    which
        Number of the owner of each part, shape (p,).
    at_ms
        Start of the minute of each part, ms since the epoch, shape (p,).
    values
        `OF_MINUTE` of each part, shape (p, 13); NaN: not known.
    missing_ms
        Time in which each of `OF_PART` is not known, of those that are known for a part of the time
        only, shape (p, 11); NaN or 0: none.
    """
    if not len(which):
        return []
    order = np.lexsort((at_ms, which))
    which, at_ms, values = which[order], at_ms[order], values[order]
    missing_ms = _or_0(missing_ms[order])
    new = np.ones(len(which), dtype=np.bool_)
    new[1:] = (which[1:] != which[:-1]) | (at_ms[1:] != at_ms[:-1])
    first = np.flatnonzero(new)
    column = {name: values[:, i] for i, name in enumerate(OF_MINUTE)}
    part_ms = _or_0(column["dt_ms"])
    dt_ms = np.add.reduceat(part_ms, first)
    resets = np.add.reduceat(_or_0(column["resets"]), first)
    sums = {}
    for i, name in enumerate(OF_PART):
        known = ~np.isnan(column[name])
        known_ms = np.add.reduceat(np.where(known, part_ms - missing_ms[:, i], 0.0), first)
        total = np.add.reduceat(np.where(known, column[name], 0.0), first)
        mean = np.divide(dt_ms, known_ms, out=np.ones_like(dt_ms), where=known_ms > 0)
        sums[name] = np.where(np.logical_or.reduceat(known, first), total * mean, np.nan)
    which, at_ms = which[first], at_ms[first]
    starts = np.flatnonzero(np.diff(which, prepend=-1))
    return [
        SubtaskMinutes(
            *owners[int(which[a])],
            at_ms[a:b],
            dt_ms[a:b],
            resets[a:b],
            {name: total[a:b] for name, total in sums.items()},
        )
        for a, b in zip(starts, [*starts[1:], len(which)], strict=True)
    ]
