"""The rates of a job whose parallelism changed while its log was recorded: those since then.

Records of all subtasks together are a rate of one time only if they are of the same time.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.arrays import Ints
from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.sums_table import BIN_MS, MISSING, QUARTERS
from edgeplace.spark_stats.totals import QuarterTotals, Total, subtasks_seen

_MORE = "the log has no whole minute of each subtask after it: record some minutes more"
_YEAR_10_000_MS = 253_402_300_800_000
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
    before
        Vertex that was rescaled, as the log names it -> its parallelism before.
    """

    at_ms: int
    before: Mapping[str, int]


@dataclass(frozen=True)
class OneTime:
    """What a log has of a time in which its job had one parallelism.

    Attributes
    ----------
    facts
        With the parallelism of that time.
    totals
        Operator id -> what its subtasks did.
    minutes
        The minutes of that time.
    which
        Which time that is, for a note.
    """

    facts: LogFacts
    totals: Mapping[str, Sequence[QuarterTotals]]
    minutes: Sequence[SubtaskMinutes]
    which: str = ""


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
    found = dict(facts.rescaled)
    parallelism = dict(facts.parallelism)
    own: dict[str, list[SubtaskMinutes]] = {}
    for m in minutes:
        if m.kind == r.TASK and m.job == job and m.vertex not in facts.told:
            own.setdefault(m.vertex, []).append(m)
    for vertex, ms in own.items():
        if change := _seen(ms):
            at_ms, before, parallelism[vertex] = change
            found[vertex] = at_ms, before
    facts = replace(facts, parallelism=parallelism, told=facts.told | found.keys())
    if not found:
        return facts, None
    last = max(at_ms for at_ms, _ in found.values())
    # Operators of a job are rescaled together, and seen so within a minute.
    return facts, Rescaling(
        last, {vertex: count for vertex, (at_ms, count) in found.items() if at_ms > last - BIN_MS}
    )


def of_one_time(rescaling: Rescaling, whole: OneTime, job: str, ids: Mapping[str, str]) -> OneTime:
    """Return what a log has of the time since a change of the parallelism; of the time before it if
    a subtask has no whole minute since then, and all of it if one has none before either.

    Parameters
    ----------
    whole
        All of the log, with the present parallelism.
    job
        Id of the job in the log.
    ids
        Vertex in the log -> id of the operator.
    """
    before = {ids[vertex]: count for vertex, count in rescaling.before.items()}
    facts_before = replace(whole.facts, parallelism=whole.facts.parallelism | before)
    after, until = (rescaling.at_ms, math.inf), (-math.inf, rescaling.at_ms - BIN_MS)
    for facts, (low, high), which in (
        (whole.facts, after, "those of the time after it"),
        (facts_before, until, f"those of the time before it; {_MORE}"),
    ):
        minutes = [
            m.only(inside)
            for m in whole.minutes
            if (inside := (low < m.at_ms) & (m.at_ms <= high)).any()
        ]
        totals = _totals_of(minutes, job, ids, whole.totals, facts.parallelism)
        if totals is not None:
            return OneTime(facts, totals, minutes, which)
    return replace(whole, which=f"a mean of both times; {_MORE}")


def _totals_of(
    minutes: Sequence[SubtaskMinutes],
    job: str,
    ids: Mapping[str, str],
    measured: Mapping[str, Sequence[QuarterTotals]],
    parallelism: Mapping[str, int],
) -> dict[str, list[QuarterTotals]] | None:
    """Return the totals of each operator in some minutes; None if a subtask has none there.

    Parameters
    ----------
    measured
        Operator id -> totals of all the time.
    parallelism
        Of each operator in those minutes.
    """
    tasks = [m for m in minutes if m.kind == r.TASK and m.job == job]
    if not tasks:
        return None
    first = min(m.at_ms[0] for m in tasks)
    span = max(m.at_ms[-1] for m in tasks) - first + BIN_MS
    names = {op: [name for name in _RATES if name in Total(ts)] for op, ts in measured.items()}
    found: dict[str, list[QuarterTotals]] = {op: [] for op in measured}
    for m in tasks:
        operator = ids[m.vertex]
        quarter = QUARTERS * (m.at_ms - first) // span
        found[operator] += _totals(m, operator, names[operator], quarter)
    for operator, ts in measured.items():
        there = {i for i in subtasks_seen(ts) if i < parallelism[operator]}
        if not there <= subtasks_seen(found[operator]):
            return None
    return found


def _totals(
    subtask: SubtaskMinutes, operator: str, names: Collection[str], quarter: Ints
) -> list[QuarterTotals]:
    found = []
    for number in range(QUARTERS):
        own = subtask.only((quarter == number) & (subtask.dt_ms > 0))
        sums = {"dt_ms": math.fsum(own.dt_ms)}
        for name in names:
            known = own.knows(name)
            if known.any():
                sums[name] = math.fsum(own.sums[name][known])
            if not known.all():
                sums[MISSING[name]] = math.fsum(own.dt_ms[~known])
        if len(own.at_ms):
            found.append(QuarterTotals(operator, subtask.subtask, number, sums, subtask.location))
    return found


def note_on(rescaling: Rescaling, facts: LogFacts, time: OneTime) -> str:
    """Return the note on a change of the parallelism.

    Parameters
    ----------
    facts
        In terms of the log.
    time
        What `of_one_time` returns.
    """
    vertex, before = next(iter(rescaling.before.items()))
    at = f"{rescaling.at_ms:,} ms"
    if 0 <= rescaling.at_ms < _YEAR_10_000_MS:
        at = datetime.fromtimestamp(rescaling.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"the parallelism of {facts.names[vertex]!r} changed from {before} to "
        f"{facts.parallelism[vertex]} at {at}: records/s are {time.which}"
    )


def _seen(subtasks: Sequence[SubtaskMinutes]) -> tuple[int, int, int] | None:
    """Return the end of the minute in which the number of subtasks changed last while all others
    restarted, that number before, and after; None if it did not.
    """
    observed: dict[int, set[int]] = {}
    restarted: dict[int, set[int]] = {}
    for m in subtasks:
        for at in m.at_ms[m.dt_ms > 0].tolist():
            observed.setdefault(at, set()).add(m.subtask)
        for at in m.at_ms[m.resets > 0].tolist():
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
            return mixed + BIN_MS - 1, before, after
    return None
