"""Mark weak costs: those measured at so little work that a plan should not rely on them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from edgeplace.model.cluster import Cluster
from edgeplace.model.cost import ENOUGH_BUSY_SHARE, ClassCost, OperatorCost

LEAST_BUSY_S = 1.0
"""Busy seconds below which a rate is weak, however short the log is."""
CONTRADICTION = 1.5
"""A rate is weak if it is lower by this factor on the faster class of two."""
LEAST_MAJORITY = 2
"""Least difference between the numbers of operators that are faster and slower on a class, for the
class to count as the faster one.
"""


def mark_weak(
    operators: Sequence[OperatorCost], cluster: Cluster | None
) -> tuple[OperatorCost, ...]:
    """Return the costs of operators, with a reason in each weak one.

    Parameters
    ----------
    cluster
        Gives the speeds of classes. If it does not, the other operators determine which class is
        faster.
    """
    speeds = {c.id: c.speed for c in cluster.node_classes} if cluster else {}
    return tuple(
        op.model_copy(
            update={
                "classes": tuple(
                    c.model_copy(update={"weak": "; ".join(_reasons(c, op, operators, speeds))})
                    for c in op.classes
                )
            }
        )
        for op in operators
    )


def _reasons(
    cost: ClassCost,
    op: OperatorCost,
    operators: Sequence[OperatorCost],
    speeds: Mapping[str, float],
) -> Iterator[str]:
    if cost.busy_share is not None and cost.busy_share < ENOUGH_BUSY_SHARE:
        yield f"busy {cost.busy_share:.2%} of the time"
    if cost.busy_s < LEAST_BUSY_S:
        yield f"busy for {cost.busy_s:.2f} s in all"
    for fast, slow in permutations(op.classes, 2):
        # It is unknown which of the two is wrong.
        if (
            cost in (fast, slow)
            and CONTRADICTION * fast.true_rate_per_s < slow.true_rate_per_s
            and _faster(fast.node_class, slow.node_class, op, operators, speeds)
        ):
            yield (
                f"{fast.true_rate_per_s:,.0f}/s on {fast.node_class!r}, though that is faster than "
                f"{slow.node_class!r} with {slow.true_rate_per_s:,.0f}/s"
            )


def _faster(
    a: str,
    b: str,
    op: OperatorCost,
    operators: Sequence[OperatorCost],
    speeds: Mapping[str, float],
) -> bool:
    """Return whether class `a` is faster than `b`, without regard to this operator."""
    if a in speeds and b in speeds:
        return speeds[a] > speeds[b]
    votes = [
        1 if on_a.true_rate_per_s > on_b.true_rate_per_s else -1
        for other in operators
        if other is not op and (on_a := other.on(a)) and (on_b := other.on(b))
    ]
    return sum(votes) >= LEAST_MAJORITY
