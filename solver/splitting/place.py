"""Places and weights together: chosen in turn, with a bound of both."""

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from edgeplace.model import (
    Case,
    Cluster,
    InvalidInputError,
    JobGraph,
    LevelResult,
    ObjectiveLevel,
    Plan,
    PlanMismatchError,
    Result,
    Status,
    StoppedBy,
    StreamCost,
    refuse_demand,
)
from edgeplace.model.objective import DEFAULT_OBJECTIVE
from edgeplace.model.what_if.confidence import planned_with
from edgeplace.solver.arrays import Floats
from edgeplace.solver.clock import Clock, limited, running, unhurried
from edgeplace.solver.linear.backend import SolverInterrupt
from edgeplace.solver.linear.left_behind import at_work
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.problem.problem import assumptions
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.solve import SolveOptions, levels_with_wishes, solve_case
from edgeplace.solver.splitting.joint_places import joint_places
from edgeplace.solver.splitting.operators import (
    SplitOperator,
    even_rows,
    split_operators,
    with_rows,
)
from edgeplace.solver.splitting.relaxed_places import relaxed_case, source_sites, without_operators
from edgeplace.solver.splitting.split import Weighting, split
from edgeplace.solver.tolerances import CONTRADICTION, OPTIMAL_GAP, SAME_VALUE

_ROUNDS = 8
_NONE_FOUND = (
    "no weights and places were found that hold all limits; that there are none is not proved"
)
_BOUND_SHARE = 0.2
"""Of the time: for each of the two bounds. The rest is for places."""
_LONGEST_S = 60.0
"""For places and weights in one model. Its bound counts, proved or not."""


@dataclass(frozen=True)
class SplitPlan:
    """Places and weights, and how good both are together.

    Attributes
    ----------
    result
        `bound` is that of all places and all weights. Of later levels only the value is known.
    split
        The weights for the places of the plan; None without a plan.
    """

    result: Result
    split: Weighting | None


def place_and_split(
    case: Case, operators: Sequence[str], **options: Unpack[SolveOptions]
) -> SplitPlan:
    """Choose the places of all subtasks together with the weights of some operators.

    One linear model has both (`joint_places`): its places are tried first, and it gives the bound.
    If they do not reach that, since the model leaves something out or the time was over, each
    source site gets workers of its own, by its share of the records. From either start on, places
    are solved for the weights, and weights for these places, until `wan` does not fall any more.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete, an operator cannot be split, the first level is not `wan`, or
        it is not known beforehand where the router runs.
    PlanMismatchError
        If the evaluator finds less than the bound: a bug of edgeplace.
    """
    confidence = options.pop("confidence", None)
    if confidence is not None:
        sure = place_and_split(case.at_confidence(confidence), operators, **options)
        notes = (planned_with(case.jobs, confidence), *sure.result.notes)
        return SplitPlan(sure.result.model_copy(update={"notes": notes}), sure.split)
    levels = levels_with_wishes(
        options.get("objective", DEFAULT_OBJECTIVE), case.cluster, case.rules
    )
    if levels[0].name != "wan" or options.get("parallelism") is not None:
        raise InvalidInputError(
            "weights are chosen for the fewest WAN bytes, with the parallelism given",
            "let wan be the first term of the objective, and leave --parallelism out",
        )
    refuse_demand(case.rules, "weights are chosen")
    ops = split_operators(case.jobs, operators)
    with limited(options.get("time_limit_s")) as clock:
        bound, relaxed, joint = _bound(case, ops, options, clock)
        if relaxed.status is Status.INFEASIBLE or bound == np.inf:
            return SplitPlan(_infeasible(case, ops, options, clock.left()), None)
        best, last = None, relaxed
        with unhurried():
            dealt = _dealt(case, ops)
        starts = [dealt, _without_cores(dealt, ops)]
        if joint is not None:
            with suppress(OutOfTimeError):
                weighted = _weighted(case, joint, operators)
                starts.insert(0, case.in_parallelism_of(weighted.plan).jobs)
        # With the workers' cores set aside they stand beside the data, as far as slots allow.
        for start in starts:
            if last.stopped_by is StoppedBy.INTERRUPT or (best and _proved(best[1], bound)):
                break
            found, last = _in_turn(case, start, operators, options, levels, clock)
            if found and (best is None or _better(found[1], best[1])):
                best = found
        runtime_s = clock.elapsed_s()
        over = clock.left() == 0.0
    stopped = StoppedBy.TIME_LIMIT if over else StoppedBy.NO_BETTER
    if last.stopped_by is StoppedBy.INTERRUPT:
        stopped = StoppedBy.INTERRUPT
    if best is None or not best[1].evaluation.feasible:
        unknown = Result(
            status=Status.UNKNOWN,
            stopped_by=stopped,
            runtime_s=runtime_s,
            backend=last.backend,
            notes=(*last.notes, _NONE_FOUND),
        )
        return SplitPlan(unknown, best[1] if best else None)
    placed, weighted = best
    value = weighted.evaluation.wan_cost
    _agree(value, bound)
    level = LevelResult(name="wan", value=value, bound=min(bound, value))
    later = ", ".join(v.name for v in levels[1:])
    partly: tuple[str, ...] = ()
    if _proved(weighted, bound) and not later:
        stopped = StoppedBy.PROOF
    elif _proved(weighted, bound):
        partly = (f"no places and weights give less wan: proved. Not proved is the rest: {later}",)
    elif level.gap <= options.get("gap", 0.0):
        stopped = StoppedBy.GAP
    with unhurried():
        as_planned = case.in_parallelism_of(weighted.plan)
        notes = assumptions(as_planned.jobs, case.cluster, case.rules, case.current)
    result = placed.model_copy(
        update={
            "status": Status.OPTIMAL if stopped is StoppedBy.PROOF else Status.FEASIBLE,
            "stopped_by": stopped,
            "plan": weighted.plan,
            "evaluation": weighted.evaluation,
            "levels": (level,),
            "incumbents": (),
            "notes": (*partly, *notes),
            "runtime_s": runtime_s,
        }
    )
    return SplitPlan(result, weighted)


def _in_turn(
    case: Case,
    jobs: Sequence[JobGraph],
    operators: Sequence[str],
    options: SolveOptions,
    levels: Sequence[ObjectiveLevel],
    clock: Clock,
) -> tuple[tuple[Result, Weighting] | None, Result]:
    """Choose places and weights in turn, from the weights of some jobs on.

    Returns
    -------
    The best places with their weights, None if there were none; and the last answer on places.
    """
    best: tuple[Result, Weighting] | None = None
    for _ in range(_ROUNDS):
        found = _placed(case, jobs, options, levels, clock.left())
        if found.plan is None:
            return best, found
        try:
            weighted = _weighted(case, found.plan, operators)
        except OutOfTimeError:
            return best, found
        if best is not None and not _better(weighted, best[1]):
            return best, found
        best = found, weighted
        jobs = case.in_parallelism_of(weighted.plan).jobs
        if clock.left() == 0.0 or found.stopped_by is StoppedBy.INTERRUPT:
            break
    return best, found


def _weighted(case: Case, plan: Plan, operators: Sequence[str]) -> Weighting:
    """Return the weights of a plan, whatever time is left.

    Raises
    ------
    OutOfTimeError
        If HiGHS still runs for a step whose time is over.
    """
    if running().limited and at_work("milp"):
        raise OutOfTimeError("HiGHS still runs for a call that is over")
    with unhurried():
        return split(case.jobs, case.cluster, plan, operators, case.rules, case.current)


def _agree(value: float, bound: float) -> None:
    """Check the `wan` of a plan that holds against the bound of all plans."""
    if value < bound * (1 - CONTRADICTION):
        raise PlanMismatchError(
            f"the evaluator finds {value:g} bytes/s of WAN traffic, and the bound of all places "
            f"and weights is {bound:g}"
        )


def _proved(found: Weighting, bound: float) -> bool:
    value = found.evaluation.wan_cost
    return found.evaluation.feasible and value - bound <= OPTIMAL_GAP * value


def _infeasible(
    case: Case, ops: Sequence[SplitOperator], options: SolveOptions, left_s: float | None
) -> Result:
    """Return the answer that no places and weights hold, with the conflict of even weights."""
    even = with_rows(case.jobs, even_rows(ops))
    asked: SolveOptions = {**options, "time_limit_s": left_s}
    found = solve_case(dataclasses.replace(case, jobs=even), **asked)
    if found.evaluation is not None and found.evaluation.feasible:
        _agree(found.evaluation.wan_cost, np.inf)
    return found


def _better(now: Weighting, before: Weighting) -> bool:
    if now.evaluation.feasible != before.evaluation.feasible:
        return now.evaluation.feasible
    if not now.evaluation.feasible:
        return now.evaluation.utilisation < before.evaluation.utilisation * (1 - SAME_VALUE)
    return now.evaluation.wan_cost < before.evaluation.wan_cost * (1 - SAME_VALUE)


def _bound(
    case: Case, ops: Sequence[SplitOperator], options: SolveOptions, clock: Clock
) -> tuple[float, Result, Plan | None]:
    """Return a bound of `wan` over all places and weights, and what the two models found.

    The bound is infinite if there is no plan.
    """
    with unhurried():
        even = with_rows(case.jobs, even_rows(ops))
        records = {op: _records_per_s(even[op.job], op, case.cluster) for op in ops}
        most = {op: sum(records[op].values()) for op in ops}
        jobs, cluster, rules = relaxed_case(even, case.cluster, case.rules, ops, most)
    relaxed = dataclasses.replace(
        case,
        jobs=tuple(jobs),
        cluster=cluster,
        rules=rules,
        current=case.current and without_operators(case.current, case.jobs, ops),
    )
    left_s = clock.left()
    found = solve_case(
        relaxed,
        objective=("wan",),
        time_limit_s=None if left_s is None else _BOUND_SHARE * left_s,
        backend=options.get("backend", "milp"),
        seed=options.get("seed", 0),
    )
    if found.status is Status.INFEASIBLE or found.stopped_by is StoppedBy.INTERRUPT:
        return found.bound or 0.0, found, None
    raw = {op: min(_least_size(even[op.job].streams[i].cost) for i in op.streams) for op in ops}
    seconds = _LONGEST_S if left_s is None else min(_LONGEST_S, _BOUND_SHARE * left_s)
    try:
        # Without a limit, only the search has one.
        with limited(None if left_s is None else seconds):
            joint, plan = joint_places(
                even, case.cluster, case.rules, case.current, ops, records, raw, seconds
            )
    except OutOfTimeError:
        return found.bound or 0.0, found, None
    except SolverInterrupt:
        stopped = found.model_copy(update={"stopped_by": StoppedBy.INTERRUPT})
        return found.bound or 0.0, stopped, None
    return max(joint, found.bound or 0.0), found, plan


def _least_size(cost: StreamCost | None) -> float:
    """Return the least size of a record."""
    if cost and cost.by_rate:
        return min(at.bytes_per_record for at in cost.by_rate)
    return (cost.bytes_per_record if cost else None) or 0.0


def _records_per_s(job: JobGraph, op: SplitOperator, cluster: Cluster) -> dict[str, float]:
    """Return the records/s that a router sends from each source site."""
    at = source_sites(job, op, cluster)
    traffic = Traffic.of([job])
    first = dict(
        zip(
            [o.id for o in job.operators],
            np.cumsum([0, *(o.parallelism for o in job.operators)]).tolist(),
            strict=False,
        )
    )
    found: dict[str, float] = {}
    for i, each in zip(op.streams, at, strict=True):
        start = first[job.streams[i].source]
        for k, s in enumerate(each):
            own = (traffic.stream == i) & (traffic.source == start + k)
            found[s] = found.get(s, 0.0) + float(traffic.records_per_s[own].sum())
    return found


def _placed(
    case: Case,
    jobs: Sequence[JobGraph],
    options: SolveOptions,
    levels: Sequence[ObjectiveLevel],
    left_s: float | None,
) -> Result:
    """Return the best places for given weights; if none hold, those that sustain the most."""
    weighted = dataclasses.replace(case, jobs=tuple(jobs))
    asked: SolveOptions = {**options, "objective": levels, "time_limit_s": left_s}
    found = solve_case(weighted, **asked)
    if found.plan is None and found.status is Status.INFEASIBLE:
        asked["objective"] = ("throughput", "wan")
        return solve_case(weighted, **asked)
    return found


def _without_cores(jobs: Sequence[JobGraph], ops: Sequence[SplitOperator]) -> tuple[JobGraph, ...]:
    """Return jobs whose split operators take no processor time."""
    changed = list(jobs)
    for op in ops:
        job = changed[op.job]
        operators = tuple(
            x.model_copy(update={"cost": x.cost.model_copy(update={"classes": ()})})
            if x.id == op.id and x.cost
            else x
            for x in job.operators
        )
        changed[op.job] = job.model_copy(update={"operators": operators})
    return tuple(changed)


def _dealt(case: Case, ops: Sequence[SplitOperator]) -> tuple[JobGraph, ...]:
    """Return jobs in which each source site has workers of its own, by its share of the records."""
    rows: dict[SplitOperator, Floats] = {}
    for op in ops:
        job = case.jobs[op.job]
        at = source_sites(job, op, case.cluster)
        if len({len(each) for each in at}) > 1:
            raise InvalidInputError(
                f"the routers of {op.name!r} have different parallelisms", "give them one"
            )
        demand = _records_per_s(job, op, case.cluster)
        owned = _shared_out(list(demand.values()), op.parallelism)
        by_site = dict(zip(demand, owned, strict=True))
        rows[op] = np.array([by_site[s] for s in at[0]])
    return with_rows(case.jobs, rows)


def _shared_out(demand: Sequence[float], workers: int) -> list[Floats]:
    """Return for each site the share of its records that each worker gets.

    Workers go one by one to the site with most records for each worker that it has; if there are
    fewer workers than sites, sites share the one with fewest records.
    """
    owned: list[list[int]] = [[] for _ in demand]
    load = np.zeros(workers)
    order = np.argsort(-np.asarray(demand), kind="stable").tolist()
    if workers >= len(order):
        for j in range(workers):
            i = (
                order[j]
                if j < len(order)
                else max(range(len(owned)), key=lambda i: demand[i] / len(owned[i]))
            )
            owned[i].append(j)
    else:
        for i in order:
            j = int(load.argmin())
            owned[i].append(j)
            load[j] += demand[i]
    rows = []
    for mine in owned:
        row = np.zeros(workers)
        row[mine] = 1 / len(mine)
        rows.append(row)
    return rows
