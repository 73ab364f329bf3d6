"""The same jobs with another parallelism. Figures of single subtasks are mapped by key group.

Key group g of K belongs to subtask ``g * n // K`` of n, in any parallelism n (Flink's
`KeyGroupRangeAssignment`). So a subtask of one parallelism owns parts of some subtasks of another.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from edgeplace.model.cost import Costs
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph, Operator, ShipStrategy, Stream
from edgeplace.model.plan import Plan
from edgeplace.model.rules import AnyRule, NeverMove, Pin, Rules

Parallelism = Mapping[str, Mapping[str, int]]
"""Job name -> operator id -> number of subtasks; operators that are not named keep theirs."""

_CURE = "ask for the parallelism that it has, or leave out what is stated by subtask"


def key_groups_of(job: JobGraph) -> dict[str, int]:
    """Return the number of key groups of each operator that is keyed: by a HASH stream into it, or
    into the operator that FORWARD joins it to.
    """
    keyed = {
        s.target: job.operator(s.target).max_parallelism
        for s in job.streams
        if s.ship_strategy is ShipStrategy.HASH
    }
    grown = True
    while grown:
        more = {
            s.target: keyed[s.source]
            for s in job.streams
            if s.ship_strategy is ShipStrategy.FORWARD
            and s.source in keyed
            and s.target not in keyed
        }
        grown = bool(more)
        keyed |= more
    return keyed


def with_parallelism(job: JobGraph, wanted: Mapping[str, int]) -> JobGraph:
    """Return a job in another parallelism, with its measured shares mapped by key group.

    A subtask's share is taken as even over its key groups. Key groups stay as many as they are.

    Parameters
    ----------
    wanted
        Operator id -> number of subtasks.

    Raises
    ------
    InvalidInputError
        If a parallelism exceeds the key groups, operators joined by FORWARD would differ, or what
        is known by subtask cannot be mapped.
    """
    changed = {op.id: wanted.get(op.id, op.parallelism) for op in job.operators}
    sources = {op.id for op in job.sources()}
    for op in job.operators:
        n = changed[op.id]
        if n == op.parallelism:
            continue
        if n < 1 or n > op.max_parallelism:
            raise InvalidInputError(
                f"job {job.name!r}: {op.name!r} cannot have parallelism {n}: it has "
                f"{op.max_parallelism} key groups, its max parallelism",
                f"ask for 1 to {op.max_parallelism}",
            )
        if op.id in sources:
            raise InvalidInputError(
                f"job {job.name!r}: source {op.name!r} cannot have parallelism {n}: rates and "
                "places of sources are known by subtask",
                f"ask for {op.parallelism}, the parallelism that it has",
            )
    for s in job.streams:
        moved = [op for op in (s.source, s.target) if changed[op] != job.operator(op).parallelism]
        if moved and s.cost and s.cost.shares_by_producer is not None:
            raise InvalidInputError(
                f"job {job.name!r}: {job.operator(moved[0]).name!r} cannot have parallelism "
                f"{changed[moved[0]]}: a router sends to {job.operator(s.target).name!r} by "
                "weights, which are known by subtask",
                f"ask for {job.operator(moved[0]).parallelism}, or leave the weights out",
            )
    streams = tuple(
        _with_shares(job, s, changed[s.target]) if s.cost and s.cost.shares else s
        for s in job.streams
    )
    operators = tuple(
        op
        if changed[op.id] == op.parallelism
        else op.model_copy(update={"parallelism": changed[op.id]})
        for op in job.operators
    )
    for s in job.streams:
        a, b = changed[s.source], changed[s.target]
        if s.ship_strategy is ShipStrategy.FORWARD and a != b:
            raise InvalidInputError(
                f"job {job.name!r}: {job.operator(s.source).name!r} and "
                f"{job.operator(s.target).name!r} are joined by FORWARD and have one parallelism, "
                f"not {a} and {b}",
                "change operators that FORWARD joins together",
            )
    return job.model_copy(update={"operators": operators, "streams": streams})


def with_costs_of_another(job: JobGraph, costs: Costs) -> JobGraph:
    """Return a job with costs that may have been measured in another parallelism.

    Raises
    ------
    InvalidInputError
        As `JobGraph.with_costs` and `with_parallelism`.
    """
    measured = {c.target: len(c.shares) for c in costs.streams if c.shares}
    then = {op.id: measured.get(op.id, measured.get(op.name)) for op in job.operators}
    joined = [s for s in job.streams if s.ship_strategy is ShipStrategy.FORWARD]
    for s in (*joined, *reversed(joined)):
        then[s.target] = then[s.target] or then[s.source]
        then[s.source] = then[s.source] or then[s.target]
    now = {op.id: op.parallelism for op in job.operators}
    operators = tuple(
        op.model_copy(update={"parallelism": then[op.id] or now[op.id]}) for op in job.operators
    )
    return with_parallelism(job.model_copy(update={"operators": operators}).with_costs(costs), now)


def rescaled_rules(jobs: Sequence[JobGraph], rules: Rules, wanted: Parallelism) -> Rules:
    """Return rules for jobs in another parallelism: pins of single subtasks are mapped.

    Raises
    ------
    InvalidInputError
        If a rule cannot be mapped.
    """
    mapped: list[AnyRule] = []
    for rule in rules.rules:
        if isinstance(rule, Pin) and rule.subtasks:
            mapped += _pins(jobs, rule, wanted)
            continue
        if isinstance(rule, NeverMove):
            for job, op in meant(jobs, rule):
                if _changes(job, op, wanted):
                    raise InvalidInputError(
                        f"{op.name!r} cannot change its parallelism: rule {rule.title()!r} keeps "
                        "its subtasks where they run",
                        _CURE,
                    )
        mapped.append(rule)
    return rules.model_copy(update={"rules": tuple(mapped)})


def rescaled_plan(jobs: Sequence[JobGraph], plan: Plan, wanted: Parallelism) -> Plan:
    """Return a placement for jobs in another parallelism.

    A subtask is taken to run where the owner of most of its key groups runs; without keys, where
    the subtask at the same share of the indices runs.
    """
    placed = dict(plan.jobs)
    for job in jobs:
        own = dict(placed.get(job.name, {}))
        keyed = key_groups_of(job)
        for op in job.operators:
            places = own.get(op.id)
            if places is None or len(places) != op.parallelism or not _changes(job, op, wanted):
                continue
            n = wanted[job.name][op.id]
            own[op.id] = tuple(places[i] for i in _heirs(op.parallelism, n, keyed.get(op.id, 0)))
        if own:
            placed[job.name] = own
    return plan.model_copy(update={"jobs": placed})


def meant(jobs: Sequence[JobGraph], rule: AnyRule) -> list[tuple[JobGraph, Operator]]:
    """Return the operators that a rule names, by id or unique name; unknown names are left out."""
    found = []
    for ref in rule.operators:
        for job in jobs:
            if rule.job in ("", job.name):
                by_id = [op for op in job.operators if op.id == ref]
                named = [op for op in job.operators if op.name == ref]
                chosen = by_id or (named if len(named) == 1 else [])
                found += [(job, op) for op in chosen]
    return found


def _changes(job: JobGraph, op: Operator, wanted: Parallelism) -> bool:
    return wanted.get(job.name, {}).get(op.id, op.parallelism) != op.parallelism


def _owners(n: int, key_groups: int) -> list[int]:
    """Return the subtask of n that owns each key group."""
    return [g * n // key_groups for g in range(key_groups)]


def _heirs(old: int, new: int, key_groups: int) -> list[int]:
    """Return, for each new subtask, the old one that owned most of its key groups."""
    if not key_groups:
        return [i * old // new for i in range(new)]
    pairs = Counter(zip(_owners(new, key_groups), _owners(old, key_groups), strict=True))
    most: dict[int, int] = {}
    for (heir, was), count in sorted(pairs.items()):
        if heir not in most or count > pairs[heir, most[heir]]:
            most[heir] = was
    return [most[i] for i in range(new)]


def _with_shares(job: JobGraph, stream: Stream, n: int) -> Stream:
    target = job.operator(stream.target)
    if stream.cost is None or stream.cost.shares is None or n == target.parallelism:
        return stream
    measured = {ShipStrategy.REBALANCE, ShipStrategy.SHUFFLE, ShipStrategy.CUSTOM}
    if stream.ship_strategy in measured:
        raise InvalidInputError(
            f"{target.name!r} cannot change its parallelism: the shares of stream "
            f"{job.operator(stream.source).name!r} -> {target.name!r} "
            f"({stream.ship_strategy.value}) are known by subtask, and not by key group",
            _CURE,
        )
    shares: tuple[float, ...] | None = None
    if stream.ship_strategy is ShipStrategy.HASH:
        k = target.max_parallelism
        old = _owners(target.parallelism, k)
        groups = Counter(old)
        mapped = [0.0] * n
        for was, heir in zip(old, _owners(n, k), strict=True):
            mapped[heir] += stream.cost.shares[was] / groups[was]
        total = sum(mapped)
        shares = tuple(v / total for v in mapped)
    return stream.model_copy(update={"cost": stream.cost.model_copy(update={"shares": shares})})


def _pins(jobs: Sequence[JobGraph], rule: Pin, wanted: Parallelism) -> list[AnyRule]:
    """Return a pin of single subtasks as one for each operator, in the other parallelism."""
    named = meant(jobs, rule)
    beyond = any(i >= op.parallelism for _, op in named for i in rule.subtasks)
    if beyond or not any(_changes(job, op, wanted) for job, op in named):
        # A subtask that does not exist is an error of the rule, whatever the parallelism.
        return [rule]
    found: list[AnyRule] = []
    for job, op in named:
        chosen: tuple[int, ...] = rule.subtasks
        if _changes(job, op, wanted):
            n = wanted[job.name][op.id]
            mapped = _pinned(op, rule.subtasks, n, key_groups_of(job).get(op.id, 0))
            if mapped is None:
                raise InvalidInputError(
                    f"{op.name!r} cannot have parallelism {n}: rule {rule.title()!r} names single "
                    "subtasks, and there no subtasks own the same key groups",
                    _CURE,
                )
            chosen = mapped
        update = {"operators": (op.id,), "job": job.name, "subtasks": chosen}
        found.append(rule.model_copy(update=update))
    return found


def _pinned(
    op: Operator, subtasks: Sequence[int], n: int, key_groups: int
) -> tuple[int, ...] | None:
    """Return the subtasks of n that own just the key groups of some subtasks; None: none do."""
    if set(subtasks) == set(range(op.parallelism)):
        return tuple(range(n))
    if not key_groups:
        return None
    pinned = set(subtasks)
    held: dict[int, set[bool]] = {i: set() for i in range(n)}
    for was, heir in zip(_owners(op.parallelism, key_groups), _owners(n, key_groups), strict=True):
        held[heir].add(was in pinned)
    if any(len(of) > 1 for of in held.values()):
        return None
    return tuple(i for i, of in held.items() if True in of)
