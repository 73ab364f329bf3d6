"""Processor time of subtasks on each class of node."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import Cluster, InvalidInputError, Operator
from edgeplace.model.cost import ClassCost
from edgeplace.solver.arrays import Bools, Floats
from edgeplace.solver.clock import look
from edgeplace.solver.problem.subtasks import Subtasks
from edgeplace.solver.problem.task_managers import node_classes
from edgeplace.solver.problem.traffic import Traffic

MAX_QUEUE_FACTOR = 20.0
"""Queueing is capped at this many service times: M/M/1 waiting at 95 % busy."""


@dataclass(frozen=True)
class Work:
    """The work of subtasks, and the cores of each node class that it needs.

    Attributes
    ----------
    rate_per_s
        Records in (out, for sources) of each subtask, shape (n_subtasks,).
    busy, cores
        Busy share of the task thread, and cores used, of each subtask on each node class, shape
        (n_subtasks, n_classes). 0 where the cost is not known (see `Problem.notes`).
    service_ms
        Service and M/M/1 queueing time of a record, shape (n_subtasks, n_classes).
    """

    rate_per_s: Floats
    busy: Floats
    cores: Floats
    service_ms: Floats

    @classmethod
    def of(cls, rate_per_s: Floats, busy_s: Floats, cpu_s: Floats) -> "Work":
        """Return it for subtasks' records per second, and their busy and core-seconds a record."""
        rate = rate_per_s[:, None]
        busy = rate * busy_s
        queue = np.minimum(1 / np.maximum(1 - busy, 1e-12), MAX_QUEUE_FACTOR)
        service_ms = np.where(rate > 0, 1000 * busy_s * queue, 0.0)
        return cls(rate_per_s, busy, rate * cpu_s, service_ms)

    @classmethod
    def measured(
        cls,
        subtasks: Subtasks,
        cluster: Cluster,
        traffic: Traffic,
        reached: Bools,
        notes: list[str],
    ) -> "Work":
        """Return it for the costs of the operators.

        Parameters
        ----------
        reached
            Whether each subtask may run on each node class, shape (n_subtasks, n_classes).
        notes
            Gets what is an estimate, weak or not known.

        Raises
        ------
        InvalidInputError
            If the cost of an operator is known on other node classes only, without their speeds.
        """
        classes = node_classes(cluster)
        needed = np.logical_or.reduceat(reached, subtasks.first[:-1], axis=0)
        weak: list[tuple[str, ClassCost]] = []
        per_operator = [
            class_costs(op, cluster, classes, set(np.flatnonzero(needed[o]).tolist()), notes, weak)
            for o, (_, op) in enumerate(subtasks.operators)
        ]
        if weak:
            notes.append(_weak(weak))
        shape = (len(subtasks.operators), len(classes))
        busy_s = np.array([c[0] for c in per_operator]).reshape(shape)
        cpu_s = np.array([c[1] for c in per_operator]).reshape(shape)
        op_of = subtasks.operator_of
        look()
        return cls.of(traffic.rate_per_s, busy_s[op_of], cpu_s[op_of])


def class_costs(
    op: Operator,
    cluster: Cluster,
    classes: list[str],
    needed: set[int],
    notes: list[str],
    weak: list[tuple[str, ClassCost]],
) -> tuple[list[float], list[float]]:
    """Return busy seconds and core-seconds a record on each class, estimated where never seen.

    Parameters
    ----------
    needed
        Indices of the classes on which the operator may run.
    notes, weak
        Get what is an estimate or not known, and the name of the operator with each cost that was
        measured at a very low rate.
    """
    known = op.cost.classes if op.cost else ()
    if not known:
        notes.append(f"the CPU cost of {op.name!r} is not known: it is not counted")
        return [0.0] * len(classes), [0.0] * len(classes)
    speed = {c.id: c.speed for c in cluster.node_classes}
    seen_on = {c.node_class: c for c in known}
    strange = [name for name in seen_on if name not in classes]
    # Costs may know more machines than this cluster has; with a gap beside, it may be a typo.
    if strange and any(classes[i] not in seen_on for i in needed):
        notes.append(
            f"the costs of {op.name!r} name class {', '.join(map(repr, strange))}, which no node "
            f"of the cluster has; its classes are {', '.join(classes)}"
        )
    busy_s, cpu_s = [], []
    for i, name in enumerate(classes):
        seen = seen_on.get(name)
        factor = 1.0
        if seen is None:
            based = [c for c in known if c.node_class in speed]
            if name in speed and based:
                # The longest measured one is the best known.
                seen = max(based, key=lambda c: (not c.weak, c.busy_s, c.node_class))
                factor = speed[seen.node_class] / speed[name]
                if i in needed:
                    notes.append(
                        f"the CPU cost of {op.name!r} on {name!r} is an estimate: never seen "
                        f"there, taken from {seen.node_class!r} by the ratio of their speeds"
                    )
            elif i in needed:
                raise InvalidInputError(
                    f"operator {op.name!r} was never seen on node class {name!r}, only on "
                    f"{[c.node_class for c in known]}, and the cluster gives no speeds to "
                    "estimate it from",
                    f"measure it there, state its cost, give `node_classes` with a speed for "
                    f"{name!r} and {known[0].node_class!r}, or keep it elsewhere by a rule: "
                    f"{{kind: pin, operators: [{op.name}], to: SITE}}",
                )
            else:
                busy_s.append(0.0)
                cpu_s.append(0.0)
                continue
        if seen.origin == "estimated" and i in needed:
            notes.append(_estimate(op, seen))
        if seen.weak and i in needed:
            weak.append((op.name, seen))
        busy_s.append(factor / seen.true_rate_per_s)
        cpu_s.append(factor * seen.core_ms_per_record / 1000)
    return busy_s, cpu_s


def _estimate(op: Operator, seen: ClassCost) -> str:
    """Return the warning that a cost was not measured."""
    said = f"the CPU cost of {op.name!r} on {seen.node_class!r} is an estimate: never seen there"
    ends = seen.cpu_interval_ms_per_record
    if ends is None:
        return said
    return f"{said}, from other operators; {1000 * ends[0]:.3g} to {1000 * ends[1]:.3g} µs (90 %)"


def _weak(costs: Sequence[tuple[str, ClassCost]]) -> str:
    """Return the warning that costs were measured at a very low rate, and the remedy."""
    if len(costs) == 1:
        ((name, seen),) = costs
        return (
            f"the CPU cost of {name!r} on {seen.node_class!r} is weak ({seen.weak}), and the plan "
            f"rests on it: while it runs there, record {seen.better_log}, or state its cost"
        )
    by_log: dict[str, list[str]] = {}
    for name, seen in costs:
        where = f"{name!r} on {seen.node_class!r} ({seen.weak})"
        by_log.setdefault(seen.better_log, []).append(where)
    remedies = "; ".join(f"{', '.join(own)}: record {log}" for log, own in by_log.items())
    return (
        f"{len(costs)} CPU costs are weak, and the plan rests on them; state them, or measure each "
        f"while the operator runs there: {remedies}"
    )
