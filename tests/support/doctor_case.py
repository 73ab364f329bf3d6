"""What the doctor sees of a cluster in order, and of one with something changed."""

from dataclasses import replace
from pathlib import Path

from edgeplace.adapters.flink.doctor.examine import Seen, Severity, examine
from edgeplace.adapters.flink.doctor.snapshot import SeenJob, SeenPlans, SeenTaskManager
from edgeplace.adapters.flink.plans.agent_files import AgentInfo, AgentTaskManager, JobStatus
from edgeplace.adapters.flink.rest.live import Checkpoint, Checkpoints
from edgeplace.model import Cluster, JobGraph, Operator

NOW_S = 1_000_000.0
JOB = "ab" * 16
PLANS = Path("/opt/flink/conf/edgeplace")
DONE = Checkpoint(7, triggered_ms=5_000, duration_ms=151, state_bytes=1)


def graph(*names: str, ids: tuple[str, ...] = ()) -> JobGraph:
    ids = ids or tuple(f"{i:032x}" for i in range(len(names)))
    return JobGraph(
        name="job",
        operators=[
            Operator(id=i, name=name, parallelism=2) for i, name in zip(ids, names, strict=True)
        ],
    )


def agent(**changes: object) -> AgentInfo:
    known = {
        "edgeplace_agent": 1,
        "version": "0.2.0",
        "flink": "2.3.0",
        "pid": 4711,
        "lost": "strict",
        "fallback_after_s": 30,
        "plans": str(PLANS),
        "started_ms": 0,
        "now_ms": int(NOW_S * 1000) - 4_000,
        "resource_manager": True,
        "task_managers": (AgentTaskManager(id="pi-1", host="10.0.1.11", slots=4),),
    }
    return AgentInfo.model_validate({**known, **changes})


def status(state: str, **more: object) -> JobStatus:
    known = {"edgeplace_status": 1, "job_id": JOB, "job_name": "job", "state": state}
    return JobStatus.model_validate({**known, **more})


def job(**changes: object) -> SeenJob:
    healthy = SeenJob(
        id=JOB,
        name="job",
        scheduler="Default",
        graph=graph("map", "sink"),
        checkpoints=Checkpoints(3000, 5, 0, DONE, None),
        status=status("placed", subtasks=4, exact=4),
    )
    return replace(healthy, **changes)


PI = SeenTaskManager("pi-1", "10.0.1.11", slots=4, cores=4)
SERVER = SeenTaskManager("server-1", "10.0.0.5", slots=8, cores=16)


def registered(*task_managers: SeenTaskManager) -> dict[str, object]:
    return {
        "taskmanagers": [
            {"id": tm.id, "path": f"pekko.tcp://flink@{tm.host}:41063/user/rpc/taskmanager_0"}
            for tm in task_managers
        ]
    }


def seen(**changes: object) -> Seen:
    """Return a cluster in order."""
    healthy = Seen(
        release="2.3.0",
        now_s=NOW_S,
        plans=SeenPlans(PLANS, agent(), {"job.schedulercfg": frozenset({"pi-1", "10.0.0.5"})}),
        task_managers=(PI, SERVER),
        registered=registered(PI, SERVER),
        jobs=(job(),),
    )
    return replace(healthy, **changes)


def with_agent(**changes: object) -> Seen:
    return seen(plans=replace(seen().plans, agent=agent(**changes)))


def with_job(**changes: object) -> Seen:
    return seen(jobs=(job(**changes),))


def findings(at: Seen, check: str = "", cluster: Cluster | None = None) -> list[str]:
    """Return what is not in order, `severity: what`."""
    return [
        f"{f.severity}: {f.what}"
        for f in examine(at, version="0.2.0", cluster=cluster)
        if f.severity is not Severity.OK and f.check.startswith(check)
    ]


def the_finding(at: Seen, check: str, cluster: Cluster | None = None) -> str:
    (found,) = findings(at, check, cluster)
    return found
