"""Is there a better place, and is it worth the move? Three numbers behind each decision.

What the best plan saves, what staying has cost more so far (the regret), and what the change costs
(its price). A change that is worth it follows regret of at least its price, so that in any span the
number of such changes is at most what staying cost too much, divided by the least price.
"""

import math
from dataclasses import dataclass

import numpy as np

from edgeplace.control.loop.day import forecaster
from edgeplace.control.loop.events import Places, Rates, Solved
from edgeplace.control.loop.guard import catches_up, held_now, rates_now
from edgeplace.control.loop.memory import Memory, ProposedChange

BIN_S = 1800
"""Of the history that forecasts are made of: 48 bins are a day."""
BINS_KEPT = 15 * 48
_VALID_S = 3600.0
_SAFER = 1.1
"""Where no plan bears what comes, one that bears this many times more is worth a change."""
_HOUR_S = 3600.0


@dataclass(frozen=True)
class Decision:
    """What follows from an answer of the solver."""

    text: str
    proposal: ProposedChange | None = None
    preferred: Places | None = None
    """The plan that staying is compared with from now on; None: staying is best."""
    regret_bytes: float = 0.0
    price_bytes: float = 0.0

    @property
    def verdict(self) -> str:
        """The word that the text begins with: undecided, stays, worth it or must."""
        return self.text.split(":")[0]


def planned(memory: Memory) -> Rates:
    """Return the rates that a plan has to sustain: what is expected with its bound, with headroom.

    What sources emit while they are held back is less than what they are offered; while they catch
    up, it is more.
    """
    settings = memory.settings
    if settings is None:
        return {}
    held = 0.0 if catches_up(memory) else min(held_now(memory.recent), 0.9)
    wanted = {}
    for op, now in rates_now(memory.recent).items():
        lately = max((s.rates.get(op, 0.0) for s in memory.recent[-6:]), default=now)
        offered = max(now, lately) / (1 - held)
        past = np.array(memory.peaks.get(op, ()))
        expected = 0.0
        if len(past):
            expected = float(forecaster(settings.quantile).forecast(past).upper[0])
        wanted[op] = round(settings.headroom * max(offered, expected), 6)
    return wanted


def decide(memory: Memory, solved: Solved) -> Decision:
    """Return what follows from an answer, before any gate is asked."""
    settings, stay, best = memory.settings, solved.stay, solved.best
    if settings is None or stay is None or solved.problem:
        return Decision(f"undecided: {solved.problem or 'the solver says nothing'}")
    total = sum(memory.asked_rates.values())
    if not stay.fits:
        return _must(memory, solved, total)
    if best is None or not solved.places:
        return Decision(f"stays: no plan for {total:,.0f} records/s sends less over the WAN")
    saved = stay.wan_bytes_per_s - best.wan_bytes_per_s
    share = saved / stay.wan_bytes_per_s if stay.wan_bytes_per_s > 0 else 0.0
    if share < settings.changes.least_gain:
        return Decision(
            f"stays: the best plan saves {_bytes(saved)}/s, {share:.1%} of the WAN; "
            f"{settings.changes.least_gain:.0%} is the least that counts"
        )
    price = solved.restore_bytes + settings.changes.least_gain * stay.wan_bytes_per_s * _HOUR_S
    regret = max(0.0, memory.regret_bytes + _regret_of_last(memory, solved))
    numbers = (
        f"saves {_bytes(saved)}/s ({share:.0%}), staying has cost {_bytes(regret)} more, "
        f"a change costs {_bytes(price)}"
    )
    if regret < price:
        return Decision(f"stays: {numbers}", None, solved.places, regret, price)
    proposal = _proposal(memory, solved, "worth it", numbers)
    return Decision(f"worth it: {numbers}", proposal, solved.places, regret, price)


def _must(memory: Memory, solved: Solved, total: float) -> Decision:
    stay, best = solved.stay, solved.best
    if stay is None:
        raise ValueError("there are no figures of what runs")
    short = f"what runs bears {stay.headroom:.0%} of the {total:,.0f} records/s expected"
    if stay.headroom >= 1 and stay.broken:
        short = f"what runs breaks {stay.broken}"
    if best is None or not solved.places:
        return Decision(f"stays: {short}, and no plan bears more")
    if not best.fits and best.headroom < _SAFER * stay.headroom:
        return Decision(f"stays: {short}, and the best plan bears {best.headroom:.0%}")
    numbers = (
        f"{short}, the plan bears {best.headroom:.0%}, "
        f"the move reads {_bytes(solved.restore_bytes)} back"
    )
    proposal = _proposal(memory, solved, "must", numbers)
    return Decision(f"must: {numbers}", proposal, None, memory.regret_bytes, solved.restore_bytes)


def _regret_of_last(memory: Memory, solved: Solved) -> float:
    """Return what staying cost more since the last decision than the plan preferred there."""
    stay, other = solved.came_stay_bytes_per_s, solved.came_other_bytes_per_s
    if stay is None or not memory.preferred:
        return 0.0
    # A plan that would not have borne what came: it was right to stay.
    return -math.inf if other is None else (stay - other) * memory.asked_came_s


def _proposal(memory: Memory, solved: Solved, kind: str, why: str) -> ProposedChange:
    former = memory.proposal
    again = former is not None and former.to == solved.places and former.kind == kind
    return ProposedChange(
        id=former.id if former is not None and again else f"c{solved.ticket}",
        kind="must" if kind == "must" else "worth it",
        to=solved.places,
        moves=solved.moves,
        moved_operators=solved.moved_operators,
        restore_bytes=solved.restore_bytes,
        why=why,
        rates=memory.asked_rates,
        unproved=kind != "must" and _unproved(solved),
        made_s=memory.now_s,
        valid_until_s=memory.now_s + _VALID_S,
    )


def _unproved(solved: Solved) -> bool:
    stay, best = solved.stay, solved.best
    if stay is None or best is None:
        return True
    return solved.unproved_bytes_per_s > stay.wan_bytes_per_s - best.wan_bytes_per_s


def _bytes(value: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"
