"""One poll: Flink's answers about a job and its TaskManagers, as lines of the metric log.

docs/metric-log.md has the format. Two properties of Flink determine a poll. Flink fetches metrics
lazily: a request starts a fetch from the TaskManagers and returns the result of the fetch before
it. So a poll sends a first request, waits, and then reads. A request line has at most 4,096
characters, so the metrics of a wide operator come in several answers, each with whole subtasks.
"""

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.adapters.flink.rest.answer import RestAnswer, need
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.topology import placement, vertices_of

SUBTASK_METRICS = (
    "numRecordsIn",
    "numRecordsOut",
    "numBytesIn",
    "numBytesOut",
    "busyTimeMsPerSecond",
    "idleTimeMsPerSecond",
    "backPressuredTimeMsPerSecond",
    "accumulateBusyTimeMs",
    "accumulateIdleTimeMs",
    "accumulateBackPressuredTimeMs",
    "Shuffle.Netty.Input.numBytesInLocal",
    "Shuffle.Netty.Input.numBytesInRemote",
    "Shuffle.Netty.Input.numBuffersInLocal",
    "Shuffle.Netty.Input.numBuffersInRemote",
)
TASK_MANAGER_METRICS = (
    "Status.JVM.CPU.Load",
    "Status.JVM.CPU.Time",
    "Status.JVM.Memory.Heap.Used",
    "Status.Flink.Memory.Managed.Used",
)
_LOG_VERSION = 1
_NAMES_CHARACTERS = 3500
"""Most characters of the names in one request; the path takes less than the rest."""
_COMMA_CHARACTERS = len(quote_plus(","))


@dataclass(frozen=True)
class Poll:
    """The result of a poll."""

    state: str
    """State of the job; there are no lines unless it is `RUNNING`."""
    lines: bytes = b""
    values: int = 0
    """Number of metric values in the lines."""
    requests: int = 0
    operators: int = 0
    subtasks: int = 0
    checkpoint: int | None = None
    """Id of the last completed checkpoint."""


class Poller:
    """Polls one job.

    Parameters
    ----------
    wait_s
        Time from the start of Flink's fetch to the reading of its result.
    pool
        Runs requests in parallel.
    """

    def __init__(self, client: FlinkClient, job_id: str, wait_s: float, pool: Executor) -> None:
        self._client = client
        self._path = f"/jobs/{job_id}"
        self._wait_s = wait_s
        self._pool = pool
        self._running_since: object = None
        self._checkpoint: int | None = None
        self._emitters: dict[str, tuple[str, ...]] = {}

    def poll(self, describe: bool) -> Poll:
        """Poll once.

        Parameters
        ----------
        describe
            Whether to request the answers that change only when the job starts again, even if it
            has not.

        Raises
        ------
        FlinkUnreachableError
            If Flink does not answer, or refuses.
        FlinkNotFoundError
            If Flink does not know the job.
        InvalidInputError
            If an answer is incomplete, as while a job starts.
        """
        answers = _Answers(self._client, self._pool)
        answers.ask([_Request(f"{self._path}/metrics")], keep=False)
        time.sleep(self._wait_s)
        [job] = answers.ask([_Request(self._path)])
        state = str(need(job, "state", str, f"the answer to {self._path}"))
        if state != "RUNNING":
            # Metrics may belong to the previous attempt, and subtasks have no places.
            return Poll(state)
        running_since = need(job, "timestamps", Mapping, f"the answer to {self._path}").get(state)
        if describe or running_since != self._running_since:
            answers.ask(
                [_Request(f"{self._path}/plan"), _Request(f"{self._path}/checkpoints/config")]
            )
        vertices = vertices_of(job)
        paths = {v: f"{self._path}/vertices/{v}" for v in vertices}
        seen = dict(zip(vertices, answers.ask([_Request(p) for p in paths.values()]), strict=True))
        emitters = self._source_counters(answers, _sources(job, vertices), paths)
        values = answers.ask(
            [
                _Request(f"{paths[v]}/metrics", names)
                for v, vertex in vertices.items()
                for names in _names(vertex["parallelism"], SUBTASK_METRICS + emitters.get(v, ()))
            ]
        )
        values += self._task_managers(answers, seen)
        checkpoint = self._checkpoints(answers, vertices)
        # This is stored only now, so that after a failed poll all of it is requested again.
        self._running_since, self._checkpoint = running_since, checkpoint
        self._emitters |= emitters
        return Poll(
            state,
            answers.lines(),
            sum(len(answer) for answer in values if isinstance(answer, list)),
            answers.requests,
            len(vertices),
            sum(v["parallelism"] for v in vertices.values()),
            checkpoint,
        )

    def _source_counters(
        self, answers: "_Answers", sources: Collection[str], paths: Mapping[str, str]
    ) -> dict[str, tuple[str, ...]]:
        """Return source -> the counters of records that its source operators have.

        In a chain that ends in its own sink, the task's counter stays at 0. The counters of the
        source operators are registered some time after the task, so they are looked up until they
        exist.
        """
        unknown = [v for v in sources if not self._emitters.get(v)]
        listed = answers.ask([_Request(f"{paths[v]}/subtasks/metrics") for v in unknown], False)
        found = {
            v: tuple(
                name
                for name in (need(m, "id", str, f"{paths[v]}: metrics") for m in metrics)
                if name.startswith("Source_") and name.endswith(".numRecordsOut")
            )
            for v, metrics in zip(unknown, listed, strict=True)
        }
        return {v: found.get(v) or self._emitters.get(v, ()) for v in sources}

    def _task_managers(self, answers: "_Answers", vertices: Mapping[str, RestAnswer]) -> list[Any]:
        answers.ask([_Request("/taskmanagers")])
        ids = {tm for places in placement(vertices).values() for tm in places if tm is not None}
        return answers.ask(
            [
                # A TaskManager that has gone meanwhile does not make the poll fail.
                _Request(f"/taskmanagers/{tm}/metrics", TASK_MANAGER_METRICS, may_be_gone=True)
                for tm in sorted(ids)
            ]
        )

    def _checkpoints(self, answers: "_Answers", vertices: Collection[str]) -> int | None:
        """Request the statistics of checkpoints if one has completed since the last poll."""
        path = f"{self._path}/checkpoints"
        # Flink does not have this page if checkpointing is off.
        [answer] = answers.ask([_Request(path, may_be_gone=True)], keep=False)
        completed = need(answer, "latest", Mapping, path).get("completed") if answer else None
        if completed is None:
            return None
        number = int(need(completed, "id", int, path))
        if number != self._checkpoint:
            answers.keep(path, answer)
            details = f"{path}/details/{number}/subtasks"
            # Flink keeps the details of the last few checkpoints only.
            answers.ask([_Request(f"{details}/{v}", may_be_gone=True) for v in vertices])
        return number


@dataclass(frozen=True)
class _Request:
    path: str
    names: tuple[str, ...] = ()
    may_be_gone: bool = False


class _Answers:
    """The answers of one poll."""

    def __init__(self, client: FlinkClient, pool: Executor) -> None:
        self.requests = 0
        self._client = client
        self._pool = pool
        self._lines: list[tuple[int, str]] = []

    def ask(self, requests: Sequence[_Request], keep: bool = True) -> list[Any]:
        """Return the answers in this order, None for a missing one that may be missing."""
        self.requests += len(requests)
        answered = list(self._pool.map(self._get, requests))
        if keep:
            for request, (ts_ms, answer) in zip(requests, answered, strict=True):
                if answer is not None:
                    self.keep(request.path, answer, ts_ms)
        return [answer for _, answer in answered]

    def keep(self, path: str, answer: Any, ts_ms: int | None = None) -> None:
        ts_ms = now_ms() if ts_ms is None else ts_ms
        entry = {"edgeplace_log": _LOG_VERSION, "ts_ms": ts_ms, "path": path, "answer": answer}
        self._lines.append((ts_ms, json.dumps(entry, separators=(",", ":")) + "\n"))

    def lines(self) -> bytes:
        """Return the log lines in order of time."""
        return "".join(line for _, line in sorted(self._lines, key=lambda e: e[0])).encode()

    def _get(self, request: _Request) -> tuple[int, Any]:
        params = {"get": ",".join(request.names)} if request.names else None
        try:
            answer = self._client.get(quote(request.path, safe="/:"), params)
        except FlinkNotFoundError:
            if not request.may_be_gone:
                raise
            answer = None
        return now_ms(), answer


def _sources(job: RestAnswer, vertices: Collection[str]) -> list[str]:
    where = "the answer to /jobs/:jobid: plan"
    nodes = need(need(job, "plan", Mapping, where), "nodes", list, where)
    fed = {need(node, "id", str, where) for node in nodes if node.get("inputs")}
    return [v for v in vertices if v not in fed]


def _names(parallelism: int, metrics: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names of metrics of all subtasks, in portions that fit a request.

    Flink omits unknown metrics, so the metrics need not exist yet.
    """
    portion: list[str] = []
    room = _NAMES_CHARACTERS
    for subtask in range(parallelism):
        names = [f"{subtask}.{metric}" for metric in metrics]
        length = sum(len(quote_plus(name)) + _COMMA_CHARACTERS for name in names)
        if portion and length > room:
            yield tuple(portion)
            portion, room = [], _NAMES_CHARACTERS
        portion += names
        room -= length
    yield tuple(portion)


def now_ms() -> int:
    """Return the Unix time."""
    return time.time_ns() // 1_000_000
