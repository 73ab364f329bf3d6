"""A table of CPU times: of a record, how each was found, and of a TaskManager without records."""

from typing import TYPE_CHECKING

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import cores, milliseconds_or_less
from edgeplace.model import ClassCost, Costs

if TYPE_CHECKING:
    from edgeplace.spark_stats import Doubt


def show_cpu_costs(console: Console, costs: Costs) -> None:
    """Print CPU times by operator and node class, if the log has them, and why they were found
    in this way.
    """
    rows: list[tuple[str, str, str, str, str]] = []
    reasons: dict[tuple[str, str], list[str]] = {}
    for op in costs.operators:
        name = op.name or op.operator
        known = [c for c in op.classes if c.cpu_ms_per_record is not None and c.cpu_by]
        for i, c in enumerate(known):
            rows.append((name if i == 0 else "", *_of_class(c)))
            if c.cpu_by_reason:
                reasons.setdefault((c.cpu_by_reason, c.node_class), []).append(name)
    if not rows:
        return
    console.table(("operator", "node class", ">CPU/record", ">90 % interval", "found by"), rows)
    for (reason, node_class), names in reasons.items():
        console.text(f"CPU of {', '.join(names)} on {node_class} by busy time: {reason}")
    for background in costs.background:
        low, high = map(cores, background.interval_cores)
        console.text(
            f"background of a TaskManager on {background.node_class}: {cores(background.cores)} "
            f"cores (90 % interval {low} to {high})"
        )


def show_doubt(console: Console, doubt: "Doubt") -> None:
    """Print which further measurement narrows the doubt of plans most."""
    ends = " to ".join(map(milliseconds_or_less, (doubt.low_ms, doubt.high_ms)))
    console.text(
        f"to know more: while {doubt.operator} runs on {doubt.node_class}, record "
        f"{doubt.better_log}; its CPU time there is {ends} a record (90 %), which is "
        f"{cores(doubt.cores)} cores at this rate"
    )


def _of_class(c: ClassCost) -> tuple[str, str, str, str]:
    """Return node class, CPU time, its interval, and how it was found as text."""
    ends = c.cpu_interval_ms_per_record
    return (
        c.node_class,
        milliseconds_or_less(c.cpu_ms_per_record or 0.0),
        " to ".join(milliseconds_or_less(end) for end in ends) if ends else "-",
        c.cpu_by or "-",
    )
