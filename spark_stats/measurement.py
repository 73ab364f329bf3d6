"""The recipe: read, widen, difference, sum, and make costs of the sums."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import Costs
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph
from edgeplace.spark_stats import readings as r
from edgeplace.spark_stats.differences import differences, sums
from edgeplace.spark_stats.facts import LogFacts, read_facts
from edgeplace.spark_stats.files import CUT_SHORT, LogFiles, log_files, mend_gzip, reader_named
from edgeplace.spark_stats.matching import (
    by_operator,
    find_operator,
    in_terms_of,
    job_of_log,
    operator_ids,
)
from edgeplace.spark_stats.operators import CpuTime, is_source, operator_cost
from edgeplace.spark_stats.placing import Placement, last_placement, placed
from edgeplace.spark_stats.quarantine import Quarantine
from edgeplace.spark_stats.samples import samples
from edgeplace.spark_stats.session import local_session
from edgeplace.spark_stats.streams import stream_costs
from edgeplace.spark_stats.tallies import Total, tally


@dataclass(frozen=True)
class SampleCounts:
    """How much of a log was read, and what was odd about it."""

    values: Mapping[str, int]
    """Format -> metric values read."""
    samples: int
    """Rows of one subtask at one time."""
    unused: int
    """Values of metrics that are of no use here."""
    not_a_number: int
    infinite: int
    unreadable: int
    duplicates: int
    """Snapshots that the log holds more than once."""
    repeats: int
    """Snapshots in which nothing had moved: Flink answered with the one before."""
    resets: int
    clock_jumps: int
    other_lines: int
    """Lines with answers that are of no use here."""


@dataclass(frozen=True)
class Measurement:
    """Costs, and what they rest on."""

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
    spark: SparkSession | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Measurement:
    """Turn the metric log of a running Flink job into costs.

    Parameters
    ----------
    paths
        Files of any known format, gzipped or not, and folders of such files.
    cluster
        Says on what class of machine each TaskManager runs; None: all on `default`.
    job
        The job graph, for logs that hold no plan or several jobs.
    placement
        Operator id or name -> TaskManager of each subtask, for logs that do not say.
    rates
        Source id or name -> total demand in records/s, where the user knows it.
    spark
        The session to use; None: a local one.
    progress
        Called with the name of each step and the share of the work done before it.

    Raises
    ------
    InvalidInputError
        If the log is empty, of no known format, of another job or of several jobs, if it names
        TaskManagers that the cluster does not know, or a rate is given for what is no source.
    MissingExtraError
        If there is no Java for Spark to run on.
    """
    report = progress or (lambda step, share: None)
    report("finding the format of the log", 0.0)
    files = log_files(paths)
    session = spark or local_session()
    report("reading the log", 0.05)
    wide, tables, overview = _read(session, files)
    try:
        report("taking differences", 0.6)
        seen = _job_names(overview, wide)
        job_id = job_of_log(seen, job)
        of_job = wide.filter((F.col("job") == job_id) | F.col("job").isNull())
        window = _window(overview, job_id)
        rows = sums(differences(of_job), *window).collect()
        report("reading the job and its checkpoints", 0.85)
        facts = read_facts(wide, job_id)
    finally:
        wide.unpersist()
    report("making costs", 0.95)
    all_tallies = [tally(row) for row in rows if row.kind == r.TASK]
    all_cpu = [tally(row) for row in rows if row.kind == r.TASK_MANAGER]
    counts = _counts(overview, Total(all_tallies))
    bad = _bad_counts(overview, files)
    costs = _costs(
        facts,
        all_tallies,
        all_cpu,
        cluster,
        job,
        placement,
        rates or {},
        window,
        _notes(counts, bad, files),
    )
    report("done", 1.0)
    return Measurement(costs, counts, Quarantine(bad, tables, files))


def _read(
    spark: SparkSession, files: LogFiles
) -> tuple[DataFrame, tuple[tuple[DataFrame, DataFrame], ...], list[Any]]:
    """Return the kept samples, the tables they were made of, and an overview of them."""
    tables = _tables(spark, files)
    wide = samples(reduce(DataFrame.unionByName, (long for _, long in tables))).persist()
    try:
        return wide, tables, _overview(wide)
    except PySparkException:
        wide.unpersist()
        if not mend_gzip(files):
            raise
    tables = _tables(spark, files)
    wide = samples(reduce(DataFrame.unionByName, (long for _, long in tables))).persist()
    return wide, tables, _overview(wide)


def _tables(spark: SparkSession, files: LogFiles) -> tuple[tuple[DataFrame, DataFrame], ...]:
    tables = []
    for name, paths in files.by_reader.items():
        reader = reader_named(name)
        lines = spark.read.text(paths, wholetext=reader.whole_files).select(
            "value",
            F.col("_metadata.file_path").alias("file"),
            F.col("_metadata.file_block_start").alias("block"),
            F.unix_millis("_metadata.file_modification_time").alias("modified_ms"),
            F.monotonically_increasing_id().alias("pos"),
        )
        tables.append((lines, reader.read(lines)))
    return tuple(tables)


def _overview(wide: DataFrame) -> list[Any]:
    """Read the log, and return counts by format, kind and job; the log is not read again."""
    bad = F.col("kind") == r.BAD
    counts = ("values", "unused", "not_a_number", "infinite", "unreadable", "rows")
    return (
        wide.groupBy(
            "format", "kind", "job", "job_name", F.when(bad, F.col("name")).alias("reason")
        )
        .agg(
            F.min("ts_ms").alias("from_ms"),
            F.max("ts_ms").alias("to_ms"),
            F.count(F.when(F.col("values") > 0, 1)).alias("samples"),
            F.sum(F.greatest(F.col("snapshots") - 1, F.lit(0))).alias("duplicates"),
            *(F.sum(c).alias(c) for c in counts),
        )
        .collect()
    )


def _job_names(overview: Sequence[Any], wide: DataFrame) -> dict[str, str]:
    """Return id -> name of each job that the log has metrics of."""
    seen = {
        row.job: row.job_name or row.job for row in overview if row.kind == r.TASK and row.samples
    }
    if len(seen) < 2:
        return seen
    return {job: read_facts(wide, job).job_name or name for job, name in seen.items()}


def _window(overview: Sequence[Any], job: str) -> tuple[int, int]:
    rows = [x for x in overview if x.kind == r.TASK and x.job == job and x.from_ms is not None]
    return min(x.from_ms for x in rows), max(x.to_ms for x in rows)


def _counts(overview: Sequence[Any], total: Total) -> SampleCounts:
    def summed(name: str) -> int:
        return sum(row[name] for row in overview)

    values: dict[str, int] = {}
    for row in overview:
        values[row.format] = values.get(row.format, 0) + row["values"]
    return SampleCounts(
        values=values,
        samples=summed("samples"),
        unused=summed("unused"),
        not_a_number=summed("not_a_number"),
        infinite=summed("infinite"),
        unreadable=summed("unreadable"),
        duplicates=summed("duplicates"),
        repeats=int(total["repeats"]),
        resets=int(total["resets"]),
        clock_jumps=int(total["clock_jumps"]),
        other_lines=sum(row["rows"] for row in overview if row.kind == r.OTHER),
    )


def _bad_counts(overview: Sequence[Any], files: LogFiles) -> dict[str, int]:
    counts: dict[str, int] = {CUT_SHORT: len(files.cut_short)} if files.cut_short else {}
    for row in overview:
        if row.kind == r.BAD:
            counts[row.reason] = counts.get(row.reason, 0) + row["rows"]
    return counts


def _notes(counts: SampleCounts, bad: Mapping[str, int], files: LogFiles) -> tuple[str, ...]:
    said = {
        "values were NaN and taken as missing": counts.not_a_number,
        "values were infinite and taken as missing": counts.infinite,
        "values were no numbers": counts.unreadable,
        "snapshots were in the log more than once": counts.duplicates,
        "snapshots repeated the one before": counts.repeats,
        "differences across restarts or moves were passed over": counts.resets,
        "differences across clock jumps were passed over": counts.clock_jumps,
        "lines could not be read and are in quarantine": sum(bad.values()),
    }
    notes = [f"{count:,} {text}" for text, count in said.items() if count]
    notes += [f"{file}: {CUT_SHORT} ({n:,} lines)" for file, n in files.cut_short.items()]
    notes += [f"{file} is empty" for file in files.empty]
    return tuple(notes)


def _costs(
    log_facts: LogFacts,
    tasks: Sequence[Any],
    task_managers: Sequence[Any],
    cluster: Cluster | None,
    job: JobGraph | None,
    placement: Placement | None,
    rates: Mapping[str, float],
    window: tuple[int, int],
    notes: tuple[str, ...],
) -> Costs:
    ids = operator_ids(log_facts, job)
    facts = in_terms_of(log_facts, ids, job)
    tallies = placed(by_operator(list(tasks), ids, facts), facts, cluster, placement)
    stated = {find_operator(ref, facts, "a rate"): rate for ref, rate in rates.items()}
    for operator in stated:
        if not is_source(operator, Total(tallies[operator]), facts):
            raise InvalidInputError(
                f"a rate is given for {facts.names[operator]!r}, which has inputs",
                "give the rates of sources; other rates follow from them",
            )
    cpu = CpuTime.of(task_managers, [t for ts in tallies.values() for t in ts])
    if facts.edges is None:
        notes = (*notes, "no plan in this log: streams are not measured; give the job graph")
    return Costs(
        job=facts.job_name or "unnamed",
        from_ms=window[0],
        to_ms=window[1],
        operators=tuple(
            operator_cost(operator, ts, facts, cpu, stated.get(operator))
            for operator, ts in tallies.items()
        ),
        streams=stream_costs(facts, tallies),
        placement=last_placement(tallies, facts),
        checkpoint_interval_ms=facts.checkpoint_interval_ms,
        state_backend=facts.state_backend,
        notes=notes,
    )
