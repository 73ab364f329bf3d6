"""The steps of a measurement: read a log, compute differences and sums, and turn them into
costs.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import Costs, OperatorCost
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.counter_deltas import SUM_KEYS, deltas, sums_with_minutes
from edgeplace.spark_stats.cpu.choice import learn
from edgeplace.spark_stats.cpu.minutes import SubtaskMinutes, minutes_of, slices_by_class
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.files import CUT_SHORT, Log, log_files, on_disk
from edgeplace.spark_stats.job_facts import LogFacts, read_facts
from edgeplace.spark_stats.matching import (
    by_operator,
    find_operator,
    in_terms_of,
    job_of_log,
    operator_ids,
)
from edgeplace.spark_stats.operators import is_source, operator_cost
from edgeplace.spark_stats.placing import Placement, last_placement, placed
from edgeplace.spark_stats.processors import CpuTime
from edgeplace.spark_stats.quarantine import Quarantine
from edgeplace.spark_stats.session import local_session, on_this_machine
from edgeplace.spark_stats.spark_files import spark_files
from edgeplace.spark_stats.streams import stream_costs
from edgeplace.spark_stats.totals import QuarterTotals, Total, quarter_totals
from edgeplace.spark_stats.weak import mark_weak
from edgeplace.spark_stats.wide_table import wide_rows


@dataclass(frozen=True)
class SampleCounts:
    """The number of values and lines read from a log, by kind."""

    values: Mapping[str, int]
    """Format -> metric values read."""
    samples: int
    """Rows of one subtask at one time."""
    unused: int
    """Values of metrics that are not used."""
    not_a_number: int
    infinite: int
    unreadable: int
    duplicates: int
    """Snapshots that the log has more than once."""
    repeats: int
    """Snapshots without a change: Flink answered with the previous one."""
    resets: int
    clock_jumps: int
    other_lines: int
    """Lines with answers that are not used."""


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
    spark: SparkSession | None = None,
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
    spark
        The session to use; None: a local one.
    progress
        Called with the name of each step and the completed share of the work.

    Raises
    ------
    InvalidInputError
        If the log is empty, of no known format, of another job or of several jobs, if it names
        TaskManagers that the cluster does not know, or a rate is given for what is no source.
    MissingExtraError
        If there is no Java for Spark to run on.
    SparkUnavailableError
        If Spark gave up.
    """
    report = progress or (lambda step, share: None)
    report("finding the format of the log", 0.0)
    with in_clear_words():
        files = find_log(paths, spark)
        session = spark or local_session()
        report("reading the log", 0.05)
        rows, tables = _read(session, files)
    report("making costs", 0.95)
    bad = _bad_counts(rows, files)
    damage = [f"{file}: {CUT_SHORT} ({n:,} lines)" for file, n in files.cut_short.items()]
    damage += [f"{file} is empty" for file in files.empty]
    minutes = minutes_of((row, row.minutes) for row in rows)
    costs, counts = costs_of(
        rows, minutes, cluster, job, placement, rates, (sum(bad.values()), damage)
    )
    report("done", 1.0)
    return Measurement(costs, counts, Quarantine(bad, tables, files))


def find_log(paths: Sequence[str | Path], spark: SparkSession | None) -> Log:
    """Return the files of a log. Spark starts only if they are not on this machine."""
    if on_this_machine(spark) and on_disk(paths):
        return log_files(paths)
    return spark_files([str(p) for p in paths], spark or local_session())


def long_tables(session: SparkSession, log: Log) -> DataFrame:
    """Return the long table of all files."""
    return reduce(DataFrame.unionByName, (long for _, long in _tables(session, log)))


def costs_of(
    rows: Sequence[Any],
    minutes: Sequence[SubtaskMinutes],
    cluster: Cluster | None,
    job: JobGraph | None,
    placement: Placement | None,
    rates: Mapping[str, float] | None,
    damage: tuple[int, Sequence[str]],
) -> tuple[Costs, SampleCounts]:
    """Return the costs that the sums of a log give, and the counts of what it has.

    Parameters
    ----------
    rows
        What `counter_deltas.sums` returns, collected.
    minutes
        What each subtask and TaskManager did in each minute.
    cluster, job, placement, rates
        As in `measure`.
    damage
        Number of bad lines, and notes on damaged files.
    """
    job_id = job_of_log(job_names(rows), job)
    tasks = [quarter_totals(x) for x in rows if x.kind == r.TASK and x.job == job_id]
    task_managers = [quarter_totals(x) for x in rows if x.kind == r.TASK_MANAGER]
    counts = _counts(rows)
    log_facts = read_facts(rows, job_id)
    ids = operator_ids(log_facts, job)
    facts = in_terms_of(log_facts, ids, job)
    measured = placed(by_operator(tasks, ids, facts), facts, cluster, placement)
    sources = {op for op, ts in measured.items() if is_source(op, Total(ts), facts)}
    slices = slices_by_class(minutes, job_id, ids, measured, sources)
    cpu = CpuTime.of(task_managers, [t for ts in measured.values() for t in ts], cluster)
    cpu = cpu.with_choices({c: (own, learn(own)) for c, own in slices.items()}, facts.names)
    costs = Costs(
        job=facts.job_name or "unnamed",
        from_ms=min(int(t.sums["from_ms"]) for t in tasks),
        to_ms=max(int(t.sums["to_ms"]) for t in tasks),
        operators=_operators(facts, measured, sources, cpu, cluster, rates or {}),
        background=cpu.background,
        streams=stream_costs(facts, measured),
        placement=last_placement(measured, facts),
        checkpoint_interval_ms=facts.checkpoint_interval_ms,
        state_backend=facts.state_backend,
        notes=_notes(counts, damage, facts),
    )
    return costs, counts


def _read(
    spark: SparkSession, files: Log
) -> tuple[list[Any], tuple[tuple[DataFrame, DataFrame], ...]]:
    """Read the log once; return its sums and the tables behind them."""
    tables = _tables(spark, files)
    try:
        return _sums(tables), tables
    except (PySparkException, Py4JError):
        if not files.mend(spark):
            raise
    tables = _tables(spark, files)
    return _sums(tables), tables


def _sums(tables: Sequence[tuple[DataFrame, DataFrame]]) -> list[Any]:
    long = reduce(DataFrame.unionByName, (long for _, long in tables))
    rows = sums_with_minutes(deltas(wide_rows(long))).collect()
    # Numbers are added in the order of the rows, so their last digits depend on it.
    return sorted(rows, key=lambda row: [str(row[key]) for key in SUM_KEYS])


def _tables(spark: SparkSession, files: Log) -> tuple[tuple[DataFrame, DataFrame], ...]:
    return tuple((lines, reader.read(lines)) for reader, lines in files.lines(spark))


def job_names(rows: Sequence[Any]) -> dict[str, str]:
    """Return id -> name of each job that the log has metrics of."""
    jobs = sorted({x.job for x in rows if x.kind == r.TASK and x.samples})
    return {job: read_facts(rows, job).job_name or job for job in jobs}


def _operators(
    facts: LogFacts,
    measured: Mapping[str, Sequence[QuarterTotals]],
    sources: Collection[str],
    cpu: CpuTime,
    cluster: Cluster | None,
    rates: Mapping[str, float],
) -> tuple[OperatorCost, ...]:
    stated = {find_operator(ref, facts, "a rate"): rate for ref, rate in rates.items()}
    for operator in stated:
        if operator not in sources:
            raise InvalidInputError(
                f"a rate is given for {facts.names[operator]!r}, which has inputs",
                "give the rates of sources; other rates follow from them",
            )
    costs = [
        operator_cost(operator, ts, facts, cpu, stated.get(operator))
        for operator, ts in measured.items()
    ]
    return mark_weak(costs, cluster)


def _counts(rows: Sequence[Any]) -> SampleCounts:
    def summed(name: str) -> int:
        return sum(row[name] or 0 for row in rows)

    values: dict[str, int] = {}
    for row in rows:
        values[row.format] = values.get(row.format, 0) + row["values"]
    return SampleCounts(
        values=values,
        other_lines=sum(row["rows"] for row in rows if row.kind == r.OTHER),
        **{
            name: summed(name)
            for name in ("samples", "unused", "not_a_number", "infinite", "unreadable")
        },
        **{name: summed(name) for name in ("duplicates", "repeats", "resets", "clock_jumps")},
    )


def _bad_counts(rows: Sequence[Any], files: Log) -> dict[str, int]:
    counts: dict[str, int] = {CUT_SHORT: len(files.cut_short)} if files.cut_short else {}
    for row in rows:
        if row.kind == r.BAD:
            counts[row.name] = counts.get(row.name, 0) + row["rows"]
    return counts


def _notes(
    counts: SampleCounts, damage: tuple[int, Sequence[str]], facts: LogFacts
) -> tuple[str, ...]:
    bad, damaged = damage
    said = {
        "values were NaN and taken as missing": counts.not_a_number,
        "values were infinite and taken as missing": counts.infinite,
        "values were no numbers": counts.unreadable,
        "snapshots were in the log more than once": counts.duplicates,
        "snapshots repeated the one before": counts.repeats,
        "differences across restarts or moves were passed over": counts.resets,
        "differences across clock jumps were passed over": counts.clock_jumps,
        "lines could not be read and are in quarantine": bad,
    }
    notes = [f"{count:,} {text}" for text, count in said.items() if count]
    notes += damaged
    if facts.edges is None:
        notes.append("no plan in this log: streams are not measured; give the job graph")
    return tuple(notes)
