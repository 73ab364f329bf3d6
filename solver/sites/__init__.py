"""Decomposition by site: where machines have room, sites decide by themselves."""

from edgeplace.solver.sites.decide import Decided, decide

__all__ = ["Decided", "decide"]
