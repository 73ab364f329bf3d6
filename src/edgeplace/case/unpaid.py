"""A word on an objective that pays latency for bytes that cost nothing."""

from collections.abc import Sequence

from edgeplace.cli.quantities import milliseconds
from edgeplace.model import DEFAULT_OBJECTIVE, Cluster, Result
from edgeplace.solver import Policy
from edgeplace.solver.tolerances import SAME_VALUE
from edgeplace.views.terms import Terms

_NEAR = 0.5
"""Share of a link from which on its bytes may matter."""


def unpaid_bytes(
    cluster: Cluster, result: Result, others: Sequence[Policy], chosen: bool
) -> str | None:
    """Return a sentence if another placement is faster, and its bytes cost nobody anything.

    That is: no link has a price, none is near its limit in that placement, and the objective is
    the default one.

    Parameters
    ----------
    chosen
        Whether the user has chosen the objective: then there is nothing to say.
    """
    found = result.evaluation
    levels = tuple(level.name for level in result.levels if level.name != "wishes")
    if chosen or found is None or levels != DEFAULT_OBJECTIVE or Terms.of(cluster).priced:
        return None
    for other in others:
        e = other.evaluation
        faster = 0 <= e.latency_ms < found.latency_ms * (1 - SAME_VALUE)
        if e.feasible and faster and all(v.utilisation < _NEAR for v in e.links):
            return (
                f"to send fewer bytes, this plan has a worst path of "
                f"{milliseconds(found.latency_ms)}, and {other.name} has one of "
                f"{milliseconds(e.latency_ms)}; no link has a price, and none would be half full: "
                "if bytes cost you nothing, use --optimise latency"
            )
    return None
