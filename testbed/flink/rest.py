"""The calls of Flink's REST API that the testbed needs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from testbed.errors import TestbedError

_TIMEOUT_S = 60.0
_SUBMIT_TIMEOUT_S = 180.0
_SAVEPOINT_SECONDS = 180.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class RunningSubtask:
    """One subtask of a running job, as REST shows it.

    Parameters
    ----------
    vertex_id, vertex
        Its operator's JobVertexID and name.
    index, parallelism
        Its number, from 0, of how many.
    state
        Flink's execution state, e.g. ``RUNNING``.
    task_manager
        Resource id of its TaskManager, ``(unassigned)`` if it has none.
    attempt
        How often it was started before.
    """

    vertex_id: str
    vertex: str
    index: int
    parallelism: int
    state: str
    task_manager: str
    attempt: int

    @property
    def task(self) -> str:
        """Its name in Flink's logs and in a schedulercfg, e.g. ``count (1/3)``."""
        return f"{self.vertex} ({self.index + 1}/{self.parallelism})"


class FlinkRest:
    """A client of one JobManager; calls that fail raise `requests.RequestException`.

    Parameters
    ----------
    url
        Address of the REST endpoint, e.g. ``http://127.0.0.1:8081``.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = requests.Session()
        # The endpoint is on this machine: never ask a proxy for it.
        self._session.trust_env = False

    def get(self, path: str, get: list[str] | None = None) -> Any:
        """Return the answer to a GET, decoded; ``get`` names the metrics wanted."""
        params = {"get": ",".join(get)} if get else None
        answer = self._session.get(self.url + path, params=params, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()

    def upload(self, jar: Path) -> str:
        """Upload a job's jar and return the id it got."""
        with jar.open("rb") as content:
            files = {"jarfile": (jar.name, content, "application/java-archive")}
            answer = self._session.post(self.url + "/jars/upload", files=files, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        filename: str = answer.json()["filename"]
        return Path(filename).name

    def run(
        self,
        jar_id: str,
        arguments: Sequence[str],
        savepoint: str | None = None,
        options: Mapping[str, str] | None = None,
        main_class: str | None = None,
    ) -> str:
        """Start the job of an uploaded jar and return the job's id.

        Parameters
        ----------
        jar_id
            What `upload` returned.
        arguments
            Of the job's main method.
        savepoint
            Path from which to restore the job's state.
        options
            Flink options of the job, e.g. ``state.backend.type``.
        main_class
            Class with the main method, with its package; ``None`` for the one the jar names.
        """
        request: dict[str, Any] = {"programArgsList": list(arguments)}
        if savepoint is not None:
            request["savepointPath"] = savepoint
        if options:
            request["flinkConfiguration"] = dict(options)
        if main_class is not None:
            request["entryClass"] = main_class
        answer = self._post(f"/jars/{jar_id}/run", request, _SUBMIT_TIMEOUT_S)
        job_id: str = answer["jobid"]
        return job_id

    def stop_with_savepoint(self, job_id: str, folder: Path) -> str:
        """Stop a job and return the path of its savepoint.

        Raises
        ------
        TestbedError
            If the savepoint fails or takes too long.
        """
        request = {"targetDirectory": folder.as_uri()}
        trigger = self._post(f"/jobs/{job_id}/stop", request, _TIMEOUT_S)["request-id"]
        deadline = time.monotonic() + _SAVEPOINT_SECONDS
        while time.monotonic() < deadline:
            answer = self.get(f"/jobs/{job_id}/savepoints/{trigger}")
            if answer["status"]["id"] == "COMPLETED":
                operation = answer["operation"]
                if "location" not in operation:
                    raise TestbedError(f"savepoint of job {job_id}: {operation['failure-cause']}")
                location: str = operation["location"]
                return location
            time.sleep(_POLL_SECONDS)
        raise TestbedError(f"savepoint of job {job_id}: not within {_SAVEPOINT_SECONDS:.0f} s")

    def cancel(self, job_id: str) -> None:
        """Ask for the end of a job; it ends some time after this returns."""
        self._session.patch(f"{self.url}/jobs/{job_id}", timeout=_TIMEOUT_S).raise_for_status()

    def state(self, job_id: str) -> str:
        """Return a job's state, e.g. ``RUNNING`` or ``FINISHED``."""
        state: str = self.get(f"/jobs/{job_id}")["state"]
        return state

    def subtasks(self, job_id: str) -> list[RunningSubtask]:
        """Return the subtasks of a job, vertex by vertex."""
        return [
            RunningSubtask(
                vertex_id=vertex["id"],
                vertex=vertex["name"],
                index=subtask["subtask"],
                parallelism=vertex["parallelism"],
                state=subtask["status"],
                task_manager=subtask["taskmanager-id"],
                attempt=subtask["attempt"],
            )
            for vertex in self.get(f"/jobs/{job_id}")["vertices"]
            for subtask in self.get(f"/jobs/{job_id}/vertices/{vertex['id']}")["subtasks"]
        ]

    def last_failure(self, job_id: str) -> tuple[float, str] | None:
        """Return when a job has failed last, in s since the epoch, and why; None: it has not. A
        move is such a failure, too.
        """
        entries = self.get(f"/jobs/{job_id}/exceptions")["exceptionHistory"]["entries"]
        if not entries:
            return None
        return entries[0]["timestamp"] / 1000, entries[0]["stacktrace"].splitlines()[0]

    def checkpoints(self, job_id: str) -> dict[str, int]:
        """Return the numbers of a job's checkpoints: completed, failed, restored and so on."""
        counts: dict[str, int] = self.get(f"/jobs/{job_id}/checkpoints")["counts"]
        return counts

    def latest_checkpoint(self, job_id: str, kind: str) -> int | None:
        """Return the id of a job's latest ``completed`` or ``restored`` checkpoint, if any."""
        checkpoint = self.get(f"/jobs/{job_id}/checkpoints")["latest"][kind]
        return None if checkpoint is None else int(checkpoint["id"])

    def _post(self, path: str, request: Mapping[str, Any], timeout_s: float) -> Any:
        answer = self._session.post(self.url + path, json=request, timeout=timeout_s)
        if not answer.ok:
            # Flink gives the reason in the body, which the status line lacks.
            raise requests.HTTPError(f"{path}: {answer.status_code} {answer.text}")
        return answer.json()
