"""The costs on which a plan with `--confidence` rests, and the certainty of any plan."""

from typing import TYPE_CHECKING

from edgeplace.cli.quantities import cores, factor, milliseconds_or_less
from edgeplace.model import Case, Result, planned_with, some

if TYPE_CHECKING:
    from edgeplace.cli.console import Console
    from edgeplace.solver import Certainty

CERTAINTY_COLUMNS = ("operator", "node class", ">CPU/record", ">90 % interval", "origin")

_MOST_LIMITS = 5


def confidence_note(measured: Case, result: Result, probability: float) -> str:
    """Return what the plan rests on, and what it would be by the costs as they were measured.

    Parameters
    ----------
    measured
        In the parallelism of the plan.
    """
    from edgeplace.solver import evaluate

    said = planned_with(measured.jobs, probability)
    costs = [c for job in measured.jobs for op in job.operators if op.cost for c in op.cost.classes]
    known = any(c.has_interval for c in costs)
    if not (known and result.plan and result.evaluation):
        return said
    there = evaluate(measured.jobs, measured.cluster, result.plan, measured.rules, measured.current)
    high, low = there, result.evaluation
    busiest = max(
        zip(there.nodes, low.nodes, strict=True), key=lambda pair: pair[1].utilisation, default=None
    )
    said += (
        f". Between the costs as measured and these, the headroom is {factor(high.headroom)} to "
        f"{factor(low.headroom)}"
    )
    if busiest and busiest[1].used > 0:
        ends = " to ".join(cores(node.used) for node in busiest)
        said += f", and {busiest[0].where} uses {ends} cores"
    return said


def show_certainty(console: "Console", found: "Certainty") -> None:
    """Print the CPU costs of a plan with their intervals, and whether it holds by them."""
    console.heading("how sure it is")
    console.table(CERTAINTY_COLUMNS, certainty_rows(found))
    for line in certainty_lines(found):
        console.text(line)


def certainty_rows(found: "Certainty") -> list[tuple[str, ...]]:
    """Return the CPU costs of a plan with their intervals, by `CERTAINTY_COLUMNS`."""
    costs = [
        (
            c.operator,
            c.node_class,
            milliseconds_or_less(c.ms_per_record),
            " to ".join(map(milliseconds_or_less, c.interval_ms)) if c.interval_ms else "not known",
            c.origin,
        )
        for c in found.costs
    ]
    return [*costs, *((*pair, "not known", "-", "never seen there") for pair in found.unknown)]


def certainty_lines(found: "Certainty") -> list[str]:
    """Return in sentences whether a plan holds by the intervals of its CPU costs, or is an estimate
    and why.
    """
    if found.verdict == "does not hold":
        return ["by the costs as measured it does not hold"]
    if found.verdict == "holds at 90 %":
        return [
            "holds at 90 %: no limit is exceeded with CPU costs that are not exceeded with this "
            "probability, each by itself (links have no interval)"
        ]
    lines = [
        f"estimate: {pair.upper_end.where} ({pair.upper_end.kind}) holds at "
        f"{100 * pair.measured.utilisation:.4g} % of its limit by the costs as measured, and is at "
        f"{100 * pair.upper_end.utilisation:.4g} % with those that are not exceeded with 90 %"
        for pair in found.in_doubt[:_MOST_LIMITS]
    ]
    if len(found.in_doubt) > _MOST_LIMITS:
        lines.append(f"and so are {len(found.in_doubt) - _MOST_LIMITS:,} more limits")
    bare = [f"{c.operator} on {c.node_class}" for c in found.costs if c.interval_ms is None]
    guessed = [f"{c.operator} on {c.node_class}" for c in found.costs if c.origin == "estimated"]
    guessed += [f"{name} on {node_class}" for name, node_class in found.unknown]
    for names, why in ((bare, "has no interval"), (guessed, "was never seen there")):
        if names:
            lines.append(f"estimate: the CPU cost of {some(names, most=4)} {why}")
    return lines
