"""One line an operator on why it is where it is."""

from collections.abc import Sequence

from edgeplace.console import Console
from edgeplace.model import ObjectiveName
from edgeplace.quantities import count, milliseconds, size
from edgeplace.solver import Alternative, Reason
from edgeplace.tables import limit


def show_reasons(console: Console, reasons: Sequence[Reason]) -> None:
    """Print where each operator runs, and what the nearest other place would do."""
    console.table(
        ("operator", "runs at", "because"),
        [(r.name, ", ".join(r.sites), because(r)) for r in reasons],
    )


def because(reason: Reason) -> str:
    """Return one sentence on an operator's place."""
    if reason.held_by:
        return f"held there: {reason.held_by}"
    if not reason.alternatives:
        return "it is beside its input and on servers at once"
    return "; ".join(map(_alternative, reason.alternatives))


def _alternative(other: Alternative) -> str:
    text = other.place
    if other.objective is None:
        text += " nothing would differ"
    else:
        word = "be worse" if other.after > other.before else "be better"
        before, after = (_value(other.objective, v) for v in (other.before, other.after))
        text += f" {_NAMES[other.objective]} would {word}: {after}, now {before}"
    return f"{text}, and break {limit(other.breaks)}" if other.breaks else text


_NAMES: dict[ObjectiveName, str] = {
    "wan": "WAN traffic",
    "latency": "the worst path",
    "server_cores": "server cores",
    "moves": "moves",
    "throughput": "utilisation",
}


def _value(objective: ObjectiveName, value: float) -> str:
    if objective == "wan":
        return size(value, "/s")
    return milliseconds(value) if objective == "latency" else count(value)
