"""The answer to a `Solve`, by the solver and the evaluator; the simulated Flink uses it too."""

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
)
from edgeplace.model.what_if.cluster_changes import without_site
from edgeplace.solver import evaluate, solve

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
        As it runs, with costs.
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
    expected, now = at_rates(job, ask.rates), Plan(jobs={job.name: ask.places})
    if ask.without:
        cluster = without_site(cluster, ask.without)
        _check_sources(ask, job, cluster)
    # Sources that are born nowhere else are held where they run now.
    stay = evaluate(expected, cluster, now, rules, now)
    came_stay = came_other = None
    if ask.came:
        came = at_rates(job, ask.came)
        came_stay = evaluate(came, cluster, now, rules, now).wan_cost
        if ask.other:
            other = evaluate(came, cluster, Plan(jobs={job.name: ask.other}), rules, now)
            # A plan that would not have borne what came has saved nothing.
            came_other = other.wan_cost if other.feasible else None
    plan, unproved = _best(ask, expected, *_kept_out(ask, job, cluster, rules), now)
    places = dict(plan.of(job.name)) if plan else {}
    moved = [op for op in places if places[op] != ask.places.get(op)]
    best = evaluate(expected, cluster, plan, rules, now) if plan and moved else None
    rescaled, rescaled_figures = _rescaled(ask, expected, cluster, rules, now)
    day, bounds = _day(ask, job, cluster, rules, now, places if best else None)
    return Solved(
        at_s=at_s,
        ticket=ask.ticket,
        day=day,
        day_bounds=bounds,
        rescaled=rescaled,
        rescaled_figures=rescaled_figures,
        stay=_figures(stay),
        best=_figures(best) if best else None,
        places=places if best else {},
        moves=best.moves if best else 0,
        moved_operators=len(moved),
        restore_bytes=restore_bytes(job, cluster, places) if best else 0.0,
        unproved_bytes_per_s=unproved,
        came_stay_bytes_per_s=came_stay,
        came_other_bytes_per_s=came_other,
        costs_age_s=costs_age_s,
    )


def _rescaled(
    ask: Solve, job: JobGraph, cluster: Cluster, rules: Rules | None, now: Plan
) -> tuple[dict[str, int], Figures | None]:
    """Return which operators had better have another number of subtasks, and what that gives."""
    if not ask.parallelism:
        return {}, None
    kept = _kept_out(ask, job, cluster, rules)
    found = solve(
        job,
        *kept,
        current=now,
        time_limit_s=ask.limit_s,
        parallelism=ask.parallelism,
    )
    if found.evaluation is None or found.chosen is None:
        return {}, None
    chosen = found.chosen.parallelism.get(job.name, {})
    other = {op.id: chosen.get(op.id, op.parallelism) for op in job.operators}
    changed = {op.id: other[op.id] for op in job.operators if other[op.id] != op.parallelism}
    return changed, _figures(found.evaluation)


def _day(
    ask: Solve,
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    now: Plan,
    best: Places | None,
) -> tuple[tuple[DayOption, ...], tuple[float, ...]]:
    """Return the options of the day, each judged at each level, and a bound at each level."""
    if not ask.day:
        return (), ()
    at_levels = [
        at_rates(job, {op: rate * level for op, rate in ask.rates.items()}) for level in ask.day
    ]
    found = [ask.places, *([best] if best else [])]
    bounds = []
    kept_cluster, kept_rules = _kept_out(ask, job, cluster, rules)
    for level in at_levels:
        solved = solve(
            level,
            kept_cluster,
            kept_rules,
            ("wan",),
            now,
            time_limit_s=max(1.0, ask.limit_s / len(at_levels)),
        )
        wan = next((v for v in solved.levels if v.name == "wan"), None)
        bounds.append(max(0.0, wan.bound) if wan else 0.0)
        if solved.plan is not None:
            found.append(dict(solved.plan.of(job.name)))
    options = []
    for i, places in enumerate(found):
        if places in found[:i]:
            continue
        plan = Plan(jobs={job.name: places})
        judged = [evaluate(level, cluster, plan, rules, now) for level in at_levels]
        options.append(
            DayOption(
                places=places,
                figures=_figures(judged[0]),
                moves=judged[0].moves,
                moved_operators=sum(places[op] != ask.places.get(op) for op in places),
                restore_bytes=restore_bytes(job, cluster, places) if i else 0.0,
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


def _kept_out(
    ask: Solve, job: JobGraph, cluster: Cluster, rules: Rules | None
) -> tuple[Cluster, Rules | None]:
    """Return cluster and rules by which the TaskManagers to avoid get nothing new.

    Sources stay where their data is born, and what a rule pins stays pinned.
    """
    avoid = set(ask.avoid)
    if not avoid:
        return cluster, rules
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
        return cluster, rules
    match = Match(operators=free, labels={_KEPT_OUT: "no"})
    more = (rules or Rules()).model_copy(update={"rules": (*given, match)})
    return cluster.model_copy(update={"nodes": nodes}), more


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
        total += sum(state / op.parallelism * hops.get(site_of[tm], 0) for tm in row)
    return total


def _best(
    ask: Solve, job: JobGraph, cluster: Cluster, rules: Rules | None, now: Plan
) -> tuple[Plan | None, float]:
    """Return the best plan found, and the WAN bytes/s that a better one may save."""
    found = solve(job, cluster, rules, DEFAULT_OBJECTIVE, now, time_limit_s=ask.limit_s)
    if found.plan is None:
        # Nothing bears it: what bears most, then.
        most = ("throughput", *DEFAULT_OBJECTIVE)
        found = solve(job, cluster, rules, most, now, time_limit_s=ask.limit_s)
        return found.plan, 0.0
    if ask.one_operator:
        return _one_operator(job, cluster, rules, now, found.plan), _unproved(found)
    return found.plan, _unproved(found)


def _unproved(found: Result) -> float:
    wan = next((v for v in found.levels if v.name == "wan"), None)
    return max(0.0, wan.value - wan.bound) if wan else 0.0


def _one_operator(
    job: JobGraph, cluster: Cluster, rules: Rules | None, now: Plan, goal: Plan
) -> Plan | None:
    """Return the plan that takes one operator of the goal and sends least; None: none fits."""
    here, there = now.of(job.name), goal.of(job.name)
    best: tuple[float, Plan] | None = None
    for op in sorted(there):
        if there[op] == here[op]:
            continue
        plan = Plan(jobs={job.name: {**here, op: there[op]}})
        judged = evaluate(job, cluster, plan, rules, now)
        if judged.feasible and (best is None or judged.wan_cost < best[0]):
            best = judged.wan_cost, plan
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
