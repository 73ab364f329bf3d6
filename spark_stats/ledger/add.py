"""Add the closed segments of a log to a ledger, each sample once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeplace.model.errors import InvalidInputError
from edgeplace.model.extras.extras import needing
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.costs_of_sums import job_names
from edgeplace.spark_stats.files import LogFiles, log_files, note_of, on_disk
from edgeplace.spark_stats.job_facts import read_facts
from edgeplace.spark_stats.ledger import plain_segments
from edgeplace.spark_stats.ledger.folder import Batch, LedgerFolder, Manifest
from edgeplace.spark_stats.ledger.new_sums import NewSums
from edgeplace.spark_stats.ledger.times import AHEAD_MS, latest_ms, utc
from edgeplace.spark_stats.without_spark.reading import is_small

_UNNAMED = ("", "Flink Streaming Job", "Flink Batch Job")
"""Names of jobs that nobody has named."""
_SET_CLOCKS = "set the clocks of this machine and of the one that collects"

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

    from edgeplace.spark_stats.staging import Log


def add_to_ledger(
    folder: str | Path,
    segments: Sequence[str | Path],
    *,
    spark: "SparkSession | None" = None,
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
        The session to use; None: as in `measure`.
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
    with ledger.for_writing():
        manifest = ledger.manifest()
        report("finding the segments", 0.0)
        files = _found(segments, spark)
        held, unfinished = manifest.segments(), manifest.unfinished()
        known = {
            file
            for file, size in files.sizes.items()
            if held.get(file) in ((size, files.modified_ms[file]), (size, None))
            and file not in unfinished
        }
        notes = [_unread(len(known))] if known else []
        files.leave_out(known)
        new = {f: size for f, size in files.sizes.items() if f not in known}
        if not new.keys() - {*files.empty}:
            return tuple(notes)
        report("reading the segments", 0.1)
        carried = ledger.carried(manifest)
        _refuse_if_behind(folder, carried)
        found = _read(files, carried, spark)
        # Some reporters give no id, and JSON has no other key than a text.
        jobs = {job or "": name or "" for job, name in job_names(found.rows).items()}
        counted = any(x.kind in (r.TASK, r.TASK_MANAGER) and x.samples for x in found.rows)
        if found.ahead and not counted and not found.late:
            raise InvalidInputError(
                f"all {found.ahead:,} samples are more than {AHEAD_MS // 60_000} minutes ahead of "
                "this machine's clock",
                f"{_SET_CLOCKS}. (A log of Flink's slf4j reporter is read as UTC)",
            )
        if strangers := _strangers(jobs, found.rows, ledger, manifest):
            cure = "give each job a ledger of its own"
            if any(name in _UNNAMED for name in strangers.values()):
                cure += (
                    "; of a job without a name, add what its TaskManagers wrote in one command, or "
                    "give it a name"
                )
            raise InvalidInputError(
                f"the ledger {folder} is of the job {_listed(manifest.jobs)}, the segments are of "
                f"{_listed(strangers)}",
                cure,
            )
        cut = {file: note_of(file, lines) for file, lines in files.cut_short.items()}
        modified_ms = {f: files.modified_ms[f] for f in new}
        batch = Batch(
            segments=new,
            modified_ms=modified_ms,
            bad_lines=found.bad_lines,
            former=_former_names(found.bad_lines, files, manifest),
            damage=cut,
            unfinished=bool(found.ahead),
        )
        # A segment without the answer about the job has its id in place of its name.
        names = {job: name for job, name in manifest.jobs.items() if name != job}
        named = manifest.model_copy(update={"jobs": {**manifest.jobs, **jobs, **names}})
        ledger.append(named, batch, found.table, found.tail)
    if found.late:
        notes.append(
            f"{found.late:,} samples are not newer than the last ones in the ledger and were "
            "passed over: they were counted before, or their segment comes too late, and then only "
            "a new ledger of all segments has them"
        )
    if found.ahead:
        notes.append(
            f"{found.ahead:,} samples are more than {AHEAD_MS // 60_000} minutes ahead of this "
            f"machine's clock and were passed over: {_SET_CLOCKS}, and give these segments again"
        )
    report("done", 1.0)
    return tuple(notes)


def _refuse_if_behind(folder: str | Path, carried: "pa.Table | None") -> None:
    """Raise an error if this machine's clock is behind the ledger: what is ahead could not be told
    from what was counted.
    """
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    last_ms = None if carried is None else pc.max(carried["ts_ms"]).as_py()
    end_ms = latest_ms()
    if last_ms is not None and last_ms > end_ms:
        raise InvalidInputError(
            f"the ledger {folder} has samples of {utc(last_ms)}, and this machine's clock shows "
            f"{utc(end_ms - AHEAD_MS)}",
            f"{_SET_CLOCKS}; if the clock of the ledger's samples was wrong, make a new ledger",
        )


def _unread(known: int) -> str:
    if known == 1:
        return "1 segment is in the ledger and was not read"
    return f"{known} segments are in the ledger and were not read"


def _found(segments: Sequence[str | Path], spark: "SparkSession | None") -> "LogFiles | Log":
    if spark is None and on_disk(segments):
        return log_files(segments)
    with needing("spark"):
        from edgeplace.spark_stats.by_spark import find_log

        return find_log(segments, spark)


def _read(
    files: "LogFiles | Log", carried: "pa.Table | None", spark: "SparkSession | None"
) -> NewSums:
    if isinstance(files, LogFiles) and is_small(files):
        return plain_segments.read(files, carried)
    with needing("spark"):
        from edgeplace.spark_stats.ledger import spark_segments
        from edgeplace.spark_stats.staging import StagedFiles

        log = StagedFiles(files) if isinstance(files, LogFiles) else files
        return spark_segments.read(log, carried, spark)


def _former_names(
    bad_lines: Mapping[str, int], files: "LogFiles | Log", manifest: Manifest
) -> dict[str, str]:
    """Return segment with bad lines -> the name under which the ledger has it, if that is another.

    Rotation gives a segment another name and may pack it; neither changes when it was modified.
    """
    held, counts = manifest.segments(), manifest.bad_lines()

    def is_it(former: str, file: str) -> bool:
        size, modified_ms = held[former]
        packed = file.endswith(".gz") != former.endswith(".gz")
        return (
            former not in files.sizes
            and modified_ms == files.modified_ms[file]
            and (packed or size == files.sizes[file])
            and counts[former] == bad_lines[file]
        )

    found: dict[str, str] = {}
    for file in sorted(bad_lines):
        former = next((f for f in held if f not in found.values() and is_it(f, file)), None)
        if former is not None:
            found[file] = former
    return found


def _strangers(
    jobs: dict[str, str], rows: Sequence[Any], ledger: LedgerFolder, manifest: Manifest
) -> dict[str, str]:
    """Return the jobs of segments that the ledger is not of.

    A job that was submitted again has another id, and its name. Of a job that nobody has named, at
    least half of the operators must have names that the ledger has.
    """
    known = {*manifest.jobs, *manifest.jobs.values()}

    def is_known(job: str, name: str) -> bool:
        if name not in _UNNAMED or (job != name and job in manifest.jobs):
            return not known.isdisjoint((job, name))
        missing = _operators(rows, job)
        most = len(missing) // 2
        # The last batch mostly has them all.
        for batch in ledger.batches_backwards(manifest):
            if len(missing) <= most:
                break
            missing -= {n for j in manifest.jobs for n in _operators(batch, j)}
        return name in known and len(missing) <= most

    return {j: name for j, name in jobs.items() if known and not is_known(j, name)}


def _operators(rows: Sequence[Any], job: str) -> set[str]:
    """Return the names of the operators of a job, where "" is one without an id."""
    ids = [job] if job else ["", None]
    return {name for own in ids for name in read_facts(rows, own).names.values()}


def _listed(jobs: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({job})" for job, name in sorted(jobs.items()))
