"""Decomposition by site: if machines have room, each site is decided alone."""

from edgeplace.solver.sites.decide import RelaxedOptimum, decide
from edgeplace.solver.sites.shared import shared_plan

__all__ = ["RelaxedOptimum", "decide", "shared_plan"]
