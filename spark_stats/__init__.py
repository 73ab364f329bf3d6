"""From the metric log of a running Flink job to what each operator costs, with PySpark.

>>> from edgeplace.spark_stats import measure  # doctest: +SKIP
>>> measurement = measure(["metrics.jsonl.gz"], cluster)  # doctest: +SKIP
>>> measurement.costs.operators  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgeplace.model.errors import MissingExtraError

if TYPE_CHECKING:
    from edgeplace.spark_stats.measurement import Measurement, SampleCounts, measure
    from edgeplace.spark_stats.quarantine import BadLine, Quarantine

_BROUGHT_BY_THE_EXTRA = ("pyspark", "py4j")

__all__ = ["BadLine", "Measurement", "Quarantine", "SampleCounts", "measure"]


def __getattr__(name: str) -> Any:
    # Names load on first use, so that this import needs no Spark.
    if name not in __all__:
        raise AttributeError(f"module 'edgeplace.spark_stats' has no attribute {name!r}")
    room = "quarantine" if name in ("BadLine", "Quarantine") else "measurement"
    try:
        return getattr(import_module(f"edgeplace.spark_stats.{room}"), name)
    except ModuleNotFoundError as e:
        if e.name is None or e.name.split(".")[0] not in _BROUGHT_BY_THE_EXTRA:
            raise
        raise MissingExtraError(
            "reading metric logs needs PySpark, which is not installed",
            "pip install 'edgeplace[spark]'",
        ) from e
