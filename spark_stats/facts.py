"""What a log says of a job beside its metrics: its graph, its names, its checkpoints."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from edgeplace.spark_stats import readings as r

RECENT_CHECKPOINTS = 10
"""Checkpoints over which the state's size is taken."""


@dataclass(frozen=True)
class Edge:
    """A stream as the log describes it."""

    source: str
    target: str
    ship_strategy: str


@dataclass
class LogFacts:
    """What a log says of one job beside its metrics."""

    job_name: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    """Vertex id -> name, in the order of the job."""
    parallelism: dict[str, int] = field(default_factory=dict)
    edges: tuple[Edge, ...] | None = None
    """None: the log has no plan."""
    checkpoint_interval_ms: float | None = None
    state_backend: Literal["heap", "rocksdb"] | None = None
    state_bytes: dict[str, float] = field(default_factory=dict)
    checkpointed_bytes: dict[str, float] = field(default_factory=dict)


def read_facts(samples: DataFrame, job: str) -> LogFacts:
    """Collect the facts of one job from its samples.

    Parameters
    ----------
    samples
        What `samples.samples` returns.
    job
        Id of the job as in the samples.
    """
    rows = (
        samples.filter(
            ((F.col("kind") == r.DOCUMENT) & F.coalesce(F.col("job") == job, F.lit(True)))
            | ((F.col("kind") == r.TASK) & (F.col("job") == job))
        )
        .groupBy("kind", "vertex", "name", "job_name", "document")
        .agg(F.max("at_ms").alias("at_ms"), F.max("subtask").alias("last_subtask"))
        .collect()
    )
    facts = LogFacts()
    for row in sorted((x for x in rows if x.kind == r.DOCUMENT), key=lambda x: x.at_ms):
        _take_document(facts, row.vertex, row.document)
    documented = set(facts.parallelism)
    for row in (x for x in rows if x.kind == r.TASK and x.last_subtask is not None):
        facts.job_name = facts.job_name or row.job_name
        facts.names.setdefault(row.vertex, row.name or row.vertex)
        if row.vertex not in documented:
            seen = facts.parallelism.get(row.vertex, 1)
            facts.parallelism[row.vertex] = max(seen, row.last_subtask + 1)
    for row in _checkpoints(samples, job):
        if row.state_bytes is not None:
            facts.state_bytes[row.vertex] = row.state_bytes
        if row.checkpointed_bytes is not None:
            facts.checkpointed_bytes[row.vertex] = row.checkpointed_bytes
    return facts


def _take_document(facts: LogFacts, path: str, text: str) -> None:
    """Take over what an answer says; a later answer wins."""
    answer: Any = json.loads(text)
    kind = path.rsplit("/", 1)[-1]
    if path.endswith("/checkpoints/config"):
        _take_checkpoint_config(facts, answer)
    elif kind == "plan":
        facts.job_name = answer["plan"].get("name") or facts.job_name
        _take_plan(facts, answer["plan"].get("nodes", ()))
    elif path == "/jobmanager/config":
        settings = {entry.get("key"): entry.get("value") for entry in answer}
        facts.state_backend = facts.state_backend or _backend(
            settings.get("state.backend.type") or settings.get("state.backend") or ""
        )
    elif path.startswith("/jobs/"):
        facts.job_name = answer.get("name") or facts.job_name
        for vertex in answer.get("vertices", ()):
            facts.names[vertex["id"]] = vertex["name"]
            facts.parallelism[vertex["id"]] = vertex["parallelism"]
        if "plan" in answer:
            _take_plan(facts, answer["plan"].get("nodes", ()))


def _take_plan(facts: LogFacts, nodes: Iterable[Mapping[str, Any]]) -> None:
    facts.edges = tuple(
        Edge(given["id"], node["id"], given.get("ship_strategy", ""))
        for node in nodes
        for given in node.get("inputs") or ()
    )


def _take_checkpoint_config(facts: LogFacts, answer: Mapping[str, Any]) -> None:
    interval = answer.get("interval")
    # Flink says 2^63 - 1 where checkpoints are off.
    if isinstance(interval, int | float) and 0 < interval < 2**62:
        facts.checkpoint_interval_ms = float(interval)
    facts.state_backend = _backend(str(answer.get("state_backend", ""))) or facts.state_backend


def _backend(name: str) -> Literal["heap", "rocksdb"] | None:
    lower = name.lower()
    if "rocksdb" in lower:
        return "rocksdb"
    return "heap" if "hashmap" in lower or "memory" in lower or "filesystem" in lower else None


def _checkpoints(samples: DataFrame, job: str) -> list[Any]:
    """Return the largest state and the mean size written of each vertex, over the last few."""
    latest_first = Window.partitionBy("vertex").orderBy(F.desc("subtask"))
    return (
        samples.filter((F.col("kind") == r.CHECKPOINT) & (F.col("job") == job))
        .groupBy("vertex", "subtask")
        .agg(*(F.max(c).alias(c) for c in r.CHECKPOINT_SIZES))
        .withColumn("age", F.row_number().over(latest_first))
        .filter(F.col("age") <= RECENT_CHECKPOINTS)
        .groupBy("vertex")
        .agg(
            F.max("state_bytes").alias("state_bytes"),
            F.avg("checkpointed_bytes").alias("checkpointed_bytes"),
        )
        .collect()
    )
