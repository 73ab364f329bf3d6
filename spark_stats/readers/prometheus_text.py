"""Prometheus text exposition: the answer of Flink's reporter to a scrape.

Lines of a scrape may end in a time. Without it, the file's modification time is used. So
differences need several scrapes, each in its own file.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import exposition as of_format
from edgeplace.spark_stats.long_rows import excerpt, long_rows, number
from edgeplace.spark_stats.readers import prometheus


def read(lines: DataFrame) -> DataFrame:
    """Return the long table."""

    def part(group: int) -> Column:
        return F.regexp_extract("value", of_format.SAMPLE, group)

    text = F.trim("value")
    said = lines.filter((text != "") & ~text.startswith("#")).select(
        "*",
        part(1).alias("series"),
        part(2).alias("labels"),
        part(3).alias("number"),
        F.coalesce(part(4).try_cast("bigint"), F.col("modified_ms")).alias("ts_ms"),
    )
    bad = F.col("series") == ""
    useful = prometheus.of_flink(F.col("series"))

    def label(wanted: str) -> Column:
        found = F.regexp_extract("labels", of_format.LABEL.format(wanted), 1)
        return F.when(found != "", found)

    made = prometheus.columns(F.col("series"), label)
    value = F.regexp_replace(F.col("number"), "^([+-]?)Inf$", "$1Infinity")
    return long_rows(
        said,
        format=of_format.name,
        **{k: F.when(useful, c) for k, c in made.items() if k not in ("kind", "vertex", "name")},
        kind=F.when(bad, r.BAD).when(~useful, r.OTHER).otherwise(made["kind"]),
        vertex=F.when(bad, F.col("file")).when(useful, made["vertex"]),
        name=F.when(bad, of_format.NO_LINE).when(useful, made["name"]),
        ts_ms=F.when(useful, F.col("ts_ms")),
        value=F.when(useful, number(value)),
        excerpt=F.when(bad, excerpt(F.col("value"))),
    )
