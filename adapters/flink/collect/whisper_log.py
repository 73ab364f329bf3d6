"""The metrics of a job from the Whisper files of Graphite, as a metric log.

Flink's Graphite reporter names a metric by Flink's default scope formats, and a file's path is the
name: `<host>/taskmanager/<TaskManager>/<job>/<task>/<subtask>/<metric>.wsp`, a counter's with
`/count.wsp`. Tasks and operators have names of one form; a task is what has busy time. The log has
the points in documents like those of Prometheus, with the names of Flink's reporter for it.
"""

import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath
from statistics import median_low
from typing import Any, NamedTuple

from edgeplace.adapters.flink.collect.poll import SUBTASK_METRICS, TASK_MANAGER_METRICS
from edgeplace.adapters.flink.collect.prometheus_log import RangeLog
from edgeplace.adapters.flink.collect.whisper_file import WhisperError, points, read
from edgeplace.adapters.flink.rest.job_choice import is_job_id
from edgeplace.model import InvalidInputError

_SUFFIX = ".wsp"
_COUNT = "count"
"""A counter is a file of this name in a folder with the counter's name."""
_TASK_MANAGER = "taskmanager"
_BUSY = "accumulateBusyTimeMs"
_NEEDED = ("numRecordsIn", "numRecordsOut", _BUSY)
"""Metrics without which there are no costs."""
_SERIES_A_DOCUMENT = 50
_GAP = 5
"""A gap is longer than this many times the usual time between points of a series."""


@dataclass
class CollectedWhisper:
    """What a log of Whisper files has."""

    job: str = ""
    """Its name as Graphite has it: with `-` for spaces and `_` for dots."""
    values: int = 0
    series: int = 0
    missing: tuple[str, ...] = ()
    """Metrics without any file that costs cannot be measured without."""
    from_ms: int | None = None
    to_ms: int | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """From and to, ms since the epoch, of each time in which no subtask has a point."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """File -> what is wrong with it. These were left out."""


class _Name(NamedTuple):
    """What the path of a file says."""

    task_manager: str
    job: str
    """Empty for a metric of the TaskManager."""
    task: str
    """Or an operator."""
    subtask: str
    metric: str


def collect_whisper(
    place: Path,
    log: RangeLog,
    progress: Callable[[float], None],
    *,
    job: str | None,
    from_s: float | None,
    until_s: float | None,
) -> CollectedWhisper:
    """Append the metrics of a job in Whisper files to a log.

    Parameters
    ----------
    place
        A folder with Whisper files in it and in its folders, such as Carbon's `LOCAL_DATA_DIR`, or
        a tar file of one.
    progress
        Is told the share of the work that is done.
    job
        Its name; None: the only job there.
    from_s, until_s
        First and last time, seconds since the epoch; None: all that the finest archives have.

    Raises
    ------
    InvalidInputError
        If the place cannot be read, has no metrics of this job, or those of several jobs if none is
        given, or if the log cannot be written.
    """
    if job is not None and is_job_id(job):
        raise InvalidInputError(
            f"--job {job} is an id, and Graphite's names have none", "give the name of the job"
        )
    with _files(place) as (paths, content):
        named = {path: name for path in paths if (name := _named(path))}
        done = CollectedWhisper(job=_the_job(named.values(), job, place))
        chosen = dict(_series(named, done.job))
        metrics = {name.metric for path, name in named.items() if path in chosen}
        done.missing = tuple(m for m in _NEEDED if m not in metrics)
        seen: set[int] = set()
        steps: list[int] = []
        batch: list[dict[str, Any]] = []
        for i, (path, labels) in enumerate(chosen.items(), 1):
            try:
                found = points(content(path), from_s, until_s)
            except WhisperError as e:
                done.unreadable[path] = str(e)
                continue
            except OSError as e:
                done.unreadable[path] = e.strerror or str(e)
                continue
            if found:
                done.series += 1
                done.values += len(found)
                batch.append({"metric": labels, "values": [[at_s, repr(v)] for at_s, v in found]})
                if "job_name" in labels:
                    seen.update(at_s for at_s, _ in found)
                    if len(found) > 1:
                        steps.append(median_low(b - a for (a, _), (b, _) in pairwise(found)))
            if len(batch) == _SERIES_A_DOCUMENT or i == len(chosen):
                log.append(batch)
                batch = []
                progress(i / len(chosen))
        log.append(batch)
    times = sorted(seen)
    if times:
        done.from_ms, done.to_ms = 1000 * times[0], 1000 * times[-1]
    if steps:
        # Within each series, because TaskManagers report at different moments.
        longest = _GAP * median_low(steps)
        done.gaps = [(1000 * a, 1000 * b) for a, b in pairwise(times) if b - a > longest]
    return done


@contextmanager
def _files(place: Path) -> Iterator[tuple[list[str], Callable[[str], bytes]]]:
    """Yield the paths of the Whisper files at a place, and what reads one."""
    if place.is_dir():
        paths = (str(p.relative_to(place)) for p in place.rglob(f"*{_SUFFIX}") if p.is_file())

        def of_file(path: str) -> bytes:
            with (place / path).open("rb") as file:
                return read(file)

        yield sorted(paths), of_file
        return
    if not place.exists():
        raise InvalidInputError(
            f"there is no {place}", "give Carbon's folder of Whisper files, or a tar file of it"
        )
    try:
        with tarfile.open(place) as tar:
            members = {m.name: m for m in tar.getmembers() if m.isreg()}

            def of_member(path: str) -> bytes:
                file = tar.extractfile(members[path])
                return read(file) if file else b""

            yield [path for path in members if path.endswith(_SUFFIX)], of_member
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as e:
        raise InvalidInputError(
            f"{place} is no tar file, or it is cut short: {e}",
            "give Carbon's folder of Whisper files, or a tar file of it: tar czf whisper.tar.gz "
            "-C /var/lib/graphite/whisper .",
        ) from e


def _named(path: str) -> _Name | None:
    """Return what a path says, None if the file is of no use here."""
    parts = PurePosixPath(path).with_suffix("").parts
    # A host or a TaskManager may be called so, too.
    behind = (parts[i + 1 :] for i, part in enumerate(parts[:-2]) if part == _TASK_MANAGER)
    return next((name for each in behind if (name := _of_task_manager(*each))), None)


def _of_task_manager(task_manager: str, *names: str) -> _Name | None:
    rest = list(names)
    if rest[-1] == _COUNT:
        rest.pop()
    if ".".join(rest) in TASK_MANAGER_METRICS:
        return _Name(task_manager, "", "", "", ".".join(rest))
    if len(rest) < 4 or not rest[2].isdecimal() or ".".join(rest[3:]) not in SUBTASK_METRICS:
        return None
    job, task, subtask, *metric = rest
    return _Name(task_manager, job, task, subtask, ".".join(metric))


def _the_job(named: Iterable[_Name], job: str | None, place: Path) -> str:
    """Return the job's name as Graphite has it."""
    jobs = sorted({name.job for name in named if name.job})
    fitting = [known for known in jobs if job is None or _plain(known) == _plain(job)]
    if len(fitting) == 1:
        return fitting[0]
    if not jobs:
        raise InvalidInputError(
            f"{place} has no Whisper file of a Flink task",
            "its paths are HOST/taskmanager/TASKMANAGER/JOB/TASK/SUBTASK/METRIC.wsp with Flink's "
            "default scope formats (metrics.scope.task)",
        )
    raise InvalidInputError(
        f"{place} has {'no job ' + repr(job) if job else f'{len(jobs)} jobs'}: {', '.join(jobs)}"
        if not fitting or job is None
        else f"{place} has several jobs like {job!r}: {', '.join(fitting)}",
        "choose one: --job NAME",
    )


def _series(named: dict[str, _Name], job: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield path and labels of each file that is needed for the costs of a job."""
    tasks = {name.task for name in named.values() if name.job == job and name.metric == _BUSY}
    used = {name.task_manager for name in named.values() if name.job == job}
    for path, name in named.items():
        of_manager = {"tm_id": name.task_manager}
        plain = name.metric.replace(".", "_")
        if not name.job and name.task_manager in used:
            yield path, {"__name__": f"flink_taskmanager_{plain}", **of_manager}
        if name.job != job:
            continue
        labels = {**of_manager, "job_name": job, "subtask_index": name.subtask}
        if name.task in tasks:
            series = f"flink_taskmanager_job_task_{plain}"
            yield path, {"__name__": series, **labels, "task_name": name.task}
        elif name.metric == "numRecordsOut" and name.task.startswith("Source"):
            chains = [task for task in tasks if task.startswith(f"{name.task}-")]
            if len(chains) == 1:
                series = f"flink_taskmanager_job_task_operator_{plain}"
                own = {"task_name": chains[0], "operator_name": name.task}
                yield path, {"__name__": series, **labels, **own}


def _plain(name: str) -> str:
    return re.sub("[^a-zA-Z0-9]", "_", name)
