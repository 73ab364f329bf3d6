"""Facts of a job in a log besides its metrics: its graph, its names, its checkpoints."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from edgeplace.model.errors import InvalidInputError
from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.sums_table import MOST_SUBTASKS, is_of_subtask

_STRAIGHT_SHARE = 0.8
_CHANGED_RATIO = 1.5
"""If checkpoints have grown or shrunk by this factor, almost always in one direction, the state
has not reached its final size.
"""
_DATA_STREAM_WINDOW = re.compile(r"Tumbling(?:Event|Processing)TimeWindows\(([0-9]{1,15})\b")
_SQL_WINDOW = re.compile(r"TUMBLE\(.*?size=\[([0-9]{1,15}(?:\.[0-9]{1,15})?) (ms|s|min|h|d)\]")
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True)
class LoggedEdge:
    """A stream as the log describes it."""

    source: str
    target: str
    ship_strategy: str


@dataclass
class LogFacts:
    """The facts of one job in a log, besides its metrics."""

    job_name: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    """Vertex id -> name, in the order of the job."""
    parallelism: dict[str, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    """Vertices whose parallelism an answer about the job tells."""
    rescaled: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Vertex id -> ms since the epoch from which it has its parallelism, and the one before."""
    planned: dict[str, int] = field(default_factory=dict)
    """Vertex id -> parallelism by the plan, which need not be the present one."""
    edges: tuple[LoggedEdge, ...] | None = None
    """None: the log has no plan."""
    checkpoint_interval_ms: float | None = None
    state_backend: Literal["heap", "rocksdb"] | None = None
    state_bytes: dict[str, float] = field(default_factory=dict)
    checkpointed_bytes: dict[str, float] = field(default_factory=dict)
    checkpoints_went: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Vertex id -> bytes of the first and the last checkpoint, if the size is still changing."""
    window_s: dict[str, float] = field(default_factory=dict)
    """Vertex id -> seconds of its tumbling window, if its description in the plan has one."""


def read_facts(rows: Sequence[Any], job: str | None) -> LogFacts:
    """Return the facts of one job.

    Parameters
    ----------
    rows
        What `counter_deltas.sums` returns, collected.
    job
        Id of the job as in the rows.

    Raises
    ------
    InvalidInputError
        If a parallelism is none that Flink has.
    """
    facts = LogFacts()
    documents = [x for x in rows if x.kind == r.DOCUMENT and x.job in (job, None)]
    until_ms: dict[str, int] = {}
    for row in sorted(documents, key=lambda x: x.to_ms):
        before = dict(facts.parallelism)
        _take_document(facts, row.vertex, row.document)
        if not _is_of_job(row.vertex):
            continue
        for vertex in facts.told:
            count = facts.parallelism[vertex]
            if vertex in until_ms and before[vertex] != count:
                # The same answer may have come before, too.
                since_ms = max(until_ms[vertex], row.from_ms)
                facts.rescaled[vertex] = since_ms, before[vertex]
            until_ms[vertex] = row.to_ms
    for row in rows:
        if is_of_subtask(row) and row.job == job:
            facts.job_name = facts.job_name or row.job_name
            if facts.names.get(row.vertex, row.vertex) == row.vertex:
                facts.names[row.vertex] = row.name or row.vertex
            if row.vertex not in facts.told:
                seen = facts.parallelism.get(row.vertex, 1)
                facts.parallelism[row.vertex] = max(seen, row.subtask + 1)
        elif row.kind == r.CHECKPOINT and row.job == job:
            if row.state_bytes is not None:
                facts.state_bytes[row.vertex] = row.state_bytes
            if row.checkpointed_bytes is not None:
                _take_checkpointed(facts, row)
    for vertex, name in facts.names.items():
        if not 0 < facts.parallelism.setdefault(vertex, 1) <= MOST_SUBTASKS:
            raise InvalidInputError(
                f"the log gives {name!r} a parallelism of {facts.parallelism[vertex]:,}",
                f"Flink's is from 1 to {MOST_SUBTASKS:,}: look for damaged answers of "
                "/jobs/<job> in the log",
            )
    return facts


def _take_checkpointed(facts: LogFacts, row: Any) -> None:
    """Store the mean of the bytes written, or the last value if they still changed in one
    direction. Records that wait in a state remain there long after the rate has changed.
    """
    facts.checkpointed_bytes[row.vertex] = row.checkpointed_bytes
    net, last = row.checkpoint_net or 0.0, row.checkpointed_last
    first = last - net
    straight = net and abs(net) >= _STRAIGHT_SHARE * row.checkpoint_path
    if straight and max(first, last) > _CHANGED_RATIO * min(first, last):
        facts.checkpointed_bytes[row.vertex] = last
        facts.checkpoints_went[row.vertex] = (first, last)


def _is_of_job(path: str) -> bool:
    """Return whether a path is that of the answer about a job."""
    return path.startswith("/jobs/") and path.count("/") == 2


def _take_document(facts: LogFacts, path: str, text: str) -> None:
    """Store the facts of an answer; a later answer replaces an earlier one."""
    answer: Any = json.loads(text)
    if path.endswith("/checkpoints/config"):
        _take_checkpoint_config(facts, answer)
    elif path.startswith("/jobs/") and not _is_of_job(path):
        facts.job_name = answer["plan"].get("name") or facts.job_name
        _take_plan(facts, answer["plan"]["nodes"])
    elif path == "/jobmanager/config":
        told = [(entry.get("key"), entry.get("value")) for entry in answer if entry]
        settings = {key: value for key, value in told if {type(key), type(value)} == {str}}
        facts.state_backend = facts.state_backend or _backend(
            settings.get("state.backend.type") or settings.get("state.backend") or ""
        )
    elif _is_of_job(path):
        facts.job_name = answer.get("name") or facts.job_name
        for vertex in answer["vertices"]:
            facts.names[vertex["id"]] = vertex["name"]
            facts.parallelism[vertex["id"]] = vertex["parallelism"]
            facts.told.add(vertex["id"])
        if "plan" in answer:
            _take_plan(facts, answer["plan"]["nodes"])


def _take_plan(facts: LogFacts, nodes: Sequence[Mapping[str, Any]]) -> None:
    facts.edges = tuple(
        LoggedEdge(given["id"], node["id"], given.get("ship_strategy", ""))
        for node in nodes
        for given in node.get("inputs") or ()
    )
    for node in nodes:
        if 0 < node.get("parallelism", 0) <= MOST_SUBTASKS:
            facts.planned[node["id"]] = node["parallelism"]
    described = {node["id"]: str(node["description"]) for node in nodes if "description" in node}
    if described:
        # The plan in the answer about the job, which each poll has, is read without descriptions.
        found = {vertex: tumbling_s(text) for vertex, text in described.items()}
        facts.window_s = {vertex: length for vertex, length in found.items() if length}


def tumbling_s(description: str) -> float | None:
    """Return the seconds of the tumbling window in the description of a vertex; None: it has none.

    `TumblingEventTimeWindows(5000)` is the DataStream API's, and
    `window=[TUMBLE(..., size=[10 s])]` that of Flink SQL.
    """
    if hit := _DATA_STREAM_WINDOW.search(description):
        return int(hit[1]) / 1000
    if hit := _SQL_WINDOW.search(description):
        return float(hit[1]) * _SECONDS[hit[2]]
    return None


def _take_checkpoint_config(facts: LogFacts, answer: Mapping[str, Any]) -> None:
    interval = answer.get("interval")
    # Flink reports 2^63 - 1 if checkpoints are off.
    if isinstance(interval, int | float) and 0 < interval < 2**62:
        facts.checkpoint_interval_ms = float(interval)
    facts.state_backend = _backend(str(answer.get("state_backend", ""))) or facts.state_backend


def _backend(name: str) -> Literal["heap", "rocksdb"] | None:
    lower = name.lower()
    if "rocksdb" in lower:
        return "rocksdb"
    return "heap" if "hashmap" in lower or "memory" in lower or "filesystem" in lower else None
