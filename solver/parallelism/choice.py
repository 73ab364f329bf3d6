"""Groups of operators that change their parallelism together, and the requested values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from edgeplace.model import (
    MOST_PARALLELISM,
    Colocate,
    InvalidInputError,
    JobGraph,
    NeverMove,
    Pin,
    Rules,
    ShipStrategy,
    first_few,
    no_such_operator,
)
from edgeplace.model.what_if.parallelism import (
    Parallelism,
    meant,
    rescaled_rules,
    with_parallelism,
)

ALL = "all"
"""In place of an operator: every operator that is not named and may change."""
Asked = Mapping[str, Iterable[int]]
"""Operator, by id or unique name, or `ALL` -> numbers of subtasks."""

Member = tuple[str, str]
"""Job name and operator id."""


@dataclass(frozen=True)
class Group:
    """Operators that have one parallelism, and the parallelisms asked for.

    Attributes
    ----------
    values
        Ascending, at least one.
    now
        The parallelism that they have.
    """

    members: tuple[Member, ...]
    title: str
    values: tuple[int, ...]
    now: int


@dataclass(frozen=True)
class Combinations:
    """All that may be chosen: a vector has one parallelism for each group.

    Attributes
    ----------
    notes
        What was asked for and is left out, with the reason.
    """

    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        n = 1
        for g in self.groups:
            n *= len(g.values)
        return n

    def parallelism(self, vector: Sequence[int]) -> Parallelism:
        """Return a vector by job and operator."""
        named: dict[str, dict[str, int]] = {}
        for group, n in zip(self.groups, vector, strict=True):
            for job, op in group.members:
                named.setdefault(job, {})[op] = n
        return named


def choice_of(jobs: Sequence[JobGraph], rules: Rules, asked: Asked | str) -> Combinations:
    """Return what may be chosen.

    Raises
    ------
    InvalidInputError
        If an operator that is named cannot have any parallelism asked for, or none can have
        another one than it has, with the reason.
    """
    ranges = {ALL: range(1, MOST_PARALLELISM + 1)} if asked == ALL else asked
    if isinstance(ranges, str) or not ranges:
        raise InvalidInputError(
            f"parallelism {asked!r} names no operator",
            "give {'window': range(1, 9)}, or 'all'",
        )
    wanted = _named(jobs, {ref: n for ref, n in ranges.items() if ref != ALL})
    others = _whole(ALL, ranges[ALL]) if ALL in ranges else None
    groups: list[Group] = []
    notes: list[str] = []
    for members in _joined(jobs, rules):
        stated = {wanted[m] for m in members if m in wanted}
        title = _title(jobs, members)
        if len(stated) > 1:
            raise InvalidInputError(
                f"{title} have one parallelism, and are asked to have different ones",
                "ask for the same ones: operators joined by FORWARD or by a colocate rule change "
                "together",
            )
        if not stated and others is None:
            continue
        group, refused = _group(jobs, rules, members, next(iter(stated), None), others or ())
        if group is None and stated and _now(jobs, members[0]) not in next(iter(stated)):
            raise InvalidInputError(
                f"the parallelism of {title} cannot be chosen: {refused}",
                "leave it out, or ask for what it can have",
            )
        if group is not None:
            groups.append(group)
        if refused:
            notes.append(f"parallelism: {refused}")
    if not groups:
        raise InvalidInputError(
            f"there is no operator of which the parallelism can be chosen: {'; '.join(notes)}",
            "sources, and what FORWARD joins to them, keep theirs",
        )
    return Combinations(tuple(groups), tuple(notes))


def _whole(ref: str, values: Iterable[int]) -> tuple[int, ...]:
    found = tuple(sorted(set(values)))
    if not found or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in found):
        raise InvalidInputError(
            f"parallelism of {ref!r}: {first_few([repr(n) for n in found], 4) or 'nothing'}",
            "ask for whole numbers of 1 or more, such as range(1, 9)",
        )
    return found


def _named(jobs: Sequence[JobGraph], ranges: Asked) -> dict[Member, tuple[int, ...]]:
    """Return the requested parallelisms of each operator in the request."""
    wanted: dict[Member, tuple[int, ...]] = {}
    for ref, values in ranges.items():
        having = [j for j in jobs if any(ref in (op.id, op.name) for op in j.operators)]
        if len(having) > 1:
            raise InvalidInputError(
                f"operator {ref!r} is in several jobs: {[j.name for j in having]}",
                "give operators that are alike in several jobs different names",
            )
        if not having:
            raise no_such_operator(jobs, ref)
        job = having[0]
        wanted[job.name, job.operator(ref).id] = _whole(ref, values)
    return wanted


def _joined(jobs: Sequence[JobGraph], rules: Rules) -> list[tuple[Member, ...]]:
    """Return the sets of operators that have one parallelism, in the order of the jobs."""
    graph: nx.Graph[Member] = nx.Graph()
    graph.add_nodes_from((j.name, op.id) for j in jobs for op in j.operators)
    for j in jobs:
        for s in j.streams:
            if s.ship_strategy is ShipStrategy.FORWARD:
                graph.add_edge((j.name, s.source), (j.name, s.target))
    for rule in rules.rules:
        if isinstance(rule, Colocate):
            together = [(job.name, op.id) for job, op in meant(jobs, rule)]
            nx.add_path(graph, together)
    order = {m: i for i, m in enumerate(graph)}
    sets = [tuple(sorted(c, key=order.__getitem__)) for c in nx.connected_components(graph)]
    return sorted(sets, key=lambda c: order[c[0]])


def _title(jobs: Sequence[JobGraph], members: Sequence[Member]) -> str:
    by_name = {j.name: j for j in jobs}
    prefix = len(jobs) > 1
    return ", ".join(
        (f"{job}: " if prefix else "") + by_name[job].operator(op).name for job, op in members
    )


def _now(jobs: Sequence[JobGraph], member: Member) -> int:
    job, op = member
    return next(j for j in jobs if j.name == job).operator(op).parallelism


def _group(
    jobs: Sequence[JobGraph],
    rules: Rules,
    members: tuple[Member, ...],
    stated: tuple[int, ...] | None,
    others: tuple[int, ...],
) -> tuple[Group | None, str]:
    """Return the group, None if it keeps its parallelism; and what is left out, with the reason.

    Parameters
    ----------
    stated
        What is asked of it by name; None: `others`, as far as it can have them.
    """
    by_name = {j.name: j for j in jobs}
    title, now = _title(jobs, members), _now(jobs, members[0])
    operators = [by_name[job].operator(op) for job, op in members]
    if why := _kept(jobs, rules, members):
        return None, f"{title} keeps {now}: {why}"
    most = min(op.max_parallelism for op in operators)
    values = others if stated is None else stated
    fit = tuple(n for n in values if n <= most)
    if stated is not None and len(fit) < len(values):
        raise InvalidInputError(
            f"the parallelism of {title} cannot be {values[-1]}: it has {most} key groups, its "
            "max parallelism",
            f"ask for 1 to {most}",
        )
    refused, why = _refused(jobs, rules, Group(members, title, fit, now))
    possible = tuple(n for n in fit if n not in refused)
    if not possible or (refused and possible == (now,)):
        reason = why or f"nothing up to {most}, its max parallelism, is asked for"
        return None, f"{title} keeps {now}: {reason}"
    left_out = first_few([str(n) for n in refused], 8)
    said = f"{title} is not tried with {left_out}: {why}" if refused else ""
    return Group(members, title, possible, now), said


def _kept(jobs: Sequence[JobGraph], rules: Rules, members: Sequence[Member]) -> str:
    """Return why operators keep their parallelism; empty: they need not."""
    for job in jobs:
        for op in job.sources():
            if (job.name, op.id) in members:
                alone = len(members) == 1
                return "it is a source" if alone else f"source {op.name!r} is among them"
    for rule in rules.rules:
        if isinstance(rule, NeverMove) and any(
            (job.name, op.id) in members for job, op in meant(jobs, rule)
        ):
            return f"rule {rule.title()!r}"
    return ""


def _refused(jobs: Sequence[JobGraph], rules: Rules, group: Group) -> tuple[list[int], str]:
    """Return the values that shares of records or pins of single subtasks rule out, and why."""
    by_subtask = any(
        isinstance(rule, Pin)
        and rule.subtasks
        and any((job.name, op.id) in group.members for job, op in meant(jobs, rule))
        for rule in rules.rules
    )
    others = [n for n in group.values if n != group.now]
    if by_subtask:
        why = {n: _obstacle(jobs, rules, group, n) for n in others}
    else:
        # Shares can be mapped to all others or to none.
        why = dict.fromkeys(others, _obstacle(jobs, rules, group, others[0]) if others else "")
    refused = [n for n in others if why[n]]
    return refused, why[refused[-1]] if refused else ""


def _obstacle(jobs: Sequence[JobGraph], rules: Rules, group: Group, n: int) -> str:
    """Return why a group cannot have a parallelism; empty: it can."""
    wanted = Combinations((group,), ()).parallelism((n,))
    try:
        for job in jobs:
            with_parallelism(job, wanted.get(job.name, {}))
        rescaled_rules(jobs, rules, wanted)
    except InvalidInputError as e:
        return e.what
    return ""
