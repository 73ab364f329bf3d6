"""ODP: the exact placement with one column per stream and pair of places, tied by flow rows.

Cardellini, Grassi, Lo Presti and Nardelli, "Optimal Operator Placement for Distributed Stream
Processing Applications", DEBS 2016, doi 10.1145/2933267.2933312: the product of x_k(a) and x_l(b)
is a column y with Σ_b y = x_k(a) and Σ_a y = x_l(b). Its objective is here `wan`, their network
usage with prices in place of delays; the limits are edgeplace's, which include theirs.
"""

from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.one_linearisation import least_wan
from edgeplace.solver.formulation.crossings import PairCrossings
from edgeplace.solver.problem import Problem


def odp(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the plan with the least `wan`, proved by ODP's linearisation."""
    return least_wan(problem, PairCrossings, budget)
