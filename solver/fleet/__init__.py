"""Fleets: a few kinds of sites, each there up to a million times, with the same jobs at each."""

from edgeplace.solver.fleet.executor import Executor, Spread, Threads
from edgeplace.solver.fleet.fleet import Copies, Fleet
from edgeplace.solver.fleet.part import Part
from edgeplace.solver.fleet.result import FleetResult
from edgeplace.solver.fleet.solve import solve_fleet

__all__ = ["Copies", "Executor", "Fleet", "FleetResult", "Part", "Spread", "Threads", "solve_fleet"]
