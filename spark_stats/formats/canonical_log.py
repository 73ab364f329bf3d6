"""The canonical log: one JSON line for each answer of Flink's REST interface.

    {"edgeplace_log": 1, "ts_ms": 1795225917566, "path": "/jobs/<job>/...", "answer": <raw answer>}

Answers of unknown paths are counted and ignored.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats.fields import as_text, number, whole, within
from edgeplace.spark_stats.formats.json_text import parsed
from edgeplace.spark_stats.samples import BadText, Sample, Samples

name = "canonical log"
expects = 'JSON lines that start with {"edgeplace_log":1,'
whole_files = False

KINDS = {
    "metrics": r"/jobs/[^/]+/vertices/[^/]+/metrics",
    "taskmanager": r"/taskmanagers/[^/]+/metrics",
    "vertex": r"/jobs/[^/]+/vertices/[^/]+",
    "checkpoint": r"/jobs/[^/]+/checkpoints/details/\d+/subtasks/[^/]+",
    "job": r"/jobs/(?!overview$)[^/]+",
    "plan": r"/jobs/[^/]+/plan",
    "settings": r"/jobmanager/config",
    "config": r"/config|/jobs/[^/]+/checkpoints/config",
}
"""Kind of an answer -> its path."""
DOCUMENTS = ("job", "plan", "settings", "config")
"""Kinds of answers that are kept as text."""
CHECKPOINT_SIZES = ("state_size", "checkpointed_size")
NOT_JSON = "not JSON, or cut short"
NO_CONTENT = "the answer is not what its path promises"

_PATHS = {kind: re.compile(pattern, re.ASCII) for kind, pattern in KINDS.items()}
_Answers = dict[str, Any]


def recognises(head: str) -> bool:
    """Return whether any line is of this format: the first one may be damaged."""
    return any(
        line.lstrip().startswith("{") and '"edgeplace_log"' in line for line in head.splitlines()
    )


def read(lines: Iterable[str], samples: Samples) -> Iterator[BadText]:
    """Add the lines of one file to the samples, and yield those that cannot be read."""
    for pos, line in enumerate(lines, 1):
        if not line.strip(" "):
            continue
        document = parsed(line)
        said = document if isinstance(document, dict) else {}
        reason = _complaint(said) or _take(said, pos, samples)
        if reason is not None:
            yield BadText(pos, reason, line)


def _complaint(line: _Answers) -> str | None:
    version, ts_ms = within(line.get("edgeplace_log"), 32), within(line.get("ts_ms"), 64)
    path = line.get("path")
    if version is None and ts_ms is None and path is None:
        return NOT_JSON
    if version is None:
        return "no edgeplace_log in it"
    if version != 1:
        return "edgeplace_log of an unknown version"
    if ts_ms is None:
        return "no ts_ms in it"
    return "no path in it" if path is None else None


@lru_cache(maxsize=4096)
def _kind_and_parts(path: str) -> tuple[str, tuple[str, ...]]:
    kind = next((k for k, pattern in _PATHS.items() if pattern.fullmatch(path)), "other")
    return kind, (*path.split("/"), *[""] * 8)


def _take(line: _Answers, pos: int, samples: Samples) -> str | None:
    """Add an answer to the samples; return a reason if it is not what its path promises."""
    path = (as_text(line["path"]) or "").partition("?")[0]
    kind, parts = _kind_and_parts(path)
    answer, ts_ms = line.get("answer"), line["ts_ms"]
    job = parts[2] if parts[1] == "jobs" else None
    if kind == "other":
        samples.at(pos, name, r.OTHER, ts_ms=ts_ms, job=job).take(None, None)
        return None
    if kind == "metrics" and _of_objects(answer):
        _take_metrics(answer, (pos, ts_ms, job, parts[4]), samples)
        return None
    if kind == "taskmanager" and _of_objects(answer):
        sample = samples.at(pos, name, r.TASK_MANAGER, ts_ms=ts_ms, vertex=parts[2])
        for item in answer or [{}]:
            given = item or {}
            sample.take(as_text(given.get("id")), number(as_text(given.get("value"))))
        return None
    if kind == "vertex":
        return _take_places(answer, (pos, ts_ms, job, parts[4]), samples)
    if kind == "checkpoint":
        return _take_sizes(answer, (pos, job, parts), samples)
    if kind in DOCUMENTS:
        text = _text(kind, answer)
        if text is not None:
            document = samples.at(
                pos, name, r.DOCUMENT, ts_ms=ts_ms, job=job, vertex=path, document=text
            )
            document.take(None, None)
            return None
    return NO_CONTENT


def _take_metrics(
    items: Sequence[Any], of: tuple[int, int, str | None, str], samples: Samples
) -> None:
    pos, ts_ms, job, vertex = of
    found: dict[str | None, Sample] = {}
    for item in items:
        given = item or {}
        item_id, value = given.get("id"), given.get("value")
        before: str | None
        if isinstance(item_id, str):
            before, dot, after = item_id.partition(".")
            metric = after if dot else item_id
            if metric.startswith("Source_") and metric.endswith(".numRecordsOut"):
                metric = r.EMITTED
        else:
            before = metric = as_text(item_id)  # type: ignore[assignment]
        sample = found.get(before)
        if sample is None:
            sample = found[before] = samples.at(
                pos, name, r.TASK, ts_ms=ts_ms, job=job, vertex=vertex, subtask=whole(before)
            )
        sample.take(metric, number(value if isinstance(value, str) else as_text(value)))


def _take_places(answer: Any, of: tuple[int, int, str | None, str], samples: Samples) -> str | None:
    """Add where each subtask of a vertex runs, and its attempt."""
    pos, ts_ms, job, vertex = of
    tasks = answer.get("subtasks") if isinstance(answer, dict) else None
    if not _of_objects(tasks):
        return NO_CONTENT
    given = [task or {} for task in tasks]
    # Older versions of Flink give the host only.
    names = ("taskmanager-id", "endpoint", "host")
    place = next((n for n in names if given and given[0].get(n) is not None), names[0])
    for task in given:
        task_manager, subtask = as_text(task.get(place)), as_text(task.get("subtask"))
        samples.at(
            pos,
            name,
            r.TASK,
            ts_ms=ts_ms,
            job=job,
            vertex=vertex,
            subtask=whole(subtask and subtask.partition(".")[0]),
            attempt=whole(as_text(task.get("attempt")), 32),
            task_manager=None if task_manager == "(unassigned)" else task_manager,
        ).take(None, None)
    return None


def _take_sizes(
    answer: Any, of: tuple[int, str | None, Sequence[str]], samples: Samples
) -> str | None:
    """Add the sizes of a vertex in a checkpoint that is complete."""
    pos, job, parts = of
    status = as_text(answer.get("status")) if isinstance(answer, dict) else None
    if status is None:
        return NO_CONTENT
    # Many polls report the same checkpoint, whose number is in the column of the time.
    sample = samples.at(pos, name, r.CHECKPOINT, ts_ms=whole(parts[5]), job=job, vertex=parts[7])
    if status != "COMPLETED":
        sample.take(None, None)
    else:
        for size in CHECKPOINT_SIZES:
            sample.take(size, number(as_text(answer.get(size))))
        if (at_ms := as_text(answer.get(r.ACKNOWLEDGED))) is not None:
            sample.take(r.ACKNOWLEDGED, number(at_ms))
    return None


def _text(kind: str, answer: Any) -> str | None:
    """Return an answer as text, None if it is not what its path promises."""
    if kind == "settings":
        return as_text(answer) if _of_objects(answer) else None
    if not isinstance(answer, dict):
        return None
    if kind == "job":
        return _job_text(answer)
    return _plan_text(answer) if kind == "plan" else as_text(answer)


def _job_text(answer: _Answers) -> str | None:
    """Return the answer about a job without the fields that change with every poll."""
    given = answer.get("vertices")
    if not _of_objects(given):
        return None
    vertices = [
        _only(v, id=as_text, name=as_text, parallelism=_int, maxParallelism=_int) for v in given
    ]
    if not all(v and {"id", "name", "parallelism"} <= v.keys() for v in vertices):
        return None
    kept: _Answers = {"name": as_text(answer.get("name")), "vertices": vertices}
    if isinstance(answer.get("plan"), dict):
        nodes = _each(answer["plan"].get("nodes"), id=as_text, inputs=_inputs)
        if not _have_ids(nodes):
            return None
        kept["plan"] = {"nodes": nodes}
    return _as_json(kept)


def _plan_text(answer: _Answers) -> str | None:
    """Return the answer about the plan of a job without what is of no use."""
    if not isinstance(plan := answer.get("plan"), dict):
        return None
    fields = {"id": as_text, "parallelism": _int, "description": as_text, "inputs": _inputs}
    nodes = _each(plan.get("nodes"), **fields)
    if not _have_ids(nodes):
        return None
    return _as_json({"plan": _without_none({"name": as_text(plan.get("name")), "nodes": nodes})})


def _have_ids(nodes: Any) -> bool:
    """Return whether all nodes of a plan, and all their inputs, are told."""
    return nodes is not None and all(
        node and "id" in node and all(i and "id" in i for i in node.get("inputs", ()))
        for node in nodes
    )


def _as_json(kept: _Answers) -> str:
    return json.dumps(_without_none(kept), ensure_ascii=False, separators=(",", ":"))


def _of_objects(value: Any) -> TypeGuard[list[dict[str, Any] | None]]:
    """Return whether a value is an array of objects: one of another kind makes all of it bad."""
    return isinstance(value, list) and all(x is None or isinstance(x, dict) for x in value)


def _inputs(given: Any) -> Any:
    return _each(given, id=as_text, ship_strategy=as_text)


def _int(value: Any) -> int | None:
    return within(value, 32)


def _each(items: Any, **fields: Any) -> Any:
    return [_only(item, **fields) for item in items] if _of_objects(items) else None


def _only(item: Any, **fields: Any) -> Any:
    if not isinstance(item, dict):
        return None
    return _without_none({key: read(item.get(key)) for key, read in fields.items()})


def _without_none(fields: Mapping[str, Any]) -> _Answers:
    return {key: value for key, value in fields.items() if value is not None}
