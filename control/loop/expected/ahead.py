"""The next day: at which levels it will be, and the cheapest path of placements through it.

Levels are powers of 1.15 of the rates that are planned for now, so that few plans serve a day. The
path is a shortest one (`control/plan_ahead.py`); only its first step is of use, as each decision
plans anew.
"""

import math
from dataclasses import dataclass

import numpy as np

from edgeplace.control.forecast import DAY
from edgeplace.control.loop.events import DayOption, Rates, Solved
from edgeplace.control.loop.expected.day import BIN_S, the_day
from edgeplace.control.loop.memory import Memory
from edgeplace.control.plan_ahead import plan_ahead

FACTOR = 1.15
_MOST_LEVELS = 6
_FEWEST_BINS = DAY + 24
"""Before a day has come once, the next one is not known."""
_LATE = 100.0
"""Price of half an hour at rates that an option does not bear, in those of the dearest option."""


@dataclass(frozen=True)
class Ahead:
    """The path of the day.

    Parameters
    ----------
    first
        Its first step; None: to stay.
    until
        For how many half hours the path stays with its first step.
    gap
        How far it may be from the best of all paths, as a share of its cost.
    """

    first: DayOption | None
    until: int
    gap: float


def levels(memory: Memory, rates: Rates) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the levels of the next day as multiples of the rates, and the level of each bin.

    Nothing is returned where the day is at one level, or where no day is known.
    """
    total = sum(rates.values())
    known = min((len(s) for s in memory.peaks.values()), default=0)
    if memory.settings is None or total <= 0 or known < _FEWEST_BINS:
        return (), ()
    day = the_day(memory)
    if day is None:
        return (), ()
    ratio = memory.settings.headroom / memory.bias * np.array(day.next_bound) / total
    powers = np.ceil(np.log(np.maximum(ratio, 1e-6)) / math.log(FACTOR) - 1e-9)
    # This half hour is at the rates that are planned for now.
    powers[0] = 0
    step = 1
    while len(set(-(-powers // step))) > _MOST_LEVELS:
        step += 1
    whole = [round(-(-p // step) * step) for p in powers]
    found = [0, *sorted(set(whole) - {0})]
    if len(found) == 1:
        return (), ()
    return tuple(FACTOR**p for p in found), tuple(found.index(p) for p in whole)


def ahead(memory: Memory, solved: Solved, price: float) -> Ahead | None:
    """Return the path of the day; None: none was asked for.

    Parameters
    ----------
    price
        Of a change, as costs of options are.
    """
    if not solved.day or not memory.asked_day:
        return None
    at = np.array(memory.asked_day)
    wan = np.array([option.wan_cost for option in solved.day])
    fits = np.array([option.fits for option in solved.day])
    worst = float(wan.max()) or 1.0
    costs = BIN_S * np.where(fits, wan, wan + _LATE * worst)[:, at].T
    path = plan_ahead(costs, price, 0)
    first = int(path.options[0])
    until = int(np.argmax(np.append(path.options, -1) != first))
    bound = BIN_S * float(np.array(solved.day_bounds)[at].sum())
    gap = max(0.0, (path.cost - bound) / path.cost) if path.cost > 0 else 0.0
    return Ahead(solved.day[first] if first else None, until, gap)
