"""Read saved REST answers: a canonical metric log, a folder of answers, or one file.

The log is JSON lines, gzip'ed or not, each
`{"edgeplace_log": 1, "ts_ms": ..., "path": "/jobs/<job>/vertices/<vertex>", "answer": {...}}`.
It may end anywhere, because logs are copied while they are written.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import Any

from edgeplace.adapters.flink.rest.answer import RestAnswer
from edgeplace.adapters.flink.rest.saved_answers import AnswerKind, Placement, SavedAnswers, gather
from edgeplace.model import InvalidInputError, JobGraph, load, looks_like, parse
from edgeplace.model.parsing.content import opened

_KIND_OF_PATH: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    ("job", re.compile(r"/jobs/([0-9a-f]{32})")),
    ("plan", re.compile(r"/jobs/([0-9a-f]{32})/plan")),
    ("vertex", re.compile(r"/jobs/([0-9a-f]{32})/vertices/([0-9a-f]{32})")),
    ("checkpoints", re.compile(r"/jobs/([0-9a-f]{32})/checkpoints/config")),
    ("task managers", re.compile(r"/taskmanagers")),
)
_PATH_IN_LINE = re.compile(rb'"path"\s*:\s*"([^"\\]*)"')
_HEAD_BYTES = 65536


def answers_from_log(path: str | Path) -> SavedAnswers:
    """Read the last answer of each kind from a canonical metric log.

    Lines are read one by one; lines of other kinds are not parsed. A log that ends early is read
    up to its end. The notes count the lines that cannot be read.

    Raises
    ------
    InvalidInputError
        If the file cannot be opened, or has an unknown version.
    """
    last: dict[tuple[AnswerKind, tuple[str, ...]], RestAnswer] = {}
    bad: list[int] = []
    notes = []
    number = 0
    try:
        for number, line in enumerate(_lines(path), 1):
            hit = _PATH_IN_LINE.search(line, 0, 400)
            if (hit and _kind_of(hit[1].decode("utf-8", "replace")) is None) or not line.strip():
                continue
            try:
                entry = json.loads(line)
            except ValueError:
                bad.append(number)
                continue
            if not isinstance(entry, dict) or "edgeplace_log" not in entry:
                bad.append(number)
                continue
            if entry["edgeplace_log"] != 1:
                raise InvalidInputError(
                    f"{path}:{number}: version {entry['edgeplace_log']!r} of the log is not known",
                    "this release reads version 1",
                )
            kind = _kind_of(str(entry.get("path")))
            answer = entry.get("answer")
            if kind and isinstance(answer, dict) and "errors" not in answer:
                last[kind] = answer
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        notes.append(f"{path} is cut off after line {number} ({e}): read up to there")
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {e.strerror or e}", "check the path"
        ) from e
    if bad == [number]:
        notes.append(f"{path}: the last line is cut off")
    elif bad:
        notes.append(f"{path}: {len(bad)} lines are no log lines, the first is line {bad[0]}")
    return gather(((kind, ids, answer) for (kind, ids), answer in last.items()), str(path), notes)


def answers_from_files(source: str | Path | Iterable[str | Path]) -> SavedAnswers:
    """Read saved REST answers of one job, recognised by their content, not by their names.

    Parameters
    ----------
    source
        A folder, of which `*.json` and `*.json.gz` are read and answers of other kinds are
        ignored; or files, each with an answer of a used kind.

    Raises
    ------
    InvalidInputError
        If a file cannot be read, if files contradict each other, or if they are of several jobs.
    """
    folder = Path(source) if isinstance(source, str | Path) else None
    if folder and not folder.is_dir():
        raise InvalidInputError(f"{folder}: no such folder", "check the path")
    files = (
        sorted(p for p in folder.iterdir() if p.name.endswith((".json", ".json.gz")))
        if folder
        else [Path(p) for p in source]  # type: ignore[union-attr]
    )
    origin = str(folder) if folder else ", ".join(map(str, files))
    seen: dict[tuple[AnswerKind, str], tuple[Path, RestAnswer]] = {}
    for file in files:
        answer = load(file)
        known = _recognised(answer)
        if known is None:
            if folder:
                continue
            raise InvalidInputError(f"{file}: {_what_is(answer)}", "leave it out")
        if known in seen and seen[known][1] != answer:
            former, other = seen[known]
            if "now" not in answer or "now" not in other or answer["now"] == other["now"]:
                raise InvalidInputError(
                    f"{former} and {file} are two different answers of the same kind "
                    f"({' '.join(known).strip()})",
                    "keep the one that counts",
                )
            if answer["now"] < other["now"]:
                continue
        seen[known] = (file, answer)
    jobs = {i for kind, i in seen if kind in ("job", "plan")}
    if len(jobs) > 1:
        raise InvalidInputError(
            f"{origin} holds answers of {len(jobs)} jobs: {sorted(jobs)}",
            "keep the answers of each job in a folder of its own",
        )
    # Answers about vertices and checkpoint settings do not name their job.
    jid = next(iter(jobs), "")
    return gather(
        (
            (kind, (jid, ident) if kind == "vertex" else (jid,), answer)
            for (kind, ident), (_, answer) in seen.items()
        ),
        origin,
        [],
    )


def load_job(path: str | Path, *, job: str | None = None) -> tuple[JobGraph, Placement | None]:
    """Read a job, and its placement if the file has it.

    Parameters
    ----------
    path
        A job graph of ours (JSON or YAML), a canonical metric log, a saved answer to
        `/jobs/:jobid`, or a folder of saved answers.
    job
        Id or name of the job; needed only if a log has several.

    Raises
    ------
    InvalidInputError
        If the file is none of these, or incomplete.
    """
    path = Path(path)
    if path.is_dir():
        answers = answers_from_files(path)
    elif _is_log(path):
        answers = answers_from_log(path)
    else:
        data = load(path)
        if isinstance(data, dict) and ("format" in data or "operators" in data or looks_like(data)):
            return parse(data, JobGraph, str(path), path), None
        known = _recognised(data)
        if known is None or known[0] != "job":
            raise InvalidInputError(
                f"{path}: {_what_is(data)}",
                "give a job graph, a metric log, a saved answer to /jobs/:jobid, or a folder of "
                "saved answers",
            )
        answers = answers_from_files([path])
    return answers.job_graph(job), answers.placement(job)


def _kind_of(path: str) -> tuple[AnswerKind, tuple[str, ...]] | None:
    for kind, pattern in _KIND_OF_PATH:
        hit = pattern.fullmatch(path)
        if hit:
            return kind, hit.groups()
    return None


def _recognised(answer: Any) -> tuple[AnswerKind, str] | None:
    """Return the kind of an answer, and its job or vertex."""
    if not isinstance(answer, dict):
        return None
    plan = answer.get("plan")
    if isinstance(answer.get("vertices"), list) and "jid" in answer:
        return "job", str(answer["jid"])
    if set(answer) == {"plan"} and isinstance(plan, dict):
        return "plan", str(plan.get("jid", ""))
    if isinstance(answer.get("subtasks"), list) and {"id", "name", "parallelism"} <= set(answer):
        return "vertex", str(answer["id"])
    if {"interval", "timeout", "max_concurrent"} <= set(answer):
        return "checkpoints", ""
    if set(answer) == {"taskmanagers"} and isinstance(answer["taskmanagers"], list):
        return "task managers", ""
    return None


def _what_is(answer: Any) -> str:
    known = _recognised(answer)
    if known:
        return f"this is Flink's answer about the {known[0]} alone"
    if isinstance(answer, dict) and "errors" in answer:
        return f"this is an error of Flink's: {' '.join(map(str, answer['errors']))[:200]}"
    return "this is neither a job graph nor an answer of Flink's about a job"


def _is_log(path: Path) -> bool:
    try:
        with _opened(path) as f:
            # The first line may be incomplete, and reading a log that ends early raises an error.
            head = iter(lambda: f.readline(_HEAD_BYTES), b"")
            return any(b'"edgeplace_log"' in line for line in islice(head, 3))
    except (OSError, EOFError, zlib.error, InvalidInputError):
        # `load` reports what is wrong with the file.
        return False


def _opened(path: str | Path) -> BufferedIOBase:
    file = opened(path)
    zipped = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if zipped else file


def _lines(path: str | Path) -> Iterator[bytes]:
    with _opened(path) as f:
        yield from f
