"""From the metric log of a running Flink job to what each operator costs.

With PySpark, or without it if the log is small.

>>> from edgeplace.spark_stats import measure  # doctest: +SKIP
>>> measurement = measure(["metrics.jsonl.gz"], cluster)  # doctest: +SKIP
>>> measurement.costs.operators  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgeplace.model.extras.extras import needing
from edgeplace.spark_stats.errors import SparkUnavailableError

if TYPE_CHECKING:
    from edgeplace.spark_stats.ledger.add import add_to_ledger
    from edgeplace.spark_stats.ledger.answer import costs_from_ledger
    from edgeplace.spark_stats.ledger.folder import is_ledger
    from edgeplace.spark_stats.measurement import Measurement, measure
    from edgeplace.spark_stats.next_measurement import Doubt, largest_doubt
    from edgeplace.spark_stats.quarantine import BadLine, Quarantine
    from edgeplace.spark_stats.sample_counts import SampleCounts
    from edgeplace.spark_stats.session import open_session

__all__ = [
    "BadLine",
    "Doubt",
    "Measurement",
    "Quarantine",
    "SampleCounts",
    "SparkUnavailableError",
    "add_to_ledger",
    "costs_from_ledger",
    "is_ledger",
    "largest_doubt",
    "measure",
    "open_session",
]
_ROOMS = {
    "BadLine": "quarantine",
    "Doubt": "next_measurement",
    "Measurement": "measurement",
    "Quarantine": "quarantine",
    "SampleCounts": "sample_counts",
    "add_to_ledger": "ledger.add",
    "costs_from_ledger": "ledger.answer",
    "is_ledger": "ledger.folder",
    "largest_doubt": "next_measurement",
    "measure": "measurement",
    "open_session": "session",
}


def __getattr__(name: str) -> Any:
    # Names load on first use, so that this import needs no Spark. What a small log needs is in
    # the lighter extra, too.
    if name not in _ROOMS:
        raise AttributeError(f"module 'edgeplace.spark_stats' has no attribute {name!r}")
    with needing(purpose="reading metric logs"):
        return getattr(import_module(f"edgeplace.spark_stats.{_ROOMS[name]}"), name)
