"""Costs as a Parquet table, to analyse many jobs with Spark."""

from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from edgeplace.model import Costs, InvalidInputError
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.session import local_session

SCHEMA = T.StructType(
    [
        T.StructField("job", T.StringType(), nullable=False),
        T.StructField("from_ms", T.LongType()),
        T.StructField("to_ms", T.LongType()),
        T.StructField("operator", T.StringType(), nullable=False),
        T.StructField("name", T.StringType()),
        T.StructField("node_class", T.StringType()),
        T.StructField("true_rate_per_s", T.DoubleType()),
        T.StructField("cpu_ms_per_record", T.DoubleType()),
        T.StructField("origin", T.StringType()),
        T.StructField("busy_s", T.DoubleType()),
        T.StructField("samples", T.LongType()),
        T.StructField("relative_spread", T.DoubleType()),
        T.StructField("stationary", T.BooleanType()),
        T.StructField("weak", T.StringType()),
        T.StructField("selectivity", T.DoubleType()),
        T.StructField("demand_per_s", T.DoubleType()),
        T.StructField("throttled", T.BooleanType()),
        T.StructField("state_bytes", T.DoubleType()),
        T.StructField("checkpointed_bytes", T.DoubleType()),
    ]
)


def write_parquet(costs: Costs, folder: str | Path, spark: SparkSession | None = None) -> None:
    """Write one row for each operator and node class; operators without a rate have one row.

    Raises
    ------
    InvalidInputError
        If the folder exists, of which nothing is overwritten, or if Spark may not write there.
    SparkUnavailableError
        If Spark gave up.
    """
    rows = [
        (
            costs.job,
            costs.from_ms,
            costs.to_ms,
            op.operator,
            op.name,
            c.node_class if c else None,
            c.true_rate_per_s if c else None,
            c.cpu_ms_per_record if c else None,
            c.origin if c else None,
            c.busy_s if c else None,
            c.samples if c else None,
            c.relative_spread if c else None,
            c.stationary if c else None,
            c.weak if c else None,
            op.selectivity,
            sum(op.demand.rates_per_s) if op.demand else None,
            op.demand.throttled if op.demand else None,
            op.state_bytes,
            op.checkpointed_bytes,
        )
        for op in costs.operators
        for c in (op.classes or (None,))
    ]
    session = spark or local_session()
    with in_clear_words():
        try:
            session.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(folder))
        except AnalysisException as e:
            if e.getCondition() != "PATH_ALREADY_EXISTS":
                raise
            raise InvalidInputError(
                f"{folder}: exists already", "choose another folder, or remove it"
            ) from e
