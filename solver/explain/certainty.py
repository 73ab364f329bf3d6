"""How sure a plan is: the intervals of the costs that it rests on, and what they do to its limits.

A plan holds at 90 % if no limit is exceeded with CPU costs that are not exceeded with this
probability, each by itself: the upper ends of one-sided intervals. The two-sided intervals that are
shown end higher, where a cost stays below with 95 %. Links have no interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgeplace.model import Case, Cluster, JobGraph, Limit, Plan, Rules, with_weights
from edgeplace.model.what_if.confidence import interval_ms
from edgeplace.solver.clock import unhurried
from edgeplace.solver.evaluation.evaluate import limit_at
from edgeplace.solver.evaluation.usage import Usage, Use, measure_usage
from edgeplace.solver.problem import build

PROBABILITY = 0.9


@dataclass(frozen=True)
class CostInterval:
    """The CPU time of a record of one operator on a node class where the plan has it."""

    job: str
    operator: str
    """Its name."""
    node_class: str
    ms_per_record: float
    interval_ms: tuple[float, float] | None
    """Where it lies with a probability of 90 %; None: not known."""
    origin: Literal["measured", "stated", "estimated"]


@dataclass(frozen=True)
class InDoubt:
    """A limit that holds by the costs as measured, and not by those not exceeded with 90 %."""

    measured: Limit
    upper_end: Limit


@dataclass(frozen=True)
class Certainty:
    """How sure a plan is.

    Attributes
    ----------
    costs
        Of each operator and node class of the plan, in the order of the jobs.
    in_doubt
        Limits that costs not exceeded with 90 % exceed.
    verdict
        `holds at 90 %`: all costs have an interval, and no limit is in doubt.
        `estimate`: a limit is in doubt, or a cost has no interval, was estimated, or is not known.
        `does not hold`: a limit is exceeded by the costs as measured.
    unknown
        Operators of the plan whose cost is not known there, with the node class.
    """

    costs: tuple[CostInterval, ...]
    in_doubt: tuple[InDoubt, ...]
    verdict: Literal["holds at 90 %", "estimate", "does not hold"]
    unknown: tuple[tuple[str, str], ...]


def certainty(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan,
    rules: Rules | None = None,
    current: Plan | None = None,
) -> Certainty:
    """Return the intervals of the costs behind a plan, and the limits that they put in doubt.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or do not fit together.
    """
    jobs = (job_graph,) if isinstance(job_graph, JobGraph) else tuple(job_graph)
    case = Case(jobs, cluster, rules, current)
    costs, unknown = _costs(case, plan)
    measured, upper = _usage(case, plan), _usage(case.at_confidence(PROBABILITY), plan)
    in_doubt = tuple(
        InDoubt(limit_at(measured, now, i), limit_at(upper, then, i))
        for now, then in zip(_uses(measured), _uses(upper), strict=True)
        for i in np.flatnonzero(then.over & ~now.over).tolist()
    )
    sure = not unknown and all(c.interval_ms and c.origin != "estimated" for c in costs)
    verdict: Literal["holds at 90 %", "estimate", "does not hold"] = "estimate"
    if not (measured.rated_hold and measured.fixed_hold):
        verdict = "does not hold"
    elif sure and not in_doubt:
        verdict = "holds at 90 %"
    return Certainty(costs, in_doubt, verdict, unknown)


def _uses(usage: Usage) -> tuple[Use, ...]:
    # A bound on latency or server cores does not grow with the rates, but with CPU costs it does.
    return (*usage.rated, *usage.fixed)


def _usage(case: Case, plan: Plan) -> Usage:
    # A plan that was found is shown, however late it is.
    with unhurried():
        jobs = with_weights(case.jobs, case.cluster, plan)
        problem = build(jobs, case.cluster, case.rules, case.current)
        return measure_usage(problem, problem.assignment(plan))


def _costs(case: Case, plan: Plan) -> tuple[tuple[CostInterval, ...], tuple[tuple[str, str], ...]]:
    class_of_node = {n.id: n.node_class for n in case.cluster.nodes}
    class_of = {t.id: class_of_node[t.node] for t in case.cluster.task_managers}
    costs, unknown = [], []
    for job in case.jobs:
        for op in job.operators:
            places = {class_of[tm] for tm in plan.of(job.name)[op.id]}
            for name in sorted(places):
                seen = op.cost.on(name) if op.cost else None
                if seen is None:
                    unknown.append((op.name, name))
                    continue
                ms, ends = seen.core_ms_per_record, interval_ms(seen)
                costs.append(CostInterval(job.name, op.name, name, ms, ends, seen.known_from))
    return tuple(costs), tuple(unknown)
