"""Other places for what runs on some TaskManagers, by slots alone: worst-fit bin packing."""

from collections.abc import Mapping, Sequence, Set

from edgeplace.adapters.flink.apply.moves import slots_needed
from edgeplace.adapters.flink.apply.preconditions import Obstacle
from edgeplace.adapters.flink.apply.proposal import JobNow
from edgeplace.adapters.flink.plans.plan_file import Places
from edgeplace.model import JobGraph


def worst_fit(
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
        places = now.places
        unplaced = 0
        for shared in _slots_on(now.graph, now.places, off):
            fit = _fit(now.graph, places, shared, free)
            if fit is None:
                unplaced += 1
                continue
            tm, extra = fit
            free[tm] -= extra
            places = _moved(places, shared, tm)
        if unplaced:
            problems.append(
                Obstacle(
                    f"no room elsewhere for {unplaced} of the slots of {now.job.name!r} there: "
                    f"{sum(free.values())} are free on the other TaskManagers",
                    "start another TaskManager, give --cluster and --costs (the solver may let "
                    "subtasks share slots), or apply a plan of your own that leaves the node out",
                )
            )
        found.append(places)
    return found, problems


def _fit(
    job: JobGraph,
    places: Places,
    shared: Sequence[tuple[str, int]],
    free: Mapping[str, int],
) -> tuple[str, int] | None:
    """Return the TaskManager with the most free slots that has room, and how many it gives."""
    for tm in sorted(free, key=lambda t: (-free[t], t)):
        before = slots_needed(job, places)[tm]
        extra = slots_needed(job, _moved(places, shared, tm))[tm] - before
        if extra <= free[tm]:
            return tm, extra
    return None


def _moved(places: Places, shared: Sequence[tuple[str, int]], tm: str) -> Places:
    """Return the places with some subtasks, (operator id, subtask), on a TaskManager."""
    there = set(shared)
    return {
        op: tuple(tm if (op, i) in there else at for i, at in enumerate(tms))
        for op, tms in places.items()
    }


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
