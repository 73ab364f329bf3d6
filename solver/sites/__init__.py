"""Decomposition by site: where machines have room, sites decide by themselves."""

from edgeplace.solver.sites.decide import Decided, decide
from edgeplace.solver.sites.shared import shared_plan

__all__ = ["Decided", "decide", "shared_plan"]
