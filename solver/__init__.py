"""The solver: a placement of every subtask, with a proof."""

from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.evaluation.job_use import job_uses
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.explain.advice import Advice, advice
from edgeplace.solver.explain.differences import Difference, Shift, difference, shifts, sites_of
from edgeplace.solver.explain.moves import Move, Moves, moves
from edgeplace.solver.explain.nearest_alike import nearest_alike
from edgeplace.solver.explain.pareto import Front, Point, pareto
from edgeplace.solver.explain.policies import Policy, policies
from edgeplace.solver.explain.prices import Price, Prices, prices
from edgeplace.solver.explain.reasons import Alternative, Reason, why
from edgeplace.solver.explain.tightness import Tight, tightest
from edgeplace.solver.infeasibility.lost_sites import held_at_lost_sites
from edgeplace.solver.linear.left_behind import at_work
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.problem import assumptions
from edgeplace.solver.search import SearchParameters
from edgeplace.solver.solve import loader, solve, solve_case

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
    "Problem",
    "Reason",
    "SearchParameters",
    "Shift",
    "Tight",
    "Usage",
    "advice",
    "assumptions",
    "at_work",
    "build",
    "difference",
    "evaluate",
    "held_at_lost_sites",
    "job_uses",
    "loader",
    "measure_usage",
    "moves",
    "nearest_alike",
    "pareto",
    "policies",
    "prices",
    "shifts",
    "sites_of",
    "solve",
    "solve_case",
    "tightest",
    "why",
]
