"""Emptying a node for a time: who runs there, and which files say where else."""

from collections.abc import Set
from dataclasses import replace

from edgeplace.adapters.flink.apply.preconditions import Obstacle
from edgeplace.adapters.flink.apply.proposal import FileChange, JobNow, left_by, places_of, rendered
from edgeplace.adapters.flink.plans.folder import SUFFIX, PlansFolder, UntilPlan
from edgeplace.adapters.flink.plans.plan_file import Places, locations, meant_by_host
from edgeplace.adapters.flink.rest.live import LiveFlink, LiveTaskManager, RunningJob


def jobs_at(
    live: LiveFlink, places: Set[str], jobs: tuple[RunningJob, ...]
) -> tuple[RunningJob, ...]:
    """Return the jobs with subtasks on these TaskManagers.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    return tuple(
        job
        for job in jobs
        if any(s.task_manager in places for of in live.subtasks(job.id).values() for s in of)
    )


def unsettled(live: LiveFlink, folder: PlansFolder, jobs: tuple[RunningJob, ...]) -> list[Obstacle]:
    """Return which jobs do not run, or have subtasks that do not: these may come to any place.

    A job that waits for the TaskManagers of its plan comes to no other.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    return [
        Obstacle(
            f"not every subtask of {job.name!r} ({job.id}), which is {job.state}, is on a "
            "TaskManager: where it will run is not known",
            "wait until it runs, or cancel it",
        )
        for job in jobs
        if not _waits(folder, job)
        and (
            job.state != "RUNNING"
            or any(s.task_manager is None for of in live.subtasks(job.id).values() for s in of)
        )
    ]


def is_off_plan(folder: PlansFolder, job: RunningJob) -> bool:
    """Tell whether subtasks of a job wait for the TaskManager of their plan, or run elsewhere.

    Raises
    ------
    InvalidInputError
        If the job's status file is not the agent's.
    """
    said = folder.status(job.id)
    return said is not None and bool(said.waiting_for or said.away)


def as_planned(
    folder: PlansFolder, now: JobNow, task_managers: tuple[LiveTaskManager, ...]
) -> JobNow:
    """Return a job with the places of its plan for the subtasks that run nowhere.

    A TaskManager that is gone has the name that the plan gives it.

    Raises
    ------
    InvalidInputError
        If the job's plan file cannot be read.
    """
    text = folder.read(now.until.path if now.until else now.plan_path)
    planned = None if text is None else places_of(text, now.graph, task_managers)
    if planned is None:
        return now
    there = {tm.id for tm in task_managers}
    return replace(
        now,
        places={
            op: tuple(
                at if at in there else wanted for at, wanted in zip(row, planned[op], strict=True)
            )
            for op, row in now.places.items()
        },
    )


def _waits(folder: PlansFolder, job: RunningJob) -> bool:
    said = folder.status(job.id)
    return said is not None and said.state == "waiting"


def until_change(
    folder: PlansFolder,
    now: JobNow,
    after: Places,
    expires_s: int,
    task_managers: tuple[LiveTaskManager, ...],
) -> FileChange:
    """Return the writing of a plan that holds until a time; its removal leads back.

    Raises
    ------
    InvalidInputError
        If the job's plan file cannot be read.
    """
    path = folder.plan_path(now.plan_path.name.removesuffix(SUFFIX), expires_s)
    former = folder.read(now.plan_path)
    by_host = meant_by_host(locations(former or ""), task_managers)
    text = rendered(after, now.graph, task_managers, by_host)
    base = former or rendered(now.places, now.graph, task_managers)
    return FileChange(path, folder.read(path), text, text, None, base)


def return_change(folder: PlansFolder, now: JobNow, until: UntilPlan) -> FileChange:
    """Return the removal of a plan that holds until a time; its return leads back.

    Raises
    ------
    InvalidInputError
        If a plan file cannot be read.
    """
    text = folder.read(until.path) or ""
    return FileChange(until.path, text, None, folder.read(now.plan_path) or "", text, text)


def base_places(
    folder: PlansFolder, now: JobNow, task_managers: tuple[LiveTaskManager, ...]
) -> Places | None:
    """Return the placement of a job's plan file; None: it is of no use, or not there.

    Raises
    ------
    InvalidInputError
        If the file cannot be read.
    """
    text = folder.read(now.plan_path)
    return None if text is None else places_of(text, now.graph, task_managers)


def drains(folder: PlansFolder) -> dict[UntilPlan, frozenset[str]]:
    """Return the plans that hold until a time, and the locations that they keep a job off.

    Raises
    ------
    InvalidInputError
        If a plan file cannot be read.
    """
    return {until: left_by(folder, until) for until in folder.until_plans()}
