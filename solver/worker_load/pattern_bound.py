"""A bound if all workers are equal: for any weights, some worker has an even share or more.

For any weights π of the kinds, some of m workers has counts x with π · x ≥ π · n / m, n being the
sizes of the kinds. If no such x stays within a load t, every plan exceeds t. The best π makes this
the bound of the pattern formulation, whose columns are all that one worker may have (Gilmore and
Gomory 1961; π are its dual values): t is not reached while n / m lies outside the convex hull of
the patterns within t.

π is found by cutting planes: a linear programme separates n / m from the patterns seen so far, as
deeply as it can; a descent, and if that finds nothing CP-SAT, looks for the pattern within t that
refutes it most. Only CP-SAT's proof that there is none raises the bound.
"""

import time
from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.tolerances import HULL, STALL
from edgeplace.solver.worker_load.annealing import Exchanges
from edgeplace.solver.worker_load.cpsat_model import LoadModel
from edgeplace.solver.worker_load.loads import Loads

_SCALE = 1e6
"""Weights are whole numbers up to this."""
_NEAR = 1e-3
"""Once the bound is so near to what it can reach, all of the rest is tried at once."""
_FIRST_SHARE = 0.5
"""Of the time, for a proof that there is nothing better than the plan known."""
_STARTS = 4


@dataclass(frozen=True)
class PatternBound:
    """A proved bound of the largest load.

    Attributes
    ----------
    bound
        No plan has a lower largest load.
    reach
        The pattern formulation proves nothing above it; what the search for the bound ended at.
    weights
        Of the kinds, those that proved the bound last; shape (n, n_kinds).
    patterns
        Counts of one worker that were met, shape (n, n_kinds).
    """

    bound: float
    reach: float
    weights: Ints
    patterns: Ints


def bound_by_patterns(
    loads: Loads, value: float, patterns: Ints, tolerance: float, seed: int, deadline: float
) -> PatternBound:
    """Return a bound of the largest load, workers being alike.

    Parameters
    ----------
    value
        Largest load of the best plan known.
    patterns
        Counts of one worker to begin with, shape (n, n_kinds).
    tolerance
        How near to `value` the bound need be.
    """
    search = _Search(loads, patterns, seed)
    low, high = 0.0, value
    proofs: list[Ints] = []
    now = time.monotonic()
    first_until = now + _FIRST_SHARE * (deadline - now)
    first = True
    while high - low > tolerance and time.monotonic() < deadline:
        # The plan known may be the best: that is tried before all else.
        first = first and high == value and time.monotonic() < first_until
        all_at_once = first or high - low <= _NEAR * high
        t = high - tolerance / 2 if all_at_once else (low + high) / 2
        weights = search.weights(t)
        if weights is None:
            high = t
            continue
        refuted = search.refute(weights, t, first_until if first else deadline)
        if refuted is None and not first:
            break
        first = first and refuted is True
        if refuted is False:
            low = t
            proofs.append(weights)
    return PatternBound(low, high, np.array(proofs[::-1], np.intp), search.patterns)


class _Search:
    def __init__(self, loads: Loads, patterns: Ints, seed: int) -> None:
        self._loads = loads
        self._seed = seed
        self._size = loads.kinds.size
        self._workers = loads.kinds.problem.m
        self._exchanges = Exchanges(len(self._size))
        self.patterns = patterns
        self._load = loads.of_worker(patterns, 0)

    def weights(self, t: float) -> Ints | None:
        """Return weights by which all patterns within t are less than an even share, or None."""
        # As a share of the even share, all kinds count alike.
        share = self.patterns[self._load <= t] * self._workers / self._size - 1.0
        if not len(share):
            return np.ones(len(self._size), np.intp)
        if not share.any(axis=1).all():
            # The even share itself is within t.
            return None
        solver = pywraplp.Solver.CreateSolver("GLOP")
        n = len(self._size)
        weight = [solver.NumVar(-1.0, 1.0, "") for _ in range(n)]
        amount = [solver.NumVar(0.0, 1.0, "") for _ in range(n)]
        depth = solver.NumVar(-1.0, 1.0, "")
        for w, a in zip(weight, amount, strict=True):
            solver.Add(w <= a)
            solver.Add(-w <= a)
        solver.Add(solver.Sum(amount) <= 1.0)
        for row in share:
            cut = solver.Constraint(-solver.infinity(), 0.0)
            for w, v in zip(weight, row.tolist(), strict=True):
                cut.SetCoefficient(w, v)
            cut.SetCoefficient(depth, float(np.linalg.norm(row)))
        solver.Maximize(depth)
        if solver.Solve() != pywraplp.Solver.OPTIMAL or depth.solution_value() < HULL:
            return None
        real = np.array([w.solution_value() for w in weight]) / self._size
        whole: Ints = np.round(real / np.abs(real).max() * _SCALE).astype(np.intp)
        return whole

    def refute(self, weights: Ints, t: float, deadline: float) -> bool | None:
        """Return whether a pattern within t has an even share; None if the time was too short."""
        total = int(weights @ self._size)
        even = -(-total // self._workers)
        if self._descend(weights, even, t):
            return True
        one = LoadModel(self._loads, [0])
        one.at_most(t)
        weighed = one.weighted(weights, 0)
        one.model.add(weighed >= even)
        one.model.maximize(weighed)
        solver, status = one.solve(self._seed, deadline)
        if status == cp_model.INFEASIBLE:
            return False
        if status == cp_model.UNKNOWN:
            return None
        # One that rounding has let in is taken for one within t, or the search would not end.
        return self._keep(one.values(solver)[:, 0], t) or None

    def _keep(self, pattern: Ints, t: float) -> bool:
        """Keep a pattern; return whether it was new."""
        if (self.patterns == pattern).all(axis=1).any():
            return False
        load = min(float(self._loads.of_worker(pattern, 0)), t)
        self.patterns = np.concatenate([self.patterns, pattern[None]])
        self._load = np.append(self._load, load)
        return True

    def _descend(self, weights: Ints, even: int, t: float) -> bool:
        """Look for a pattern within t of at least an even share, from the nearest ones known."""

        def short(patterns: Ints) -> Floats:
            missing = np.maximum(even - patterns @ weights, 0) / max(abs(even), 1)
            far: Floats = self._loads.of_worker(patterns, 0) + 3 * missing
            return far

        for i in np.argsort(short(self.patterns), kind="stable")[:_STARTS].tolist():
            at, least = self.patterns[i], float(short(self.patterns[i : i + 1])[0])
            while True:
                others = self._size - at
                near = np.concatenate(
                    [at + n * self._exchanges.between(at // n, others // n) for n in (1, 2, 3)]
                )
                near = near[self._loads.fit(near, 0)]
                far = short(near)
                best = int(np.argmin(far)) if len(near) else -1
                if best < 0 or far[best] >= least - STALL:
                    break
                at, least = near[best], float(far[best])
            if at @ weights >= even and self._loads.of_worker(at, 0) <= t and self._keep(at, t):
                return True
        return False
