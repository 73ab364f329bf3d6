"""The documents of edgeplace, and their reading and writing. No solver, no Spark, no network."""

from edgeplace.model.backends import BACKENDS, PULP, is_backend
from edgeplace.model.base import Frozen, NonNegative
from edgeplace.model.cluster import Cluster, Link, Node, NodeClass, Site, TaskManager
from edgeplace.model.cost import ClassCost, Costs, OperatorCost, SourceDemand, StreamCost
from edgeplace.model.document import dump, load, looks_like, parse, read, write
from edgeplace.model.errors import (
    EdgeplaceError,
    InvalidInputError,
    MissingExtraError,
    Mistake,
    PlanMismatchError,
)
from edgeplace.model.file_lock import lock
from edgeplace.model.inventory.short_form import ShortCluster
from edgeplace.model.job import MOST_PARALLELISM, JobGraph, Operator, ShipStrategy, Stream
from edgeplace.model.job_use import JobUse
from edgeplace.model.laws.by_rate import AtRate
from edgeplace.model.limits import AMOUNTS, BOUNDS, RATED, Limit, LimitKind, Place, Step
from edgeplace.model.objective import (
    DEFAULT_OBJECTIVE,
    HOUR_S,
    MONTH_S,
    OBJECTIVES,
    PRESETS,
    ObjectiveLevel,
    ObjectiveName,
    objective_levels,
)
from edgeplace.model.output import check_outputs, check_writable, write_text
from edgeplace.model.parsing.complaint import mistake_at
from edgeplace.model.parsing.units import quantity_pattern
from edgeplace.model.plan import Plan
from edgeplace.model.project.project_file import (
    PROJECT_FILE,
    PROJECT_FILES,
    Project,
    missing_files,
    read_project,
)
from edgeplace.model.result import (
    Change,
    Chosen,
    Conflict,
    Evaluation,
    Freed,
    Incumbent,
    LevelResult,
    Result,
    Status,
    StoppedBy,
)
from edgeplace.model.rules import (
    AnyRule,
    AtMost,
    Colocate,
    Exclusive,
    Exlocate,
    Match,
    NeverMove,
    Pin,
    Rules,
    StayOnSite,
)
from edgeplace.model.text import digits, first_few, some
from edgeplace.model.what_if import Case
from edgeplace.model.what_if.cluster_changes import without_use
from edgeplace.model.what_if.parallelism import with_costs_of_another

__all__ = [
    "AMOUNTS",
    "BACKENDS",
    "BOUNDS",
    "DEFAULT_OBJECTIVE",
    "HOUR_S",
    "MONTH_S",
    "MOST_PARALLELISM",
    "OBJECTIVES",
    "PRESETS",
    "PROJECT_FILE",
    "PROJECT_FILES",
    "PULP",
    "RATED",
    "AnyRule",
    "AtMost",
    "AtRate",
    "Case",
    "Change",
    "Chosen",
    "ClassCost",
    "Cluster",
    "Colocate",
    "Conflict",
    "Costs",
    "EdgeplaceError",
    "Evaluation",
    "Exclusive",
    "Exlocate",
    "Freed",
    "Frozen",
    "Incumbent",
    "InvalidInputError",
    "JobGraph",
    "JobUse",
    "LevelResult",
    "Limit",
    "LimitKind",
    "Link",
    "Match",
    "MissingExtraError",
    "Mistake",
    "NeverMove",
    "Node",
    "NodeClass",
    "NonNegative",
    "ObjectiveLevel",
    "ObjectiveName",
    "Operator",
    "OperatorCost",
    "Pin",
    "Place",
    "Plan",
    "PlanMismatchError",
    "Project",
    "Result",
    "Rules",
    "ShipStrategy",
    "ShortCluster",
    "Site",
    "SourceDemand",
    "Status",
    "StayOnSite",
    "Step",
    "StoppedBy",
    "Stream",
    "StreamCost",
    "TaskManager",
    "check_outputs",
    "check_writable",
    "digits",
    "dump",
    "first_few",
    "is_backend",
    "load",
    "lock",
    "looks_like",
    "missing_files",
    "mistake_at",
    "objective_levels",
    "parse",
    "quantity_pattern",
    "read",
    "read_project",
    "some",
    "with_costs_of_another",
    "without_use",
    "write",
    "write_text",
]
