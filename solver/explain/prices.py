"""Prices: the gain from one more slot, core or Mbit/s at a limit that binds.

Placements are whole numbers, so a limit has no dual price: what a bit more of it is worth is found
by solving again with it.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    Evaluation,
    InvalidInputError,
    JobGraph,
    Limit,
    LimitKind,
    ObjectiveLevel,
    ObjectiveName,
    Plan,
    Result,
    Rules,
    Status,
    objective_levels,
)
from edgeplace.model.what_if.cluster_changes import with_bandwidth, with_cores, with_slots
from edgeplace.solver.clock import Clock, limited
from edgeplace.solver.evaluation.evaluate import evaluate
from edgeplace.solver.explain.moves import newly
from edgeplace.solver.explain.reasons import why
from edgeplace.solver.explain.tightness import sites_of_limits, tightest
from edgeplace.solver.solve import solve
from edgeplace.solver.tolerances import OPTIMAL_GAP

TIGHT = 0.8
"""Share in use from which a limit is given a price."""
_MOST_SITES = 30
"""Cores and slots outside the cloud that are tried although no single operator lacks them."""
MBIT = 125_000.0
"""Bytes."""
_Candidate = tuple[LimitKind, Limit, str]
"""What may be given a price: kind, limit, and site, empty for links."""


@dataclass(frozen=True)
class Price:
    """The gain of the best plan from one more unit of a resource."""

    kind: LimitKind
    where: str
    """TaskManager, node or link."""
    site: str
    """Where it is; empty for links."""
    used: float
    """Share in use without it."""
    value: float
    """First term of the objective with it."""
    bound: float
    """No plan with it is better than this."""
    proved: bool
    """Whether `value` is the best there is."""
    plan: Plan


@dataclass(frozen=True)
class Prices:
    """The best plan as things are, and with one more of each thing that may be scarce."""

    objective: ObjectiveName
    value: float
    """Of the best plan found as things are."""
    bound: float
    proved: bool
    plan: Plan
    prices: tuple[Price, ...]
    """Of limits that keep an operator from a better place, of those at least 80 % in use, and of
    the node with the fullest cores and the TaskManager with the fullest slots of each site outside
    the cloud: several operators together may lack what none lacks by itself."""
    left_out: tuple[Limit, ...]
    """Such limits for which no time was left."""
    untried: int
    """Cores and slots outside the cloud, less in use than those tried, beyond the 30 fullest."""


def prices(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
    time_limit_s: float = 10.0,
    backend: str = "milp",
) -> Prices:
    """Return the value of one more unit of each scarce resource, by solving again.

    Parameters
    ----------
    plan
        Taken as the best known if it holds.
    time_limit_s
        Wall time of all searches together; each is given an equal share of what is left, those of
        limits that a single operator meets, or that are nearly used up, before the others.
    backend
        As in `solve`.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, the time limit is negative, or neither the plan nor one that
        was found holds.
    """
    if not time_limit_s >= 0:
        raise InvalidInputError(
            f"the time limit {time_limit_s} must not be negative", "use 0 or more"
        )
    with limited(time_limit_s) as clock:
        return _prices(job_graph, cluster, plan, rules, current, objective, clock, backend)


def _prices(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None,
    current: Plan | None,
    objective: Sequence[str | ObjectiveLevel],
    clock: Clock,
    backend: str,
) -> Prices:
    name = objective_levels(objective, cluster)[0].name

    def best(changed: Cluster, seconds: float, known: Plan | None) -> tuple[Plan, float, Result]:
        result = solve(
            job_graph, changed, rules, (name,), current, time_limit_s=seconds, backend=backend
        )
        found = [p for p in (known, result.plan) if p is not None]
        judged = [(evaluate(job_graph, changed, p, rules, current), p) for p in found]
        # With `throughput` first, limits that grow with the rates may be exceeded.
        holding = [(e.value(name), p) for e, p in judged if e.feasible or p is result.plan]
        if not holding:
            raise InvalidInputError(
                "there is no plan to start from: the one given breaks limits, and "
                + ("none exists" if result.status is Status.INFEASIBLE else "none was found"),
                "solve first: edgeplace solve says why no plan exists; or give more time",
            )
        # Of plans as good, the one that the user knows.
        value, p = min(holding, key=lambda h: float(f"{h[0]:.7g}"))
        return p, value, result

    # Half of the time at most: without a proof here, the prices are worth less.
    kept, value, result = best(cluster, (clock.left() or 0.0) / 2, plan)
    evaluation = evaluate(job_graph, cluster, kept, rules, current)
    scarce = _scarce(job_graph, cluster, kept, rules, current, name, evaluation)
    others = _fullest(cluster, evaluation, {(kind, site) for kind, _, site in scarce})
    tried = [*scarce, *others[:_MOST_SITES]]
    found: list[Price] = []
    for i, (kind, at, site) in enumerate(tried):
        sharing = (len(scarce) if i < len(scarce) else len(tried)) - i
        left = (clock.left() or 0.0) / sharing
        if left <= 0:
            break
        # What holds now holds with more, too.
        then, better, again = best(_CHANGES[kind](cluster, *at.subject), left, kept)
        bound = _bound(again, better)
        found.append(
            Price(
                kind=kind,
                where=at.where,
                site=site,
                used=at.utilisation,
                value=better,
                bound=bound,
                proved=_proved(better, bound),
                plan=then,
            )
        )
    bound = _bound(result, value)
    return Prices(
        objective=name,
        value=value,
        bound=bound,
        proved=_proved(value, bound),
        plan=kept,
        prices=tuple(found),
        left_out=tuple(at for _, at, _ in tried[len(found) :]),
        untried=len(others[_MOST_SITES:]),
    )


def _scarce(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None,
    current: Plan | None,
    name: ObjectiveName,
    evaluation: Evaluation,
) -> list[_Candidate]:
    """Return kind, limit and site of what to give prices, one of a kind at a site.

    First what keeps an operator from a better place, then what is nearly used up.
    """
    blocking: list[Limit] = []
    for reason in why(job_graph, cluster, plan, rules, current, (name,)):
        for other in reason.alternatives:
            if other.breaks and other.objective == name and other.after < other.before:
                judged = evaluate(job_graph, cluster, other.plan, rules, current)
                blocking += newly(judged.violations, evaluation.violations)
    full = tightest(cluster, evaluation)
    wanted = [*blocking, *(t.limit for t in full if t.limit.utilisation >= TIGHT)]
    limits = (*evaluation.links, *evaluation.nodes, *evaluation.task_managers)
    now = {(v.kind, v.where): v for v in limits}
    site_of = sites_of_limits(cluster)
    found: dict[tuple[str, str], _Candidate] = {}
    for v in wanted:
        if v.kind in _CHANGES:
            site = site_of.get((v.kind, v.where), "")
            found.setdefault((v.kind, site or v.where), (v.kind, now[v.kind, v.where], site))
    return list(found.values())


def _fullest(
    cluster: Cluster, evaluation: Evaluation, known: Set[tuple[str, str]]
) -> list[_Candidate]:
    """Return the fullest node and TaskManager of each site outside the cloud, the most used first.

    Parameters
    ----------
    known
        Kind and site of what has its price already.
    """
    outside = {s.id for s in cluster.sites if s.tier != "cloud"}
    site_of = sites_of_limits(cluster)
    kinds: tuple[tuple[LimitKind, tuple[Limit, ...]], ...] = (
        (LimitKind.NODE_CPU, evaluation.nodes),
        (LimitKind.SLOTS, evaluation.task_managers),
    )
    found: dict[tuple[str, str], _Candidate] = {}
    for kind, limits in kinds:
        for v in sorted(limits, key=lambda v: -v.utilisation):
            site = site_of[kind, v.where]
            if site in outside and (kind, site) not in known:
                found.setdefault((kind, site), (kind, v, site))
    return sorted(found.values(), key=lambda c: -c[1].utilisation)


def _bound(result: Result, value: float) -> float:
    return min(result.bound or 0.0, value)


def _proved(value: float, bound: float) -> bool:
    return value - bound <= OPTIMAL_GAP * max(1.0, abs(value))


_CHANGES: dict[LimitKind, Callable[..., Cluster]] = {
    LimitKind.SLOTS: partial(with_slots, more=1),
    LimitKind.NODE_CPU: partial(with_cores, more=1.0),
    LimitKind.LINK_BANDWIDTH: partial(with_bandwidth, change=lambda now: now + MBIT),
}
"""Of each kind that is given a price: the cluster with one more of a thing, by its ids."""
