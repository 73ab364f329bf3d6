"""Fleets: a few kinds of sites, up to a million replicas of each, and the same jobs at each."""

from edgeplace.solver.fleet.executor import Executor, Spread, Threads
from edgeplace.solver.fleet.fleet import Fleet, Replicas
from edgeplace.solver.fleet.part import Part
from edgeplace.solver.fleet.price_and_round import solve_fleet
from edgeplace.solver.fleet.result import FleetResult

__all__ = [
    "Executor",
    "Fleet",
    "FleetResult",
    "Part",
    "Replicas",
    "Spread",
    "Threads",
    "solve_fleet",
]
