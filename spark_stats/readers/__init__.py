"""Readers: one file for each format of metric log, each makes the long table on Spark."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from edgeplace.spark_stats.formats import (
    canonical_log,
    exposition,
    line_protocol,
    otlp_lines,
    placement_lines,
    range_answer,
    slf4j_reports,
)
from edgeplace.spark_stats.readers import (
    canonical,
    influx_lines,
    otlp,
    prometheus_range,
    prometheus_text,
    seed_metrics,
    slf4j_reporter,
)

Read = Callable[[DataFrame], DataFrame]
"""Makes the long table of lines (value, file, block, pos, modified_ms)."""

READERS: Mapping[str, Read] = {
    canonical_log.name: canonical.read,
    range_answer.name: prometheus_range.read,
    placement_lines.name: seed_metrics.read,
    slf4j_reports.name: slf4j_reporter.read,
    exposition.name: prometheus_text.read,
    line_protocol.name: influx_lines.read,
    otlp_lines.name: otlp.read,
}
"""Name of a format -> its reader."""
