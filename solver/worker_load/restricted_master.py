"""A plan from patterns: one pattern for each worker, so that they cover all subtasks.

The restricted master heuristic of column generation (Joncour, Michel, Sadykov, Sverdlov and
Vanderbeck, ENDM 36, 2010): the patterns that the bound met are those of which good plans are made.
"""

import time

import numpy as np
from ortools.sat.python import cp_model

from edgeplace.solver.arrays import Ints
from edgeplace.solver.linear.cpsat import run
from edgeplace.solver.worker_load.annealing import spread
from edgeplace.solver.worker_load.loads import Loads

_MOST_PATTERNS = 500
_SECONDS = 3.0
"""Of CP-SAT's deterministic time."""


def covered_by_patterns(
    loads: Loads, patterns: Ints, within: float, seed: int, deadline: float
) -> Ints | None:
    """Return one of the patterns within a load for each of alike workers; None if there are none.

    Together they cover about as many subtasks of each kind as there are.

    Returns
    -------
    Counts, shape (n_kinds, n_workers)
    """
    kinds = loads.kinds
    load = loads.of_worker(patterns, 0)
    # The lightest hold little.
    patterns = patterns[load <= within][np.argsort(-load[load <= within])[:_MOST_PATTERNS]]
    if not len(patterns):
        return None
    model = cp_model.CpModel()
    often = [model.new_int_var(0, kinds.problem.m, "") for _ in patterns]
    model.add(cp_model.LinearExpr.sum(often) == kinds.problem.m)
    off = []
    for own, size in zip(patterns.T.tolist(), kinds.size.tolist(), strict=True):
        difference = cp_model.LinearExpr.weighted_sum(often, own) - size
        off.append(model.new_int_var(0, size * (kinds.problem.m + 1), ""))
        model.add(difference <= off[-1])
        model.add(-difference <= off[-1])
    # A subtask that loads a worker more is harder to put elsewhere.
    each = loads.of_worker(np.eye(len(kinds.members), dtype=np.intp), 0)
    worth = 1 + np.round(100 * each / max(float(each.max()), 1e-300)).clip(0).astype(int)
    model.minimize(cp_model.LinearExpr.weighted_sum(off, worth.tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = _SECONDS
    # Not infinite, and enough for the deterministic time on any machine.
    left = min(deadline - time.monotonic(), 100 * _SECONDS)
    solver.parameters.max_time_in_seconds = max(left, 0.01)
    status, finished = run(solver, model)
    if not finished:
        raise KeyboardInterrupt
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    times = np.array([solver.value(column) for column in often])
    count: Ints = np.repeat(patterns, times, axis=0).T.copy()
    return count


def corrected(loads: Loads, near: Ints, deadline: float) -> Ints | None:
    """Return counts that hold each subtask once: surplus ones removed, missing ones added."""
    count = near.copy()
    for k, size in enumerate(loads.kinds.size.tolist()):
        while count[k].sum() > size:
            full = np.where(count[k] > 0, loads.of_all(count), -np.inf)
            count[k, np.argmax(full)] -= 1
    return spread(loads, deadline, count)
