"""From the metric log of a running Flink job to what each operator costs, with PySpark.

>>> from edgeplace.spark_stats import measure  # doctest: +SKIP
>>> measurement = measure(["metrics.jsonl.gz"], cluster)  # doctest: +SKIP
>>> measurement.costs.operators  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgeplace.model.errors import MissingExtraError
from edgeplace.spark_stats.errors import SparkUnavailableError

if TYPE_CHECKING:
    from edgeplace.spark_stats.ledger.add import add_to_ledger
    from edgeplace.spark_stats.ledger.answer import costs_from_ledger
    from edgeplace.spark_stats.ledger.folder import is_ledger
    from edgeplace.spark_stats.measurement import Measurement, SampleCounts, measure
    from edgeplace.spark_stats.quarantine import BadLine, Quarantine
    from edgeplace.spark_stats.session import open_session

__all__ = [
    "BadLine",
    "Measurement",
    "Quarantine",
    "SampleCounts",
    "SparkUnavailableError",
    "add_to_ledger",
    "costs_from_ledger",
    "is_ledger",
    "measure",
    "open_session",
]
_ROOMS = {
    "BadLine": "quarantine",
    "Measurement": "measurement",
    "Quarantine": "quarantine",
    "SampleCounts": "measurement",
    "add_to_ledger": "ledger.add",
    "costs_from_ledger": "ledger.answer",
    "is_ledger": "ledger.folder",
    "measure": "measurement",
    "open_session": "session",
}
_EXTRA = ("pyspark", "py4j")
"""What the extra brings; an import of either may be the first to fail."""


def __getattr__(name: str) -> Any:
    # Names load on first use, so that this import needs no Spark.
    if name not in _ROOMS:
        raise AttributeError(f"module 'edgeplace.spark_stats' has no attribute {name!r}")
    try:
        return getattr(import_module(f"edgeplace.spark_stats.{_ROOMS[name]}"), name)
    except ModuleNotFoundError as e:
        if e.name is None or e.name.split(".")[0] not in _EXTRA:
            raise
        raise MissingExtraError(
            "reading metric logs needs PySpark, which is not installed",
            "pip install 'edgeplace[spark]'",
        ) from e
