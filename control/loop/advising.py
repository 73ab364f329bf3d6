"""When the loop asks what other machines would be worth, and what it keeps of the answer."""

from edgeplace.control.loop.changing import Then
from edgeplace.control.loop.events import Solve, Solved
from edgeplace.control.loop.expected.day import the_day
from edgeplace.control.loop.memory import HOUR_S, Memory
from edgeplace.control.settings import numbers

EVERY_S = 6 * HOUR_S
"""Machines are not bought by the minute."""
_MOST_S = 60.0


def is_due(memory: Memory) -> bool:
    """Return whether nothing else is to be done, and the last advice is old."""
    if memory.figures is None or memory.asked_s is not None or memory.lost:
        return False
    return memory.advised_s is None or memory.now_s - memory.advised_s >= EVERY_S


def asks(memory: Memory) -> Then:
    """Ask the solver, at the largest rates that are expected within a day."""
    settings, day = memory.settings, the_day(memory)
    total = sum(memory.asked_rates.values())
    grown = 1.0
    if settings is not None and day is not None and total > 0:
        peak = settings.headroom / memory.bias * max(day.next_bound, default=0.0)
        grown = max(1.0, peak / total)
    ask = Solve(
        ticket=memory.ticket + 1,
        places=memory.placed,
        weights=memory.weights,
        rates={op: rate * grown for op, rate in memory.asked_rates.items()},
        parallelism={op: numbers(text) for op, text in settings.rescale.items()}
        if settings
        else {},
        machines=True,
        limit_s=_MOST_S,
    )
    memory = memory.now(ticket=ask.ticket, asked_s=memory.now_s, asked_machines=True)
    # Also if no answer comes: whatever else is asked drops the question.
    memory = memory.now(advised_s=memory.now_s)
    return memory, "asks the solver what other machines would be worth", (ask,)


def advised(memory: Memory, event: Solved) -> Then:
    """Keep the answer."""
    memory = memory.now(asked_machines=False)
    if event.problem:
        return memory.now(advice=()), f"no advice on machines: {event.problem}", ()
    said = "; ".join(a.says for a in event.advice[:3]) or "no other would be worth it"
    return memory.now(advice=event.advice), f"machines: {said}", ()
