"""The best of some random placements by a learned model: what methods with learned costs share."""

import time
from collections.abc import Callable

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.baselines.found import Budget, Found
from edgeplace.solver.baselines.partial_placement import State
from edgeplace.solver.baselines.random_k import DRAWS, drawn
from edgeplace.solver.evaluation.evaluate import assess
from edgeplace.solver.problem import Problem

Features = Callable[[Problem, Ints], Floats]
"""Of an assignment, shape (n_features,)."""
_RUNS = DRAWS
"""Placements that the model is learned from."""
_RIDGE = 1.0


def predicted_k(problem: Problem, features: Features, budget: Budget) -> Found:
    """Return the draw that a model predicts to break fewest limits, and of those to send least.

    The model is a ridge regression on the features of other draws. Their labels come from the
    evaluator: the methods learn from runs, also those of other queries. None if the time is up
    before there is one to choose.
    """
    deadline = budget.deadline()
    rng = np.random.default_rng(budget.seed)
    nothing = State(problem)
    runs: list[Ints] = []
    labels: list[tuple[float, float]] = []
    while len(runs) < _RUNS and time.monotonic() <= deadline:
        runs.append(drawn(problem, nothing.cleared(), rng).copy())
        judged = assess(problem, runs[-1])
        labels.append((float(len(judged.violations)), float(np.log1p(judged.wan_cost))))
    choices: list[Ints] = []
    while len(choices) < DRAWS and time.monotonic() <= deadline:
        choices.append(drawn(problem, nothing.cleared(), rng).copy())
    if not choices:
        return Found(None)
    seen, asked = (np.stack([features(problem, a) for a in some]) for some in (runs, choices))
    broken, sent = _predicted(seen, np.array(labels), asked).T
    return Found(choices[int(np.lexsort((sent, np.maximum(0, np.round(broken))))[0])])


def _predicted(seen: Floats, labels: Floats, asked: Floats) -> Floats:
    """Return the predictions of a ridge regression, shape (n_asked, n_labels)."""
    middle, scale = seen.mean(axis=0), seen.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    x, level = (seen - middle) / scale, labels.mean(axis=0)
    gram = x.T @ x + _RIDGE * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x.T @ (labels - level))
    found: Floats = level + ((asked - middle) / scale) @ weights
    return found
