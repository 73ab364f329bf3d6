"""The sums that new segments add to a ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

OF_SUBTASK = ("kind", "job", "vertex", "subtask")


@dataclass(frozen=True)
class NewSums:
    """The sums of new segments."""

    rows: Sequence[Any]
    """What `counter_deltas.sums` returns by `BIN_KEYS`, as rows."""
    late: int
    """Samples that are not newer than the last one of their subtask in the ledger."""
    ahead: int
    """Samples of the future."""
    table: "pa.Table"
    """The rows as a table."""
    tail: "pa.Table"
    """The samples to carry on: the last one of each subtask, and answers about it after that."""
    bad_lines: Mapping[str, int]
    """Segment -> its lines that could not be read."""
