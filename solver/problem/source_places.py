"""Sources run where their data is born."""

import numpy as np

from edgeplace.model import InvalidInputError, Operator, Rules
from edgeplace.solver.arrays import Ints
from edgeplace.solver.clock import look
from edgeplace.solver.problem.constraints import Constraint, Restriction
from edgeplace.solver.problem.places import Places
from edgeplace.solver.problem.subtasks import Subtasks


def source_restrictions(
    subtasks: Subtasks,
    o: int,
    job: str,
    op: Operator,
    places: Places,
    rules: Rules,
    now: Ints | None,
    notes: list[str],
) -> list[Constraint]:
    """Return what holds a source, operator o, where its data is born."""
    own = subtasks.range_of(o)
    if op.born_at:
        return _born(own, op, places)
    pinned = _pinned(own, job, op, rules)
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
    return [
        Restriction(f"source {subtasks.title(k)} stays on its node", np.array([k]), where)
        for k in free
        if now is not None
        for where in [places.node == places.node[now[k]]]
    ]


def _born(own: Ints, op: Operator, places: Places) -> list[Constraint]:
    """Return what holds the subtasks of a source at the places that the job says."""
    births = op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
    born: dict[str, list[int]] = {}
    for i, place in enumerate(births):
        if place != "anywhere":
            born.setdefault(place, []).append(i)
    held: list[Constraint] = []
    for place, which in born.items():
        look()
        try:
            allowed = places.at(place)
        except InvalidInputError as e:
            raise InvalidInputError(f"source {op.name!r}: born_at: {e.what}", e.cure) from e
        held.append(Restriction(f"source {op.name} is born at {place}", own[which], allowed))
    return held


def _pinned(own: Ints, job: str, op: Operator, rules: Rules) -> set[int]:
    """Return the subtasks that a rule says more of than where they run now."""
    pinned: set[int] = set()
    for rule in rules.rules:
        if rule.kind not in ("pin", "match", "never_move") or rule.job not in ("", job):
            continue
        if op.id in rule.operators or op.name in rule.operators:
            chosen = getattr(rule, "subtasks", ())
            pinned |= {int(own[i]) for i in chosen if i < len(own)} or set(own.tolist())
    return pinned
