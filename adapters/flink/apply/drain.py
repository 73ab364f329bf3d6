"""Emptying a node for a time: who runs there, where else there is room, which files say so."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace

from edgeplace.adapters.flink.apply.moves import slots_needed
from edgeplace.adapters.flink.apply.preconditions import Obstacle
from edgeplace.adapters.flink.apply.proposal import FileChange, JobNow, places_of, rendered
from edgeplace.adapters.flink.plans.cordons import Cordon
from edgeplace.adapters.flink.plans.folder import SUFFIX, PlansFolder, UntilPlan
from edgeplace.adapters.flink.plans.plan_file import Places, locations, meant_by_host
from edgeplace.adapters.flink.rest.live import LiveFlink, LiveTaskManager, RunningJob
from edgeplace.model import Cluster, InvalidInputError, JobGraph


@dataclass(frozen=True)
class DrainedNode:
    """The TaskManagers of a node, those that are gone too."""

    registered: frozenset[str]
    """Resource ids."""
    task_managers: Mapping[str, frozenset[str]]
    """A name of each TaskManager -> all its names: its resource id, and its host if that has one
    TaskManager."""

    @property
    def names(self) -> frozenset[str]:
        """What plans may call its TaskManagers."""
        return frozenset().union(*self.task_managers.values())


def node_of(
    node: str,
    task_managers: tuple[LiveTaskManager, ...],
    user: Cluster | None,
    known: Set[str] = frozenset(),
) -> DrainedNode:
    """Return the TaskManagers of a node.

    Parameters
    ----------
    node
        A resource id, a host, or a TaskManager, node or site of the user's cluster.
    known
        Names of TaskManagers that may be gone: those in the files of the folder of plans.

    Raises
    ------
    InvalidInputError
        If no such place is known.
    """
    found = {tm.id for tm in task_managers if tm.id == node}
    found = found or {tm.id for tm in task_managers if tm.host == node}
    gone: dict[str, frozenset[str]] = {}
    if not found and user is not None and (node not in known or _has(user, node)):
        wanted = set(user.task_managers_at(node))
        met = {
            tm.id: user.resolve_task_manager(tm.id) or user.resolve_task_manager(tm.host)
            for tm in task_managers
        }
        found = {tm for tm, mine in met.items() if mine in wanted}
        gone = {
            tm.id: frozenset({tm.id, tm.host} - {""})
            for tm in user.task_managers
            if tm.id in wanted - set(met.values())
        }
    elif not found and node in known:
        gone = {node: frozenset({node})}
    elif not found:
        there = {name for tm in task_managers for name in (tm.id, tm.host)}
        registered = ", ".join(sorted(tm.id for tm in task_managers)) or "none"
        named = ", ".join(sorted(known - there)) or "none"
        raise InvalidInputError(
            f"no TaskManager with the id or host {node!r} is registered, and no plan names one",
            f"registered: {registered}; gone, and in plans: {named}; give --cluster FILE for the "
            "names in it",
        )
    shared = Counter(tm.host for tm in task_managers)
    registered_names = {
        tm.id: frozenset({tm.id} | ({tm.host} - {""} if shared[tm.host] == 1 else set()))
        for tm in task_managers
        if tm.id in found
    }
    return DrainedNode(frozenset(found), registered_names | gone)


def names_in(folder: PlansFolder, closed: Iterable[Cordon]) -> frozenset[str]:
    """Return what the plans of a folder, and its cordons, call TaskManagers."""
    named: set[str] = set().union(*(cordon.names for cordon in closed))
    for path in folder.plan_files():
        # What is no plan file concerns nobody here.
        with suppress(InvalidInputError):
            named |= locations(folder.read(path) or "")
    return frozenset(named)


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


def _has(user: Cluster, node: str) -> bool:
    with suppress(InvalidInputError):
        return bool(user.task_managers_at(node))
    return False


def _waits(folder: PlansFolder, job: RunningJob) -> bool:
    said = folder.status(job.id)
    return said is not None and said.state == "waiting"


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
