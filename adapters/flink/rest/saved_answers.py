"""Saved REST answers of Flink about jobs and a cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edgeplace.adapters.flink.rest import task_managers, topology
from edgeplace.adapters.flink.rest.answer import RestAnswer
from edgeplace.model import Cluster, InvalidInputError, JobGraph

Placement = dict[str, tuple[str | None, ...]]
AnswerKind = Literal["job", "plan", "vertex", "checkpoints", "task managers"]


@dataclass(frozen=True)
class SavedAnswers:
    """The last answer of each kind, by job."""

    jobs: Mapping[str, RestAnswer]
    """Job id -> answer to `/jobs/:jobid`, in the order they were seen first."""
    plans: Mapping[str, RestAnswer] = field(default_factory=dict)
    vertices: Mapping[str, Mapping[str, RestAnswer]] = field(default_factory=dict)
    """Job id -> vertex id -> answer to `/jobs/:jobid/vertices/:vertexid`."""
    checkpoints: Mapping[str, RestAnswer] = field(default_factory=dict)
    taskmanagers: RestAnswer | None = None
    origin: str = "the saved answers"
    notes: tuple[str, ...] = ()
    """Notes on unreadable parts."""

    def job_id(self, job: str | None = None) -> str:
        """Return the id of the only job, or of the job with this id or name.

        If a job has several runs (one name, many ids), it is the last one that started.

        Raises
        ------
        InvalidInputError
            If there is no such job, or if there are jobs of different names and none is chosen.
        """
        names = {jid: str(d.get("name") or jid) for jid, d in self.jobs.items()}
        fit = [jid for jid, name in names.items() if job in (None, jid, name)]
        if not fit:
            raise InvalidInputError(
                f"{self.origin}: there is no answer to /jobs/:jobid"
                + (f" of job {job!r}" if job else ""),
                f"the jobs there are {sorted(names.values())}"
                if names
                else "save that answer of the running job there, or give a job file, a log of "
                "`edgeplace flink collect`, or the URL of a JobManager",
            )
        if len({names[jid] for jid in fit}) > 1:
            raise InvalidInputError(
                f"{self.origin} is about {len(fit)} jobs: "
                + ", ".join(f"{names[jid]!r} ({jid})" for jid in fit),
                "name the one that is meant, or keep the answers of one job apart",
            )
        return max(fit, key=lambda jid: self.jobs[jid].get("start-time", 0))

    def job_graph(self, job: str | None = None) -> JobGraph:
        """Return the job graph.

        `job_id` describes the choice of the job, `topology.job_graph` the errors.
        """
        jid = self.job_id(job)
        graph = topology.job_graph(
            self.jobs[jid], self.plans.get(jid), checkpoint_config=self.checkpoints.get(jid)
        )
        notes = list(self.notes)
        if sum(d.get("name") == graph.name for d in self.jobs.values()) > 1:
            notes.append(f"{graph.name!r} ran several times: {jid}, started last, is used")
        return graph.revised(notes=(*graph.notes, *notes))

    def placement(self, job: str | None = None, user: Cluster | None = None) -> Placement | None:
        """Return the TaskManager of every subtask.

        None if there is no answer to `/jobs/:jobid/vertices/:vertexid`. Vertices without an answer
        have None for each subtask. `job_id` describes the choice of the job, `topology.placement`
        the errors.

        Parameters
        ----------
        user
            TaskManagers have their ids of this cluster, or None if it does not have them. Without
            it, they have Flink's resource ids.
        """
        jid = self.job_id(job)
        own = topology.vertices_of(self.jobs[jid])
        answers = {vid: a for vid, a in self.vertices.get(jid, {}).items() if vid in own}
        if not answers:
            return None
        seen = topology.placement(answers)
        places: Placement = {}
        for vid, vertex in own.items():
            nowhere: tuple[str | None, ...] = (None,) * vertex["parallelism"]
            # An answer that is older than a rescaling has another number of subtasks.
            fits = len(seen.get(vid, ())) == len(nowhere)
            places[vid] = seen[vid] if fits else nowhere
        if user is None:
            return places
        names = task_managers.names_of(self.taskmanagers, user) if self.taskmanagers else {}
        return {
            vid: tuple(p and (names.get(p) or user.resolve_task_manager(p)) for p in row)
            for vid, row in places.items()
        }

    def cluster(self, user: Cluster | Mapping[str, Any]) -> Cluster:
        """Return the user's cluster with the TaskManagers that were registered.

        Raises
        ------
        InvalidInputError
            If `/taskmanagers` was not saved, and as for `task_managers.cluster`.
        """
        if self.taskmanagers is None:
            raise InvalidInputError(
                f"{self.origin}: there is no answer to /taskmanagers", "save that answer too"
            )
        return task_managers.cluster(self.taskmanagers, user)


def gather(
    found: Iterable[tuple[AnswerKind, tuple[str, ...], RestAnswer]], origin: str, notes: list[str]
) -> SavedAnswers:
    """Sort (kind, ids of job and vertex, answer) into `SavedAnswers`."""
    by_job: dict[AnswerKind, dict[str, RestAnswer]] = {"job": {}, "plan": {}, "checkpoints": {}}
    vertices: dict[str, dict[str, RestAnswer]] = {}
    taskmanagers = None
    for kind, ids, answer in found:
        if kind == "task managers":
            taskmanagers = answer
        elif kind == "vertex":
            vertices.setdefault(ids[0], {})[ids[1]] = answer
        else:
            by_job[kind][ids[0]] = answer
    return SavedAnswers(
        jobs=by_job["job"],
        plans=by_job["plan"],
        vertices=vertices,
        checkpoints=by_job["checkpoints"],
        taskmanagers=taskmanagers,
        origin=origin,
        notes=tuple(notes),
    )
