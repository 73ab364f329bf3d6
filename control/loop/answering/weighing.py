"""Weights of the routers of a job that runs: as they are, and better ones for the same places."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeplace.control.loop.answering.alike import are_alike
from edgeplace.control.loop.events import Places, Weights
from edgeplace.model import Evaluation, JobGraph, Plan, split_streams, with_weights
from edgeplace.model.what_if.case import Case
from edgeplace.solver import split

_DIGITS = 9


@dataclass(frozen=True)
class Reweighed:
    """Other weights, and what runs with them."""

    weights: Weights
    """Of all combining tasks, also those whose weights stay."""
    evaluation: Evaluation
    unproved_cost: float
    """WAN cost per second that still other weights may save."""


def in_force(job: JobGraph, weights: Weights) -> JobGraph:
    """Return a job whose routers deal by these weights; those that do not suit it are left out."""
    streams = list(job.streams)
    for i, s in enumerate(streams):
        target = job.operator(s.target)
        rows = weights.get(target.name, ())
        suits = len(rows) == job.operator(s.source).parallelism and all(
            len(row) == target.parallelism for row in rows
        )
        if s.cost and suits and s in split_streams(job, s.target):
            cost = s.cost.model_copy(update={"shares_by_producer": rows})
            streams[i] = s.model_copy(update={"cost": cost})
    return job.revised(streams=tuple(streams))


def better_weights(
    case: Case, places: Places, weights: Weights, operators: Sequence[str]
) -> Reweighed | None:
    """Return the best weights for where a job runs; None: those in force are, or are not known.

    Parameters
    ----------
    case
        Of one job, at the rates to be sustained.
    weights
        In force. A task whose weights are not known gets no others: there would be no way back.
    operators
        Ids of the combiners.
    """
    (job,) = case.jobs
    names = {op: job.operator(op).name for op in operators}
    # A file of weights tells tasks apart by name, and has one router for each.
    known = [op for op, n in names.items() if n in weights and len(split_streams(job, op)) == 1]
    if not known:
        return None
    plan = Plan(jobs={job.name: places})
    found = split(job, case.cluster, plan, known, case.rules, case.current)
    (weighted,) = with_weights((job,), case.cluster, found.plan)
    chosen = {
        names[op]: tuple(tuple(round(w, _DIGITS) for w in row) for row in rows)
        for op in known
        for s in split_streams(weighted, op)
        if s.cost and (rows := s.cost.shares_by_producer)
    }
    if are_alike(chosen, weights):
        return None
    unproved = 0.0 if found.proved else max(0.0, found.evaluation.wan_cost - found.bound)
    return Reweighed({**weights, **chosen}, found.evaluation, unproved)
