"""Apply a plan to a running Flink, as one transaction."""

from edgeplace.adapters.flink.apply.apply import ApplyEnd, ApplyOutcome, carry_out
from edgeplace.adapters.flink.apply.drain import (
    as_planned,
    base_places,
    drains,
    is_off_plan,
    jobs_at,
    return_change,
    unsettled,
    until_change,
)
from edgeplace.adapters.flink.apply.drained_node import DrainedNode, names_in, node_of
from edgeplace.adapters.flink.apply.moves import free_slots_after
from edgeplace.adapters.flink.apply.order import in_order
from edgeplace.adapters.flink.apply.preconditions import Obstacle, too_many_moves
from edgeplace.adapters.flink.apply.price import MovePrice
from edgeplace.adapters.flink.apply.proposal import (
    FileChange,
    JobNow,
    Proposal,
    cordon_problems,
    job_now,
    plan_change,
    plan_of_now,
    propose,
    tasks_by_id,
    until_problems,
)
from edgeplace.adapters.flink.apply.worst_fit import worst_fit

__all__ = [
    "ApplyEnd",
    "ApplyOutcome",
    "DrainedNode",
    "FileChange",
    "JobNow",
    "MovePrice",
    "Obstacle",
    "Proposal",
    "as_planned",
    "base_places",
    "carry_out",
    "cordon_problems",
    "drains",
    "free_slots_after",
    "in_order",
    "is_off_plan",
    "job_now",
    "jobs_at",
    "names_in",
    "node_of",
    "plan_change",
    "plan_of_now",
    "propose",
    "return_change",
    "tasks_by_id",
    "too_many_moves",
    "unsettled",
    "until_change",
    "until_problems",
    "worst_fit",
]
