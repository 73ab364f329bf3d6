"""Loads as integers, for CP-SAT.

Loads are rounded down, and what is taken off them is rounded up: whatever CP-SAT proves that no
plan stays below, none does. A load is off by less than a step for each channel and subtask.
"""

import math
import time
from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import look
from edgeplace.solver.linear.cpsat import run
from edgeplace.solver.linear.model import power_of_two
from edgeplace.solver.tolerances import LIKE_LOADS
from edgeplace.solver.worker_load.loads import Loads

_STEPS = float(1 << 36)
"""Steps of a normalised load of 1, unless a load can be so large that they would be too many."""
_LARGEST = float(1 << 52)
_MOST_TIMES = 64


def _bundled(loads: Loads) -> list[tuple[int, float, tuple[tuple[int, int], ...]]]:
    """Return the bytes that each kind sends all to all to the kinds of an operator, as integers.

    Receivers with two key groups get twice what those with one get: one product says both.

    Returns
    -------
    list
        Sender, unit, and the receivers with how many units a channel to one carries.
    """
    towards: dict[tuple[int, int], dict[int, float]] = {}
    for j, load in loads.joined:
        if j.everyone and load > 0:
            operator = int(loads.kinds.operator[j.target])
            flows = towards.setdefault((j.source, operator), {})
            flows[j.target] = flows.get(j.target, 0.0) + load
    bundles: list[tuple[int, float, tuple[tuple[int, int], ...]]] = []
    for (source, _), flows in towards.items():
        least = min(flows.values())
        # A quotient may be infinite.
        times = {k: round(min(load / least, 2.0 * _MOST_TIMES)) for k, load in flows.items()}
        if all(
            abs(load / least - times[k]) < LIKE_LOADS and times[k] <= _MOST_TIMES
            for k, load in flows.items()
        ):
            unit = min(load / times[k] for k, load in flows.items())
            bundles.append((source, unit, tuple(times.items())))
        else:
            bundles += [(source, load, ((k, 1),)) for k, load in flows.items()]
    return bundles


class LoadModel:
    """Counts of each kind on some workers, and an upper limit of their loads, as a CP-SAT model.

    Attributes
    ----------
    model
        Rows may be added.
    count
        Columns, by kind and worker.
    limit
        The column that no worker's load exceeds, in steps.
    """

    def __init__(self, loads: Loads, workers: Sequence[int]) -> None:
        kinds, p = loads.kinds, loads.kinds.problem
        self._loads = loads
        self._bundles = _bundled(loads)
        self.model = cp_model.CpModel()
        # All on one worker is as much as it can be.
        whole = loads.kinds.size @ loads.compute.max(axis=1), loads.kinds.size @ loads.state
        sent = sum(each * j.outs * int(kinds.size[j.source]) for j, each in loads.joined)
        top = max(*whole, sent, 1.0)
        self._steps = power_of_two(min(_STEPS, _LARGEST / top))
        self.limit = self.model.new_int_var(0, math.ceil(top * self._steps), "limit")
        self.count = [
            [
                self.model.new_int_var(0, most if kinds.allowed[k, w] else 0, "")
                for w, most in zip(workers, self._most(k, workers), strict=True)
            ]
            for k in range(len(kinds.members))
        ]
        for i, w in enumerate(workers):
            look()
            own = [row[i] for row in self.count]
            self._within_slots(own, min(int(p.tms.slots[w]), p.n))
            self._within_limit(own, w)
        # Propagation gives all else once counts are set. Left to itself, CP-SAT may branch on the
        # steps of `limit`, one conflict a step.
        self.model.add_decision_strategy(
            [column for row in self.count for column in row],
            cp_model.CHOOSE_FIRST,
            cp_model.SELECT_MIN_VALUE,
        )

    def _most(self, kind: int, workers: Sequence[int]) -> list[int]:
        """Return how many of a kind each worker has slots for."""
        kinds = self._loads.kinds
        most: list[int] = np.minimum(
            len(kinds.members[kind]), kinds.problem.tms.slots[list(workers)]
        ).tolist()
        return most

    def _within_slots(self, own: list[cp_model.IntVar], slots: int) -> None:
        kinds = self._loads.kinds
        groups: dict[int, dict[int, list[cp_model.IntVar]]] = {}
        for column, o in zip(own, kinds.operator.tolist(), strict=True):
            groups.setdefault(int(kinds.problem.subtasks.group[o]), {}).setdefault(o, []).append(
                column
            )
        taken: list[cp_model.LinearExprT] = []
        for operators in groups.values():
            each = [cp_model.LinearExpr.sum(columns) for columns in operators.values()]
            if len(each) > 1:
                most = self.model.new_int_var(0, slots, "")
                for number in each:
                    self.model.add(number <= most)
                each = [most]
            taken += each
        self.model.add(cp_model.LinearExpr.sum(taken) <= slots)

    def _within_limit(self, own: list[cp_model.IntVar], worker: int) -> None:
        loads = self._loads
        for own_load, least in zip(
            (loads.compute[:, worker], loads.state), loads.least, strict=True
        ):
            whole = np.floor(own_load * self._steps).astype(int).tolist()
            load = cp_model.LinearExpr.weighted_sum(own, whole)
            self.model.add(load <= self.limit + math.ceil(least * self._steps))
        sent: list[cp_model.LinearExprT] = []
        summed: dict[tuple[tuple[int, int], ...], cp_model.IntVar] = {}
        for source, load, targets in self._bundles:
            each = math.floor(load * self._steps)
            if targets not in summed:
                summed[targets] = self._sum(own, targets, worker)
            size = sum(times * int(loads.kinds.size[k]) for k, times in targets)
            most = self._most(source, [worker])[0], self._most_of(targets, worker)
            home = self._product(own[source], summed[targets], most)
            sent.append(each * (size * own[source] - home))
        for j, load in loads.joined:
            if not j.everyone:
                a, b = own[j.source], own[j.target]
                most_apart = j.outs * int(loads.kinds.size[j.source])
                apart = self.model.new_int_var(0, most_apart, "")
                self.model.add(apart >= j.outs * a - j.ins * b)
                sent.append(math.floor(load * self._steps) * apart)
        self.model.add(cp_model.LinearExpr.sum(sent) <= self.limit)

    def _sum(
        self, own: list[cp_model.IntVar], targets: tuple[tuple[int, int], ...], worker: int
    ) -> cp_model.IntVar:
        """Return the sum of some kinds, each so many times, as a column."""
        if len(targets) == 1:
            return own[targets[0][0]]
        column = self.model.new_int_var(0, self._most_of(targets, worker), "")
        kinds, times = zip(*targets, strict=True)
        total = cp_model.LinearExpr.weighted_sum([own[k] for k in kinds], times)
        self.model.add(column == total)
        return column

    def _most_of(self, targets: tuple[tuple[int, int], ...], worker: int) -> int:
        """Return the largest sum of kinds of one operator that a worker has slots for."""
        slots = int(self._loads.kinds.problem.tms.slots[worker])
        dearest = max(times for _, times in targets) * slots
        return min(dearest, sum(t * self._most(k, [worker])[0] for k, t in targets))

    def _product(
        self, a: cp_model.IntVar, b: cp_model.IntVar, most: Sequence[int]
    ) -> cp_model.IntVar:
        product = self.model.new_int_var(0, most[0] * most[1], "")
        if max(most) <= 1:
            # Nothing draws it down to less than both.
            self.model.add(product <= a)
            self.model.add(product <= b)
        else:
            self.model.add_multiplication_equality(product, [a, b])
        return product

    def at_most(self, load: float) -> None:
        """Let no worker have more than a load."""
        self.model.add(self.limit <= math.floor(load * self._steps))

    def load(self, limit: float) -> float:
        """Return a value of `limit` as a load."""
        return limit / self._steps

    def weighted(self, weights: Ints, worker: int) -> cp_model.LinearExprT:
        """Return a weighted sum of the counts of one of the workers, by its place among them."""
        return cp_model.LinearExpr.weighted_sum(
            [row[worker] for row in self.count], weights.tolist()
        )

    def solve(self, seed: int, deadline: float) -> tuple[cp_model.CpSolver, int]:
        """Run CP-SAT; return it with its status. Ctrl-C is passed on."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.linearization_level = 2
        solver.parameters.random_seed = seed
        if deadline < math.inf:
            solver.parameters.max_time_in_seconds = max(deadline - time.monotonic(), 0.01)
        status, finished = run(solver, self.model)
        if not finished:
            raise KeyboardInterrupt
        return solver, status

    def values(self, solver: cp_model.CpSolver) -> Ints:
        """Return the counts that CP-SAT found, shape (n_kinds, n_workers)."""
        return np.array([[solver.value(c) for c in row] for row in self.count], np.intp)
