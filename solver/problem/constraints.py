"""Rules compiled to four forms over subtask and TaskManager indices."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from edgeplace.model import (
    AnyRule,
    AnyWish,
    AtMost,
    Colocate,
    Exclusive,
    Exlocate,
    InvalidInputError,
    InvalidRuleError,
    Match,
    NeverMove,
    OwnData,
    Pin,
    Rule,
    SpreadEvenly,
    StayOnSite,
)
from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.problem.places import Places
from edgeplace.solver.problem.subtasks import Subtasks


@dataclass(frozen=True)
class Restriction:
    """Subtasks may run only on some TaskManagers; `allowed` has shape (n_task_managers,)."""

    title: str
    subtasks: Ints
    allowed: Bools
    rule: AnyRule | None = None
    """Whose part it is; None: it holds a source where its data is born."""


@dataclass(frozen=True)
class Together:
    """Subtask `first[i]` and subtask `second[i]` run at the same place; `place` of each TM."""

    title: str
    first: Ints
    second: Ints
    place: Ints
    rule: AnyRule | None = None


@dataclass(frozen=True)
class Capped:
    """At most `count` of the subtasks run at any one place."""

    title: str
    subtasks: Ints
    count: int
    place: Ints
    rule: AnyRule | None = None


@dataclass(frozen=True)
class Alone:
    """No subtask of `others` runs at a place where one of `subtasks` runs."""

    title: str
    subtasks: Ints
    others: Ints
    place: Ints
    rule: AnyRule | None = None


@dataclass(frozen=True)
class Evened:
    """No place has more than `fair` of the subtasks; how many more the fullest has is the breach.

    Of `Capped`, all that are too many anywhere count: that says nothing of how even it is.
    """

    title: str
    subtasks: Ints
    fair: int
    place: Ints
    rule: AnyRule | None = None


Constraint = Restriction | Together | Capped | Alone


@dataclass(frozen=True)
class Wanted:
    """A wish: what each subtask that breaks one of its parts costs."""

    title: str
    weight: int
    parts: tuple[Restriction | Together | Capped | Alone | Evened, ...]


def compile_rule(
    rule: AnyRule,
    subtasks: Subtasks,
    places: Places,
    current: Ints | None,
    channels: tuple[Ints, Ints],
) -> list[Constraint]:
    """Return the constraints that a rule stands for.

    Parameters
    ----------
    current
        TaskManager index of each subtask now, -1 where unknown; None without a placement.
    channels
        Producer and consumer of each channel.

    Raises
    ------
    InvalidInputError
        If the rule names an operator, subtask or place that does not exist, or needs a current
        placement and there is none.
    """
    with naming(rule):
        return [replace(c, rule=rule) for c in _parts(rule, subtasks, places, current, channels)]


@contextmanager
def naming(rule: AnyRule | AnyWish) -> Iterator[None]:
    """Let errors of the block say of which rule they are.

    Raises
    ------
    InvalidRuleError
        Where the block raises an `InvalidInputError`.
    """
    try:
        yield
    except InvalidInputError as e:
        raise InvalidRuleError(rule, e.what, e.cure) from e


def compile_wish(
    wish: AnyWish, subtasks: Subtasks, places: Places, channels: tuple[Ints, Ints], slots: Ints
) -> Wanted:
    """Return the parts of a wish.

    Parameters
    ----------
    slots
        Of each TaskManager: places without any do not count in what is fair.

    Raises
    ------
    InvalidInputError
        As `compile_rule`.
    """
    title = wish.title()
    with naming(wish):
        if not isinstance(wish, SpreadEvenly):
            parts = _parts(wish, subtasks, places, None, channels)
            return Wanted(title, wish.weight, tuple(parts))
        chosen = np.unique(np.concatenate(members_of(wish, subtasks)))
    place = places.level(wish.level)
    n_places = len(np.unique(place[slots > 0]))
    fair = -(-len(chosen) // max(n_places, 1))
    return Wanted(title, wish.weight, (Evened(title, chosen, fair, place),))


def members_of(rule: Rule, subtasks: Subtasks) -> list[Ints]:
    """Return the subtasks of each operator of a rule."""
    try:
        return [subtasks.of(ref, rule.job) for ref in rule.operators]
    except InvalidInputError as e:
        raise InvalidInputError(f"rule {rule.title()!r}: {e.what}", e.cure) from e


def _parts(
    rule: AnyRule | AnyWish,
    subtasks: Subtasks,
    places: Places,
    current: Ints | None,
    channels: tuple[Ints, Ints],
) -> list[Constraint]:
    title = rule.title()
    members = members_of(rule, subtasks)
    # Named twice, a subtask counts once.
    chosen = np.unique(np.concatenate(members))
    place = places.level(getattr(rule, "level", "node"))
    match rule:
        case Pin():
            return _pin(rule, title, members, places)
        case Match():
            return [Restriction(title, chosen, places.with_labels(rule.labels))]
        case NeverMove():
            if current is None:
                raise InvalidInputError(
                    f"rule {title!r} needs a current placement, and none is given",
                    "give one (--current), or drop the rule",
                )
            return [
                Restriction(f"{title} (subtask {subtasks.title(k)})", np.array([k]), where)
                for k in chosen
                if current[k] >= 0
                for where in [places.level("task_manager") == current[k]]
            ]
        case Colocate():
            sizes = {len(m) for m in members}
            if len(members) < 2 or len(sizes) > 1:
                raise InvalidInputError(
                    f"rule {title!r}: it joins subtask i of one operator with subtask i of the "
                    f"others, but the parallelisms are {[len(m) for m in members]}",
                    "name two or more operators of one parallelism",
                )
            return [Together(title, members[0], other, place) for other in members[1:]]
        case StayOnSite():
            source, target = channels
            into = np.isin(target, chosen)
            return [Together(title, source[into], target[into], places.site)]
        case OwnData():
            # Where data is born is known once all other rules are compiled: `source_places`.
            return []
        case AtMost():
            return [Capped(f"{title} <= {rule.count}", chosen, rule.count, place)]
        case Exlocate():
            return [Capped(title, chosen, 1, place)]
        case Exclusive():
            others = np.setdiff1d(np.arange(subtasks.count), chosen)
            return [Alone(title, chosen, others, place)]
    raise TypeError(title)


def _pin(rule: Pin, title: str, members: list[Ints], places: Places) -> list[Constraint]:
    try:
        allowed = places.at(rule.to)
    except InvalidInputError as e:
        raise InvalidInputError(f"rule {title!r}: {e.what}", e.cure) from e
    for m in members:
        beyond = [i for i in rule.subtasks if i >= len(m)]
        if beyond:
            raise InvalidInputError(
                f"rule {title!r}: there is no subtask {beyond[0]}, the parallelism is {len(m)}",
                f"use indices 0 to {len(m) - 1}",
            )
    chosen = np.concatenate([m[list(rule.subtasks)] if rule.subtasks else m for m in members])
    return [Restriction(title, np.unique(chosen), allowed)]


def allowed_by(constraints: Iterable[Constraint], n: int, m: int) -> Bools:
    """Return where each subtask may run by its restrictions, shape (n_subtasks, n_tms)."""
    mask = np.ones((n, m), bool)
    for c in constraints:
        if isinstance(c, Restriction):
            mask[c.subtasks] &= c.allowed
    return mask
