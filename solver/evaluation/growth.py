"""Growth of the sources: the first limit that a placement reaches if all rates grow alike.

Where streams were measured at one rate, and no bytes of frames and packets are counted, all that
grows with the rates is proportional to them: the fullest limit says it all. Otherwise the limit is
looked for by the evaluator's own figures at the grown rates.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from edgeplace.model import JobGraph, LimitKind
from edgeplace.model.job import Operator
from edgeplace.solver.clock import look
from edgeplace.solver.evaluation.usage import Usage, measure_usage
from edgeplace.solver.problem import Problem, with_jobs
from edgeplace.solver.tolerances import HEADROOM_GAP

_DOUBLINGS = 30
"""Steps in which a factor is looked for at which a limit is reached, or none is exceeded."""
_STEPS = 60
"""Most steps between the two; six suffice for most limits, and twenty for a wide credit window."""
_NEVER_MS = 1e12
"""A buffer timeout at which buffers are sent only when they are full."""


@dataclass(frozen=True)
class FirstLimit:
    """The limit that is reached first.

    Attributes
    ----------
    factor
        Of all rates at which it is reached; 0 if it is exceeded at all rates, infinite if what is
        used does not grow beyond it, as with combiners that have a few keys.
    kind, index
        Which limit it is, or would be: the number in the `Use` of its kind.
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
    if _proportional(usage.problem) or not 0 < usage.utilisation < np.inf:
        return None
    growth = _Growth(usage, lambda grown: grown.utilisation)
    low, high = growth.bracket(_At(1.0, usage, usage.utilisation - 1))
    fullest = max((high or low).usage.rated, key=lambda use: use.share.max(initial=0.0))
    factor = low.factor if high else float("inf")
    return FirstLimit(factor, fullest.kind, int(fullest.share.argmax()))


def sustained_factor(usage: Usage, headroom: float) -> float:
    """Return the factor of all rates at which sources are held back; infinite if at none.

    It is about the headroom where a processor is the limit. Beyond the headroom of a link, buffers
    that wait for it are sent full, with fewer frames, and checkpoints take longer than their
    interval. Where a credit window and a processor are near their limits, it is less.

    Parameters
    ----------
    headroom
        Factor at which the first limit is reached.

    Raises
    ------
    OutOfTimeError
        If the time of the call that runs is over.
    """
    if not 0 < usage.utilisation < np.inf:
        return headroom
    growth = _Growth(usage, lambda grown: grown.sustained_utilisation, full_buffers=True)
    at_limit = growth.at(headroom if 0 < headroom < np.inf else 1.0)
    if headroom and abs(at_limit.over) <= HEADROOM_GAP:
        return headroom
    low, high = growth.bracket(at_limit)
    return float("inf") if high is None else low.factor


def _proportional(p: Problem) -> bool:
    """Return whether all use of limits is proportional to the rates."""
    return (
        p.cluster.mtu_bytes is None
        and not any(s.cost and s.cost.by_rate for job in p.subtasks.jobs for s in job.streams)
        and not any(op.cost and op.cost.state_law for _, op in p.subtasks.operators)
    )


@dataclass(frozen=True)
class _At:
    """The use at a factor of the rates; `over` is the excess over the first limit."""

    factor: float
    usage: Usage
    over: float


@dataclass(frozen=True)
class _Growth:
    """A placement at other rates.

    Attributes
    ----------
    share
        The largest share in use of what counts.
    full_buffers
        Whether buffers are sent only when they are full.
    """

    usage: Usage
    share: Callable[[Usage], float]
    full_buffers: bool = False

    def at(self, factor: float) -> _At:
        """Return the use at a factor of the rates."""
        look()
        found = self._used(factor)
        return _At(factor, found, self.share(found) - 1)

    def _used(self, factor: float) -> Usage:
        u, p = self.usage, self.usage.problem
        if _proportional(p):
            return replace(
                u,
                link_bytes=factor * u.link_bytes,
                checkpoint_bytes=factor * u.checkpoint_bytes,
                least_bytes=factor * u.least_bytes,
                cores=factor * u.cores,
                busy=factor * u.busy,
                far_bytes=factor * u.far_bytes,
            )
        jobs = [grown(job, factor) for job in p.subtasks.jobs]
        if self.full_buffers:
            jobs = [job.model_copy(update={"buffer_timeout_ms": _NEVER_MS}) for job in jobs]
        return measure_usage(with_jobs(p, jobs), u.assignment)

    def bracket(self, start: _At) -> tuple[_At, _At | None]:
        """Return the use at the largest factor that holds, and next to it; None: not found."""
        last = start
        step = 0.5 if last.over > 0 else 2.0
        for _ in range(_DOUBLINGS):
            found = self.at(step * last.factor)
            if (found.over > 0) != (last.over > 0):
                return self._between(*((found, last) if last.over > 0 else (last, found)))
            last = found
        return (_At(0.0, last.usage, 0.0), last) if last.over > 0 else (last, None)

    def _between(self, low: _At, high: _At) -> tuple[_At, _At]:
        """Return what is nearest to the first limit, on both sides of it.

        By the Illinois method (Dowell and Jarratt, BIT 11, 1971): a secant whose end that stays
        counts half.
        """
        below, above = low.over, high.over
        stayed = 0
        for _ in range(_STEPS):
            width = high.factor - low.factor
            if low.factor == 0 or low.over == 0 or width <= HEADROOM_GAP * high.factor:
                break
            found = self.at(low.factor + width * below / (below - above))
            if found.over > 0:
                high, above = found, found.over
                below, stayed = (below / 2 if stayed < 0 else below), -1
            else:
                low, below = found, found.over
                above, stayed = (above / 2 if stayed > 0 else above), 1
        return low, high


def grown(job: JobGraph, factor: float) -> JobGraph:
    """Return a job with the rates of its sources times a factor, and its checkpoints too where no
    law says what they are at other rates.
    """
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
    if op.cost.state_law is None:
        written = written and factor * written
    changes = {"demand": demand, "checkpointed_bytes": written}
    return op.model_copy(update={"cost": op.cost.model_copy(update=changes)})
