"""Reasons not to use a plan, found before anything is written."""

from collections.abc import Mapping
from typing import NamedTuple

from edgeplace.adapters.flink.apply.moves import SubtaskMove, slots_needed
from edgeplace.adapters.flink.checks.agent_obeys import (
    check_alive,
    check_in_charge,
    check_loaded,
    unknown_job,
)
from edgeplace.adapters.flink.plans.agent_files import AgentInfo
from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.adapters.flink.plans.location import agent_option, jvm_options
from edgeplace.adapters.flink.rest.live import (
    Checkpoints,
    LiveFlink,
    LiveTaskManager,
    RunningJob,
    Subtask,
)
from edgeplace.model import InvalidInputError, JobGraph
from edgeplace.model.text import first_few

Places = Mapping[str, tuple[str, ...]]


class Obstacle(NamedTuple):
    """What is in the way, and what the user can do about it."""

    what: str
    cure: str

    def __str__(self) -> str:
        return f"{self.what}; cure: {self.cure}"


def agent_problems(
    live: LiveFlink,
    folder: PlansFolder,
    job: RunningJob,
    task_managers: tuple[LiveTaskManager, ...],
    now_s: float,
) -> list[Obstacle]:
    """Return why no plan of a job in this folder would be obeyed.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If the job's status file is not the agent's.
    """
    options = live.environment()
    loaded = (agent_option(options) is not None) if jvm_options(options) else None
    try:
        agent: AgentInfo | InvalidInputError | None = folder.agent()
    except InvalidInputError as e:
        agent = e
    found = [*check_loaded(loaded), *check_alive(folder.path, agent, now_s)]
    if not found and isinstance(agent, AgentInfo):
        found += check_in_charge(agent, live.version(), {tm.id for tm in task_managers})
    if not found and folder.status(job.id) is None:
        found.append(unknown_job(job.name, job.id))
    return [Obstacle(f.what, f.cure) for f in found]


def job_problems(
    job: RunningJob, graph: JobGraph, subtasks: Mapping[str, tuple[Subtask, ...]]
) -> list[Obstacle]:
    """Return why a job cannot be moved from where it is."""
    if job.state != "RUNNING":
        return [Obstacle(f"job {job.name!r} is {job.state}", "wait until it is RUNNING")]
    waiting = [
        f"{op.name} ({i + 1}/{op.parallelism}) is {s.state}"
        for op in graph.operators
        for i, s in enumerate(subtasks[op.id])
        if not s.is_up
    ]
    if not waiting:
        return []
    return [
        Obstacle(
            f"not every subtask of {job.name!r} runs: {first_few(waiting, 3)}",
            "wait until all are RUNNING",
        )
    ]


def slot_problems(
    live: LiveFlink,
    job: RunningJob,
    graph: JobGraph,
    after: Places,
    task_managers: tuple[LiveTaskManager, ...],
) -> list[Obstacle]:
    """Return which TaskManagers are not there, or lack slots for a placement.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    registered = {tm.id: tm for tm in task_managers}
    problems = []
    for tm_id, count in sorted(slots_needed(graph, after).items()):
        tm = registered.get(tm_id)
        if tm is None:
            names = ", ".join(sorted(registered)[:8]) or "none"
            problems.append(
                Obstacle(
                    f"TaskManager {tm_id!r} is not registered with Flink",
                    f"start it, or solve again without it; registered: {names}",
                )
            )
        elif count > tm.free_slots:
            held = live.slots_held(tm_id)
            if count > tm.free_slots + held[job.id]:
                others = sum(held.values()) - held[job.id]
                problems.append(
                    Obstacle(
                        f"{tm_id!r} has {tm.slots} slots, {others} held by other jobs: "
                        f"{job.name!r} needs {count}",
                        ("end or move those jobs, or " if others else "")
                        + "place fewer subtasks there",
                    )
                )
    return problems


def checkpoint_problems(job: RunningJob, seen: Checkpoints) -> list[Obstacle]:
    """Return why no checkpoint can be taken, without which a running job cannot be moved."""
    if seen.interval_ms is None:
        return [
            Obstacle(
                f"checkpointing of {job.name!r} is off: it cannot be moved while it runs",
                "set execution.checkpointing.interval and submit it again, or write the plan with "
                "`solve --schedulercfg` into the folder of plans before you submit it",
            )
        ]
    if seen.last_failed_ms is not None and (
        seen.last is None or seen.last_failed_ms > seen.last.triggered_ms
    ):
        said = f": {seen.last_failure.splitlines()[0][:200]}" if seen.last_failure else ""
        return [
            Obstacle(
                f"the last checkpoint of {job.name!r} failed{said}",
                "mend the checkpoints first: the job is moved from one",
            )
        ]
    return []


def rescaling_problems(folder: PlansFolder) -> list[Obstacle]:
    """Return why the agent cannot change the parallelism of a running job.

    Raises
    ------
    InvalidInputError
        If its file is not the agent's.
    """
    agent = folder.agent()
    if agent is None or agent.no_rescaling_because is None:
        return []
    return [
        Obstacle(
            f"no job can be rescaled while it runs: {agent.no_rescaling_because}",
            "solve for the parallelism that runs, or stop the job with a savepoint and start it "
            "in the other parallelism",
        )
    ]


def too_many_moves(moved: tuple[SubtaskMove, ...], most: int | None) -> list[Obstacle]:
    """Return whether more subtasks would move than the user allows."""
    if most is None or len(moved) <= most:
        return []
    return [
        Obstacle(
            f"{len(moved)} subtasks would move, --max-moves allows {most}",
            "allow more, or solve with `max_moves` in the rules",
        )
    ]
