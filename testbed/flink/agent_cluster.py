"""A cluster with edgeplace's agent in its JobManager, and the agent's files."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests

from edgeplace.adapters.flink.rest.job_states import GLOBALLY_TERMINAL
from testbed.errors import TestbedError
from testbed.flink.config import QUICK
from testbed.flink.job_jar import compile_own_job
from testbed.flink.local_cluster import JOB_MANAGER, JobManagerSpec, LocalCluster, TaskManagerSpec
from testbed.flink.rest import FlinkRest

# Different machines, two of them behind one address.
TASK_MANAGERS = (
    TaskManagerSpec("pi-1", "127.0.0.11", slots=4, process_memory="680m"),
    TaskManagerSpec("pi-2", "127.0.0.12", slots=4, process_memory="680m"),
    TaskManagerSpec("server-1", "127.0.0.21", slots=8, process_memory="840m"),
    TaskManagerSpec("server-2", "127.0.0.21", slots=6, process_memory="780m"),
)
_HERE = JobManagerSpec()
_WAIT_SECONDS = 180.0
"""A machine full of other tests is slow, which is no failure."""


class AgentCluster:
    """A cluster that follows plans, for the time of the ``with`` block.

    Parameters
    ----------
    home
        Flink home.
    agent_jar
        The agent, ``None`` for stock Flink.
    agent_options
        What follows the jar's path, e.g. ``lost=fallback``.
    task_managers
        The TaskManagers.
    settings
        Flink options of all processes.
    file_system
        As for `LocalCluster`.
    job_manager
        Where the JobManager runs.
    ha
        As for `LocalCluster`.

    Attributes
    ----------
    cluster
        The processes.
    """

    def __init__(
        self,
        home: Path,
        agent_jar: Path | None,
        agent_options: str = "",
        task_managers: Sequence[TaskManagerSpec] = TASK_MANAGERS,
        settings: Mapping[str, str] = QUICK,
        file_system: str = "",
        job_manager: JobManagerSpec = _HERE,
        ha: bool = True,
    ) -> None:
        agent = {}
        if agent_jar is not None:
            option = f"-javaagent:{agent_jar}" + (f"={agent_options}" if agent_options else "")
            agent = {"env.java.opts.jobmanager": option}
        self._home = home
        self.task_managers = task_managers
        self.cluster = LocalCluster(
            home,
            task_managers,
            settings,
            replace(job_manager, options={**job_manager.options, **agent}),
            ha=ha,
            file_system=file_system,
        )
        self._cleanup = ExitStack()
        self._jars: dict[str, Path] = {}

    def __enter__(self) -> Self:
        self._cleanup.enter_context(self.cluster)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    @property
    def rest(self) -> FlinkRest:
        """Client of the JobManager."""
        return self.cluster.rest

    @property
    def plans(self) -> Path:
        """The agent's folder of plans, at its default place."""
        return self.cluster.conf_dir(JOB_MANAGER) / "edgeplace"

    def submit(
        self,
        job: str,
        *arguments: str,
        savepoint: str | None = None,
        options: Mapping[str, str] | None = None,
        libraries: Sequence[Path] = (),
    ) -> str:
        """Start one of the testbed's jobs and return its id.

        Parameters
        ----------
        job
            Its class, e.g. ``CountingJob``.
        arguments
            See the class.
        savepoint, options
            As for `FlinkRest.run`.
        libraries
            As for `compile_job`.
        """
        return self.rest.run(self.upload(job, libraries), arguments, savepoint, options)

    def upload(self, job: str, libraries: Sequence[Path] = ()) -> str:
        """Compile one of the testbed's jobs, unless that was done before; return its jar's id."""
        if job not in self._jars:
            self._jars[job] = compile_own_job(job, self._home, self.cluster.scratch, libraries)
        return self.rest.upload(self._jars[job])

    def write_plan(self, key: str, places: Mapping[str, str]) -> str:
        """Write a plan and return the SHA-256 of its bytes, which the agent's status will show.

        Parameters
        ----------
        key
            A job's id, or its name as the agent encodes it.
        places
            Task, e.g. ``count (1/3)`` -> TaskManager.
        """
        text = "".join(f"{task}; {place}\n" for task, place in places.items())
        return self.write_plan_file(f"{key}.schedulercfg", text.encode())

    def write_plan_file(self, name: str, content: bytes) -> str:
        """Put a file into the folder of plans, complete at once; return the SHA-256 of it."""
        with tempfile.NamedTemporaryFile(dir=self.plans, prefix=".", delete=False) as draft:
            draft.write(content)
        Path(draft.name).rename(self.plans / name)
        return hashlib.sha256(content).hexdigest()

    def status(self, job_id: str) -> dict[str, Any] | None:
        """Return the agent's status of a job, ``None`` while there is none."""
        return _json(self.plans / f"{job_id}.status.json")

    def keys(self, job_id: str) -> dict[str, Any] | None:
        """Return what the routers of a job report, ``None`` while there is nothing."""
        return _json(self.plans / f"{job_id}.keys.json")

    def agent(self) -> dict[str, Any] | None:
        """Return the content of the agent's file, ``None`` while it does not exist."""
        return _json(self.plans / "agent.json")

    def placement(self, job_id: str) -> dict[str, str]:
        """Return task -> TaskManager of the subtasks that are running."""
        return {
            subtask.task: subtask.task_manager
            for subtask in self.rest.subtasks(job_id)
            if subtask.state == "RUNNING"
        }

    def wait_for_running(self, job_id: str, seconds: float = _WAIT_SECONDS) -> dict[str, str]:
        """Wait until all subtasks of a job run, and return their places; fails as `wait_until`."""

        def all_running() -> bool:
            subtasks = self.rest.subtasks(job_id)
            return bool(subtasks) and all(each.state == "RUNNING" for each in subtasks)

        self.wait_until(all_running, f"all subtasks of job {job_id} running", seconds)
        return self.placement(job_id)

    def wait_for_placement(
        self, job_id: str, places: Mapping[str, str], seconds: float = _WAIT_SECONDS
    ) -> None:
        """Wait until all subtasks of a job run exactly at these places.

        Raises
        ------
        TestbedError
            If they do not in this many seconds: with what differs, and the JobManager's log.
        """
        found: dict[str, str] = {}

        def exact() -> bool:
            nonlocal found
            found = self.placement(job_id)
            return found == places

        try:
            self.wait_until(exact, f"job {job_id} placed as planned", seconds)
        except TestbedError as error:
            differences = [
                f"{task}: planned {places.get(task)}, runs at {found.get(task)}"
                for task in sorted(places.keys() | found.keys())
                if places.get(task) != found.get(task)
            ]
            says = f"the agent says: {self.status(job_id)}"
            raise TestbedError("\n".join([str(error), *differences, says])) from None

    def wait_for_status(
        self, job_id: str, state: str, sha256: str | None = None, seconds: float = _WAIT_SECONDS
    ) -> dict[str, Any]:
        """Wait until the agent reports a state, of a plan if one is given, and return its status.

        Raises
        ------
        TestbedError
            If it does not in this many seconds, with the status it reports.
        """
        status: dict[str, Any] | None = None

        def reported() -> bool:
            nonlocal status
            status = self.status(job_id)
            return (
                status is not None
                and status["state"] == state
                and sha256 in (None, status["plan_sha256"])
            )

        try:
            self.wait_until(reported, f"state {state!r} of job {job_id}", seconds)
        except TestbedError as error:
            raise TestbedError(f"{error}\nstatus: {status}") from None
        assert status is not None  # noqa: S101 - or it would not have been reported
        return status

    def wait_for_checkpoint(self, job_id: str, seconds: float = _WAIT_SECONDS) -> None:
        """Wait until one more checkpoint of a job completes; fails as `wait_until`."""
        before = self.rest.checkpoints(job_id)["completed"]
        self.wait_until(
            lambda: self.rest.checkpoints(job_id)["completed"] > before,
            f"a checkpoint of job {job_id}",
            seconds,
        )

    def wait_until(
        self, met: Callable[[], bool], what: str, seconds: float = _WAIT_SECONDS
    ) -> None:
        """Wait for a condition as `LocalCluster.wait_until`, with the JobManager's log if not."""
        try:
            self.cluster.wait_until(met, what, seconds)
        except TestbedError as error:
            log = self.cluster.log_end(JOB_MANAGER)
            raise TestbedError(f"{error}\nend of the JobManager's log:\n{log}") from None

    def reset(self) -> None:
        """Cancel all jobs, start what has been killed and remove all plans, cordons and weights.

        Raises
        ------
        TestbedError
            As for `LocalCluster.wait_until`.
        """
        self.cluster.start_missing()
        self.wait_until(self._cancel_all, "end of all jobs")
        # Flink 2.3.0 never starts again where a JobManager was killed before this end: the plan of
        # a job that has ended is still there, its dispatcher is not ready for it, and it exits.
        self.wait_until(self.cluster.nothing_to_clean_up, "clean-up of what has ended")
        for kind in ("schedulercfg", "cordon", "shares"):
            for file in self.plans.glob(f"*.{kind}"):
                file.unlink()

    def let_go(self) -> None:
        """Ask all jobs to end, if the JobManager answers; nobody waits for it."""
        with suppress(requests.RequestException):
            self._cancel_all()

    def _cancel_all(self) -> bool:
        """Ask every job to end, and return whether all have ended."""
        jobs = [
            job["id"]
            for job in self.rest.get("/jobs")["jobs"]
            if job["status"] not in GLOBALLY_TERMINAL
        ]
        for job_id in jobs:
            self.rest.cancel(job_id)
        return not jobs


def _json(file: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    return content
