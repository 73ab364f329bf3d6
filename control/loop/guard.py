"""Does what runs keep up? Arithmetic on the last polls and the evaluator's figures, each 30 s."""

from dataclasses import dataclass
from statistics import median

from edgeplace.control.loop.events import Rates
from edgeplace.control.loop.memory import Memory, RecentRates

HELD = 0.2
"""Sources that are held back for a larger share of the time do not take what they are offered."""
CATCH_UP_S = 900.0
"""After a start, sources that are held back drain a backlog; a change would only add to it."""
POLLS = 3
"""Whose median counts: one odd poll moves nothing."""


@dataclass(frozen=True)
class Guarded:
    """What the guard found."""

    text: str
    must: bool
    """What runs does not bear what comes."""


def rates_now(recent: tuple[RecentRates, ...]) -> Rates:
    """Return the median rates of the last polls: one odd poll moves nothing."""
    last = recent[-POLLS:]
    if not last:
        return {}
    return {op: median(s.rates.get(op, 0.0) for s in last) for op in last[-1].rates}


def held_now(recent: tuple[RecentRates, ...]) -> float:
    """Return the median share of the time in which sources were held back."""
    return median(s.held for s in recent[-POLLS:]) if recent else 0.0


def catches_up(memory: Memory) -> bool:
    """Return whether the job has started so lately that it may still drain a backlog.

    Once its sources were not held back, nothing is left to drain.
    """
    since_s = memory.now_s - memory.settled_s
    return since_s < CATCH_UP_S and memory.kept_up_s <= memory.settled_s


def load_of(memory: Memory, rates: Rates) -> float | None:
    """Return the share of what the running placement sustains; None: not known.

    Exact where the use of every limit is proportional to the rates; else near the rates that the
    figures are of.
    """
    figures = memory.figures
    if figures is None or not rates:
        return None
    grown = [
        rate / memory.figures_rates[op]
        for op, rate in rates.items()
        if memory.figures_rates.get(op, 0.0) > 0
    ]
    return max(grown, default=0.0) / figures.headroom if figures.headroom > 0 else None


def waits_s(memory: Memory) -> float:
    """Return for how many seconds more nothing is decided, as the job has just started."""
    settle_s = memory.settings.settle_s if memory.settings else 0.0
    return max(0.0, memory.settled_s + settle_s - memory.now_s)


def guard(memory: Memory) -> Guarded:
    """Return whether what runs keeps up with what comes."""
    rates = rates_now(memory.recent)
    if not rates:
        return Guarded("watches: no rates yet", False)
    total = sum(rates.values())
    held = held_now(memory.recent)
    if held >= HELD and catches_up(memory):
        return Guarded(f"catches up: sources are held back {held:.0%} of the time", False)
    if held >= HELD:
        return Guarded(f"sources are held back {held:.0%} of the time at {total:,.0f}/s", True)
    load = load_of(memory, rates)
    load = None if load is None else load / memory.bias
    if load is None:
        return Guarded(f"watches: {total:,.0f} records/s, no figures of what runs yet", False)
    if load > 1:
        return Guarded(f"{total:,.0f} records/s need {load:.0%} of what runs", True)
    return Guarded(f"keeps up: {total:,.0f} records/s are {load:.0%} of what it sustains", False)
