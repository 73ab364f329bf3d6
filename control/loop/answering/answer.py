"""The answer to a `Solve`, by the solver and the evaluator; the simulated Flink uses it too."""

import dataclasses
from collections.abc import Sequence

import networkx as nx

from edgeplace.control.loop.answering.known import Known
from edgeplace.control.loop.answering.machines import advised
from edgeplace.control.loop.answering.rates import AtRates, evaluated
from edgeplace.control.loop.answering.restored import Restored, restored_by
from edgeplace.control.loop.answering.weighing import better_weights, in_force
from edgeplace.control.loop.events import DayOption, Figures, Places, Promises, Solve, Solved
from edgeplace.control.settings import refuse_periods
from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Cluster,
    Colocate,
    Evaluation,
    InvalidInputError,
    JobGraph,
    Match,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    split_streams,
)
from edgeplace.model.what_if.case import Case
from edgeplace.model.what_if.cluster_changes import without_site
from edgeplace.model.what_if.parallelism import meant

_MOST_HEADROOM = 1e9
_KEPT_OUT = "edgeplace.kept-out"
"""Label of nodes."""
_COMBINE = "combine"
"""Name of the combiners of a split aggregate, or its end behind `: `."""


def answer(
    ask: Solve,
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    at_s: float,
    costs_age_s: float | None = None,
    known: Known | None = None,
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
    known
        What was proved before; gets what is proved now.
    """
    try:
        refuse_periods(rules)
        return _answer(ask, job, cluster, rules, at_s, costs_age_s, known or Known())
    except InvalidInputError as e:
        return Solved(at_s=at_s, ticket=ask.ticket, problem=f"{e.what} ({e.cure})")


def _answer(
    ask: Solve,
    job: JobGraph,
    cluster: Cluster,
    rules: Rules | None,
    at_s: float,
    costs_age_s: float | None,
    known: Known,
) -> Solved:
    now = Plan(jobs={job.name: ask.places})
    job = in_force(job, ask.weights)
    if ask.without:
        cluster = without_site(cluster, ask.without)
        _check_sources(ask, job, cluster)
    # Sources that are born nowhere else are held where they run now.
    case = Case((job,), cluster, rules).in_parallelism_of(now)
    case = dataclasses.replace(case, current=now)
    (job,), rules = case.jobs, case.rules
    at = AtRates(case)
    expected = at.at(ask.rates).case
    if ask.machines:
        found = advised(expected, _numbers(ask, job, rules), ask.limit_s)
        return Solved(at_s=at_s, ticket=ask.ticket, advice=found, costs_age_s=costs_age_s)
    stay = evaluated(expected, ask.places)
    came = at.at(ask.came or ask.rates)
    came_stay = came_other = None
    if ask.came:
        came_stay, _ = came.wan(ask.places)
        if ask.other:
            wan, fits = came.wan(ask.other)
            # A plan that would not have borne what came has saved nothing.
            came_other = wan if fits else None
    numbers = _numbers(ask, job, rules)
    held = _split_operators(ask, case)
    if numbers is not None:
        numbers = {op: found for op, found in numbers.items() if op not in held}
    asked = AtRates(_kept_out(ask, _held(ask, case, held))) if ask.avoid or held else at
    plan, unproved = _best(ask, asked.at(ask.rates), stay.wan_cost, numbers, known)
    places = dict(plan.of(job.name)) if plan else {}
    moved = _changed_together(job, ask.places, places)
    best = evaluated(expected, places) if moved else None
    restored = restored_by(job, cluster, places) if best else Restored()
    judged = [(ask.places, stay), *([(places, best)] if best else [])]
    day, bounds = _day(ask, at, came, asked, numbers, judged, known)
    weighed = None if ask.without else better_weights(expected, ask.places, ask.weights, held)
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
        restore_bytes=restored.bytes,
        restore_cost=restored.cost,
        currency=cluster.currency or "",
        promises=_promises(came, places) if best else None,
        unproved_cost=unproved,
        came_stay_cost=came_stay,
        came_other_cost=came_other,
        costs_age_s=costs_age_s,
        held=tuple(job.operator(op).name for op in held),
        weights=weighed.weights if weighed else {},
        weighed=_figures(weighed.evaluation) if weighed else None,
        weights_unproved_cost=weighed.unproved_cost if weighed else 0.0,
    )


def _split_operators(ask: Solve, case: Case) -> tuple[str, ...]:
    """Return the combiners of split aggregates that are not to move.

    Weights are by subtask and suit its place: a move would leave them in force at the wrong one.
    Where a place is lost, or a rule says where the subtasks run, they are not held.
    """
    (job,), cluster = case.jobs, case.cluster
    gone = {t.id for t in cluster.task_managers if t.slots == 0}
    ruled = {ref for rule in (case.rules or Rules()).rules for ref in rule.operators}
    return tuple(
        op.id
        for op in job.operators
        if (op.name == _COMBINE or op.name.endswith(f": {_COMBINE}"))
        and split_streams(job, op.id)
        and not {op.id, op.name} & ruled
        and ask.places.get(op.id)
        and not gone & set(ask.places[op.id])
    )


def _held(ask: Solve, case: Case, operators: tuple[str, ...]) -> Case:
    """Return a case in which some operators stay where they run."""
    pins = tuple(
        Pin(
            operators=(op,),
            subtasks=tuple(k for k, at in enumerate(ask.places[op]) if at == tm),
            to=tm,
        )
        for op in operators
        for tm in dict.fromkeys(ask.places[op])
    )
    if not pins:
        return case
    given = case.rules or Rules()
    rules = given.model_copy(update={"rules": (*given.rules, *pins)})
    return dataclasses.replace(case, rules=rules)


def _numbers(ask: Solve, job: JobGraph, rules: Rules | None) -> dict[str, tuple[int, ...]] | None:
    """Return the numbers of subtasks to choose from: what runs is always among them.

    Routers and combiners with weights in force keep their number, as weights are by subtask.

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
    weighted = _weighted(job, rules)
    for op, asked in ask.parallelism.items():
        if job.operator(op).id in weighted:
            continue
        now = job.operator(op).parallelism
        least = now if ask.drains else 1
        numbers[op] = tuple(sorted({now, *(n for n in asked if n >= least)}))
    return numbers


def _weighted(job: JobGraph, rules: Rules | None) -> set[str]:
    """Return the operators of streams with weights in force, and all that have their number."""
    same: nx.Graph[str] = nx.Graph()
    same.add_nodes_from(op.id for op in job.operators)
    same.add_edges_from(
        (s.source, s.target) for s in job.streams if s.ship_strategy is ShipStrategy.FORWARD
    )
    for rule in rules.rules if rules else ():
        if isinstance(rule, Colocate):
            nx.add_path(same, [op.id for _, op in meant((job,), rule)])
    dealt = [s for s in job.streams if s.cost and s.cost.shares_by_producer]
    ends = {op for s in dealt for op in (s.source, s.target)}
    return {op for part in nx.connected_components(same) if ends & part for op in part}


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
    ask: Solve,
    at: AtRates,
    came: AtRates,
    asked: AtRates,
    numbers: dict[str, tuple[int, ...]] | None,
    judged: Sequence[tuple[Places, Evaluation]],
    known: Known,
) -> tuple[tuple[DayOption, ...], tuple[float, ...]]:
    """Return the options of the day, each judged at each level, and a bound at each level.

    Parameters
    ----------
    came
        At the rates that came.
    asked
        Without what is to be avoided; plans are looked for there.
    judged
        What runs, and what is best now, at the rates of now.
    """
    if not ask.day:
        return (), ()
    (job,) = at.case.jobs
    rates = [{op: rate * level for op, rate in ask.rates.items()} for level in ask.day]
    limit_s = max(1.0, ask.limit_s / len(rates))
    levels = [at.at(each) for each in rates]
    looked_for = levels if asked is at else [asked.at(each) for each in rates]
    # A bound at a level says something of those above it.
    ascending = sorted(range(len(rates)), key=lambda i: ask.day[i])
    solved = {i: known.best(looked_for[i], limit_s, numbers, ("wan",)) for i in ascending}
    options: list[DayOption] = []
    plans = (solved[i].plan for i in range(len(rates)))
    found = [*judged, *((dict(plan.of(job.name)), None) for plan in plans if plan)]
    for places, then in found:
        if any(places == option.places for option in options):
            continue
        now = then or evaluated(levels[0].case, places)
        restored = restored_by(job, at.case.cluster, places) if options else Restored()
        wan, fits = zip(*(level.wan(places) for level in levels), strict=True)
        options.append(
            DayOption(
                places=places,
                figures=_figures(now),
                moves=now.moves,
                moved_operators=len(_changed_together(job, ask.places, places)),
                rescaled=_rescaled(job, places),
                restore_bytes=restored.bytes,
                restore_cost=restored.cost,
                promises=_promises(came, places) if options else None,
                wan_cost=wan,
                fits=fits,
            )
        )
    bounds = (max(0.0, solved[i].wan_bound or 0.0) for i in range(len(rates)))
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


def _best(
    ask: Solve,
    at: AtRates,
    stay_wan: float,
    numbers: dict[str, tuple[int, ...]] | None,
    known: Known,
) -> tuple[Plan | None, float]:
    """Return the best plan found, and the WAN cost per second that a better one may save."""
    found = known.best(at, ask.limit_s, numbers)
    if found.wan is not None and 0 < stay_wan - found.wan <= found.unproved:
        found = known.best(at, ask.limit_s, numbers, near=0.0)
    if found.plan is None:
        # Nothing bears it: what bears most, then.
        most = known.best(at, ask.limit_s, numbers, ("throughput", *DEFAULT_OBJECTIVE))
        return most.plan, 0.0
    (job,) = at.case.jobs
    there = found.plan.of(job.name)
    if ask.one_operator or (ask.one_rescaled and _rescaled(job, there)):
        return _one_operator(at.case, ask.places, there), found.unproved
    return found.plan, found.unproved


def _one_operator(case: Case, here: Places, there: Places) -> Plan | None:
    """Return the plan that takes one operator of the goal and sends least; None: none fits."""
    (job,) = case.jobs
    best: tuple[float, Plan] | None = None
    for together in _changed_together(job, here, there):
        places = {**here, **{op: there[op] for op in together}}
        judged = evaluated(case, places)
        if judged.feasible and (best is None or judged.wan_cost < best[0]):
            best = judged.wan_cost, Plan(jobs={job.name: places})
    return best[1] if best else None


def _promises(came: AtRates, places: Places) -> Promises:
    judged = evaluated(came.case, places)
    return Promises(
        wan_bytes_per_s=judged.wan_bytes_per_s, headroom=min(judged.headroom, _MOST_HEADROOM)
    )


def _figures(judged: Evaluation) -> Figures:
    broken = judged.violations[0] if judged.violations else None
    return Figures(
        fits=judged.feasible,
        headroom=min(judged.headroom, _MOST_HEADROOM),
        wan_bytes_per_s=judged.wan_bytes_per_s,
        wan_cost=judged.wan_cost,
        latency_ms=judged.latency_ms,
        server_cores=judged.server_cores,
        broken=f"{broken.kind} of {broken.where}" if broken else "",
    )
