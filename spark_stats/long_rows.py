"""The long table as a table of Spark."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats.long_table import COLUMNS

STRICT_JSON = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
"""Options of `from_json`: JSON as its standard has it, so bad lines are the same for all."""


def long_rows(rows: DataFrame, **columns: Column | str) -> DataFrame:
    """Return `rows` in the shape of the long table, with null in the columns not given.

    Text stands for a literal. The place of the line is taken from `rows`.
    """
    place = {c: F.col(c) for c in ("file", "block", "pos")}
    given = {k: F.lit(v) if isinstance(v, str) else v for k, v in columns.items()}
    return rows.select(
        *(
            {**place, **given}.get(name, F.lit(None)).cast(kind).alias(name)
            for name, kind in COLUMNS.items()
        )
    )


def number(text: Column) -> Column:
    """Return text as a double, null where it is none; NaN and Infinity are kept."""
    return text.try_cast("double")


def excerpt(text: Column) -> Column:
    """Return the start of a bad line."""
    return F.substring(F.make_valid_utf8(text), 1, 200)
