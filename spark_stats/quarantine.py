"""Lines that could not be read. They are always counted; their numbers are computed on request."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BadLine:
    """A line of a log that could not be read."""

    file: str
    line: int
    """Its number, from 1."""
    reason: str
    text: str
    """The start of the line."""


@dataclass(frozen=True)
class Quarantine:
    """The lines of a log that could not be read. None of them stops the run."""

    counts: Mapping[str, int]
    """Reason -> number of lines."""
    lines: Callable[[], Iterator[BadLine]]
    """Yields every bad line. This reads the log once more, in bounded memory."""

    def __len__(self) -> int:
        """Return the number of bad lines."""
        return sum(self.counts.values())
