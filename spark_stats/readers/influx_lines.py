"""InfluxDB line protocol, as Flink's InfluxDB reporter posts it; see `formats/line_protocol.py`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import line_protocol as of_format
from edgeplace.spark_stats.long_rows import excerpt, long_rows, number
from edgeplace.spark_stats.readers import prometheus


def read(lines: DataFrame) -> DataFrame:
    """Return the long table."""

    def part(group: int) -> Column:
        return F.regexp_extract("value", of_format.POINT, group)

    def given(text: str, pattern: str) -> Column:
        found = F.regexp_extract(text, pattern, 1)
        return F.when(found != "", found)

    line = F.trim("value")
    points = lines.filter((line != "") & ~line.startswith("#")).select(
        "*",
        part(1).alias("measurement"),
        F.concat(F.lit(of_format.PREFIX), part(1)).alias("series"),
        part(2).alias("tags"),
        part(3).alias("fields"),
        part(4).try_cast("bigint").alias("at_ns"),
    )
    of_field = {field: given("fields", of_format.FIELD.format(field)) for field in of_format.FIELDS}
    of_field["count"] = F.when(~F.col("measurement").endswith(of_format.METER), of_field["count"])
    said = points.select("*", F.coalesce(*of_field.values()).alias("text"))
    bad = F.col("at_ns").isNull()
    useful = ~bad & F.col("text").isNotNull() & prometheus.of_flink(F.col("series"))

    def label(wanted: str) -> Column:
        return F.regexp_replace(
            given("tags", of_format.TAG.format(wanted)), of_format.ESCAPED, "$1"
        )

    made = prometheus.columns(F.col("series"), label)
    return long_rows(
        said,
        format=of_format.name,
        **{k: F.when(useful, c) for k, c in made.items() if k not in ("kind", "vertex", "name")},
        kind=F.when(bad, r.BAD).when(~useful, r.OTHER).otherwise(made["kind"]),
        vertex=F.when(bad, F.col("file")).when(useful, made["vertex"]),
        name=F.when(bad, of_format.NO_POINT).when(useful, made["name"]),
        ts_ms=F.when(useful, F.expr(f"at_ns DIV {of_format.NS_PER_MS}")),
        value=F.when(useful, number(F.regexp_replace("text", of_format.INTEGER, ""))),
        excerpt=F.when(bad, excerpt(F.col("value"))),
        # No position, because the order of lines is none of time.
        pos=F.when(useful, F.lit(0)).otherwise(F.col("pos")),
    )
