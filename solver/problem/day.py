"""Demand that varies over a day: what subtasks take in each period, and over the whole day."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgeplace.model import Cluster, InvalidInputError, JobGraph, Period, SourceFactor
from edgeplace.solver.arrays import Bools, Floats
from edgeplace.solver.problem.channels import Channels, answers
from edgeplace.solver.problem.footprint import Footprint, with_state_at_demand
from edgeplace.solver.problem.subtasks import Subtasks
from edgeplace.solver.problem.work import Work


@dataclass(frozen=True)
class PeriodOfDay:
    """What subtasks take and send in a period.

    Attributes
    ----------
    share
        Of the day; those of all periods add up to 1.
    subtasks
        With the jobs at the rates of the period.
    """

    name: str
    share: float
    subtasks: Subtasks
    work: Work
    footprint: Footprint
    channels: Channels

    def heights(self) -> Floats:
        """Return all that limits restrict, as one array: if no entry of it is above that of another
        period, whatever holds in that one holds in this one.
        """
        c = self.channels
        parts = (
            self.work.busy,
            self.work.cores,
            self.footprint.takes,
            self.footprint.checkpoint_bytes_per_s,
            c.least_bytes_per_s,
            c.bytes_per_s / c.window_bytes,
        )
        return np.concatenate([part.ravel() for part in parts])


def periods_of_day(
    demand: Sequence[Period],
    jobs: Sequence[JobGraph],
    subtasks: Subtasks,
    cluster: Cluster,
    reached: Bools,
) -> tuple[PeriodOfDay, ...]:
    """Return the periods of a day.

    Parameters
    ----------
    subtasks, reached
        As in `Problem` and `Work.measured`.

    Raises
    ------
    InvalidInputError
        If a factor names an operator that is no source, or a source has two.
    """
    total = sum(period.share for period in demand)
    factors = [_factors(period, subtasks) for period in demand]
    at_rates = [with_state_at_demand([_times(job, f) for job in jobs]) for f in factors]
    # All periods have the same channels.
    answered: Bools = np.logical_or.reduce([answers(traffic, cluster) for _, traffic in at_rates])
    found = []
    for period, (own, traffic) in zip(demand, at_rates, strict=True):
        numbered = Subtasks.number(own)
        found.append(
            PeriodOfDay(
                name=period.name,
                share=period.share / total,
                subtasks=numbered,
                work=Work.measured(numbered, cluster, traffic, reached, []),
                footprint=Footprint.of(numbered, cluster),
                channels=Channels.of(traffic, cluster, answered),
            )
        )
    return tuple(found)


def whole_day(periods: Sequence[PeriodOfDay]) -> tuple[Work, Footprint, Channels]:
    """Return what is paid for on average, with what limits restrict in the busiest period."""
    busiest = max(periods, key=lambda period: float(period.work.rate_per_s.sum()))

    def mean(each: Sequence[Floats]) -> Floats:
        total: Floats = sum(
            (p.share * own for p, own in zip(periods, each, strict=True)), np.zeros(len(each[0]))
        )
        return total

    footprint = replace(
        busiest.footprint,
        checkpoint_bytes_per_s=mean([p.footprint.checkpoint_bytes_per_s for p in periods]),
    )
    channels = replace(
        busiest.channels,
        bytes_per_s=mean([p.channels.bytes_per_s for p in periods]),
        live=np.logical_or.reduce([p.channels.live for p in periods]),
    )
    return busiest.work, footprint, channels


def peaks(periods: Sequence[PeriodOfDay]) -> list[int]:
    """Return the periods whose limits do not follow from those of another one, by index."""
    height = [period.heights() for period in periods]
    kept: list[int] = []
    for i, own in enumerate(height):
        others = [j for j in range(len(height)) if j != i and (own <= height[j]).all()]
        # Of equal ones, the first.
        if not any(j in kept or (own < height[j]).any() for j in others):
            kept.append(i)
    return kept


def _factors(period: Period, subtasks: Subtasks) -> dict[tuple[str, str], float]:
    """Return the factor of each source in a period, by job and id."""
    factors = {(job.name, op.id): period.factor for job in subtasks.jobs for op in job.sources()}
    said: dict[tuple[str, str], str] = {}
    for own in period.sources:
        for ref in own.operators:
            job, op = subtasks.operators[subtasks.operator_of[subtasks.of(ref, own.job)[0]]]
            if (job, op.id) not in factors:
                raise InvalidInputError(
                    f"the demand in period {period.name!r} has a factor of {ref!r}, which is no "
                    "source",
                    "name sources: the rates of all others follow from theirs",
                )
            if (job, op.id) in said:
                raise InvalidInputError(
                    f"the demand in period {period.name!r} has two factors of one source: of "
                    f"{said[job, op.id]!r} and of {ref!r}",
                    "leave one of them out",
                )
            said[job, op.id] = ref
            factors[job, op.id] = own.factor
    return factors


def demand_by_job(
    demand: Sequence[Period], jobs: Sequence[JobGraph]
) -> dict[str, tuple[Period, ...]]:
    """Return job name -> the periods as they are if it is placed alone.

    Raises
    ------
    InvalidInputError
        As `periods_of_day`.
    """
    numbered = Subtasks.number(jobs)
    factors = [_factors(period, numbered) for period in demand]
    return {
        job.name: tuple(
            period.model_copy(
                update={
                    "sources": tuple(
                        SourceFactor(operators=(op,), factor=factor)
                        for (name, op), factor in own.items()
                        if name == job.name
                    )
                }
            )
            for period, own in zip(demand, factors, strict=True)
        )
        for job in jobs
    }


def _times(job: JobGraph, factors: dict[tuple[str, str], float]) -> JobGraph:
    """Return a job with the rates of its sources times their factors."""
    operators = []
    for op in job.operators:
        factor = factors.get((job.name, op.id))
        if factor is not None and op.cost and op.cost.demand:
            demand = op.cost.demand
            rates = tuple(factor * rate for rate in demand.rates_per_s)
            demand = demand.model_copy(update={"rates_per_s": rates})
            op = op.model_copy(update={"cost": op.cost.model_copy(update={"demand": demand})})
        operators.append(op)
    return job.model_copy(update={"operators": tuple(operators)})
