"""Requests to a running Flink about jobs, subtasks, checkpoints and TaskManagers.

Flink answers about a job from a cache of `web.refresh-interval` (3 s by default). So an answer
right after a change may show the state before it.
"""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.adapters.flink.rest.answer import RestAnswer, need
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.job_states import TERMINAL
from edgeplace.adapters.flink.rest.task_managers import cluster, host_of, names_of
from edgeplace.adapters.flink.rest.topology import (
    host_of_endpoint,
    job_graph,
    placement,
    vertices_of,
)
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Node, Site, TaskManager

_AT_ONCE = 4
_MADE_UP_SITE = "flink"


@dataclass(frozen=True)
class RunningJob:
    """A job that has not ended."""

    id: str
    name: str
    state: str


@dataclass(frozen=True)
class LiveTaskManager:
    """A registered TaskManager."""

    id: str
    """Its resource id."""
    host: str
    slots: int
    free_slots: int


@dataclass(frozen=True)
class Subtask:
    """The current state of a subtask."""

    task_manager: str | None
    """Resource id; None: the subtask has no place yet."""
    state: str
    attempt: int
    started_ms: int
    """Start of this attempt, by the JobManager's clock."""
    host: str = ""
    """The JobManager's name for the host of the TaskManager; an address if it knows no name."""

    @property
    def is_up(self) -> bool:
        """Whether it runs, or has finished, like a bounded source beside a live stream.

        A move deploys a finished subtask at its new place, where it finishes again.
        """
        return self.task_manager is not None and self.state in ("RUNNING", "FINISHED")


@dataclass(frozen=True)
class Checkpoint:
    """A completed checkpoint."""

    id: int
    triggered_ms: int
    duration_ms: int
    state_bytes: int


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a job."""

    interval_ms: float | None
    """None: checkpointing is off."""
    completed: int
    failed: int
    last: Checkpoint | None
    last_failed_ms: int | None
    last_failure: str = ""


@dataclass(frozen=True)
class JobException:
    """An exception in the history of a job."""

    at_ms: int
    text: str
    """Its first line."""


class LiveFlink:
    """Questions to one JobManager.

    All raise `FlinkUnreachableError` if it does not answer, `FlinkNotFoundError` if it does not
    know the job, and `InvalidInputError` if an answer is incomplete.
    """

    def __init__(self, client: FlinkClient) -> None:
        self._client = client

    @property
    def url(self) -> str:
        """Address of the REST API."""
        return self._client.url

    def version(self) -> str:
        """Return Flink's release, such as `2.3.0`."""
        answer = self._client.get("/overview")
        return str(need(answer, "flink-version", str, "the answer to /overview"))

    def jobs(self) -> tuple[RunningJob, ...]:
        """Return the jobs that have not ended."""
        where = "the answer to /jobs/overview"
        found = []
        for job in need(self._client.get("/jobs/overview"), "jobs", list, where):
            jid, state = need(job, "jid", str, where), need(job, "state", str, where)
            if state not in TERMINAL:
                found.append(RunningJob(jid, str(job.get("name") or jid), state))
        return tuple(found)

    def job_graph(self, job_id: str) -> JobGraph:
        """Return the job graph, with its checkpoint interval."""
        detail = self._detail(job_id)
        plan = None if detail.get("plan") else self._client.get(f"/jobs/{job_id}/plan")
        config = self._client.get(f"/jobs/{job_id}/checkpoints/config")
        return job_graph(detail, plan, checkpoint_config=config)

    def state(self, job_id: str) -> str:
        """Return the state of a job, such as `RUNNING`."""
        return str(need(self._detail(job_id), "state", str, f"the answer to /jobs/{job_id}"))

    def subtasks(self, job_id: str) -> dict[str, tuple[Subtask, ...]]:
        """Return vertex id -> its subtasks."""
        vertices = list(vertices_of(self._detail(job_id)))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            paths = [f"/jobs/{job_id}/vertices/{v}" for v in vertices]
            answers = dict(zip(vertices, pool.map(self._client.get, paths), strict=True))
        places = placement(answers)
        return {v: _subtasks(answers[v], places[v]) for v in vertices}

    def placement(self, job_id: str) -> dict[str, tuple[str | None, ...]]:
        """Return vertex id -> resource id of the TaskManager of each subtask, None: nowhere."""
        return {
            v: tuple(s.task_manager for s in subtasks)
            for v, subtasks in self.subtasks(job_id).items()
        }

    def task_managers(self) -> tuple[LiveTaskManager, ...]:
        """Return the registered TaskManagers."""
        where = "the answer to /taskmanagers"
        return tuple(
            LiveTaskManager(
                need(tm, "id", str, where),
                host_of(tm),
                need(tm, "slotsNumber", int, where),
                need(tm, "freeSlots", int, where),
            )
            for tm in need(self._client.get("/taskmanagers"), "taskmanagers", list, where)
        )

    def users_cluster(self, user: Cluster) -> tuple[Cluster, dict[str, str]]:
        """Return the user's cluster with the registered TaskManagers, and resource id -> id in
        this cluster.

        Raises
        ------
        InvalidInputError
            If TaskManagers are registered that the user's cluster does not have, or cannot tell
            apart.
        """
        answer = self._client.get("/taskmanagers")
        return cluster(answer, user), names_of(answer, user)

    def slots_held(self, task_manager_id: str) -> Counter[str]:
        """Return the number of a TaskManager's slots that each job holds, by job id."""
        answer = self._client.get(f"/taskmanagers/{task_manager_id}")
        where = f"the answer to /taskmanagers/{task_manager_id}"
        slots = need(answer, "allocatedSlots", list, where)
        return Counter(need(slot, "jobId", str, where) for slot in slots)

    def checkpoints(self, job_id: str) -> Checkpoints:
        """Return the state of the checkpoints of a job."""
        interval = self.job_graph(job_id).checkpoint_interval_ms
        try:
            answer = self._client.get(f"/jobs/{job_id}/checkpoints")
        except FlinkNotFoundError:
            # This is Flink's answer if checkpointing is off.
            if interval is None:
                return Checkpoints(None, 0, 0, None, None)
            raise
        where = f"the answer to /jobs/{job_id}/checkpoints"
        counts = need(answer, "counts", Mapping, where)
        latest = need(answer, "latest", Mapping, where)
        done, failed = latest.get("completed"), latest.get("failed")
        return Checkpoints(
            interval,
            need(counts, "completed", int, where),
            need(counts, "failed", int, where),
            Checkpoint(
                need(done, "id", int, where),
                need(done, "trigger_timestamp", int, where),
                need(done, "end_to_end_duration", int, where),
                need(done, "state_size", int, where),
            )
            if done
            else None,
            need(failed, "trigger_timestamp", int, where) if failed else None,
            str(failed.get("failure_message") or "") if failed else "",
        )

    def state_bytes(self, job_id: str, checkpoint: int, vertex: str) -> dict[int, int]:
        """Return subtask -> bytes of its state in a checkpoint, without unknown ones."""
        path = f"/jobs/{job_id}/checkpoints/details/{checkpoint}/subtasks/{vertex}"
        try:
            answer = self._client.get(path)
        except FlinkNotFoundError:
            # Flink keeps the details of the last few checkpoints only.
            return {}
        return {
            s["index"]: s["state_size"]
            for s in need(answer, "subtasks", list, f"the answer to {path}")
            if isinstance(s.get("index"), int) and isinstance(s.get("state_size"), int)
        }

    def exceptions(self, job_id: str, since_ms: int) -> tuple[JobException, ...]:
        """Return the exceptions since a time (JobManager's clock), newest first."""
        answer = self._client.get(f"/jobs/{job_id}/exceptions", {"maxExceptions": "20"})
        where = f"the answer to /jobs/{job_id}/exceptions"
        history = need(answer, "exceptionHistory", Mapping, where)
        found = [
            JobException(need(e, "timestamp", int, where), _first_line(e))
            for e in need(history, "entries", list, where)
        ]
        return tuple(e for e in found if e.at_ms >= since_ms)

    def _detail(self, job_id: str) -> RestAnswer:
        answer: RestAnswer = self._client.get(f"/jobs/{job_id}")
        need(answer, "jid", str, f"the answer to /jobs/{job_id}")
        return answer

    def environment(self) -> Any:
        """Return the answer to `/jobmanager/environment`: the JVM's options and class path.

        Empty if this Flink, or a gateway in front of it, does not have the page.
        """
        try:
            return self._client.get("/jobmanager/environment")
        except FlinkNotFoundError:
            return {}

    def scheduler_kinds(self) -> dict[str, str | None]:
        """Return job id -> `Default`, `Adaptive`, ...; None in releases that do not tell."""
        answer = self._client.get("/jobs/overview")
        return {str(j.get("jid")): j.get("schedulerType") for j in answer.get("jobs", ())}

    def configuration(self) -> dict[str, str]:
        """Return the JobManager's configuration; Flink hides the secrets in it."""
        answer = self._client.get("/jobmanager/config")
        return {str(e["key"]): str(e["value"]) for e in answer if {"key", "value"} <= set(e)}


def cluster_of(task_managers: tuple[LiveTaskManager, ...]) -> Cluster:
    """Return registered TaskManagers as a cluster of one made-up site, by resource id."""
    return Cluster(
        sites=(Site(id=_MADE_UP_SITE),),
        # REST does not know the cores of a machine.
        nodes=tuple(Node(id=tm.id, site=_MADE_UP_SITE, cores=1.0) for tm in task_managers),
        task_managers=tuple(
            TaskManager(id=tm.id, node=tm.id, slots=tm.slots, host=tm.host) for tm in task_managers
        ),
    )


def _subtasks(answer: RestAnswer, places: tuple[str | None, ...]) -> tuple[Subtask, ...]:
    where = f"the answer to /jobs/:jobid/vertices/{answer['id']}"
    by_index = {s["subtask"]: s for s in answer["subtasks"]}
    found = []
    for i, place in enumerate(places):
        if i not in by_index:
            raise InvalidInputError(f"{where}: subtask {i} is missing", "ask again")
        seen = by_index[i]
        found.append(
            Subtask(
                place,
                need(seen, "status", str, where),
                need(seen, "attempt", int, where),
                need(seen, "start-time", int, where),
                host_of_endpoint(seen),
            )
        )
    return tuple(found)


def _first_line(entry: RestAnswer) -> str:
    text = str(entry.get("stacktrace") or entry.get("exceptionName") or "unknown").strip()
    return text.splitlines()[0][:300]


def job_names(jobs: tuple[RunningJob, ...]) -> dict[str, str]:
    """Return id -> name."""
    return {job.id: job.name for job in jobs}
