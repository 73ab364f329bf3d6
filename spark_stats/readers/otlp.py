"""OpenTelemetry's metrics as a collector's file exporter writes them; see
`formats/otlp_lines.py`.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import otlp_lines as of_format
from edgeplace.spark_stats.long_rows import STRICT_JSON, excerpt, long_rows, number
from edgeplace.spark_stats.readers import prometheus

_POINTS = (
    "dataPoints: ARRAY<STRUCT<startTimeUnixNano: STRING, timeUnixNano: STRING, asInt: STRING,"
    " asDouble: STRING,"
    " attributes: ARRAY<STRUCT<key: STRING, value: STRUCT<stringValue: STRING>>>>>"
)
_LINE = (
    "resourceMetrics ARRAY<STRUCT<scopeMetrics: ARRAY<STRUCT<metrics: ARRAY<STRUCT<name: STRING,"
    f" gauge: STRUCT<{_POINTS}>, sum: STRUCT<aggregationTemporality: STRING, {_POINTS}>>>>>>>,"
    " odd STRING"
)
# Has the line if it does not have the types of the schema, or is no JSON.
_ONE_PARSE = {"mode": "PERMISSIVE", **STRICT_JSON, "columnNameOfCorruptRecord": "odd"}


def read(lines: DataFrame) -> DataFrame:
    """Return the long table."""
    parsed = lines.filter(F.trim("value") != "").select(
        "*", F.from_json("value", _LINE, _ONE_PARSE).alias("line")
    )
    bad = F.col("line.resourceMetrics").isNull() | F.col("line.odd").isNotNull()
    marked = parsed.select(
        *("file", "block", "pos"),
        bad.alias("bad"),
        F.when(bad, F.col("value")).alias("value"),
        F.when(~bad, F.col("line.resourceMetrics")).alias("resources"),
    )
    place = ("file", "block", "pos", "bad", "value")
    metrics = (
        marked.select(*place, F.explode_outer("resources").alias("resource"))
        .select(*place, F.explode_outer("resource.scopeMetrics").alias("scope"))
        .select(*place, F.explode_outer("scope.metrics").alias("metric"))
    )
    grows = F.coalesce(
        F.col("metric.sum.aggregationTemporality").isin(*of_format.DELTA), F.lit(False)
    )
    points = metrics.select(
        *place,
        F.replace(F.coalesce("metric.name", F.lit("")), F.lit("."), F.lit("_")).alias("series"),
        F.explode_outer(
            F.concat(
                _points(F.col("metric.gauge.dataPoints"), F.lit(False)),
                _points(F.col("metric.sum.dataPoints"), grows),
            )
        ).alias("of"),
    ).select(
        *(*place, "series", "of.point", "of.grew"),
        _ms("of.point.timeUnixNano").alias("ts_ms"),
        F.coalesce(
            _ms("of.point.startTimeUnixNano"),
            F.when(F.col("of.grew"), F.lit(of_format.NO_START_MS)),
        ).alias("since_ms"),
    )
    useful = ~F.col("bad") & prometheus.of_flink(F.col("series")) & F.col("ts_ms").isNotNull()
    columns = prometheus.columns(F.col("series"), _label)
    value = number(F.coalesce("point.asInt", "point.asDouble"))
    span_ms = F.col("ts_ms") - F.col("since_ms")
    rate = F.when(span_ms > 0, 1000.0 * value / span_ms)
    metric = columns["metric"]
    grew = F.col("grew")
    named = F.when(grew, F.concat(metric, F.lit(of_format.RATE))).otherwise(metric)
    reading = F.struct(named.alias("metric"), F.when(grew, rate).otherwise(value).alias("value"))
    since = F.struct(
        F.lit(r.SINCE).alias("metric"), F.col("since_ms").cast("double").alias("value")
    )
    # If a report was lost, the time of its TaskManager is not known either.
    timed = F.col("since_ms").isNotNull() & (grew | (columns["kind"] == r.TASK_MANAGER))
    said = F.when(timed, F.array(reading, since)).otherwise(F.array(reading))
    readings = points.withColumn("useful", F.coalesce(useful, F.lit(False))).select(
        "*", F.explode_outer(F.when(F.col("useful"), said)).alias("reading")
    )
    ok, is_bad = F.col("useful"), F.col("bad")
    kept = {k: c for k, c in columns.items() if k not in ("kind", "vertex", "name", "metric")}
    return long_rows(
        readings,
        format=of_format.name,
        **{k: F.when(ok, c) for k, c in kept.items()},
        kind=F.when(is_bad, r.BAD).when(~ok, r.OTHER).otherwise(columns["kind"]),
        vertex=F.when(is_bad, F.col("file")).when(ok, columns["vertex"]),
        name=F.when(is_bad, of_format.NO_METRICS).when(ok, columns["name"]),
        ts_ms=F.when(ok, F.col("ts_ms")),
        metric=F.col("reading.metric"),
        value=F.col("reading.value"),
        excerpt=F.when(is_bad, excerpt(F.col("value"))),
        # No position, because reports that a collector had to repeat come late.
        pos=F.when(ok, F.lit(0)).otherwise(F.col("pos")),
    )


def _points(points: Column, grew: Column) -> Column:
    """Return an array of points, each with whether it is what a counter grew by."""
    marked = F.transform(points, lambda point: F.struct(point.alias("point"), grew.alias("grew")))
    return F.coalesce(marked, F.array())


def _label(wanted: str) -> Column:
    given = F.filter("point.attributes", lambda each: each["key"] == wanted)
    text = F.get(given, F.lit(0))["value"]["stringValue"]
    return F.when(text != "", text)


def _ms(ns: str) -> Column:
    # 0 means in OTLP that a time is not known.
    number_ns = F.col(ns).try_cast("bigint")
    return F.when(number_ns > 0, F.expr(f"try_cast({ns} AS BIGINT) DIV {of_format.NS_PER_MS}"))
