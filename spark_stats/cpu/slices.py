"""The work of the TaskManagers of one node class in each minute, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.spark_stats.arrays import Bools, Floats, Ints

ENOUGH_FREE = 0.25
"""Share of the records from which the rows with a free core alone divide CPU time."""


@dataclass(frozen=True)
class Slices:
    """One row for each TaskManager and minute.

    Attributes
    ----------
    operators
        The operators that ran there, k of them.
    place
        Number of the TaskManager, shape (n,).
    minute
        Number of the minute, shape (n,).
    cores
        CPU time of the process divided by time, shape (n,).
    per_s
        Records/s into the subtasks of each operator there (out of them, for sources), shape (n, k).
    busy
        Busy time of these subtasks divided by time, shape (n, k).
    full
        Whether the node had no free core, shape (n,): threads waited, which counts as busy time.
    """

    operators: tuple[str, ...]
    place: Ints
    minute: Ints
    cores: Floats
    per_s: Floats
    busy: Floats
    full: Bools

    def only(self, rows: Bools) -> "Slices":
        """Return some of the rows."""
        return Slices(
            self.operators,
            self.place[rows],
            self.minute[rows],
            self.cores[rows],
            self.per_s[rows],
            self.busy[rows],
            self.full[rows],
        )

    @property
    def enough_free(self) -> bool:
        """Whether some rows are full, and those that are not have enough of the records."""
        free = float(self.per_s[~self.full].sum())
        return bool(self.full.any()) and free >= ENOUGH_FREE * float(self.per_s.sum()) > 0

    def dealt_s(self) -> Floats:
        """Return core-seconds a record if each TaskManager's CPU time is divided by busy time,
        shape (k,); 0 where there is no busy time or no record. Full rows count only where others
        have too few records.
        """
        dealt = self._dealt_s()
        if self.enough_free:
            free = self.only(~self.full)._dealt_s()
            return np.where(free > 0, free, dealt)
        return dealt

    def _dealt_s(self) -> Floats:
        cpu, records = np.zeros(len(self.operators)), np.zeros(len(self.operators))
        for place in np.unique(self.place):
            here = self.only(self.place == place)
            busy, rate = here.busy.sum(axis=0), here.per_s.sum(axis=0)
            if busy.sum() > 0:
                with_records = rate > 0
                cpu += np.where(with_records, here.cores.sum() * busy / busy.sum(), 0.0)
                records += rate
        return np.divide(cpu, records, out=np.zeros_like(cpu), where=records > 0)

    def time_blocks(self, count: int) -> Ints:
        """Return the number of the block of time of each row: blocks have as many minutes each."""
        minutes, which = np.unique(self.minute, return_inverse=True)
        return _equal_parts(np.arange(len(minutes)), count)[which]

    def rate_blocks(self, count: int) -> Ints:
        """Return the number of the block of rates of each row: minutes in order of their rates,
        each operator's rate as a share of its highest.
        """
        minutes, which = np.unique(self.minute, return_inverse=True)
        total = np.zeros((len(minutes), len(self.operators)))
        np.add.at(total, which, self.per_s)
        top = total.max(axis=0, initial=0.0)
        load = (total[:, top > 0] / top[top > 0]).sum(axis=1)
        rank = np.empty(len(minutes), dtype=np.int64)
        rank[np.lexsort((np.arange(len(minutes)), load))] = np.arange(len(minutes))
        return _equal_parts(rank, count)[which]


def _equal_parts(rank: Ints | Sequence[int], count: int) -> Ints:
    ranks = np.asarray(rank, dtype=np.int64)
    return ranks * count // max(len(ranks), 1)
