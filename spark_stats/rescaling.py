"""The rates of a job whose parallelism changed while its log was recorded: those since then.

Records of all subtasks together are a rate of one time only if they are of the same time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.cpu.minutes import SubtaskMinutes
from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.sums_table import BIN_MS, MISSING, QUARTERS
from edgeplace.spark_stats.totals import QuarterTotals, Total, subtasks_seen

_RATES = (
    *("records_in", "records_out", "back_pressured_ms"),
    *("bytes_in_local", "bytes_in_remote", "buffers_in_local", "buffers_in_remote"),
)
"""Sums of a minute that rates are made of."""


@dataclass(frozen=True)
class Rescaling:
    """The last change of a parallelism in a log.

    Attributes
    ----------
    at_ms
        When it was seen, in ms since the epoch.
    vertex
        One of the vertices that were rescaled, as the log names it.
    before, after
        Its parallelism.
    """

    at_ms: int
    vertex: str
    before: int
    after: int


def last_rescaling(
    facts: LogFacts, minutes: Sequence[SubtaskMinutes], job: str
) -> tuple[LogFacts, Rescaling | None]:
    """Return the facts with the parallelism that the job had last, and when it got it.

    Flink's answers about the job tell it. Where the log has none, subtasks of higher numbers came
    or went while all others of the operator restarted.

    Parameters
    ----------
    facts
        Of this job, in terms of the log.
    minutes
        What `minutes_of` returns.
    job
        Id of the job in the log.
    """
    found = [
        Rescaling(at_ms, vertex, before, facts.parallelism[vertex])
        for vertex, (at_ms, before) in facts.rescaled.items()
    ]
    own: dict[str, list[SubtaskMinutes]] = {}
    for m in minutes:
        if m.kind == r.TASK and m.job == job and m.vertex not in facts.told:
            own.setdefault(m.vertex, []).append(m)
    seen = [change for vertex, ms in own.items() if (change := _seen(vertex, ms))]
    parallelism = {**facts.parallelism, **{change.vertex: change.after for change in seen}}
    last = max((*found, *seen), key=lambda change: change.at_ms, default=None)
    return replace(facts, parallelism=parallelism), last


def minutes_since(
    minutes: Sequence[SubtaskMinutes], rescaling: Rescaling | None
) -> Sequence[SubtaskMinutes]:
    """Return the minutes that began after a change of the parallelism."""
    if rescaling is None:
        return minutes
    return [
        replace(m, minutes={at: sums for at, sums in m.minutes.items() if at > rescaling.at_ms})
        for m in minutes
    ]


def totals_since(
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    measured: Mapping[str, Sequence[QuarterTotals]],
    parallelism: Mapping[str, int],
) -> dict[str, list[QuarterTotals]] | None:
    """Return the totals of each operator in some minutes; None if a subtask has none there.

    Parameters
    ----------
    minutes
        What `minutes_since` returns.
    job
        Id of the job in the log.
    ids
        Vertex in the log -> id of the operator.
    measured
        Operator id -> totals of all the time.
    parallelism
        Of each operator.
    """
    times = [at for m in minutes if m.kind == r.TASK and m.job == job for at in m.minutes]
    if not times:
        return None
    first, span = min(times), max(times) - min(times) + BIN_MS
    names = {op: [name for name in _RATES if name in Total(ts)] for op, ts in measured.items()}
    found: dict[str, list[QuarterTotals]] = {op: [] for op in measured}
    for m in minutes:
        if m.kind == r.TASK and m.job == job:
            operator = ids[m.vertex]
            found[operator] += _totals(m, operator, names[operator], first, span)
    for operator, ts in measured.items():
        current = {i for i in subtasks_seen(ts) if i < parallelism[operator]}
        if not current <= subtasks_seen(found[operator]):
            return None
    return found


def _totals(
    subtask: SubtaskMinutes, operator: str, names: Collection[str], first: int, span: int
) -> list[QuarterTotals]:
    by_quarter: dict[int, dict[str, float]] = {}
    for at, minute in sorted(subtask.minutes.items()):
        if minute.dt_ms > 0:
            own = by_quarter.setdefault(QUARTERS * (at - first) // span, {})
            own["dt_ms"] = own.get("dt_ms", 0.0) + minute.dt_ms
            for name in names:
                known = minute.knows(name)
                column, value = (
                    (name, getattr(minute, name)) if known else (MISSING[name], minute.dt_ms)
                )
                own[column] = own.get(column, 0.0) + value
    return [
        QuarterTotals(operator, subtask.subtask, quarter, sums, subtask.location)
        for quarter, sums in by_quarter.items()
    ]


def note_on(rescaling: Rescaling, facts: LogFacts, enough: bool) -> str:
    """Return the note on a change of the parallelism.

    Parameters
    ----------
    facts
        In terms of the log.
    enough
        Whether the log has enough of the time after it.
    """
    at = datetime.fromtimestamp(rescaling.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = facts.names[rescaling.vertex]
    changed = f"the parallelism of {name!r} changed from {rescaling.before} to {rescaling.after}"
    if enough:
        return f"{changed} at {at}: records/s are those of the time after it"
    return (
        f"{changed} at {at}, and the log does not have a whole minute of each subtask after "
        "it: records/s are a mean of both times; record some minutes more"
    )


def _seen(vertex: str, subtasks: Sequence[SubtaskMinutes]) -> Rescaling | None:
    """Return the last change of the number of subtasks with which all others restarted."""
    observed: dict[int, set[int]] = {}
    restarted: dict[int, set[int]] = {}
    for m in subtasks:
        for at, sums in m.minutes.items():
            if sums.dt_ms > 0:
                observed.setdefault(at, set()).add(m.subtask)
            if sums.resets:
                restarted.setdefault(at, set()).add(m.subtask)
    times = sorted(observed)
    if not times:
        return None
    # A log may end between two subtasks.
    after = max(max(observed[at]) for at in times[-2:]) + 1
    for index in range(len(times) - 2, -1, -1):
        at = times[index]
        before = max(observed[at]) + 1
        if before == after:
            continue
        # A restart belongs to a minute beside.
        near = {m + d for m in (at, times[index + 1]) for d in (-BIN_MS, 0, BIN_MS)}
        anew = set().union(*(restarted.get(minute, ()) for minute in near))
        if set(range(min(before, after))) <= anew:
            # The minute of the change has both; so many subtasks are seen in it as in the larger.
            mixed = at if before > after else times[index + 1]
            return Rescaling(mixed + BIN_MS - 1, vertex, before, after)
    return None
