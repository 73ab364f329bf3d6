r"""schedulercfg: the file that tells Flink where each subtask runs.

Grammar (UTF-8, lines end in LF, nothing is escaped, there are no comments)::

    file     = *(setting LF) line *(LF line) [LF]
    setting  = "# epoch: " number        ; dialect "modern" only; each once. The number of whoever
                                         ; wrote the plan: the agent refuses a lower one than before
             / "# checkpoint-interval-ms: " number
             / "# predicted-wan-bytes-per-s: " number   ; of the job, on all links together
             / "# predicted-headroom-percent: " number  ; the agent shows both as metrics
    line     = task "; " location
    task     = name " (" i "/" n ")"     ; dialects "modern" and "bu": one line for each subtask
             / part                      ; dialect "capsys": any part of a task's full name
    name     = the task's name in Flink (of the whole chain); in the dialect "modern", numbers in
               brackets such as the one in SQL's `Calc[3]` count for nothing
             / JobVertexID               ; dialect "modern" only
    i        = subtask, from 1           ; n = parallelism
    location = a TaskManager's host      ; where no other TaskManager has that host
             / its resource id

"modern" is what edgeplace's own agent reads. The other two belong to forks of Flink that splice
the file into the scheduler: "bu" (Flink 1.14) reads the same lines, the last one wins;
"capsys" (Flink 1.16) gives the i-th line of a key to the i-th subtask whose full name contains
the key. Both look for a location as a *part* of the resource id, so `192.168.1.18` is found in
`192.168.1.180:39937-73170e` too; the colon in `192.168.1.18:` keeps them apart.
https://github.com/CASP-Systems-BU/CAPSys
"""

from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

from edgeplace.adapters.flink.schedulercfg.names import (
    INDEXED,
    TaskNames,
    containing,
    full_names,
    task_managers_by_key,
)
from edgeplace.adapters.flink.schedulercfg.problems import Problems, cut, did_you_mean, quoted
from edgeplace.adapters.flink.schedulercfg.settings import is_setting, name_of, problem_of
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator, TaskManager
from edgeplace.model.parsing.content import bytes_of

__all__ = ["Dialect", "parse", "read"]

Dialect = Literal["auto", "modern", "bu", "capsys"]


class _Line(NamedTuple):
    number: int
    task: str
    location: str


def read(
    path: str | Path, *, job: JobGraph, cluster: Cluster, dialect: Dialect = "auto"
) -> dict[str, tuple[str, ...]]:
    """Read and validate a file; see `parse`.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, and as for `parse`.
    """
    try:
        text = bytes_of(path).decode()
    except UnicodeDecodeError as e:
        line = e.object.count(b"\n", 0, e.start) + 1
        raise InvalidInputError(f"{path}:{line}: not UTF-8", "save the file as UTF-8") from e
    return parse(text, job=job, cluster=cluster, dialect=dialect, origin=str(path))


def parse(
    text: str,
    *,
    job: JobGraph,
    cluster: Cluster,
    dialect: Dialect = "auto",
    origin: str = "schedulercfg",
) -> dict[str, tuple[str, ...]]:
    """Return the placement in a file: operator id -> TaskManager id of each subtask.

    Whether TaskManagers have the slots is the evaluator's to say.

    Parameters
    ----------
    dialect
        "auto": "modern" if any line ends its task in `(i/n)`, else "capsys". A file for the fork
        of Flink 1.14 has to be called "bu".

    Raises
    ------
    InvalidInputError
        If anything in the file is wrong, with all problems, their lines and their cures.
    """
    problems = Problems()
    settings: set[str] = set()
    lines = list(_split(text, job, problems, settings))
    if not lines and not problems:
        raise InvalidInputError(f"{origin}: the file is empty", "write a line for each subtask")
    if dialect == "auto":
        indexed = any(INDEXED.fullmatch(line.task) for line in lines)
        dialect = "modern" if indexed or not lines else "capsys"
    if settings and dialect != "modern":
        problems.add(1, f"the dialect {dialect!r} has no settings", "remove the lines with `# `")
    tasks = TaskNames(job)
    if dialect == "capsys":
        found = _match_parts(lines, job, cluster, problems)
    else:
        found = _match_names(lines, job, cluster, dialect, problems)
    for op in job.operators:
        absent = [i + 1 for i in range(op.parallelism) if (op.id, i) not in found]
        if absent:
            shown = ", ".join(map(str, absent[:8])) + (" ..." if len(absent) > 8 else "")
            key = op.name
            if dialect != "capsys":
                key = f"{tasks.key_of(op) or op.name} ({absent[0]}/{op.parallelism})"
            problems.add(
                None,
                f"{len(absent)} of the {op.parallelism} subtasks of {quoted(op.name)} have no "
                f"valid line: {shown}",
                f"write `{key}; <location>` for each",
            )
    if problems:
        raise problems.error(origin)
    return {op.id: tuple(found[op.id, i] for i in range(op.parallelism)) for op in job.operators}


def _split(text: str, job: JobGraph, problems: Problems, settings: set[str]) -> Iterator[_Line]:
    """Yield the lines that can be told apart; blanks that do not belong are reported and cut.

    The names of settings are added to those given.
    """
    if text.startswith("\ufeff"):
        problems.add(1, "a byte order mark precedes the first task", "save the file without it")
        text = text[1:]
    if "\r" in text:
        first = text.count("\n", 0, text.index("\r")) + 1
        problems.add(
            first,
            f"{text.count(chr(13))} carriage returns (CR) in the file, the first here",
            "end lines in LF only",
        )
        text = text.replace("\r", "")
    body = text.rstrip("\n")
    is_top = True
    for number, line in enumerate(body.split("\n") if body else (), 1):
        is_top = is_top and is_setting(line)
        if is_top:
            wrong = problem_of(line, settings)
            if wrong:
                problems.add(number, f"{quoted(line)}: {wrong[0]}", wrong[1])
            else:
                settings.add(name_of(line))
            continue
        task, found, location = line.rpartition("; ")
        if not line.strip():
            problems.add(number, "the line is blank", "remove it")
        elif not found:
            problems.add(
                number,
                f"{quoted(line)} has no '; ' (a semicolon and one blank)",
                "write `Task name (i/n); location`",
            )
        elif "; " in task:
            problems.add(
                number,
                f"{quoted(line)} has more than one '; '",
                _by_id(task, location, job),
            )
        else:
            if location != location.strip() or task != task.strip():
                problems.add(
                    number,
                    f"{quoted(line)} has blanks at its ends or around '; '",
                    "remove them: they would count as part of a name",
                )
            yield _Line(number, task.strip(), location.strip())


def _by_id(task: str, location: str, job: JobGraph) -> str:
    """Return the line that says the same of a task whose name cannot stand in one."""
    hit = INDEXED.fullmatch(task)
    fit = [op for op in job.operators if hit and op.name == hit[1]]
    if hit and len(fit) == 1:
        return f"write `{fit[0].id} ({hit[2]}/{hit[3]}); {location}`: this is its JobVertexID"
    return "use the JobVertexID of a task whose name has one"


def _match_names(
    lines: list[_Line],
    job: JobGraph,
    cluster: Cluster,
    dialect: Literal["modern", "bu"],
    problems: Problems,
) -> dict[tuple[str, int], str]:
    tasks = TaskNames(job, modern=dialect == "modern")
    by_key = task_managers_by_key(cluster)
    by_part = cache(partial(containing, cluster=cluster))
    found: dict[tuple[str, int], str] = {}
    line_of: dict[tuple[str, int], int] = {}
    for line in lines:
        hit = INDEXED.fullmatch(line.task)
        if not hit:
            problems.add(
                line.number,
                f"task {quoted(line.task)} lacks its subtask",
                f"write `{cut(line.task)} (i/n); {cut(line.location)}`, i from 1 to the "
                "parallelism n",
            )
            continue
        fit = tasks.meant_by(hit[1])
        if len(fit) != 1:
            problems.add(line.number, *_not_one_task(hit[1], fit, tasks.known))
            continue
        op, i, n = fit[0], int(hit[2]), int(hit[3])
        subtask = (op.id, i - 1)
        if n != op.parallelism:
            problems.add(
                line.number,
                f"{quoted(line.task)} speaks of parallelism {n}, {quoted(op.name)} has "
                f"{op.parallelism}",
                "write the file for the job as it runs",
            )
        elif not 1 <= i <= n or line.task != f"{hit[1]} ({i}/{n})":
            problems.add(
                line.number,
                f"{quoted(line.task)}: there is no subtask {hit[2]} of {hit[3]}",
                f"subtasks are numbered 1 to {n}, without leading zeros",
            )
        elif subtask in line_of and dialect == "modern":
            problems.add(
                line.number,
                f"{quoted(line.task)} has a line already: line {line_of[subtask]}",
                "keep one of the two",
            )
        else:
            line_of[subtask] = line.number
            # A subtask with a wrong location is not reported again as missing.
            places = by_part(line.location) if dialect == "bu" else by_key.get(line.location, [])
            found[subtask] = _only(line, places, cluster, dialect, problems)
    return found


def _match_parts(
    lines: list[_Line], job: JobGraph, cluster: Cluster, problems: Problems
) -> dict[tuple[str, int], str]:
    full = [(op, list(full_names(op))) for op in job.operators]
    by_part = cache(partial(containing, cluster=cluster))
    known = [op.name for op in job.operators]
    queues: dict[str, list[_Line]] = {}
    for line in lines:
        queues.setdefault(line.task, []).append(line)
    found: dict[tuple[str, int], str] = {}
    key_of: dict[tuple[str, int], str] = {}
    for key, queue in queues.items():
        fits = [(op, [i for i, name in enumerate(names) if key in name]) for op, names in full]
        fits = [(op, subtasks) for op, subtasks in fits if subtasks]
        if len(fits) != 1:
            what, cure = _not_one_task(key, [op for op, _ in fits], known)
            if fits:
                cure = "use longer keys, each part of one task's name only"
            problems.add(queue[0].number, what, cure)
            # What the key would place is not reported again as missing.
            found.update({(op.id, i): "" for op, subtasks in fits for i in subtasks})
            continue
        op, subtasks = fits[0]
        if len(queue) > len(subtasks):
            problems.add(
                queue[len(subtasks)].number,
                f"{len(queue)} lines for key {quoted(key)}, which has {len(subtasks)} subtasks",
                "remove the lines too many",
            )
        for i, line in zip(subtasks, queue, strict=False):
            if (op.id, i) in key_of:
                problems.add(
                    line.number,
                    f"{quoted(op.name)} is matched by the keys {quoted(key_of[op.id, i])} and "
                    f"{quoted(key)}",
                    "use one key for each task",
                )
                break
            key_of[op.id, i] = key
            found[op.id, i] = _only(line, by_part(line.location), cluster, "capsys", problems)
    return found


def _not_one_task(
    key: str, fit: list[Operator], known: Collection[str]
) -> tuple[str, str | Callable[[], str]]:
    if fit:
        return (
            f"{quoted(key)} means {len(fit)} tasks: {[op.name for op in fit[:6]]}",
            f"use their JobVertexIDs: {[op.id for op in fit[:6]]}",
        )
    return f"the job has no task {quoted(key)}", partial(did_you_mean, key, known)


def _only(
    line: _Line,
    fitting: list[TaskManager],
    cluster: Cluster,
    dialect: Literal["modern", "bu", "capsys"],
    problems: Problems,
) -> str:
    if len(fitting) == 1:
        return fitting[0].id
    ids = [t.id for t in fitting]
    if ids and dialect == "modern":
        problems.add(
            line.number,
            f"location {quoted(line.location)} means {len(ids)} TaskManagers: {ids[:6]}",
            "use their resource ids",
        )
    elif ids:
        problems.add(
            line.number,
            f"location {quoted(line.location)} is part of {len(ids)} TaskManagers: {ids[:6]}",
            f"write `{line.location}:` if it is a whole address, else a resource id",
        )
    else:
        problems.add(
            line.number,
            f"the cluster has no TaskManager {quoted(line.location)}",
            lambda: did_you_mean(line.location, task_managers_by_key(cluster)),
        )
    return ""
