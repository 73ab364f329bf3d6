"""The solver: a placement of every subtask, with a proof. It needs the extra `solve`."""

from edgeplace.model.extras.extras import needing

with needing("solve"):
    import networkx  # noqa: F401
    import numpy  # noqa: F401

from edgeplace.solver.by_priority import Admission, Waiting, by_priority
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.evaluation.job_use import job_uses
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.evaluation.worst_path import PathStep, WorstPath, worst_path
from edgeplace.solver.explain.advice import Advice, advice
from edgeplace.solver.explain.certainty import Certainty, CostInterval, InDoubt, certainty
from edgeplace.solver.explain.chains import Chain, KindReason, TooSlow, why_by_kind
from edgeplace.solver.explain.differences import Difference, Shift, difference, shifts, sites_of
from edgeplace.solver.explain.job_changes import (
    SPLIT_CALL,
    Combining,
    CombiningVerdict,
    Lever,
    SharedSource,
    Skew,
    combining,
    evenest,
    shared_sources,
    skew_of,
    skews,
)
from edgeplace.solver.explain.moves import Move, Moves, moves
from edgeplace.solver.explain.nearest_alike import nearest_alike
from edgeplace.solver.explain.other_parallelism import OtherParallelism, other_parallelism
from edgeplace.solver.explain.pareto import Front, Point, pareto
from edgeplace.solver.explain.policies import Policy, policies
from edgeplace.solver.explain.prices import Price, Prices, prices
from edgeplace.solver.explain.reasons import Alternative, Reason, why
from edgeplace.solver.explain.site_kinds import KindOfSites, site_kinds
from edgeplace.solver.explain.tightness import Tight, limits_in_use, tightest
from edgeplace.solver.explain.wishes import WishPrice, wish_prices
from edgeplace.solver.infeasibility.lost_sites import held_at_lost_sites
from edgeplace.solver.linear.left_behind import at_work
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.problem.problem import assumptions
from edgeplace.solver.search import SearchParameters
from edgeplace.solver.solve import SolveOptions, loader, solve, solve_case
from edgeplace.solver.splitting import (
    Reach,
    SplitPlan,
    Weighting,
    place_and_split,
    reach,
    records_of_workers,
    split,
    stated_frequencies,
)

__all__ = [
    "SPLIT_CALL",
    "Admission",
    "Advice",
    "Alternative",
    "Certainty",
    "Chain",
    "Combining",
    "CombiningVerdict",
    "CostInterval",
    "Difference",
    "Front",
    "InDoubt",
    "KindOfSites",
    "KindReason",
    "Lever",
    "Move",
    "Moves",
    "OtherParallelism",
    "PathStep",
    "Point",
    "Policy",
    "Price",
    "Prices",
    "Problem",
    "Reach",
    "Reason",
    "SearchParameters",
    "SharedSource",
    "Shift",
    "Skew",
    "SolveOptions",
    "SplitPlan",
    "Tight",
    "TooSlow",
    "Usage",
    "Waiting",
    "Weighting",
    "WishPrice",
    "WorstPath",
    "advice",
    "assumptions",
    "at_work",
    "build",
    "by_priority",
    "certainty",
    "combining",
    "difference",
    "evaluate",
    "evenest",
    "held_at_lost_sites",
    "job_uses",
    "limits_in_use",
    "loader",
    "measure_usage",
    "moves",
    "nearest_alike",
    "other_parallelism",
    "pareto",
    "place_and_split",
    "policies",
    "prices",
    "reach",
    "records_of_workers",
    "shared_sources",
    "shifts",
    "site_kinds",
    "sites_of",
    "skew_of",
    "skews",
    "solve",
    "solve_case",
    "split",
    "stated_frequencies",
    "tightest",
    "why",
    "why_by_kind",
    "wish_prices",
    "worst_path",
]
