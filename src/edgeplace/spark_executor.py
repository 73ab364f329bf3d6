"""Spark as the place where a fleet's copies are priced."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark import RDD, StorageLevel
from pyspark.sql import SparkSession

from edgeplace.solver.fleet import Part

R = TypeVar("R")


class SparkExecutor:
    """Prices the copies of a fleet on a Spark cluster: ``solve_fleet(..., executor=...)``.

    Parts go there once and stay in the executors' memory; at each step only prices travel there,
    and sums and choices back. The executors need edgeplace installed; the session needs RDDs, so a
    Spark Connect one will not do.

    Parameters
    ----------
    session
        The session to use; it is not stopped.
    """

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext

    def spread(self, parts: Sequence[Part]) -> "_Spread":
        """Take parts to the executors, each to a partition of its own."""
        rdd = self._context.parallelize(parts, len(parts))
        return _Spread(rdd.persist(StorageLevel.MEMORY_AND_DISK))


class _Spread:
    def __init__(self, rdd: "RDD[Part]") -> None:
        self._rdd = rdd

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return what a function says of each part, in their order."""
        return self._rdd.map(function).collect()

    def close(self) -> None:
        """Free the executors' memory."""
        self._rdd.unpersist()
