"""Weights of split operators: a table, their proof, and the text of a file of shares."""

from collections.abc import Iterator, Sequence

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import percent
from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    Plan,
    first_few,
    split_streams,
    with_weights,
)
from edgeplace.solver import Weighting, reach, records_of_workers, stated_frequencies
from edgeplace.views.terms import Terms


def show_split(
    console: Console, jobs: Sequence[JobGraph], cluster: Cluster, found: Weighting
) -> None:
    """Print the weights of each site, and how good they are."""
    from edgeplace.solver import sites_of

    site = sites_of(cluster)
    rows = []
    for job in jobs:
        for operator, weights in found.plan.weights.get(job.name, {}).items():
            op, places = job.operator(operator), found.plan.of(job.name)[operator]
            for source, row in weights.items():
                rows += [
                    (source, f"{op.name} ({j + 1}/{len(row)})", tm, site[tm], percent(w))
                    for j, (tm, w) in enumerate(zip(places, row, strict=True))
                    if w > 0
                ]
    console.heading("weights of the workers")
    console.table(("records of", "go to", "on", "at", ">share"), rows)
    console.text(
        proof_of_weights(found, Terms.of(cluster)), style="green" if found.proved else "yellow"
    )
    for line in _reaches(jobs, cluster, found):
        console.text(line, style="dim")


def proof_of_weights(found: Weighting, terms: Terms) -> str:
    """Return how good the weights are for their places, in a sentence."""
    wan, even = found.evaluation.wan_cost, found.even.wan_cost
    if found.infeasible:
        return (
            "no weights hold all limits with these places (proved); these sustain the most, "
            f"{percent(found.evaluation.headroom)} of the demand"
        )
    if not found.evaluation.feasible:
        limits = first_few([f"{v.kind} {v.where}" for v in found.evaluation.violations], 3)
        return f"these weights exceed {limits}; that no others hold is not proved"
    bound = f"bound {terms.value('wan', found.bound)}, gap {percent(found.gap)}"
    how = "proved the best" if found.proved else bound
    return (
        f"{terms.name('wan')} with these weights: {terms.value('wan', wan)}, {how} for its places; "
        f"with even weights: {terms.value('wan', even)}"
    )


def _reaches(jobs: Sequence[JobGraph], cluster: Cluster, found: Weighting) -> Iterator[str]:
    """Yield what the router's rule should reach, where the keys are stated."""
    for job in jobs:
        for operator in found.plan.weights.get(job.name, {}):
            keys = stated_frequencies(job, operator)
            name = job.operator(operator).name
            if keys is None:
                yield (
                    f"{name}: what the router's rule reaches is not known, it takes the number of "
                    "keys and their skew (`partial` with form zipf of its HASH stream)"
                )
                continue
            said = reach(keys, records_of_workers(jobs, cluster, found.plan, job.name, operator))
            yield (
                f"{name}: the router's rule should keep the fullest worker within "
                f"{percent(said.fullest - 1)} of the level, {percent(said.share_of_ideal)} of the "
                f"ideal rate, with at least {said.pieces:,} pieces; {said.hot_keys} keys are hot "
                "(estimated)"
            )


def key_shares(jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan) -> str:
    """Return the weights of a plan as the text of `KEY.shares`.

    A line `NAME (i/n); WEIGHT` for each worker, or, if routers have different weights, a line
    `NAME (i/n) <- (r/m); WEIGHT` for each worker and router.

    Raises
    ------
    InvalidInputError
        If two operators send to one worker by weights: their subtasks are not told apart there.
    """
    lines = []
    for job in with_weights(jobs, cluster, plan):
        for operator in plan.weights.get(job.name, {}):
            name, routed = job.operator(operator).name, split_streams(job, operator)
            if len(routed) > 1:
                raise InvalidInputError(
                    f"{len(routed)} operators send to {name!r} by weights",
                    "a file of shares is for one router; leave --key-shares out",
                )
            cost = routed[0].cost
            rows = cost.shares_by_producer if cost and cost.shares_by_producer else ()
            alike = len(set(rows)) == 1
            for r, row in enumerate(rows[:1] if alike else rows, start=1):
                router = "" if alike else f" <- ({r}/{len(rows)})"
                lines += [
                    f"{name} ({j}/{len(row)}){router}; {w:.6f}\n"
                    for j, w in enumerate(row, start=1)
                ]
    return "".join(lines)
