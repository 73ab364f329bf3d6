"""Changes to a job that would send less or even its load; they are named, never made."""

from edgeplace.solver.explain.job_changes.combining import (
    Combining,
    CombiningVerdict,
    combining,
)
from edgeplace.solver.explain.job_changes.key_groups import Skew, evenest, skew_of, skews
from edgeplace.solver.explain.job_changes.levers import SPLIT_CALL, Lever
from edgeplace.solver.explain.job_changes.shared_sources import SharedSource, shared_sources

__all__ = [
    "SPLIT_CALL",
    "Combining",
    "CombiningVerdict",
    "Lever",
    "SharedSource",
    "Skew",
    "combining",
    "evenest",
    "shared_sources",
    "skew_of",
    "skews",
]
