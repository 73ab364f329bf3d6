"""Apply a plan to a running Flink, as one transaction."""

from edgeplace.adapters.flink.apply.apply import ApplyEnd, ApplyOutcome, carry_out
from edgeplace.adapters.flink.apply.drain import (
    base_places,
    drains,
    jobs_at,
    nearest_room,
    return_change,
    task_managers_of,
    unsettled,
    until_change,
)
from edgeplace.adapters.flink.apply.moves import free_slots_after
from edgeplace.adapters.flink.apply.order import in_order
from edgeplace.adapters.flink.apply.preconditions import Obstacle, too_many_moves
from edgeplace.adapters.flink.apply.price import MovePrice
from edgeplace.adapters.flink.apply.proposal import (
    FileChange,
    JobNow,
    Proposal,
    job_now,
    plan_change,
    plan_of_now,
    propose,
    tasks_by_id,
    until_problems,
)

__all__ = [
    "ApplyEnd",
    "ApplyOutcome",
    "FileChange",
    "JobNow",
    "MovePrice",
    "Obstacle",
    "Proposal",
    "base_places",
    "carry_out",
    "drains",
    "free_slots_after",
    "in_order",
    "job_now",
    "jobs_at",
    "nearest_room",
    "plan_change",
    "plan_of_now",
    "propose",
    "return_change",
    "task_managers_of",
    "tasks_by_id",
    "too_many_moves",
    "unsettled",
    "until_change",
    "until_problems",
]
