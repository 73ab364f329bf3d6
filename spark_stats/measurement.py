"""The steps of a measurement: read a log, compute differences and sums, and turn them into
costs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import Costs
from edgeplace.model.extras.extras import needing
from edgeplace.model.job import JobGraph
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats.costs_of_sums import costs_of
from edgeplace.spark_stats.minutes import minutes_of
from edgeplace.spark_stats.placing import Placement
from edgeplace.spark_stats.quarantine import Quarantine
from edgeplace.spark_stats.sample_counts import SampleCounts
from edgeplace.spark_stats.state_at_rates import held_states
from edgeplace.spark_stats.without_spark.reading import log_sums, small_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Measurement:
    """Costs, and the counts and bad lines of the log behind them."""

    costs: Costs
    samples: SampleCounts
    quarantine: Quarantine


def measure(
    paths: Sequence[str | Path],
    cluster: Cluster | None,
    *,
    job: JobGraph | None = None,
    placement: Placement | None = None,
    rates: Mapping[str, float] | None = None,
    flushes: Mapping[str, Gathering] | None = None,
    spark: "SparkSession | None" = None,
    progress: Callable[[str, float], None] | None = None,
) -> Measurement:
    """Turn the metric log of a running Flink job into costs.

    Parameters
    ----------
    paths
        Files of any known format, gzipped or not, and folders of such files; URIs and patterns
        that Spark can read. A session of a cluster reads all of them where it runs.
    cluster
        Gives the class of machine of each TaskManager; None: all on `default`.
    job
        The job graph, for logs without a plan or with several jobs.
    placement
        Operator id or name -> TaskManager of each subtask, for logs that do not have it.
    rates
        Source id or name -> total demand in records/s, if the user knows it.
    flushes
        Operator id or name -> when it sends what it has gathered, for combiners and mini-batches.
        The windows of the plan are known. Where the log has three rates, the streams of such an
        operator get a flush law, or a note that says why not.
    spark
        The session to use; None: no Spark if the log is small and on this machine, else a local
        session. Both give the same to the last digit.
    progress
        Called with the name of each step and the completed share of the work.

    Raises
    ------
    InvalidInputError
        If the log is empty, of no known format, of another job or of several jobs, if it names
        TaskManagers that the cluster does not know, a rate is given for what is no source, or a
        time between flushes for what is one.
    MissingExtraError
        If the log needs Spark, and there is no PySpark or no Java.
    SparkUnavailableError
        If Spark gave up.
    """
    report = progress or (lambda step, share: None)
    report("finding the format of the log", 0.0)
    files = small_log(paths) if spark is None else None
    if files is not None:
        read = log_sums(files, report)
    else:
        with needing("spark"):
            from edgeplace.spark_stats import by_spark

            read = by_spark.log_sums(paths, spark, report)
    report("making costs", 0.95)
    minutes = minutes_of(read.rows)
    states = held_states((row, row.minutes) for row in read.rows)
    bad = (len(read.quarantine), read.damage)
    costs, counts = costs_of(
        read.rows, minutes, states, cluster, job, placement, rates, flushes, bad
    )
    report("done", 1.0)
    return Measurement(costs, counts, read.quarantine)
