"""Answers of Prometheus to `query_range`: each file is one JSON document with a matrix of
series.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import range_answer as of_format
from edgeplace.spark_stats.long_rows import STRICT_JSON, excerpt, long_rows, number
from edgeplace.spark_stats.readers import prometheus

_ANSWER = (
    "data STRUCT<resultType: STRING, result: ARRAY<STRUCT<metric: MAP<STRING, STRING>,"
    " values: ARRAY<ARRAY<STRING>>>>>"
)


def read(lines: DataFrame) -> DataFrame:
    """Return the long table."""
    answers = lines.select(
        "*",
        F.from_json("value", _ANSWER, STRICT_JSON)["data"]["result"].alias("result"),
    )
    points = answers.select("*", F.explode_outer("result").alias("series")).select(
        *(c for c in answers.columns if c != "result"),
        F.col("result").isNull().alias("bad"),
        F.col("series.metric").alias("labels"),
        F.explode_outer("series.values").alias("point"),
    )

    def label(wanted: str) -> Column:
        return F.col("labels")[wanted]

    series = F.coalesce(label("__name__"), F.lit(""))
    useful = prometheus.of_flink(series)
    made = prometheus.columns(series, label)
    text = F.regexp_replace(F.get("point", F.lit(1)), "^([+-]?)Inf$", "$1Infinity")
    seconds = F.get("point", F.lit(0)).try_cast("double")
    return long_rows(
        points,
        format=of_format.name,
        **{k: F.when(useful, c) for k, c in made.items() if k not in ("kind", "vertex", "name")},
        kind=F.when(F.col("bad"), r.BAD).when(~useful, r.OTHER).otherwise(made["kind"]),
        vertex=F.when(F.col("bad"), F.col("file")).when(useful, made["vertex"]),
        name=F.when(F.col("bad"), of_format.NO_MATRIX).when(useful, made["name"]),
        ts_ms=F.when(useful, F.round(1000 * seconds).try_cast("bigint")),
        value=F.when(useful, number(text)),
        excerpt=F.when(F.col("bad"), excerpt(F.col("value"))),
    )
