"""In which order several jobs move, where some need slots that others leave."""

from collections.abc import Sequence
from dataclasses import replace

from edgeplace.adapters.flink.apply.moves import slots_needed
from edgeplace.adapters.flink.apply.preconditions import Obstacle, slot_problems
from edgeplace.adapters.flink.apply.proposal import Proposal
from edgeplace.adapters.flink.rest.live import LiveFlink, LiveTaskManager


def in_order(
    live: LiveFlink, proposals: Sequence[Proposal], task_managers: tuple[LiveTaskManager, ...]
) -> tuple[list[Proposal], list[Obstacle]]:
    """Return proposals in an order in which each finds its slots free, and what is in the way.

    The problems of the proposals that come back are none of slots.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    if len(proposals) == 1:
        return list(proposals), []
    free = {tm.id: tm.free_slots for tm in task_managers}
    left = [_without_slots(live, p, task_managers) for p in proposals]
    ordered: list[Proposal] = []
    # It ends: each round takes one away.
    while left:
        now = tuple(replace(tm, free_slots=free[tm.id]) for tm in task_managers)
        lacking = [slot_problems(live, p.now.job, p.now.graph, p.after, now) for p in left]
        ready = next((i for i, problems in enumerate(lacking) if not problems), None)
        if ready is None:
            return [*ordered, *left], [p for problems in lacking for p in problems]
        moved = left.pop(ready)
        ordered.append(moved)
        change = slots_needed(moved.now.graph, moved.now.places)
        change.subtract(slots_needed(moved.now.graph, moved.after))
        free = {tm: count + change[tm] for tm, count in free.items()}
    return ordered, []


def _without_slots(
    live: LiveFlink, proposal: Proposal, task_managers: tuple[LiveTaskManager, ...]
) -> Proposal:
    now = proposal.now
    lacking = slot_problems(live, now.job, now.graph, proposal.after, task_managers)
    return replace(proposal, problems=tuple(p for p in proposal.problems if p not in lacking))
