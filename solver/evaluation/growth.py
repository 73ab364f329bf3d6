"""Growth of the sources: the first limit that a placement reaches if all rates grow alike.

Where streams were measured at one rate, and no bytes of frames and packets are counted, all that
grows with the rates is proportional to them: the fullest limit says it all. Otherwise the limit is
looked for by the evaluator's own figures at the grown rates.
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.model import JobGraph, LimitKind
from edgeplace.model.job import Operator
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import with_jobs
from edgeplace.solver.tolerances import HEADROOM_GAP

_DOUBLINGS = 30
"""Steps in which a factor is looked for at which a limit is reached, or none is exceeded."""
_STEPS = 60
"""Most steps between the two; some six suffice."""


@dataclass(frozen=True)
class FirstLimit:
    """The limit that is reached first.

    Attributes
    ----------
    factor
        Of all rates at which it is reached; 0 if it is exceeded at all rates.
    kind, index
        Which limit it is: the number in the `Use` of its kind.
    """

    factor: float
    kind: LimitKind
    index: int


def first_limit(usage: Usage) -> FirstLimit | None:
    """Return the limit that is reached first if all sources grow by the same factor.

    Returns
    -------
    None if the fullest limit of now is the answer: its use is proportional to the rates, or no
    limit is in use, or something is used of which nothing is allowed.

    Raises
    ------
    OutOfTimeError
        If the time of the call that runs is over.
    """
    p = usage.problem
    proportional = p.cluster.mtu_bytes is None and not any(
        s.cost and s.cost.by_rate for job in p.subtasks.jobs for s in job.streams
    )
    if proportional or not 0 < usage.utilisation < np.inf:
        return None
    low, high = _bracket(usage)
    return None if high is None else _between(usage, low, high)


@dataclass(frozen=True)
class _At:
    """The use at a factor of the rates; `over` is the excess over the first limit."""

    factor: float
    usage: Usage

    @property
    def over(self) -> float:
        return self.usage.utilisation - 1


def _at(usage: Usage, factor: float) -> _At:
    p = usage.problem
    grown = with_jobs(p, [_grown(job, factor) for job in p.subtasks.jobs])
    return _At(factor, measure_usage(grown, usage.assignment))


def _grown(job: JobGraph, factor: float) -> JobGraph:
    """Return a job with the rates of its sources, and its checkpoints, times a factor."""
    return job.model_copy(
        update={"operators": tuple(_grown_operator(op, factor) for op in job.operators)}
    )


def _grown_operator(op: Operator, factor: float) -> Operator:
    if op.cost is None:
        return op
    demand, written = op.cost.demand, op.cost.checkpointed_bytes
    if demand is not None:
        rates = tuple(factor * rate for rate in demand.rates_per_s)
        demand = demand.model_copy(update={"rates_per_s": rates})
    changes = {"demand": demand, "checkpointed_bytes": written and factor * written}
    return op.model_copy(update={"cost": op.cost.model_copy(update=changes)})


def _bracket(usage: Usage) -> tuple[_At, _At | None]:
    """Return the use at a factor that holds, and at one that is too large; None: not found."""
    last = _At(1.0, usage)
    step = 0.5 if last.over > 0 else 2.0
    for _ in range(_DOUBLINGS):
        found = _at(usage, step * last.factor)
        if (found.over > 0) != (last.over > 0):
            return (found, last) if last.over > 0 else (last, found)
        last = found
    return (_At(0.0, last.usage), last) if last.over > 0 else (last, None)


def _between(usage: Usage, low: _At, high: _At) -> FirstLimit:
    """Return the limit that is reached between two factors.

    By the Illinois method (Dowell and Jarratt, BIT 11, 1971): a secant whose end that stays counts
    half.
    """
    below, above = low.over, high.over
    stayed = 0
    for _ in range(_STEPS):
        width = high.factor - low.factor
        if low.factor == 0 or low.over == 0 or width <= HEADROOM_GAP * high.factor:
            break
        found = _at(usage, low.factor + width * below / (below - above))
        if found.over > 0:
            high, above = found, found.over
            below, stayed = (below / 2 if stayed < 0 else below), -1
        else:
            low, below = found, found.over
            above, stayed = (above / 2 if stayed > 0 else above), 1
    fullest = max(high.usage.rated, key=lambda use: use.share.max(initial=0.0))
    return FirstLimit(low.factor, fullest.kind, int(fullest.share.argmax()))
