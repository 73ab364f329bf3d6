"""A problem without some of its rules: sources that they held are then free to run anywhere."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from edgeplace.model import Change, Freed, Match, NeverMove, Operator, Pin
from edgeplace.solver.clock import unhurried
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.constraints import Constraint, Restriction, compile_rule
from edgeplace.solver.problem.places import Places
from edgeplace.solver.problem.source_places import own_data_restrictions, source_restrictions


def freed_by(p: Problem, title: str) -> tuple[Freed, ...]:
    """Return the subtasks of sources that must be let run anywhere where a rule is dropped.

    A source that no rule speaks of is held where it runs now, and is refused without a place.

    Parameters
    ----------
    title
        Of the rule, or of what holds a source without one.
    """
    dropped = any(r.title() == title for r in p.rules.rules)
    held = {k for c in p.constraints for k in _held(c) if _is_of(c, title)}
    found = []
    for o in _sources(p):
        job, op = p.subtasks.operators[o]
        own = p.subtasks.range_of(o)
        # Where its data is born was said: without a rule that says otherwise, that stays.
        if op.born_at and dropped:
            continue
        found += [
            Freed(job=job, operator=op.id, subtask=i)
            for i, k in enumerate(own.tolist())
            if k in held
        ]
    return tuple(found)


def without_rules(p: Problem, dropped: Sequence[Change]) -> Problem:
    """Return the problem without some rules, and with the sources free that the changes free."""
    titles = {c.where for c in dropped}
    free = {f for c in dropped for f in c.frees}
    rules = p.rules.model_copy(
        update={"rules": tuple(r for r in p.rules.rules if r.title() not in titles)}
    )
    places = Places(p.cluster)
    constraints: list[Constraint] = []
    with unhurried():
        for o in _sources(p):
            job, op = p.subtasks.operators[o]
            own = {f.subtask for f in free if (f.job, f.operator) == (job, op.id)}
            op = freed(op, own, _homes(p, o)) if own else op
            constraints += source_restrictions(p.subtasks, o, job, op, places, rules, p.current, [])
        for rule in rules.rules:
            constraints += compile_rule(rule, p.subtasks, places, p.current, p.channels.feeding)
        constraints += own_data_restrictions(
            rules, p.cluster, p.subtasks, places, p.channels.feeding, constraints
        )
    return dataclasses.replace(p, constraints=tuple(constraints), rules=rules)


def freed(op: Operator, subtasks: set[int], homes: Sequence[str]) -> Operator:
    """Return a source of which some subtasks may run anywhere, and the others where they did.

    Parameters
    ----------
    homes
        Where each subtask is held if `born_at` says nothing.
    """
    births = op.born_at or tuple(homes)
    births = births * op.parallelism if len(births) == 1 else births
    places = ["anywhere" if i in subtasks else place for i, place in enumerate(births)]
    return op.model_copy(update={"born_at": tuple(places)})


def _homes(p: Problem, o: int) -> list[str]:
    """Return the node where each subtask of a source runs now; `anywhere` if rules hold it."""
    own = p.subtasks.range_of(o)
    # Where nothing says where its data is born, what holds a source beside rules is its node.
    stays = {k for c in p.constraints if c.rule is None for k in _held(c)}
    nodes = [n.id for n in p.cluster.nodes]
    return [
        nodes[p.tms.node[p.current[k]]] if p.current is not None and int(k) in stays else "anywhere"
        for k in own.tolist()
    ]


def _sources(p: Problem) -> list[int]:
    fed = set(np.unique(p.subtasks.operator_of[p.channels.feeding[1]]).tolist())
    return [o for o in range(len(p.subtasks.operators)) if o not in fed]


def _held(c: Constraint) -> list[int]:
    return c.subtasks.tolist() if isinstance(c, Restriction) else []


def _is_of(c: Constraint, title: str) -> bool:
    """Tell whether a constraint says where sources run, and is of a rule or has this title."""
    if c.rule is None:
        return c.title == title
    return isinstance(c.rule, Pin | Match | NeverMove) and c.rule.title() == title
