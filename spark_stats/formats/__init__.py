"""Formats of metric logs: one file each, which knows the format and reads it without Spark.

`spark_stats/readers/` reads the same formats with Spark.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from edgeplace.spark_stats.formats import (
    canonical_log,
    exposition,
    line_protocol,
    otlp_lines,
    placement_lines,
    range_answer,
    slf4j_reports,
)
from edgeplace.spark_stats.samples import BadText, Samples


class Format(Protocol):
    """A format of log."""

    name: str
    expects: str
    """What a file of this format looks like, for error messages."""
    whole_files: bool
    """True if a file is one document, False if it is made of lines."""

    def recognises(self, head: str) -> bool:
        """Return whether a file that starts with `head` is of this format."""

    def read(self, lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
        """Add the lines of one file to the samples, and yield those that cannot be read."""


FORMATS: tuple[Format, ...] = (
    canonical_log,
    range_answer,
    placement_lines,
    slf4j_reports,
    exposition,
    line_protocol,
    otlp_lines,
)
"""All formats. Of those that recognise a file, the first reads it."""


def format_of(head: str) -> Format | None:
    """Return the format of a file by its start, or None."""
    return next((known for known in FORMATS if known.recognises(head)), None)
