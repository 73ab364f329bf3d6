"""The footprint of subtasks: memory, disk, state, and its checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import AMOUNTS, Cluster, JobGraph, LimitKind, Operator
from edgeplace.solver.arrays import Floats
from edgeplace.solver.problem.subtasks import Subtasks
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.wire import checkpoint_on_wire


@dataclass(frozen=True)
class Footprint:
    """The footprint of each subtask at any place; arrays of shape (n_subtasks,), except `takes`.

    Attributes
    ----------
    takes
        What it takes of its TaskManager, of each amount of `AMOUNTS`; its state is part of memory
        or disk. Shape (n_subtasks, n_amounts).
    state_bytes
        What a move has to carry.
    checkpoint_bytes_per_s
        What it writes to the checkpoint storage, as a link carries it; see `wire`.
    """

    takes: Floats
    state_bytes: Floats
    checkpoint_bytes_per_s: Floats

    @classmethod
    def of(cls, subtasks: Subtasks, cluster: Cluster) -> "Footprint":
        """Return it for the measured state of the operators."""
        state = np.zeros(subtasks.count)
        written = np.zeros(subtasks.count)
        takes = np.zeros((subtasks.count, len(AMOUNTS)))
        jobs = {j.name: j for j in subtasks.jobs}
        fed = {(j.name, s.target) for j in subtasks.jobs for s in j.streams}
        for o, (job, op) in enumerate(subtasks.operators):
            own = subtasks.range_of(o)
            cost = op.cost
            state[own] = (cost.state_bytes or 0.0) / op.parallelism if cost else 0.0
            interval = jobs[job].checkpoint_interval_ms
            if interval:
                of_each = ((cost.checkpointed_bytes or 0.0) if cost else 0.0) / op.parallelism
                on_wire = checkpoint_on_wire(of_each, (job, op.id) not in fed, cluster.mtu_bytes)
                written[own] = on_wire / (interval / 1000)
            takes[own] = [getattr(op, k.facts.takes) if k.facts.takes else 0 for k in AMOUNTS]
            heap = jobs[job].state_backend == "heap"
            keeper = LimitKind.MEMORY if heap else LimitKind.DISK
            takes[own, AMOUNTS.index(keeper)] += state[own]
        return cls(takes, state, written)


def has_state_law(jobs: Sequence[JobGraph]) -> bool:
    """Return whether the state of any operator follows a law."""
    return any(op.cost and op.cost.state_law for job in jobs for op in job.operators)


def with_state_at_demand(jobs: Sequence[JobGraph]) -> tuple[list[JobGraph], Traffic]:
    """Return jobs with the state and checkpoints that their operators have at the demand.

    Raises
    ------
    InvalidInputError
        As for `Traffic.of`.
    """
    traffic = Traffic.of(jobs)
    if not has_state_law(jobs):
        return list(jobs), traffic
    ends = np.cumsum([op.parallelism for job in jobs for op in job.operators])
    rates = iter(each.sum() for each in np.split(traffic.rate_per_s, ends[:-1]))
    return [
        job.model_copy(
            update={"operators": tuple(_at(op, float(next(rates))) for op in job.operators)}
        )
        for job in jobs
    ], traffic


def _at(op: Operator, rate_per_s: float) -> Operator:
    cost = op.cost
    if cost is None or cost.state_law is None:
        return op
    state = cost.state_law.state_bytes(rate_per_s)
    # What a checkpoint writes grows with the state, also where it is a part of it.
    written = 1.0
    if cost.state_bytes and cost.checkpointed_bytes is not None:
        written = cost.checkpointed_bytes / cost.state_bytes
    update = {"state_bytes": state, "checkpointed_bytes": written * state}
    return op.model_copy(update={"cost": cost.model_copy(update=update)})
