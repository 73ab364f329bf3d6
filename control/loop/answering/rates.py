"""A case at some rates of its sources, and how placements do there, by the evaluator."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from edgeplace.control.loop.events import Places, Rates
from edgeplace.model import Evaluation, JobGraph, ObjectiveName, Plan
from edgeplace.model.what_if.case import Case
from edgeplace.solver import Problem, build, evaluate, measure_usage
from edgeplace.solver.problem import with_jobs

Demand = dict[str, tuple[float, ...]]
"""Source operator id -> records per second of each subtask."""


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


def evaluated(case: Case, places: Places) -> Evaluation:
    """Return the evaluation of a placement, in its own parallelism."""
    plan = Plan(jobs={case.jobs[0].name: places})
    case = case.in_parallelism_of(plan)
    return evaluate(case.jobs, case.cluster, plan, case.rules, case.current)


@dataclass(frozen=True)
class AtRates:
    """A case of one job at some rates.

    Parameters
    ----------
    case
        In the parallelism of what runs.
    first
        The same at other rates: what does not depend on them is taken from there.
    """

    case: Case
    first: "AtRates | None" = None

    @cached_property
    def problem(self) -> Problem:
        """The case as arrays."""
        if self.first is not None:
            return with_jobs(self.first._like_all, self.case.jobs)
        return build(self.case.jobs, self.case.cluster, self.case.rules, self.case.current)

    @cached_property
    def _like_all(self) -> Problem:
        """The case at rates that serve as well as any: costs need not have any."""
        return build(self._at_one, self.case.cluster, self.case.rules, self.case.current)

    @cached_property
    def _at_one(self) -> JobGraph:
        (job,) = self.case.jobs
        return at_rates(job, {op.id: 1.0 for op in job.sources()})

    @cached_property
    def family(self) -> str:
        """A name for the case at all rates."""
        if self.first is not None:
            return self.first.family
        documents = [self._at_one, self.case.cluster, self.case.rules, self.case.current]
        told = [None if d is None else d.model_dump_json() for d in documents]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    @cached_property
    def demand(self) -> Demand:
        """Records per second of each subtask of each source."""
        (job,) = self.case.jobs
        demands = {op.id: op.cost.demand if op.cost else None for op in job.sources()}
        return {op: d.rates_per_s if d else () for op, d in demands.items()}

    def at(self, rates: Rates) -> "AtRates":
        """Return the case at other rates."""
        (job,) = self.case.jobs
        return AtRates(self.case.with_job(at_rates(job, rates)), self.first or self)

    def wan(self, places: Places) -> tuple[float, bool]:
        """Return the WAN term of a placement, and whether it keeps all limits and rules."""
        key = tuple(sorted(places.items()))
        if key not in self._judged:
            self._judged[key] = self._wan(places)
        return self._judged[key]

    @cached_property
    def _judged(self) -> dict[tuple[tuple[str, tuple[str, ...]], ...], tuple[float, bool]]:
        return {}

    def _wan(self, places: Places) -> tuple[float, bool]:
        (job,) = self.case.jobs
        if any(len(places.get(op.id, ())) != op.parallelism for op in job.operators):
            judged = evaluated(self.case, places)
            return judged.wan_cost, judged.feasible
        usage = measure_usage(self.problem, self.problem.assignment(Plan(jobs={job.name: places})))
        return usage.value("wan"), usage.rated_hold and usage.fixed_hold

    def values(self, places: Places, terms: Collection[ObjectiveName]) -> tuple[float, ...]:
        """Return terms of the objective of a placement in the parallelism of what runs."""
        if not terms:
            return ()
        (job,) = self.case.jobs
        usage = measure_usage(self.problem, self.problem.assignment(Plan(jobs={job.name: places})))
        return tuple(usage.value(term) for term in terms)

    def only(self, sources: Collection[str], factor: float) -> "AtRates":
        """Return the case with a part of the demand of these sources alone, and without
        checkpoints.
        """
        (job,) = self.case.jobs
        rates = {op: factor * sum(d) if op in sources else 0.0 for op, d in self.demand.items()}
        job = at_rates(job, rates).revised(checkpoint_interval_ms=None)
        return AtRates(self.case.with_job(job), self.first or self)
