"""Costs as large as they are with a stated probability at most.

An interval of 90 % that was found for CPU time is that of a log-normal distribution, so other
probabilities have other ends of it. A rate that only has the spread of its samples varies by it,
log-normally, too.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

from edgeplace.model.cost import ClassCost
from edgeplace.model.job import JobGraph, Operator

_OF_INTERVALS = NormalDist().inv_cdf(0.95)
"""Standard deviations from the middle to the end of an interval of 90 %."""
_HELD = (
    "Of 117 placements on a real Flink, 97 sustained at least 95 % of the rate predicted with "
    "90 %, and 81 of the one predicted by the costs as measured"
)
"""How often a confidence held on the headline (`benchmarks/sustained.py`)."""


def at_confidence(job: JobGraph, probability: float) -> JobGraph:
    """Return a job with the CPU costs that are not exceeded with a probability, each by itself.

    Costs without an interval or a spread stay as they are: see `ClassCost.has_interval`.

    Parameters
    ----------
    probability
        0.5 or more, below 1.
    """
    deviations = NormalDist().inv_cdf(probability)
    operators = tuple(_raised(op, deviations) for op in job.operators)
    return job.model_copy(update={"operators": operators})


def planned_with(jobs: Sequence[JobGraph], probability: float) -> str:
    """Return what a plan with a confidence rests on, for people."""
    costs = [c for job in jobs for op in job.operators if op.cost for c in op.cost.classes]
    known = sum(c.has_interval for c in costs)
    return (
        f"planned with CPU costs that are not exceeded with a probability of "
        f"{100 * probability:g}%, "
        f"each by itself: {known} of {len(costs)} have an interval or a spread, and the others are "
        f"taken as they are. {_HELD}"
    )


def interval_ms(cost: ClassCost) -> tuple[float, float] | None:
    """Return where the CPU time of a record lies with a probability of 90 %; None: not known.

    It is the interval that was found for CPU time, or else the spread of the rate.
    """
    if cost.cpu_interval_ms_per_record:
        return cost.cpu_interval_ms_per_record
    if cost.relative_spread is None:
        return None
    away = _by_spread(cost.relative_spread, _OF_INTERVALS)
    return cost.core_ms_per_record / away, cost.core_ms_per_record * away


def _by_spread(relative_spread: float, deviations: float) -> float:
    """Return by what factor a cost is exceeded as seldom as a normal variable exceeds so many
    standard deviations: it is log-normal, with this standard deviation over its mean.
    """
    return math.exp(deviations * math.sqrt(math.log1p(relative_spread**2)))


def _raised(op: Operator, deviations: float) -> Operator:
    if op.cost is None:
        return op
    classes = tuple(_upper(c, deviations) for c in op.cost.classes)
    return op.model_copy(update={"cost": op.cost.model_copy(update={"classes": classes})})


def _upper(cost: ClassCost, deviations: float) -> ClassCost:
    if not cost.has_interval:
        return cost
    by_spread = _by_spread(cost.relative_spread or 0.0, deviations)
    cpu, ends = cost.cpu_ms_per_record, cost.cpu_interval_ms_per_record
    by_interval = by_spread
    if cpu and ends and ends[1] > cpu:
        by_interval = math.exp(deviations / _OF_INTERVALS * math.log(ends[1] / cpu))
    if cost.origin == "estimated":
        by_spread = by_interval
    return cost.model_copy(
        update={
            "true_rate_per_s": cost.true_rate_per_s / by_spread,
            "cpu_ms_per_record": cpu and cpu * by_interval,
            # What has been used up is not there again.
            "cpu_interval_ms_per_record": None,
            "relative_spread": None,
        }
    )
