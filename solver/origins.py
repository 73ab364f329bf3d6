"""Sources run where their data is born."""

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, InvalidInputError, Operator, Rules
from edgeplace.solver.constraints import Constraint, Restriction, place_of
from edgeplace.solver.subtasks import Subtasks

Ints = NDArray[np.intp]


def origins(
    subtasks: Subtasks,
    o: int,
    job: str,
    op: Operator,
    cluster: Cluster,
    rules: Rules,
    now: Ints | None,
    notes: list[str],
) -> list[Constraint]:
    """Return what holds a source where its data is born."""
    graph = next(j for j in subtasks.jobs if j.name == job)
    if op.id not in {s.id for s in graph.sources()}:
        return []
    own = subtasks.range_of(o)
    if op.born_at:
        places = op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
        held = []
        for place in dict.fromkeys(p for p in places if p != "anywhere"):
            try:
                tms = set(cluster.task_managers_at(place))
            except InvalidInputError as e:
                raise InvalidInputError(f"source {op.name!r}: born_at: {e.what}", e.cure) from e
            held.append(
                Restriction(
                    f"source {op.name} is born at {place}",
                    own[[i for i, p in enumerate(places) if p == place]],
                    np.array([t.id in tms for t in cluster.task_managers], bool),
                )
            )
        return list(held)
    pinned: set[int] = set()
    for rule in rules.rules:
        if rule.kind in ("pin", "match", "never_move"):
            for ref in rule.operators:
                if ref in (op.id, op.name) and rule.job in ("", job):
                    chosen = getattr(rule, "subtasks", ())
                    pinned |= {int(own[i]) for i in chosen if i < len(own)} or set(own.tolist())
    free = [k for k in own.tolist() if k not in pinned]
    unknown = [k for k in free if now is None or now[k] < 0]
    if unknown:
        raise InvalidInputError(
            f"source {subtasks.title(unknown[0])} has no place where its data is born",
            "say born_at in the job file, pin it by a rule, or give the current placement; "
            "`born_at: [anywhere]` lets it run on any node",
        )
    if free:
        notes.append(f"source {op.name!r} is held on the nodes where it runs now")
    at = np.arange(len(cluster.task_managers))
    node = place_of(cluster, "node")
    return [
        Restriction(f"source {subtasks.title(k)} stays on its node", np.array([k]), where)
        for k in free
        if now is not None
        for where in [node[at] == node[now[k]]]
    ]
