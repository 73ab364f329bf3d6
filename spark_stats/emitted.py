"""The records out of a source whose chain has its own sink: those that the source emits.

The counter of such a task stays at 0, because nothing leaves the chain. Which of the two counters
is meant is decided once for each operator, because they count different records.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from edgeplace.spark_stats.job_facts import LogFacts
from edgeplace.spark_stats.minutes import SubtaskMinutes
from edgeplace.spark_stats.sums_table import MISSING
from edgeplace.spark_stats.totals import QuarterTotals

_TAKEN = {
    "records_out": "emitted",
    "timed_out": "timed_emitted",
    "square_out": "square_emitted",
    MISSING["records_out"]: MISSING["emitted"],
    MISSING["timed_out"]: MISSING["timed_emitted"],
}
"""Sum -> the one that is taken in its place."""


def with_own_sink(measured: Mapping[str, Sequence[QuarterTotals]], facts: LogFacts) -> set[str]:
    """Return the operators whose records out are those that their source emits.

    They have no stream to another operator; without a plan, nothing ever left them.

    Parameters
    ----------
    measured
        Operator id -> totals of its subtasks.
    facts
        With the streams, if the log or the job graph has them.
    """
    sources = {op: [t.sums for t in ts if "emitted" in t.sums] for op, ts in measured.items()}
    if facts.edges is not None:
        ends = sources.keys() - {e.source for e in facts.edges}
        return {op for op in ends if sources[op]}
    return {
        op
        for op, own in sources.items()
        if own and not any(sums.get("records_out", 0.0) > 0 for sums in own)
    }


def emitted_totals(measured: Sequence[QuarterTotals]) -> list[QuarterTotals]:
    """Return the totals of an operator with the records that its source emits as those out."""
    return [replace(t, sums=_emitted(t.sums)) for t in measured]


def emitted_minutes(
    minutes: Sequence[SubtaskMinutes], job: str, ids: Mapping[str, str], ends: Collection[str]
) -> list[SubtaskMinutes]:
    """Return the minutes, those of some operators with the emitted records as those out.

    Parameters
    ----------
    minutes
        What `minutes_of` returns.
    job
        Id of the job in the log.
    ids
        Vertex in the log -> id of the operator.
    ends
        What `with_own_sink` returns.
    """
    return [m.emitting() if m.job == job and ids.get(m.vertex) in ends else m for m in minutes]


def _emitted(sums: Mapping[str, float]) -> dict[str, float]:
    kept = {name: value for name, value in sums.items() if name not in _TAKEN}
    return kept | {column: sums[taken] for column, taken in _TAKEN.items() if taken in sums}
