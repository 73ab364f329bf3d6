"""Poll a job's REST answers into the canonical metric log.

The log is JSON lines, one line per REST answer, with the answer as Flink gave it:

``{"edgeplace_log":1,"ts_ms":...,"path":"/jobs/<job>/vertices/<vertex>/metrics","answer":...}``

``ts_ms`` is the wall clock when the answer was there; ``path`` has no host and no query string.
"""

import json
import time
from typing import Any, TextIO

from testbed.flink_rest import FlinkRest

LOG_VERSION = 1

# Between the refresh and the reading of the metrics. The option metrics.fetcher.update-interval
# must be longer: otherwise the reading starts the next fetch, and some answers come from after it.
_FETCH_SECONDS = 1.0
_SUBTASK_METRICS = (
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
)
_TASK_MANAGER_METRICS = (
    "Status.JVM.CPU.Load",
    "Status.JVM.CPU.Time",
    "Status.JVM.Memory.Heap.Used",
    "Status.Flink.Memory.Managed.Used",
)
_SECRET_WORDS = ("password", "secret", "token")


class RestLog:
    """Writes the answers about one job to a log.

    Parameters
    ----------
    rest
        The JobManager to ask.
    job_id
        The job, running.
    log
        Open text file that gets the lines.
    """

    def __init__(self, rest: FlinkRest, job_id: str, log: TextIO) -> None:
        self._rest = rest
        self._job = f"/jobs/{job_id}"
        self._log = log
        self._vertex_metrics: dict[str, list[str]] = {}
        self._running_since: int | None = None
        self._last_checkpoint: int | None = None

    def refresh(self) -> None:
        """Make the JobManager fetch all metrics from the TaskManagers, unless it just has.

        It fetches only when somebody asks, and answers at once with what it had before.
        """
        self._rest.get(f"{self._job}/metrics")

    def poll(self) -> None:
        """Write one round of answers, with metrics that are as old in every round."""
        self.refresh()
        time.sleep(_FETCH_SECONDS)
        job = self._get(self._job)
        self._write(self._job, job)
        running_since: int = job["timestamps"]["RUNNING"]
        if running_since != self._running_since:
            self._describe()
            self._running_since = running_since
        vertices = _ids(job["vertices"])
        for vertex in vertices:
            path = f"{self._job}/vertices/{vertex}"
            self._copy(path)
            self._copy(f"{path}/metrics", self._vertex_metrics[vertex])
        for task_manager in _ids(self._copy("/taskmanagers")["taskmanagers"]):
            self._copy(f"/taskmanagers/{task_manager}/metrics", list(_TASK_MANAGER_METRICS))
        self._checkpoints(vertices)
        self._log.flush()

    def _describe(self) -> None:
        """Write what changes only when the job starts anew, and look up the metrics' names."""
        self._copy("/config")
        plan = self._copy(f"{self._job}/plan")
        self._copy(f"{self._job}/checkpoints/config")
        self._write("/jobmanager/config", _without_secrets(self._get("/jobmanager/config")))
        for node in plan["plan"]["nodes"]:
            # One unknown name empties the whole answer, so ask for the names first.
            names = _ids(self._get(f"{self._job}/vertices/{node['id']}/metrics"))
            is_source = not node.get("inputs")
            self._vertex_metrics[node["id"]] = [n for n in names if _is_wanted(n, is_source)]

    def _checkpoints(self, vertices: list[str]) -> None:
        """Write the checkpoints' statistics if one has completed since the last time."""
        path = f"{self._job}/checkpoints"
        answer = self._get(path)
        completed = answer["latest"]["completed"]
        if completed is None or completed["id"] == self._last_checkpoint:
            return
        self._last_checkpoint = completed["id"]
        self._write(path, answer)
        for vertex in vertices:
            self._copy(f"{path}/details/{completed['id']}/subtasks/{vertex}")

    def _copy(self, path: str, get: list[str] | None = None) -> Any:
        answer = self._get(path, get)
        self._write(path, answer)
        return answer

    def _get(self, path: str, get: list[str] | None = None) -> Any:
        return self._rest.get(path, get)

    def _write(self, path: str, answer: Any) -> None:
        line = {
            "edgeplace_log": LOG_VERSION,
            "ts_ms": time.time_ns() // 1_000_000,
            "path": path,
            "answer": answer,
        }
        self._log.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _ids(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in entries]


def _is_wanted(name: str, is_source: bool) -> bool:
    """Tell whether to ask for a metric named ``<subtask>.<metric>``."""
    metric = name.partition(".")[2]
    if metric in _SUBTASK_METRICS:
        return True
    # Some sources count their records in the operator only and leave the task's counter at 0.
    return is_source and metric.count(".") == 1 and metric.endswith(".numRecordsOut")


def _without_secrets(config: list[dict[str, str]]) -> list[dict[str, str]]:
    return [
        entry for entry in config if not any(word in entry["key"].lower() for word in _SECRET_WORDS)
    ]
