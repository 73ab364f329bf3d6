"""The folder of plans, which edgeplace and the agent share."""

from edgeplace.adapters.flink.plans.folder import SUFFIX, PlansFolder, UntilPlan, clock, key
from edgeplace.adapters.flink.plans.location import find_plans_folder
from edgeplace.adapters.flink.plans.parallelism import rescaled
from edgeplace.adapters.flink.plans.plan_file import (
    Places,
    Schedulercfg,
    is_schedulercfg,
    plan_of_jobs,
    planned_jobs,
    planned_places,
    read_plan,
    read_real_plan,
    refuse_supposed,
)

__all__ = [
    "SUFFIX",
    "Places",
    "PlansFolder",
    "Schedulercfg",
    "UntilPlan",
    "clock",
    "find_plans_folder",
    "is_schedulercfg",
    "key",
    "plan_of_jobs",
    "planned_jobs",
    "planned_places",
    "read_plan",
    "read_real_plan",
    "refuse_supposed",
    "rescaled",
]
