"""In the style of Costream: the best of some random placements, by a model that sees the graph.

Heinrich, Binnig, Kornmayer and Luthra, "Costream: Learned Cost Models for Operator Placement in
Edge-Cloud Environments", ICDE 2024, arXiv 2403.08444, learn a graph neural network on thousands of
runs of other queries; neither they nor the model are public. Here a linear model is learned on
placements of this case. It sees what the graph network sees: which operator runs on which kind of
machine, and which streams leave their machines and sites. `random_k` is the same with a model that
never errs.
"""

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.baselines.predicted_k import predicted_k
from edgeplace.solver.problem import Problem


def costream_style(problem: Problem, budget: Budget = UNLIMITED) -> Found:
    """Return the draw that is predicted to be the best."""
    return predicted_k(problem, of_graph, budget)


def of_graph(p: Problem, assignment: Ints) -> Floats:
    """Return the features of a placement: of each operator, and of each pair that it joins."""
    operator = p.subtasks.operator_of
    n_operators, n_classes = len(p.subtasks.group), int(p.tms.node_class.max()) + 1
    hosts = np.zeros((n_operators, n_classes))
    np.add.at(hosts, (operator, p.tms.node_class[assignment]), 1.0)
    source, target = p.channels.feeding
    pairs, pair = np.unique(operator[source] * n_operators + operator[target], return_inverse=True)
    there, here = assignment[source], assignment[target]
    apart = [
        np.bincount(pair.ravel(), weights=crossing, minlength=len(pairs))
        for crossing in (
            p.tms.node[there] != p.tms.node[here],
            p.tms.site[there] != p.tms.site[here],
        )
    ]
    return np.concatenate([hosts.ravel(), *apart])
