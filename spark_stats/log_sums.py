"""The content of a log: its sums, its bad lines, and the damage of its files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.files import CUT_SHORT, note_of
from edgeplace.spark_stats.quarantine import BadLine, Quarantine
from edgeplace.spark_stats.sums_table import SUM_KEYS


@dataclass(frozen=True)
class LogSums:
    """The sums of a log, read with or without Spark."""

    rows: Sequence[Any]
    """What `counter_deltas.sums_with_minutes` returns, in one order."""
    quarantine: Quarantine
    damage: Sequence[str]
    """Notes on damaged and empty files."""

    @classmethod
    def of(
        cls,
        rows: Sequence[Any],
        cut_short: Mapping[str, int],
        empty: Sequence[str],
        bad_lines: Callable[[], Iterator[BadLine]],
    ) -> "LogSums":
        """Return it with the bad lines counted.

        Parameters
        ----------
        rows
            The sums, in any order.
        cut_short
            Damaged gzip file -> number of lines that could be read.
        empty
            Files without content.
        bad_lines
            Yields the bad lines, without the damage.
        """
        # Spark tells of the files in any order.
        damaged = sorted(cut_short.items())

        def lines() -> Iterator[BadLine]:
            for file, line in damaged:
                yield BadLine(file, line, CUT_SHORT, "")
            yield from bad_lines()

        counts = {CUT_SHORT: len(damaged)} if damaged else {}
        for row in rows:
            if row.kind == r.BAD:
                counts[row.name] = counts.get(row.name, 0) + row["rows"]
        damage = [note_of(file, lines) for file, lines in damaged]
        damage += [f"{file} is empty" for file in empty]
        # Numbers are added in the order of the rows, so their last digits depend on it.
        ordered = sorted(rows, key=lambda row: [str(row[key]) for key in SUM_KEYS])
        return cls(ordered, Quarantine(counts, lines), damage)
