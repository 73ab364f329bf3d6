"""Compute the costs of a fleet's replicas on Spark."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark import RDD, StorageLevel
from pyspark.sql import SparkSession

from edgeplace.solver.fleet import Part

R = TypeVar("R")


class SparkExecutor:
    """Computes the costs of a fleet's replicas on a Spark cluster: ``solve_fleet(...,
    executor=...)``. The parts of the fleet are sent there once and stay in the executors' memory.
    Each step sends only prices, and receives sums and choices. The executors need edgeplace. The
    session needs RDDs, so a Spark Connect session does not work.

    Parameters
    ----------
    session
        The session to use; it is not stopped.
    """

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext

    def spread(self, parts: Sequence[Part]) -> "_Spread":
        """Send parts to the executors, each to a partition of its own."""
        rdd = self._context.parallelize(parts, len(parts))
        return _Spread(rdd.persist(StorageLevel.MEMORY_AND_DISK))


class _Spread:
    def __init__(self, rdd: "RDD[Part]") -> None:
        self._rdd = rdd

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return the result of a function for each part, in their order."""
        return self._rdd.map(function).collect()

    def close(self) -> None:
        """Free the executors' memory."""
        self._rdd.unpersist()
