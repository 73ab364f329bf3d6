"""The error of the costs, learned from observations: one factor for the job.

Sources that are held back show what the placement really sustains. Without this a plan that was
left because it bears less than its costs say would look good again as soon as it is left.
"""

from edgeplace.control.loop.guard import CATCH_UP_S, HELD, held_now, load_of, rates_now
from edgeplace.control.loop.memory import Memory

LEAST, MOST = 0.5, 1.2
"""Costs that are further off are not believed: the loop only recommends then."""
_WEIGHT = 0.25
"""Of what is seen now; the rest is what was learned before."""
_FREE = 0.05
"""Sources that are held back for a smaller share of the time take all that they are offered."""


def learned(memory: Memory) -> Memory:
    """Return the memory with the factor after one more look; to be called each half minute."""
    load = load_of(memory, rates_now(memory.recent))
    # What a job drains after its start is no load: nothing is learned of it, whatever is held back.
    starts = memory.now_s - memory.settled_s < CATCH_UP_S
    if load is None or starts or memory.change is not None:
        return memory
    held = held_now(memory.recent)
    if held >= HELD and load < memory.bias:
        seen = load
    elif held <= _FREE and load > memory.bias:
        # It bears that much at least.
        seen = load
    else:
        return memory
    bias = memory.bias + _WEIGHT * (seen - memory.bias)
    return memory.now(bias=round(min(MOST, max(LEAST, bias)), 4), seen_capacity=round(seen, 4))


def unbelieved(memory: Memory) -> str:
    """Return why the costs are not believed; empty: they are."""
    seen = memory.seen_capacity
    if LEAST <= seen <= MOST:
        return ""
    return f"what runs bears {seen:.0%} of what its costs say: measure them anew"
