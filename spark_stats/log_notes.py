"""What the costs of a log say about the log as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.sample_counts import SampleCounts
from edgeplace.spark_stats.sums_table import is_of_subtask


def notes_on_content(
    counts: SampleCounts, damage: tuple[int, Sequence[str]], facts: LogFacts
) -> Iterator[str]:
    """Yield notes on what of a log could not be used, and on its damage.

    Parameters
    ----------
    damage
        Number of bad lines, and notes on damaged files.
    facts
        Of the job that is measured.
    """
    bad, damaged = damage
    said = {
        "values were NaN and taken as missing": counts.not_a_number,
        "values were infinite and taken as missing": counts.infinite,
        "values were no numbers": counts.unreadable,
        "snapshots were in the log more than once": counts.duplicates,
        "snapshots repeated the one before": counts.repeats,
        "differences across restarts, moves or lost reports were passed over": counts.resets,
        "differences across clock jumps were passed over": counts.clock_jumps,
        "lines could not be read and are in quarantine": bad,
    }
    yield from (f"{count:,} {text}" for text, count in said.items() if count)
    yield from damaged
    if facts.edges is None:
        yield "no plan in this log: streams are not measured; give the job graph"


def notes_on_jobs(
    rows: Sequence[Any], names: Mapping[str, str], job_id: str | None
) -> Iterator[str]:
    """Yield notes on earlier runs of a job, and on series that name no job or no subtask.

    Parameters
    ----------
    rows
        The sums of the log.
    names
        Name of each job in the log, by its id.
    job_id
        Id of the job that is measured; None: the log has none.
    """
    runs = sum(name == names[job_id] for name in names.values()) if job_id is not None else 0
    if job_id is not None and runs > 1:
        yield f"{names[job_id]!r} was submitted {runs} times; these are the costs of the last one"
    tasks = [row for row in rows if row.kind == r.TASK]
    samples = sum(row.samples for row in tasks if row.job is None)
    if job_id is not None and samples:
        yield f"{samples:,} snapshots name no job and were passed over"
    samples = sum(row.samples for row in tasks if row.job == job_id and not is_of_subtask(row))
    if samples:
        yield f"{samples:,} snapshots name no subtask and were passed over"
