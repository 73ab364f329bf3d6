"""The answer to a `Solve`, by the solver and the evaluator; the simulated Flink uses it too."""

import dataclasses

import networkx as nx

from edgeplace.control.loop.events import DayOption, Figures, Places, Rates, Solve, Solved
from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    Evaluation,
    InvalidInputError,
    JobGraph,
    Match,
    Pin,
    Plan,
    Result,
    Rules,
    ShipStrategy,
    objective_levels,
)
from edgeplace.model.what_if.case import Case
from edgeplace.model.what_if.cluster_changes import without_site
from edgeplace.solver import evaluate, solve_case

_MOST_HEADROOM = 1e9
_KEPT_OUT = "edgeplace.kept-out"
"""Label of nodes."""


def answer(
    ask: Solve,
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    at_s: float,
    costs_age_s: float | None = None,
) -> Solved:
    """Solve a case at the rates asked for, and evaluate what runs.

    Parameters
    ----------
    job
        With costs; in any parallelism.
    cluster
        With the TaskManagers that are registered now.
    at_s
        When the answer is there; the driver puts its own time in.
    """
    try:
        return _answer(ask, job, cluster, rules, at_s, costs_age_s)
    except InvalidInputError as e:
        return Solved(at_s=at_s, ticket=ask.ticket, problem=f"{e.what} ({e.cure})")


def _answer(
    ask: Solve,
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    at_s: float,
    costs_age_s: float | None,
) -> Solved:
    now = Plan(jobs={job.name: ask.places})
    if ask.without:
        cluster = without_site(cluster, ask.without)
        _check_sources(ask, job, cluster)
    # Sources that are born nowhere else are held where they run now.
    case = Case((job,), cluster, rules).in_parallelism_of(now)
    case = dataclasses.replace(case, current=now)
    (job,), rules = case.jobs, case.rules
    expected = case.with_job(at_rates(job, ask.rates))
    stay = _evaluated(expected, ask.places)
    came_stay = came_other = None
    if ask.came:
        came = case.with_job(at_rates(job, ask.came))
        came_stay = _evaluated(came, ask.places).wan_cost
        if ask.other:
            other = _evaluated(came, ask.other)
            # A plan that would not have borne what came has saved nothing.
            came_other = other.wan_cost if other.feasible else None
    numbers = _numbers(ask, job, rules)
    plan, unproved = _best(ask, _kept_out(ask, expected), numbers)
    places = dict(plan.of(job.name)) if plan else {}
    moved = _changed_together(job, ask.places, places)
    best = _evaluated(expected, places) if moved else None
    day, bounds = _day(ask, case, numbers, places if best else None)
    return Solved(
        at_s=at_s,
        ticket=ask.ticket,
        day=day,
        day_bounds=bounds,
        stay=_figures(stay),
        best=_figures(best) if best else None,
        places=places if best else {},
        moves=best.moves if best else 0,
        moved_operators=len(moved),
        rescaled=_rescaled(job, places),
        restore_bytes=restore_bytes(job, cluster, places) if best else 0.0,
        unproved_bytes_per_s=unproved,
        came_stay_bytes_per_s=came_stay,
        came_other_bytes_per_s=came_other,
        costs_age_s=costs_age_s,
    )


def _evaluated(case: Case, places: Places) -> Evaluation:
    """Return the evaluation of a placement, in its own parallelism."""
    plan = Plan(jobs={case.jobs[0].name: places})
    case = case.in_parallelism_of(plan)
    return evaluate(case.jobs, case.cluster, plan, case.rules, case.current)


def _numbers(ask: Solve, job: JobGraph, rules: Rules | None) -> dict[str, tuple[int, ...]] | None:
    """Return the numbers of subtasks to choose from: what runs is always among them.

    Raises
    ------
    InvalidInputError
        If an operator does not exist, or a rule pins single subtasks: of which number of subtasks
        it speaks is not known.
    """
    if not ask.parallelism:
        return None
    for rule in rules.rules if rules else ():
        if isinstance(rule, Pin) and rule.subtasks:
            raise InvalidInputError(
                f"rule {rule.title()!r} pins single subtasks, and `rescale` changes how many there "
                "are",
                "pin whole operators, or take `rescale` out of the control file",
            )
    numbers = {}
    for op, asked in ask.parallelism.items():
        now = job.operator(op).parallelism
        least = now if ask.drains else 1
        numbers[op] = tuple(sorted({now, *(n for n in asked if n >= least)}))
    return numbers


def _rescaled(job: JobGraph, places: Places) -> dict[str, int]:
    """Return the operators that have another number of subtasks in a plan, by name."""
    return {
        op.name: len(places[op.id])
        for op in job.operators
        if op.id in places and len(places[op.id]) != op.parallelism
    }


def _changed_together(job: JobGraph, here: Places, there: Places) -> list[tuple[str, ...]]:
    """Return the operators that a plan changes; those that FORWARD joins are rescaled together."""
    changed: nx.Graph[str] = nx.Graph()
    changed.add_nodes_from(op for op in sorted(there) if there[op] != here.get(op))
    for s in job.streams:
        rescaled = all(
            op in changed and len(there[op]) != len(here[op]) for op in (s.source, s.target)
        )
        if s.ship_strategy is ShipStrategy.FORWARD and rescaled:
            changed.add_edge(s.source, s.target)
    return sorted(tuple(sorted(part)) for part in nx.connected_components(changed))


def _day(
    ask: Solve, case: Case, numbers: dict[str, tuple[int, ...]] | None, best: Places | None
) -> tuple[tuple[DayOption, ...], tuple[float, ...]]:
    """Return the options of the day, each judged at each level, and a bound at each level."""
    if not ask.day:
        return (), ()
    (job,) = case.jobs
    at_levels = [
        case.with_job(at_rates(job, {op: rate * level for op, rate in ask.rates.items()}))
        for level in ask.day
    ]
    found = [ask.places, *([best] if best else [])]
    bounds = []
    for level in at_levels:
        solved = solve_case(
            _kept_out(ask, level),
            objective=objective_levels(("wan",)),
            time_limit_s=max(1.0, ask.limit_s / len(at_levels)),
            parallelism=numbers,
        )
        wan = next((v for v in solved.levels if v.name == "wan"), None)
        bounds.append(max(0.0, wan.bound) if wan else 0.0)
        if solved.plan is not None:
            found.append(dict(solved.plan.of(job.name)))
    options = []
    for i, places in enumerate(found):
        if places in found[:i]:
            continue
        judged = [_evaluated(level, places) for level in at_levels]
        options.append(
            DayOption(
                places=places,
                figures=_figures(judged[0]),
                moves=judged[0].moves,
                moved_operators=len(_changed_together(job, ask.places, places)),
                rescaled=_rescaled(job, places),
                restore_bytes=restore_bytes(job, case.cluster, places) if i else 0.0,
                wan_bytes_per_s=tuple(e.wan_cost for e in judged),
                fits=tuple(e.feasible for e in judged),
            )
        )
    return tuple(options), tuple(bounds)


def _check_sources(ask: Solve, job: JobGraph, cluster: Cluster) -> None:
    """Raise if a source runs at the site that is supposed to be lost: its job waits for it."""
    gone = {t.id for t in cluster.task_managers if t.slots == 0}
    for source in job.sources():
        if gone & set(ask.places.get(source.id, ())):
            raise InvalidInputError(
                f"source {source.name!r} runs at site {ask.without!r}",
                "take the site off `survive`: the job waits for it",
            )


def _kept_out(ask: Solve, case: Case) -> Case:
    """Return a case in which the TaskManagers to avoid get nothing new.

    Sources stay where their data is born, and what a rule pins stays pinned.
    """
    avoid = set(ask.avoid)
    if not avoid:
        return case
    (job,), cluster, rules = case.jobs, case.cluster, case.rules
    bad = {t.node for t in cluster.task_managers if t.id in avoid}
    nodes = tuple(
        n if n.id in bad else n.model_copy(update={"labels": {**n.labels, _KEPT_OUT: "no"}})
        for n in cluster.nodes
    )
    given = rules.rules if rules else ()
    pinned = {ref for rule in given if isinstance(rule, Pin) for ref in rule.operators}
    sources = {op.id for op in job.sources()}
    free = tuple(
        op.id
        for op in job.operators
        if op.id not in sources and not {op.id, op.name} & pinned and not op.born_at
    )
    if not free:
        return case
    match = Match(operators=free, labels={_KEPT_OUT: "no"})
    more = (rules or Rules()).model_copy(update={"rules": (*given, match)})
    cluster = cluster.model_copy(update={"nodes": nodes})
    return dataclasses.replace(case, cluster=cluster, rules=more)


def at_rates(job: JobGraph, rates: Rates) -> JobGraph:
    """Return the job with these rates of its sources.

    Raises
    ------
    InvalidInputError
        If it has no such source.
    """
    for source, rate in rates.items():
        job = job.with_source_rate(source, rate)
    return job


def restore_bytes(job: JobGraph, cluster: Cluster, places: Places) -> float:
    """Return the state that crosses the WAN when the job starts as a plan says.

    Flink reads all state back from the checkpoint storage, moved or not; a byte counts once for
    each link on its way, as bytes of `wan` do.
    """
    if cluster.checkpoint_storage is None:
        return 0.0
    links: nx.DiGraph[str] = nx.DiGraph()
    links.add_edges_from((a.source, a.target) for a in cluster.directed_links())
    links.add_node(cluster.checkpoint_storage)
    hops = nx.single_source_shortest_path_length(links, cluster.checkpoint_storage)
    site = {n.id: n.site for n in cluster.nodes}
    site_of = {t.id: site[t.node] for t in cluster.task_managers}
    total = 0.0
    for op in job.operators:
        state = (op.cost.state_bytes if op.cost else None) or 0.0
        row = places.get(op.id, ())
        total += sum(state / len(row) * hops.get(site_of[tm], 0) for tm in row)
    return total


def _best(
    ask: Solve, case: Case, numbers: dict[str, tuple[int, ...]] | None
) -> tuple[Plan | None, float]:
    """Return the best plan found, and the WAN bytes/s that a better one may save."""
    found = solve_case(case, time_limit_s=ask.limit_s, parallelism=numbers)
    if found.plan is None:
        # Nothing bears it: what bears most, then.
        found = solve_case(
            case,
            objective=objective_levels(("throughput", *DEFAULT_OBJECTIVE)),
            time_limit_s=ask.limit_s,
            parallelism=numbers,
        )
        return found.plan, 0.0
    (job,) = case.jobs
    rescales = bool(_rescaled(job, found.plan.of(job.name)))
    if ask.one_operator or (ask.one_rescaled and rescales):
        return _one_operator(case, ask.places, found.plan.of(job.name)), _unproved(found)
    return found.plan, _unproved(found)


def _unproved(found: Result) -> float:
    wan = next((v for v in found.levels if v.name == "wan"), None)
    return max(0.0, wan.value - wan.bound) if wan else 0.0


def _one_operator(case: Case, here: Places, there: Places) -> Plan | None:
    """Return the plan that takes one operator of the goal and sends least; None: none fits."""
    (job,) = case.jobs
    best: tuple[float, Plan] | None = None
    for together in _changed_together(job, here, there):
        places = {**here, **{op: there[op] for op in together}}
        judged = _evaluated(case, places)
        if judged.feasible and (best is None or judged.wan_cost < best[0]):
            best = judged.wan_cost, Plan(jobs={job.name: places})
    return best[1] if best else None


def _figures(judged: Evaluation) -> Figures:
    broken = judged.violations[0] if judged.violations else None
    return Figures(
        fits=judged.feasible,
        headroom=min(judged.headroom, _MOST_HEADROOM),
        wan_bytes_per_s=judged.wan_cost,
        latency_ms=judged.latency_ms,
        server_cores=judged.server_cores,
        broken=f"{broken.kind} of {broken.where}" if broken else "",
    )
