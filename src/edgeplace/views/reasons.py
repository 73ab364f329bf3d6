"""One line for each operator: the reason for its place."""

from collections.abc import Sequence

from edgeplace.cli.console import Console
from edgeplace.model import some
from edgeplace.solver import Alternative, Reason
from edgeplace.views.tables import limit
from edgeplace.views.terms import Terms


def show_reasons(console: Console, reasons: Sequence[Reason], terms: Terms) -> None:
    """Print where each operator runs, and what the nearest other place would do."""
    several = len({r.job for r in reasons}) > 1
    console.table(
        ("operator", "runs at", "because"),
        [
            (f"{r.job}: {r.name}" if several else r.name, some(r.sites), because(r, terms))
            for r in reasons
        ],
    )


def because(reason: Reason, terms: Terms) -> str:
    """Return one sentence on an operator's place."""
    if reason.held_by:
        return f"held there: {reason.held_by}"
    if not reason.alternatives:
        return "it is beside its input and on servers at once"
    return "; ".join(_alternative(a, terms) for a in reason.alternatives)


def _alternative(other: Alternative, terms: Terms) -> str:
    text = other.place
    if other.objective is None:
        text += " nothing would differ"
    else:
        word = "be worse" if other.after > other.before else "be better"
        before, after = (terms.value(other.objective, v) for v in (other.before, other.after))
        if before == after:
            # Three digits do not tell them apart.
            by = terms.value(other.objective, abs(other.after - other.before))
            text += f" {terms.name(other.objective)} would {word} by {by}, now {before}"
        else:
            text += f" {terms.name(other.objective)} would {word}: {after}, now {before}"
    return f"{text}, and break {limit(other.breaks)}" if other.breaks else text
