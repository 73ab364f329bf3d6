"""Emptying a node for a time: who runs there, where else there is room, which files say so."""

from collections.abc import Mapping, Sequence, Set

from edgeplace.adapters.flink.apply.moves import slots_needed
from edgeplace.adapters.flink.apply.preconditions import Obstacle
from edgeplace.adapters.flink.apply.proposal import FileChange, JobNow, places_of, rendered
from edgeplace.adapters.flink.plans.folder import SUFFIX, PlansFolder, UntilPlan
from edgeplace.adapters.flink.plans.plan_file import Places, locations
from edgeplace.adapters.flink.rest.live import LiveFlink, LiveTaskManager, RunningJob
from edgeplace.model import Cluster, InvalidInputError, JobGraph


def task_managers_of(
    node: str, task_managers: tuple[LiveTaskManager, ...], user: Cluster | None
) -> frozenset[str]:
    """Return the resource ids of the registered TaskManagers of a node.

    Parameters
    ----------
    node
        A resource id, a host, or a TaskManager, node or site of the user's cluster.

    Raises
    ------
    InvalidInputError
        If no such place is known.
    """
    found = {tm.id for tm in task_managers if tm.id == node}
    found = found or {tm.id for tm in task_managers if tm.host == node}
    if found:
        return frozenset(found)
    if user is None:
        known = ", ".join(sorted(tm.id for tm in task_managers)) or "none"
        raise InvalidInputError(
            f"no TaskManager with the id or host {node!r} is registered",
            f"registered: {known}; give --cluster FILE for the names in it",
        )
    wanted = user.task_managers_at(node)
    return frozenset(
        tm.id
        for tm in task_managers
        if (user.resolve_task_manager(tm.id) or user.resolve_task_manager(tm.host)) in wanted
    )


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


def unsettled(live: LiveFlink, jobs: tuple[RunningJob, ...]) -> list[Obstacle]:
    """Return which jobs do not run, or have subtasks that do not: these may come to any place.

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
        if job.state != "RUNNING"
        or any(s.task_manager is None for of in live.subtasks(job.id).values() for s in of)
    ]


def nearest_room(
    jobs: Sequence[JobNow], off: Set[str], free_slots: Mapping[str, int]
) -> tuple[list[Places], list[Obstacle]]:
    """Move what runs on some TaskManagers, slot by slot, to where most slots are free.

    Only slots are respected. What shares a slot stays together.

    Parameters
    ----------
    free_slots
        TaskManager -> slots that are free.

    Returns
    -------
    The placement of each job, and which have no room.
    """
    free = {tm: count for tm, count in free_slots.items() if tm not in off}
    found = []
    problems = []
    for now in jobs:
        places = {op: list(tms) for op, tms in now.places.items()}
        homeless = 0
        for shared in _slots_on(now.graph, now.places, off):
            best, best_extra = None, 0
            for tm in sorted(free, key=lambda t: (-free[t], t)):
                before = slots_needed(now.graph, _frozen(places))[tm]
                moved = {op: list(tms) for op, tms in places.items()}
                for op, i in shared:
                    moved[op][i] = tm
                extra = slots_needed(now.graph, _frozen(moved))[tm] - before
                if extra <= free[tm]:
                    best, best_extra = tm, extra
                    break
            if best is None:
                homeless += 1
                continue
            free[best] -= best_extra
            for op, i in shared:
                places[op][i] = best
        if homeless:
            problems.append(
                Obstacle(
                    f"no room elsewhere for {homeless} of the slots of {now.job.name!r} there: "
                    f"{sum(free.values())} are free on the other TaskManagers",
                    "start another TaskManager, give --cluster and --costs (the solver may let "
                    "subtasks share slots), or apply a plan of your own that leaves the node out",
                )
            )
        found.append(_frozen(places))
    return found, problems


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
    text = rendered(after, now.graph, task_managers)
    base = folder.read(now.plan_path) or rendered(now.places, now.graph, task_managers)
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

    These are the locations that the job's own plan names, and they do not.

    Raises
    ------
    InvalidInputError
        If a plan file cannot be read.
    """
    found = {}
    for until in folder.until_plans():
        own = locations(folder.read(folder.plan_path(until.key)) or "")
        found[until] = frozenset(own - locations(folder.read(until.path) or ""))
    return found


def _slots_on(job: JobGraph, places: Places, off: Set[str]) -> list[list[tuple[str, int]]]:
    """Return the slots there as lists of (operator id, subtask): the agent fills them so."""
    slots: dict[tuple[str, str, int], list[tuple[str, int]]] = {}
    for op in job.operators:
        count: dict[str, int] = {}
        for i, tm in enumerate(places[op.id]):
            if tm in off:
                slots.setdefault((tm, op.slot_sharing_group, count.get(tm, 0)), []).append(
                    (op.id, i)
                )
                count[tm] = count.get(tm, 0) + 1
    return list(slots.values())


def _frozen(places: dict[str, list[str]]) -> Places:
    return {op: tuple(tms) for op, tms in places.items()}
