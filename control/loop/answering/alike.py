"""Whether weights are those in force, as far as files and reports give their digits."""

from edgeplace.control.loop.events import Weights

_SAME_SHARE = 1e-4


def are_alike(weights: Weights, in_force: Weights, within: float = _SAME_SHARE) -> bool:
    """Return whether all of some weights are in force, each within so much."""
    return all(
        len(in_force.get(name, ())) == len(rows)
        and all(
            len(row) == len(other)
            and all(abs(a - b) <= within for a, b in zip(row, other, strict=True))
            for row, other in zip(rows, in_force[name], strict=True)
        )
        for name, rows in weights.items()
    )
