"""The change by which a job aggregates before it sends: SQL options, or one call of the API.

What an operator is follows from its name: the planner of Flink SQL names its nodes by their kind
(`GroupAggregate[4]`; flink-table-planner, org.apache.flink.table.planner.plan.nodes.exec).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from edgeplace.model import Operator

SPLIT_CALL = "SplitAggregate.of(stream, key)"
"""The entry point of `SPLIT_JAR` for DataStream jobs."""
SPLIT_JAR = "edgeplace-flink-split.jar"

_DEFAULT_LATENCY_S = 1.0
_BATCH_RECORDS = 5000
"""`table.exec.mini-batch.size`, as the tuning page of Flink SQL has it."""

_NODE = re.compile(r"(?:\[\d+\]:)?([A-Za-z]+)\b")
_COMBINED = {
    "GlobalGroupAggregate",
    "IncrementalGroupAggregate",
    "GlobalWindowAggregate",
    "GlobalGroupWindowAggregate",
}
_GROUPED = {"GroupAggregate"}
_WINDOWED = {"WindowAggregate", "GroupWindowAggregate"}
_SESSION = re.compile(r"\bSESSION(GROUPWINDOW)?\(", re.IGNORECASE)
"""In names that show the window: those of TVFs, and of the older group windows."""
_COMBINERS = re.compile(r"Local(Group|Window|GroupWindow)Aggregate$|.*combine$")
"""Ends of the chains that combine before a stream: Flink SQL's, and those of `SPLIT_JAR`."""
_SESSIONS = re.compile(r"(Dynamic)?(Event|Processing)TimeSessionWindows$")
_NOT_OF_EVENT_TIME = {
    "GlobalWindows",
    "SlidingProcessingTimeWindows",
    "TumblingProcessingTimeWindows",
}
"""Window assigners of the DataStream API, by which Flink names a window that has no other name."""
_WHOLE = {
    "Join",
    "IntervalJoin",
    "LookupJoin",
    "MultiJoin",
    "TemporalJoin",
    "WindowJoin",
    "Match",
    "OverAggregate",
    "Rank",
    "WindowRank",
    "SortLimit",
    "TemporalSort",
    "ChangelogNormalize",
    "Deduplicate",
    "WindowDeduplicate",
}


class LeverKind(StrEnum):
    """What makes a job aggregate before it sends."""

    OPTIONS = "SQL options"
    CALL = "one call"
    NONE_NEEDED = "it already does"
    NONE = "nothing does"


@dataclass(frozen=True)
class Lever:
    """How a keyed operator is split into a partial and a final aggregate."""

    kind: LeverKind
    lines: tuple[str, ...] = ()
    """What to write into the job, line by line."""
    condition: str = ""
    """What must be true of the job, or why nothing helps."""


def lever_of(source: Operator, target: Operator, inputs: int, every_s: float | None) -> Lever:
    """Return how to aggregate before a HASH stream.

    Parameters
    ----------
    source, target
        The operators that the stream joins.
    inputs
        Number of streams that feed it.
    every_s
        Time between two flushes of the partial aggregate; None: not known.
    """
    head = _NODE.match(target.name)
    node = head.group(1) if head else ""
    if inputs > 1 or node in _WHOLE:
        return Lever(
            LeverKind.NONE,
            condition="it joins or ranks records, which cannot be merged from parts: keep it whole "
            "on one site",
        )
    if node in _COMBINED or _COMBINERS.match(source.name.split(" -> ")[-1].split("[")[0]):
        return Lever(LeverKind.NONE_NEEDED, condition="the records are partial aggregates already")
    if node in _WINDOWED and _SESSION.search(target.name):
        return Lever(
            LeverKind.NONE,
            condition="session windows are not split by Flink SQL: keep it whole on one site",
        )
    if _SESSIONS.match(node):
        return Lever(
            LeverKind.NONE,
            condition="where a session ends depends on the records of all sites: keep it whole on "
            "one site",
        )
    if node in _NOT_OF_EVENT_TIME:
        return Lever(
            LeverKind.NONE,
            condition=f"{SPLIT_JAR} splits tumbling and sliding windows of event time only: take "
            "such a one, or keep it whole on one site",
        )
    latency = f"{every_s or _DEFAULT_LATENCY_S:g} s"
    two_phase = _set("table.optimizer.agg-phase-strategy", "TWO_PHASE")
    if node in _GROUPED:
        lines = [
            _set("table.exec.mini-batch.enabled", "true"),
            _set("table.exec.mini-batch.allow-latency", latency),
            _set("table.exec.mini-batch.size", str(_BATCH_RECORDS)),
            two_phase,
        ]
        condition = "the plan of the query changes: start it without its former state"
        if "DISTINCT" in target.name.upper():
            lines.append(_set("table.optimizer.distinct-agg.split.enabled", "true"))
            condition += "; a distinct aggregate splits only if no user-defined one is beside it"
        return Lever(LeverKind.OPTIONS, tuple(lines), condition)
    if node in _WINDOWED:
        return Lever(
            LeverKind.OPTIONS,
            (two_phase,),
            "windows of TUMBLE, HOP and CUMULATE split if every aggregate has merge(); session "
            "windows do not: keep those whole on one site",
        )
    return Lever(
        LeverKind.CALL,
        (SPLIT_CALL,),
        f"of {SPLIT_JAR}, if the aggregate is an AggregateFunction with merge(). A join, a "
        "ProcessFunction, an exact median or a session window over several sites stays whole",
    )


def _set(option: str, value: str) -> str:
    return f"SET '{option}' = '{value}';"
