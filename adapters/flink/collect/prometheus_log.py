"""The metrics of a job from a Prometheus server, as a metric log.

Flink's Prometheus reporter names the metrics, and replaces special characters in names and labels
by `_`. The log has the server's points as it gave them: documents with a matrix of series, which
`edgeplace costs` reads. A counter that begins again at 0 belongs to another attempt of its subtask,
which is another series.
"""

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from edgeplace.adapters.flink.collect.poll import SUBTASK_METRICS, TASK_MANAGER_METRICS
from edgeplace.adapters.flink.collect.prometheus_client import MOST_POINTS, PrometheusClient
from edgeplace.adapters.flink.rest.job_choice import is_job_id
from edgeplace.model import InvalidInputError

_TASK = "flink_taskmanager_job_task_"
_TASK_METRICS = tuple(_TASK + name.replace(".", "_") for name in SUBTASK_METRICS)
_SOURCE_METRIC = f"{_TASK}operator_numRecordsOut"
_TASK_MANAGER_METRICS = tuple(
    "flink_taskmanager_" + name.replace(".", "_") for name in TASK_MANAGER_METRICS
)
_NEEDED = tuple(_TASK + name for name in ("numRecordsIn", "numRecordsOut", "accumulateBusyTimeMs"))
"""Metrics without which there are no costs."""
_ANSWER_POINTS = 500_000
"""Most points of all series in one answer: some 20 MB."""
_HEAD = '{"status":"success","data":{"resultType":"matrix","result":['
_END = "]}}"
_AT_ONCE = 50
"""TaskManagers in one query, because the length of an address is bounded."""


@dataclass
class CollectedRange:
    """What a log of a range of time has."""

    jobs: dict[str, str] = field(default_factory=dict)
    """Id -> name of every run of the job that is in the log."""
    requests: int = 0
    values: int = 0
    series: int = 0
    missing: tuple[str, ...] = ()
    """Metrics without any series that costs cannot be measured without."""
    from_ms: int | None = None
    to_ms: int | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """From and to, ms since the epoch, of each time in which no subtask has a point."""


class RangeLog:
    """A new log of documents: a folder of files, or one file if its name ends in `.gz`.

    Raises
    ------
    InvalidInputError
        If the place is not new, or cannot be written.
    """

    def __init__(self, place: str | Path, max_bytes: int) -> None:
        self.where = Path(place)
        self.written_bytes = 0
        self.files: list[Path] = []
        self._max_bytes = max_bytes
        self._one_file = self.where.suffix == ".gz"
        try:
            if self._one_file:
                self.where.touch(exist_ok=False)
                self.files.append(self.where)
            else:
                self.where.mkdir(parents=True, exist_ok=True)
            used = not self._one_file and any(self.where.iterdir())
        except FileExistsError:
            used = True
        except OSError as e:
            raise self._unwritable(e) from e
        if used:
            raise InvalidInputError(
                f"{self.where}: there is something already", "give a new place: -o PLACE"
            )

    def append(self, series: Sequence[dict[str, Any]]) -> None:
        """Append an answer.

        Raises
        ------
        InvalidInputError
            If it cannot be written, or the log would be larger than its maximum.
        """
        if not series:
            return
        text = json.dumps(series, separators=(",", ":"))[1:-1]
        if self._one_file:
            self._write(self.where, ("," if self.written_bytes else _HEAD) + text)
        else:
            self.files.append(self.where / f"metrics-{len(self.files) + 1:06d}.json.gz")
            self._write(self.files[-1], _HEAD + text + _END)

    def close(self) -> None:
        """Complete the log.

        Raises
        ------
        InvalidInputError
            As `append`.
        """
        if self._one_file:
            self._write(self.where, _END)

    def discard(self) -> None:
        """Remove what was written."""
        for path in self.files:
            path.unlink(missing_ok=True)
        if not self._one_file:
            with suppress(OSError):
                self.where.rmdir()

    def _write(self, path: Path, text: str) -> None:
        packed = gzip.compress(text.encode(), 6, mtime=0)
        if self.written_bytes + len(packed) > self._max_bytes:
            raise InvalidInputError(
                f"{self.where} would be larger than --max-bytes",
                "collect a shorter time, or raise --max-bytes; with --prometheus, a larger "
                "--interval helps, too",
            )
        try:
            with path.open("ab") as f:
                f.write(packed)
        except OSError as e:
            raise self._unwritable(e) from e
        self.written_bytes += len(packed)

    def _unwritable(self, error: OSError) -> InvalidInputError:
        return InvalidInputError(
            f"{self.where}: cannot be written: {error.strerror}", "choose another place"
        )


def collect_range(
    client: PrometheusClient,
    log: RangeLog,
    progress: Callable[[float], None],
    *,
    job: str | None,
    from_s: float,
    until_s: float,
    step_s: float,
) -> CollectedRange:
    """Append the metrics of a job in a range of time to a log.

    Parameters
    ----------
    progress
        Is told the share of the work that is done.
    job
        Id or name. All runs of this name are collected. None: the only job of the range.
    from_s, until_s
        The range, seconds since the epoch.
    step_s
        Time between points; best is the interval of scrapes.

    Raises
    ------
    PrometheusUnreachableError
        If the server does not answer or refuses.
    InvalidInputError
        If the server has no metrics of this job there, or of several jobs if none is given, or if
        the log cannot be written.
    """
    names = "|".join((*_TASK_METRICS, _SOURCE_METRIC))
    chosen = _of_job(job)
    wanted = "{" + ",".join((f"__name__=~{_quoted(names)}", *chosen)) + "}"
    known = [labels for labels in client.series(wanted, from_s, until_s) if _is_used(labels)]
    runs = {labels.get("job_id", ""): labels.get("job_name", "") for labels in known}
    if not known or (job is None and len(runs) > 1):
        raise _no_job(client, job, runs, from_s, until_s)
    counts = Counter(labels["__name__"] for labels in known)
    queries = [
        ("{" + ",".join((f"__name__={_quoted(name)}", *chosen, *_sources_of(name))) + "}", count)
        for name, count in sorted(counts.items())
    ] + list(_of_task_managers(known))
    done = CollectedRange(requests=1, missing=tuple(name for name in _NEEDED if name not in counts))
    seen: set[int] = set()
    # Points of all queries lie at the same times.
    from_s = math.ceil(from_s / step_s) * step_s
    for i, (query, count) in enumerate(queries):
        points = max(1, min(MOST_POINTS, _ANSWER_POINTS // max(1, count)))
        for start_s, end_s in chunks(from_s, until_s, step_s, points):
            series = client.range(query, start_s, end_s, step_s)
            log.append(series)
            done.requests += 1
            for one in series:
                done.values += len(one["values"])
                labels = one["metric"]
                if "job_id" in labels:
                    done.jobs[labels["job_id"]] = labels.get("job_name", "")
                    seen.update(round(1000 * float(point[0])) for point in one["values"])
            progress((i + (end_s - from_s) / max(step_s, until_s - from_s)) / len(queries))
    times = sorted(seen)
    if times:
        done.from_ms, done.to_ms = times[0], times[-1]
    done.gaps = [(a, b) for a, b in pairwise(times) if b - a > 1500 * step_s]
    done.series = sum(count for _, count in queries)
    return done


def chunks(
    from_s: float, until_s: float, step_s: float, points: int
) -> Iterator[tuple[float, float]]:
    """Yield the first and last time of each query, with at most `points` points, and no point
    twice.
    """
    count = int((until_s - from_s) / step_s + 1e-9) + 1
    for first in range(0, count, points):
        last = min(first + points, count) - 1
        yield from_s + first * step_s, from_s + last * step_s


def _of_job(job: str | None) -> tuple[str, ...]:
    if job is None:
        return ()
    if is_job_id(job):
        return (f"job_id={_quoted(job)}",)
    # With filterLabelValueCharacters, as by default, the reporter replaces special characters.
    plain = re.sub("[^a-zA-Z0-9:_]", "_", job)
    either = "|".join(map(re.escape, dict.fromkeys((job, plain))))
    return (f"job_name=~{_quoted(either)}",)


def _sources_of(metric: str) -> tuple[str, ...]:
    return ('operator_name=~"Source.*"',) if metric == _SOURCE_METRIC else ()


def _is_used(labels: dict[str, str]) -> bool:
    return labels.get("__name__") != _SOURCE_METRIC or labels.get("operator_name", "").startswith(
        "Source"
    )


def _of_task_managers(known: Sequence[dict[str, str]]) -> Iterator[tuple[str, int]]:
    """Yield queries for the TaskManagers that ran the job, with their numbers of series.

    Several clusters may have TaskManagers of one id, so a TaskManager is told by its scraped
    address, too.
    """
    ran = sorted({(x["tm_id"], x.get("instance", "")) for x in known if x.get("tm_id")})
    for first in range(0, len(ran), _AT_ONCE):
        part = ran[first : first + _AT_ONCE]
        ids = "|".join(re.escape(i) for i in sorted({i for i, _ in part}))
        instances = "|".join(re.escape(i) for i in sorted({i for _, i in part}))
        names = "|".join(_TASK_MANAGER_METRICS)
        yield (
            f"{{__name__=~{_quoted(names)},tm_id=~{_quoted(ids)},instance=~{_quoted(instances)}}}",
            len(_TASK_MANAGER_METRICS) * len(part),
        )


def _no_job(
    client: PrometheusClient, job: str | None, runs: dict[str, str], from_s: float, until_s: float
) -> InvalidInputError:
    if job is None and runs:
        listed = ", ".join(f"{name!r} ({i})" for i, name in sorted(runs.items()))
        return InvalidInputError(
            f"{client.url} has metrics of {len(runs)} jobs: {listed}", "choose one: --job ID"
        )
    others = client.series(f"{_TASK}numRecordsIn", from_s, until_s)
    found = {x.get("job_id", ""): x.get("job_name", "") for x in others}
    listed = ", ".join(f"{name!r} ({i})" for i, name in sorted(found.items())) or "none"
    return InvalidInputError(
        f"{client.url} has no metrics of "
        + ("a job of Flink" if job is None else f"job {job!r}")
        + f" in this time; jobs with metrics there: {listed}",
        "give another --job or another time, or have Prometheus scrape Flink: docs/collect.md",
    )


def _quoted(text: str) -> str:
    """Return text as a string of PromQL, which has Go's escapes."""
    return json.dumps(text, ensure_ascii=False)
