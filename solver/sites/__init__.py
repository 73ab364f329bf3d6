"""Decomposition by site: where machines have room, sites decide by themselves."""

from edgeplace.solver.sites.decide import RelaxedOptimum, decide
from edgeplace.solver.sites.shared import shared_plan

__all__ = ["RelaxedOptimum", "decide", "shared_plan"]
