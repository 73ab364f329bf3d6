"""The last tie-break: among plans that are equal in every term, less traffic between machines.

Traffic inside a site is free in the model, so solvers scatter neighbours over a site's nodes at
random. People would not: each hop costs a serialisation and a network buffer. Subtasks of a site
change places, by steepest descent, as long as no term of the objective, no headroom and no limit
suffers for it.
"""

import numpy as np

from edgeplace.model import OBJECTIVES
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import look
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import TIE

_JUDGED = 400
_WEIGHED = 100_000
"""Exchanges that are judged, and weighed, at most: budgets that do not depend on the clock."""


def break_ties(problem: Problem, assignment: Ints) -> Ints:
    """Return an assignment as good in every term, with no more bytes between TaskManagers."""
    p = problem
    allowed = p.allowed()
    now = assignment.copy()
    found = measure_usage(p, now)
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(p.n)]
    for k, j, w in zip(
        p.channels.source.tolist(),
        p.channels.target.tolist(),
        p.channels.bytes_per_s.tolist(),
        strict=True,
    ):
        if w > 0:
            neighbours[k].append((j, w))
            neighbours[j].append((k, w))
    judged = weighed = 0
    refused: set[tuple[int, int]] = set()
    while judged < _JUDGED and weighed < _WEIGHED:
        gains = []
        for k in range(p.n):
            look()
            for other in _exchanges(p, now, k, neighbours[k]):
                weighed += len(neighbours[k])
                if (k, other) not in refused:
                    gain = _gain(neighbours, now, k, other, p.n)
                    gains += [(gain, k, other)] if gain > 0 else []
            if weighed >= _WEIGHED:
                break
        for _, k, other in sorted(gains, reverse=True):
            new = _exchanged(now, k, other, p.n)
            moved = np.flatnonzero(new != now)
            if not allowed[moved, new[moved]].all():
                refused.add((k, other))
                continue
            judged += 1
            look()
            after = measure_usage(p, new)
            if _as_good(after, found):
                now, found = new, after
                refused.clear()
                break
            refused.add((k, other))
            if judged >= _JUDGED:
                break
        else:
            break
    return now


def _exchanges(p: Problem, now: Ints, k: int, near: list[tuple[int, float]]) -> list[int]:
    """Return what brings subtask k to a neighbour: change with subtask j, or (n + t) go to t."""
    own = now[k]
    tms = {int(now[j]) for j, _ in near if now[j] != own and p.tms.site[now[j]] == p.tms.site[own]}
    return [other for t in sorted(tms) for other in (*np.flatnonzero(now == t).tolist(), p.n + t)]


def _exchanged(now: Ints, k: int, other: int, n: int) -> Ints:
    new = now.copy()
    if other >= n:
        new[k] = other - n
    else:
        new[k], new[other] = now[other], now[k]
    return new


def _gain(
    neighbours: list[list[tuple[int, float]]], now: Ints, k: int, other: int, n: int
) -> float:
    """Return the bytes per second that stop leaving their TaskManager."""
    new = _exchanged(now, k, other, n)
    moved = [k] if other >= n else [k, other]
    gain = 0.0
    for i in moved:
        for j, w in neighbours[i]:
            share = w / 2 if j in moved else w
            gain += share * (float(new[i] == new[j]) - float(now[i] == now[j]))
    return gain


def _as_good(after: Usage, before: Usage) -> bool:
    """Return whether no limit breaks and no term is worse."""
    if not after.fixed_hold or after.rated_hold < before.rated_hold:
        return False
    return all(
        after.value(name) <= before.value(name) + TIE * abs(before.value(name))
        for name in OBJECTIVES
    )
