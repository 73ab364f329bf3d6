"""The largest normalised load of a worker, from how many subtasks of each kind it has."""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.baselines.caps_load import Scale
from edgeplace.solver.slots import SlotCounter
from edgeplace.solver.worker_load.symmetry import Joined, Kinds


@dataclass(frozen=True)
class Loads:
    """As `caps_load.largest_load`, for counts of kinds instead of subtasks.

    Attributes
    ----------
    compute
        Normalised load of one subtask on each worker, shape (n_kinds, n_workers).
    state
        The same of its state, shape (n_kinds,).
    least
        What is taken off compute and state load, shape (2,).
    joined
        What kinds send, and the normalised load of one channel.
    """

    kinds: Kinds
    compute: Floats
    state: Floats
    least: Floats
    joined: tuple[tuple[Joined, float], ...]
    _sent: Floats
    """A worker with counts x sends x · sent - Σ x_from x_to at_home over exchanges all to all."""
    _from: Ints
    _to: Ints
    _at_home: Floats
    _operators: Floats
    """Whether a kind belongs to an operator, shape (n_kinds, n_operators)."""
    _counter: SlotCounter

    @classmethod
    def of(cls, kinds: Kinds) -> "Loads":
        """Return the loads of a problem's kinds."""
        scale = Scale.of(kinds.problem, kinds.reading)
        span = scale.most - scale.least
        per_span = np.where(span > 0, 1 / np.where(span > 0, span, 1.0), 0.0)
        n = len(kinds.members)
        sent = np.zeros(n)
        joined = tuple((j, j.bytes_per_s * float(per_span[2])) for j in kinds.joined)
        everyone = [(j, each) for j, each in joined if j.everyone]
        for j, each in everyone:
            sent[j.source] += each * j.outs
        group = kinds.problem.subtasks.group
        return cls(
            kinds=kinds,
            compute=kinds.compute * per_span[0],
            state=kinds.state * per_span[1],
            least=(scale.least * per_span)[:2],
            joined=joined,
            _sent=sent,
            _from=np.array([j.source for j, _ in everyone], np.intp),
            _to=np.array([j.target for j, _ in everyone], np.intp),
            _at_home=np.array([each for _, each in everyone]),
            _operators=(kinds.operator[:, None] == np.arange(len(group))).astype(float),
            _counter=SlotCounter.of(group),
        )

    def of_worker(self, count: Ints, worker: int) -> Floats:
        """Return the largest normalised load of a worker.

        Parameters
        ----------
        count
            Subtasks of each kind, shape (..., n_kinds).
        """
        x = count.astype(float)
        network = x @ self._sent - (x[..., self._from] * x[..., self._to]) @ self._at_home
        for j, each in self.joined:
            if not j.everyone:
                apart = j.outs * x[..., j.source] - j.ins * x[..., j.target]
                network = network + each * np.maximum(apart, 0.0)
        compute = x @ self.compute[:, worker] - self.least[0]
        state = x @ self.state - self.least[1]
        largest: Floats = np.maximum(np.maximum(compute, state), network)
        return largest

    def of_all(self, count: Ints) -> Floats:
        """Return the largest load of each worker, shape (n_workers,), of (n_kinds, n_workers)."""
        return np.array([self.of_worker(own, w) for w, own in enumerate(count.T)])

    def slots(self, count: Ints) -> Floats:
        """Return the slots that counts of shape (..., n_kinds) take."""
        return self._counter.slots(count @ self._operators)

    def fit(self, count: Ints, worker: int) -> Bools:
        """Return whether a worker may have such counts, of shape (n, n_kinds)."""
        kinds = self.kinds
        most = np.where(kinds.allowed[:, worker], kinds.size, 0)
        slots = self.slots(count) <= kinds.problem.tms.slots[worker]
        held: Bools = ((count >= 0) & (count <= most)).all(axis=1) & slots
        return held
