"""The folder of plans, which edgeplace and the agent share."""

from edgeplace.adapters.flink.plans.agent_files import Written, read_written
from edgeplace.adapters.flink.plans.cordons import (
    Cordon,
    CordonChange,
    cordoned,
    cordons,
    cordons_of,
)
from edgeplace.adapters.flink.plans.folder import SUFFIX, PlansFolder, UntilPlan, clock, key, key_of
from edgeplace.adapters.flink.plans.location import find_plans_folder
from edgeplace.adapters.flink.plans.parallelism import rescaled
from edgeplace.adapters.flink.plans.plan_file import (
    Places,
    Schedulercfg,
    is_schedulercfg,
    locations,
    meant_by_host,
    plan_of_jobs,
    planned_jobs,
    planned_places,
    read_plan,
    read_real_plan,
    refuse_supposed,
)

__all__ = [
    "SUFFIX",
    "Cordon",
    "CordonChange",
    "Places",
    "PlansFolder",
    "Schedulercfg",
    "UntilPlan",
    "Written",
    "clock",
    "cordoned",
    "cordons",
    "cordons_of",
    "find_plans_folder",
    "is_schedulercfg",
    "key",
    "key_of",
    "locations",
    "meant_by_host",
    "plan_of_jobs",
    "planned_jobs",
    "planned_places",
    "read_plan",
    "read_real_plan",
    "read_written",
    "refuse_supposed",
    "rescaled",
]
