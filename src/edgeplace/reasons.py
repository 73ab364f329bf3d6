"""One line an operator on why it is where it is."""

from collections.abc import Sequence

from edgeplace.console import Console
from edgeplace.model import Cluster, ObjectiveName
from edgeplace.quantities import count, milliseconds, size
from edgeplace.solver import Alternative, Reason
from edgeplace.tables import limit


def show_reasons(console: Console, reasons: Sequence[Reason]) -> None:
    """Print where each operator runs, and what the nearest other place would do."""
    console.table(
        ("operator", "runs at", "because"),
        [(r.name, some(r.sites), because(r)) for r in reasons],
    )


def say_what_wan_is(console: Console, cluster: Cluster) -> None:
    """Say that WAN stands for the objective, where that is not just bytes."""
    if any(link.price_per_byte != 1 for link in cluster.links):
        console.text(
            "WAN: bytes per second on each link, times the price of a byte there", style="dim"
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
        before, after = (value_of(other.objective, v) for v in (other.before, other.after))
        text += f" {_NAMES[other.objective]} would {word}: {after}, now {before}"
    return f"{text}, and break {limit(other.breaks)}" if other.breaks else text


def some(names: Sequence[str], most: int = 4) -> str:
    """Return a few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names) if more < 2 else f"{', '.join(names[:most])} and {more:,} more"


_NAMES: dict[ObjectiveName, str] = {
    "wan": "WAN traffic",
    "latency": "the worst path",
    "server_cores": "server cores",
    "moves": "moves",
    "throughput": "utilisation",
}


def value_of(objective: ObjectiveName, value: float) -> str:
    """Return a term of the objective in its unit."""
    if objective == "wan":
        return size(value, "/s")
    return milliseconds(value) if objective == "latency" else count(value)
