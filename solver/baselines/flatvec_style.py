"""In the style of FlatVec: the best of some random placements, by a model of flat vectors.

FlatVec is the baseline of Costream (ICDE 2024, arXiv 2403.08444), after Ganapathi et al.,
"Predicting Multiple Metrics for Queries: Better Decisions Enabled by Machine Learning", ICDE 2009:
one vector of a fixed length for a query and its machines, without their structure. Its trained
model is not public. Here the vector says how many subtasks each node class and tier has and how
spread out they are, but not which operator runs where.
"""

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.predicted_k import predicted_k
from edgeplace.solver.problem import Problem


def flatvec_style(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the draw that is predicted to be the best."""
    return predicted_k(problem, flat_vector, budget)


def flat_vector(p: Problem, assignment: Ints) -> Floats:
    """Return the features of a placement, none of which says where an operator runs."""
    tms = p.tms
    of_tm = np.bincount(assignment, minlength=p.m)
    return np.array(
        [
            *np.bincount(tms.node_class[assignment], minlength=int(tms.node_class.max()) + 1),
            tms.is_server[assignment].sum(),
            (of_tm > 0).sum(),
            len(np.unique(tms.site[assignment])),
            of_tm.max(),
            tms.node_cores[tms.node[assignment]].mean(),
        ],
        float,
    )
