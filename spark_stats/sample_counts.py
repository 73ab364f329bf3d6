"""How much of what a log has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeplace.spark_stats import long_table as r


@dataclass(frozen=True)
class SampleCounts:
    """The number of values and lines read from a log, by kind."""

    values: Mapping[str, int]
    """Format -> metric values read."""
    samples: int
    """Rows of one subtask at one time."""
    unused: int
    """Values of metrics that are not used."""
    not_a_number: int
    infinite: int
    unreadable: int
    duplicates: int
    """Snapshots that the log has more than once."""
    repeats: int
    """Snapshots without a change: Flink answered with the previous one."""
    resets: int
    clock_jumps: int
    other_lines: int
    """Lines with answers that are not used."""


def counts_of(rows: Sequence[Any]) -> SampleCounts:
    """Return the counts of the sums of a log."""

    def summed(name: str) -> int:
        return sum(row[name] or 0 for row in rows)

    values: dict[str, int] = {}
    for row in rows:
        values[row.format] = values.get(row.format, 0) + row["values"]
    return SampleCounts(
        values=values,
        other_lines=sum(row["rows"] for row in rows if row.kind == r.OTHER),
        **{
            name: summed(name)
            for name in ("samples", "unused", "not_a_number", "infinite", "unreadable")
        },
        **{name: summed(name) for name in ("duplicates", "repeats", "resets", "clock_jumps")},
    )
