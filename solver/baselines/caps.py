"""CAPS: a search for placements that overload no worker with compute, state or network.

Wang, Huang, Wang, Kalavri and Matta, "CAPSys: Contention-aware task placement for data stream
processing", EuroSys 2025; source: https://github.com/CASP-Systems-BU/CAPSys, scripts/caps-go,
caps_multi (caps.go, autotune.go).

A depth-first search goes over operators, and within one over workers, choosing how many of the
operator's tasks each takes. Workers that hold the same are interchangeable: equal ones take
non-decreasing numbers. A branch ends where a load exceeds its threshold. Thresholds are tuned:
first the least of each alone, by bisection; then all are relaxed by 20 % until plans are found. Of
these a Pareto-optimal one is chosen at random.

Here the plan with the least largest normalised load is chosen, since that is what placements are
compared by, and then all thresholds are lowered together as long as a better plan is found. Tries
end after a number of steps, in place of 500 ms and 5 s, so that answers do not vary. CAPS knows
workers of one kind; here they are alike if their class, cores, slots and the tasks they may host
are. Links, memory and rules about more than places are not looked at.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.baselines.caps_load import Reading, Scale
from edgeplace.solver.baselines.caps_tasks import Edge, Tasks
from edgeplace.solver.baselines.found import UNLIMITED, Budget, Found
from edgeplace.solver.problem import Problem
from edgeplace.solver.tolerances import CAPS_ZERO, ROUNDING

GRANULARITY = 0.01
"""Where the bisection of a threshold ends, as a share of its range."""
RELAXATION = 1.2
TRY_STEPS = 100_000
"""Steps of the search for one plan at given thresholds."""
RESULT_STEPS = 1_000_000
"""Steps of the search for all plans at the tuned thresholds."""
MOST_PLANS = 10_000


def caps(problem: Problem, budget: Budget = UNLIMITED, reading: Reading = "flink") -> Found:
    """Return CAPS's placement, subtasks weighed by a reading (see `caps_load`).

    None if no numbers of tasks fit the slots, or none were found in the steps or the time allowed.
    """
    deadline = budget.deadline()
    tasks = Tasks.of(problem, reading)
    scale = Scale.of(problem, reading)

    def plans(ratio: Floats, steps: int, most: int) -> list[_Plan]:
        search = _Search(problem, tasks, scale.at(ratio))
        return list(islice(search.plans(steps, deadline), most))

    loosest = plans(np.ones(3), TRY_STEPS, 1)
    if not loosest:
        return Found(None)
    best = loosest[0]

    def tightest(dimensions: slice, high: float) -> float:
        """Return the least ratio in some dimensions at which a plan is found; keep the best."""
        nonlocal best
        low = 0.0
        while high - low >= GRANULARITY:
            ratio = np.ones(3)
            ratio[dimensions] = middle = (low + high) / 2
            found = plans(ratio, TRY_STEPS, 1)
            best = min([best, *found], key=lambda plan: plan.worth(scale))
            low, high = (low, middle) if found else (middle, high)
        return high

    ratio = np.array([tightest(slice(d, d + 1), 1.0) for d in range(3)])
    found: list[_Plan] = []
    while not found and time.monotonic() < deadline:
        found = plans(ratio, RESULT_STEPS, MOST_PLANS)
        if (ratio == 1).all():
            break
        ratio = np.minimum(ratio * RELAXATION, 1.0)
    best = min([best, *found], key=lambda plan: plan.worth(scale))
    tightest(slice(3), best.worth(scale)[0])
    return Found(tasks.assigned(best.count))


@dataclass(frozen=True)
class _Plan:
    count: Ints
    """Tasks of each kind on each worker, shape (n_kinds, m)."""
    worst: Floats
    """Largest compute, state and network load of a worker, shape (3,)."""

    def worth(self, scale: Scale) -> tuple[float, ...]:
        """Return the normalised loads, the largest first: less is better."""
        return tuple(sorted(scale.normalised(self.worst).tolist(), reverse=True))


_Steps = Iterator["_Plan | _Steps"]
"""A branch: applies its choices one by one, yields a plan or the branch below, takes them back."""


@dataclass(frozen=True)
class _Workers:
    """Workers in the order in which the inner search takes them, alike ones side by side."""

    order: list[int]
    alike: list[bool]
    """Whether each is like the one before."""
    room: list[int]
    """Tasks of the kind that each has room for."""
    room_after: list[int]
    """The same of all later ones together."""
    consumers: list[Edge]
    """What tasks of the kind send to tasks that are placed already."""


class _Search:
    """The search under given thresholds on compute, state and network load."""

    def __init__(self, problem: Problem, tasks: Tasks, thresholds: Floats) -> None:
        self._p = problem
        self._tasks = tasks
        self._most_compute, self._most_state, self._most_network = (
            float(t) * (1 + ROUNDING) + CAPS_ZERO for t in thresholds
        )
        # The kind whose tasks need most compute goes first.
        self._kinds = np.argsort(-tasks.compute.max(axis=1), kind="stable").tolist()
        self._placed: set[int] = set()
        # Lists, since single figures are read and written: arrays are slow at that.
        self._count = [[0] * problem.m for _ in tasks.members]
        self._loads = [(0.0, 0.0, 0.0)] * problem.m

    def plans(self, steps: int, deadline: float) -> Iterator[_Plan]:
        """Yield plans until all are found, or the steps or the time are used up."""
        branches = [self._outer(0)]
        while branches and steps > 0 and time.monotonic() < deadline:
            found = next(branches[-1], None)
            if found is None:
                branches.pop()
            elif isinstance(found, _Plan):
                yield found
            else:
                branches.append(found)
                steps -= 1

    def _outer(self, depth: int) -> _Steps:
        """Place the next kind of tasks."""
        if depth == len(self._kinds):
            yield _Plan(np.array(self._count), np.array(self._loads).max(axis=0))
            return
        kind = self._kinds[depth]
        yield self._inner(depth, self._workers(kind), 0, len(self._tasks.members[kind]), 0)

    def _inner(
        self, depth: int, workers: _Workers, position: int, left: int, before: int
    ) -> _Steps:
        """Try every number of tasks on the next worker; `before`: tasks on the one before."""
        more = position < len(workers.order)
        alike = more and workers.alike[position]
        if left == 0:
            # Fewer tasks on the later one of alike workers: a plan seen before.
            if not alike:
                yield self._finished(depth)
            return
        if not more:
            return
        kind, worker = self._kinds[depth], workers.order[position]
        count = self._count[kind]
        compute, state, network = loads = self._loads[worker]
        each_compute = float(self._tasks.compute[kind, worker])
        each_state = float(self._tasks.state[kind])
        fewest = max(left - workers.room_after[position], before if alike else 0, 0)
        for number in range(fewest, min(left, workers.room[position]) + 1):
            count[worker] = number
            added = compute + number * each_compute, state + number * each_state
            sent = network + sum(self._sent(edge, worker) for edge in workers.consumers)
            self._loads[worker] = *added, sent
            if (
                added[0] > self._most_compute
                or added[1] > self._most_state
                or sent > self._most_network
            ):
                break
            yield self._inner(depth, workers, position + 1, left - number, number)
        count[worker] = 0
        self._loads[worker] = loads

    def _finished(self, depth: int) -> _Steps:
        """Add the bytes that the kind's producers now send over the network, and continue."""
        kind = self._kinds[depth]
        edges = [e for e in self._tasks.edges if e.target == kind and e.source in self._placed]
        before = self._loads
        if edges:
            self._loads = [
                (compute, state, network + sum(self._sent(edge, worker) for edge in edges))
                for worker, (compute, state, network) in enumerate(before)
            ]
        if all(network <= self._most_network for _, _, network in self._loads):
            self._placed.add(kind)
            yield self._outer(depth + 1)
            self._placed.remove(kind)
        self._loads = before

    def _sent(self, edge: Edge, worker: int) -> float:
        """Return the bytes/s that a worker sends to others over an edge."""
        senders = self._count[edge.source][worker]
        if not senders:
            return 0.0
        receivers = self._count[edge.target][worker]
        each = edge.bytes_per_s / len(self._tasks.members[edge.source])
        if edge.forward:
            return each * max(senders - receivers, 0)
        return each * senders * (1 - receivers / len(self._tasks.members[edge.target]))

    def _workers(self, kind: int) -> _Workers:
        tasks, p = self._tasks, self._p
        on_worker = np.zeros((len(p.subtasks.group), p.m), np.intp)
        count = np.array(self._count)
        np.add.at(on_worker, tasks.operator, count)
        per_group = np.zeros((int(p.subtasks.group.max()) + 1, p.m), np.intp)
        np.maximum.at(per_group, p.subtasks.group, on_worker)
        o = tasks.operator[kind]
        # A slot of the group without a task of this operator is free of charge.
        room = p.tms.slots - per_group.sum(axis=0) + per_group[p.subtasks.group[o]] - on_worker[o]
        room = np.where(tasks.allowed[kind], np.maximum(room, 0), 0)
        content = np.concatenate([tasks.worker[None], count])
        order = np.lexsort(content[::-1])
        same = (content[:, order[1:]] == content[:, order[:-1]]).all(axis=0)
        ordered = room[order]
        after = ordered[::-1].cumsum()[::-1] - ordered
        return _Workers(
            order=order.tolist(),
            alike=[False, *same.tolist()],
            room=ordered.tolist(),
            room_after=after.tolist(),
            consumers=[e for e in tasks.edges if e.source == kind and e.target in self._placed],
        )
