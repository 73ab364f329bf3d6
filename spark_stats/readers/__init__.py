"""Readers: one file for each format of metric log, each makes the long table."""

from edgeplace.spark_stats.long_table import Reader
from edgeplace.spark_stats.readers import (
    canonical,
    prometheus_range,
    prometheus_text,
    seed_metrics,
    slf4j_reporter,
)

READERS: tuple[Reader, ...] = (
    canonical,
    prometheus_range,
    seed_metrics,
    slf4j_reporter,
    prometheus_text,
)
"""All readers. Of those that recognise a file, the first reads it."""


def reader_of(head: str) -> Reader | None:
    """Return the reader that recognises a file by its start, or None."""
    return next((reader for reader in READERS if reader.recognises(head)), None)
