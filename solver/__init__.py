"""Deciding: where every subtask runs, proved."""

from edgeplace.solver.advice import Advice, advice
from edgeplace.solver.differences import Difference, Shift, difference, shifts, sites_of
from edgeplace.solver.evaluate import evaluate
from edgeplace.solver.moves import Move, Moves, moves
from edgeplace.solver.pareto import Front, Point, pareto
from edgeplace.solver.policies import Policy, policies
from edgeplace.solver.prices import Price, Prices, prices
from edgeplace.solver.problem import assumptions
from edgeplace.solver.solve import solve
from edgeplace.solver.tightness import Tight, tightest
from edgeplace.solver.why import Alternative, Reason, why

__all__ = [
    "Advice",
    "Alternative",
    "Difference",
    "Front",
    "Move",
    "Moves",
    "Point",
    "Policy",
    "Price",
    "Prices",
    "Reason",
    "Shift",
    "Tight",
    "advice",
    "assumptions",
    "difference",
    "evaluate",
    "moves",
    "pareto",
    "policies",
    "prices",
    "shifts",
    "sites_of",
    "solve",
    "tightest",
    "why",
]
