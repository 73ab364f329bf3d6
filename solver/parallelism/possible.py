"""Parallelisms that no plan can have, found without a search."""

import numpy as np

from edgeplace.solver.parallelism.choice import Combinations
from edgeplace.solver.parallelism.relaxed import Box, swells
from edgeplace.solver.parallelism.splits import Splits
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TOLERANCE


def possible_values(
    problem: Problem, choice: Combinations, splits: Splits, soft: bool
) -> Box | None:
    """Return the parallelisms of each group in which its operators may have room, or None.

    Two subtasks of an operator never share a slot, and the thread of its busiest subtask keeps up
    on some TaskManager.

    Parameters
    ----------
    problem
        The problem in some parallelism.
    soft
        Threads need not keep up.
    """
    p = problem
    operators = [(job, op.id) for job, op in p.subtasks.operators]
    allowed = p.allowed()
    kept = [list(g.values) for g in choice.groups]
    swelling = {j.name for j in p.subtasks.jobs if swells(j, splits)}
    for o, member in enumerate(operators):
        g = splits.free.get(member)
        if g is None or not p.m:
            continue
        own = p.subtasks.range_of(o)
        places = allowed[own].any(axis=0)
        slots = int(p.tms.slots[places].sum())
        kept[g] = [n for n in kept[g] if n <= slots]
        if soft or member[0] in swelling or not places.any():
            continue
        classes = np.unique(p.tms.node_class[places])
        # All records of the operator in one thread, on the fastest class.
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = p.work.rate_per_s[own]
            each = np.where(rate > 0, p.work.busy[own][:, classes].min(axis=1) / rate, 0.0)
        busy = float(each.max(initial=0.0) * rate.sum())
        kept[g] = [
            n for n in kept[g] if busy * splits.at(g, n).most[member] <= (1 + TOLERANCE) ** 2
        ]
    if not all(kept):
        return None
    return tuple(tuple(ns) for ns in kept)
