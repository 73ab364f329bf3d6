"""Add the closed segments of a log to a ledger, each sample once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.counter_deltas import BIN_KEYS, deltas, sums
from edgeplace.spark_stats.failures import in_clear_words
from edgeplace.spark_stats.files import CUT_SHORT, Log
from edgeplace.spark_stats.ledger.folder import Batch, LedgerFolder
from edgeplace.spark_stats.measurement import find_log, job_names, long_tables
from edgeplace.spark_stats.session import local_session
from edgeplace.spark_stats.wide_table import wide_rows

_OF_SUBTASK = ("kind", "job", "vertex", "subtask")
_COUNTED = (r.TASK, r.TASK_MANAGER)


def add_to_ledger(
    folder: str | Path,
    segments: Sequence[str | Path],
    *,
    spark: SparkSession | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> tuple[str, ...]:
    """Add what is new in segments of a log to a ledger.

    A segment that the ledger has is not read. A sample that is not newer than the last one of its
    subtask is passed over: it was counted before, or comes too late.

    Parameters
    ----------
    folder
        The ledger; it is made if it is not there.
    segments
        Files, folders, URIs and patterns, as for `measure`. Their order does not matter.
    spark
        The session to use; None: a local one.
    progress
        Called with the name of each step and the completed share of the work.

    Returns
    -------
    Notes on what was not added.

    Raises
    ------
    InvalidInputError
        If the segments are of another job, or for the reasons of `measure` and `LedgerFolder`.
    """
    report = progress or (lambda step, share: None)
    ledger = LedgerFolder(folder)
    with ledger.for_writing(), in_clear_words():
        manifest = ledger.manifest()
        report("finding the segments", 0.0)
        files = find_log(segments, spark)
        known = {f for f, size in files.sizes.items() if manifest.has(f, size)}
        notes = [f"{len(known)} segments are in the ledger and were not read"] if known else []
        files.leave_out(known)
        new = {f: size for f, size in files.sizes.items() if f not in known}
        if not any(new.values()):
            return tuple(notes)
        session = spark or local_session()
        report("reading the segments", 0.1)
        carried = ledger.carried(manifest)
        before = None if carried is None else session.createDataFrame(carried)
        try:
            rows, late, table, tail = _read(session, files, before)
        except (PySparkException, Py4JError):
            if not files.mend(session):
                raise
            rows, late, table, tail = _read(session, files, before)
        jobs = job_names(rows)
        if manifest.jobs and jobs and not manifest.jobs.keys() & jobs.keys():
            raise InvalidInputError(
                f"the ledger {folder} is of the job {_listed(manifest.jobs)}, the segments are of "
                f"{_listed(jobs)}",
                "give each job a ledger of its own",
            )
        cut = {f: f"{f}: {CUT_SHORT} ({n:,} lines)" for f, n in files.cut_short.items()}
        batch = Batch(segments=new, bad_lines=_bad_lines(rows, files), damage=cut)
        # A segment without the answer about the job has its id in place of its name.
        names = {job: name for job, name in manifest.jobs.items() if name != job}
        named = manifest.model_copy(update={"jobs": {**jobs, **names}})
        ledger.append(named, batch, table, tail)
    if late:
        notes.append(
            f"{late:,} samples are not newer than the last ones in the ledger and were passed "
            "over: they were counted before, or their segment comes too late, and then only a new "
            "ledger of all segments has them"
        )
    report("done", 1.0)
    return tuple(notes)


def _read(session: SparkSession, files: Any, before: DataFrame | None) -> tuple[Any, int, Any, Any]:
    """Return the sums of what is new as rows, the number of late samples, the sums as a table, and
    the samples to carry on.
    """
    samples = wide_rows(long_tables(session, files)).persist()
    try:
        together = samples
        if before is not None:
            together = samples.unionByName(before.select(*samples.columns))
        of_subtask = Window.partitionBy(*_OF_SUBTASK)
        counted = F.col("kind").isin(*_COUNTED)
        marked = together.withColumn(
            "until_ms", F.max(F.when(F.col("carried"), F.col("ts_ms"))).over(of_subtask)
        ).withColumn(
            "late",
            ~F.col("carried")
            & counted
            & F.coalesce(F.col("ts_ms") <= F.col("until_ms"), F.lit(False)),
        )
        late = marked.filter(F.col("late") & (F.col("values") > 0)).count()
        in_time = marked.filter(~F.col("late")).drop("late", "until_ms")
        table = sums(deltas(in_time, recent_checkpoints=None), BIN_KEYS).toArrow()
        return _rows(table), late, table, _tail(in_time.filter(counted)).toArrow()
    finally:
        samples.unpersist()


def _bad_lines(rows: Sequence[Any], files: Log) -> dict[str, int]:
    bad = dict.fromkeys(files.cut_short, 1)
    for row in rows:
        if row.kind == r.BAD:
            file = files.original(row.vertex)
            bad[file] = bad.get(file, 0) + row["rows"]
    return bad


def _tail(samples: DataFrame) -> DataFrame:
    """Return the last sample of each subtask with values, and the answers about it after that."""
    of_subtask = Window.partitionBy(*_OF_SUBTASK)
    so_far = of_subtask.orderBy("ts_ms", "values").rowsBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    told = {c: F.last(c, ignorenulls=True).over(so_far) for c in ("task_manager", "attempt")}
    last = F.max(F.when(F.col("values") > 0, F.col("ts_ms"))).over(of_subtask)
    return (
        samples.withColumns({**told, "last_ms": last})
        .filter(F.col("last_ms").isNull() | (F.col("ts_ms") >= F.col("last_ms")))
        .drop("last_ms")
        .withColumn("carried", F.lit(True))
    )


def _rows(table: Any) -> list[Any]:
    from pyspark.sql import Row

    return [Row(**row) for row in table.to_pylist()]


def _listed(jobs: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({job})" for job, name in sorted(jobs.items()))
