"""From Flink's answers to rates. An answer that is incomplete, stale or of another job is none.

Rates are differences of counters, so that zeros of an incomplete answer never look like a load that
has gone (the Flink autoscaler's FLINK-39925).
"""

from dataclasses import dataclass

from edgeplace.control.loop.events import Polled, Rates
from edgeplace.control.loop.memory import Base, Memory

STALE_S = 60.0
"""Where Flink does not tell the time that it has counted: counters that stand still for less are an
old answer."""
_ODD_POLLS = 3
"""Counters that stay below what they were for so many polls have begun anew."""


@dataclass(frozen=True)
class Blind:
    """There is no observation."""

    why: str
    base: Base | None
    """The counters that the next rates are differences to."""


@dataclass(frozen=True)
class Observation:
    """What a poll tells."""

    base: Base
    rates: Rates | None
    """None: the job has begun anew, so that there are no differences yet."""
    span_s: float
    held: float


def observe(memory: Memory, polled: Polled) -> Observation | Blind:
    """Return what a poll tells, or why it tells nothing; `memory.told` has its places already."""
    why = _no_answer(memory, polled)
    if why:
        return Blind(why, memory.base)
    counters = {op: tuple(float(v or 0.0) for v in row) for op, row in polled.counters.items()}
    fresh = Base(at_s=polled.at_s, counters=counters, counted_ms=polled.counted_ms)
    held = float(polled.held or 0.0)
    base = memory.base
    if base is None or polled.run != memory.run or _shape(base.counters) != _shape(counters):
        return Observation(fresh, None, 0.0, held)
    span_s = polled.at_s - base.at_s
    if span_s <= 0:
        return Blind("the clock has not moved since the last poll", base)
    fell = [op for op, row in counters.items() if any(map(_less, row, base.counters[op]))]
    if fell:
        odd = base.odd + 1
        kept = fresh if odd >= _ODD_POLLS else base.model_copy(update={"odd": odd})
        return Blind(f"records counted at source {fell[0]!r} became fewer: half an answer", kept)
    if counters == base.counters and _is_old(base, polled, span_s):
        return Blind(f"Flink's counters are those of {span_s:.0f} s ago: an old answer", base)
    rates = {
        op: (sum(row) - sum(base.counters[op])) / span_s for op, row in sorted(counters.items())
    }
    return Observation(fresh, rates, span_s, held)


def _no_answer(memory: Memory, polled: Polled) -> str:
    settings = memory.settings
    if polled.problem:
        return polled.problem
    if settings is not None and polled.job != settings.job:
        return f"the answers are about job {polled.job!r}, not {settings.job!r}"
    if polled.state != "RUNNING":
        return f"the job is {polled.state or 'in no state that Flink tells'}"
    missing = [op for op, row in polled.counters.items() if not row or None in row]
    if missing or not polled.counters:
        of = f" of source {missing[0]!r}" if missing else ""
        return f"Flink has not told all counters{of}"
    if polled.held is None:
        return "Flink has not told how long sources are held back"
    if not memory.told or any(None in row for row in memory.told.values()):
        return "Flink has not told where all subtasks run"
    return ""


def _is_old(base: Base, polled: Polled, span_s: float) -> bool:
    """Return whether counters that stand still are old ones, and not those of a silent source.

    Flink fetches the metrics of all TaskManagers, and fetches none again before each has answered
    or `web.timeout` is over, 10 minutes by default. So one that is cut off stops them all.
    """
    if base.counted_ms is None or polled.counted_ms is None:
        return span_s < STALE_S
    return base.counted_ms == polled.counted_ms


def _less(now: float, before: float) -> bool:
    return now < before


def _shape(counters: dict[str, tuple[float, ...]]) -> dict[str, int]:
    return {op: len(row) for op, row in counters.items()}
