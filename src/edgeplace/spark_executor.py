"""Compute the costs of a fleet's replicas on Spark."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark import RDD, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from edgeplace.model import InvalidInputError, MissingExtraError
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

    Raises
    ------
    InvalidInputError
        If it is a session of Spark Connect.
    """

    def __init__(self, session: SparkSession) -> None:
        try:
            self._context = session.sparkContext
        except PySparkException as e:
            raise InvalidInputError(
                "a session of Spark Connect has no RDDs, which keep the parts of a fleet",
                "use a session of the cluster's master: SparkSession.builder.master(URL)",
            ) from e

    def spread(self, parts: Sequence[Part]) -> "_Spread":
        """Send parts to the executors, each to a partition of its own."""
        rdd = self._context.parallelize(parts, len(parts))
        return _Spread(rdd.persist(StorageLevel.MEMORY_AND_DISK))


class _Spread:
    def __init__(self, rdd: "RDD[Part]") -> None:
        self._rdd = rdd

    def map(self, function: Callable[[Part], R]) -> list[R]:
        """Return the result of a function for each part, in their order.

        Raises
        ------
        MissingExtraError
            If the executors have no edgeplace.
        """
        try:
            return self._rdd.map(function).collect()
        except (PySparkException, Py4JError) as e:
            absent = re.search(r"No module named '(edgeplace|numpy|pydantic)\b", str(e))
            if absent is None:
                raise
            raise MissingExtraError(
                f"the machines of Spark have no {absent.group(1)}",
                "install edgeplace there, or send it: spark-submit --py-files edgeplace-VERSION.whl"
                " (numpy and pydantic must be there), or --archives with a packed environment",
            ) from e

    def close(self) -> None:
        """Free the executors' memory."""
        self._rdd.unpersist()
