"""Is there a better place, and is it worth the move? Three numbers behind each decision.

All three are in what the WAN costs: bytes times the prices of links, or money.

What the best plan saves, what staying has cost more so far (the regret), and what the change costs
(its price). A change that is worth it follows regret of at least its price, so that in any span the
number of such changes is at most what staying cost too much, divided by the least price.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from edgeplace.control.amounts import amount, by_time
from edgeplace.control.forecast import DAY
from edgeplace.control.loop.answering.alike import are_alike
from edgeplace.control.loop.events import Figures, Places, Rates, Solved, Weights
from edgeplace.control.loop.expected.ahead import FACTOR, ahead
from edgeplace.control.loop.expected.day import forecaster
from edgeplace.control.loop.gates import gate_of, in_the_way
from edgeplace.control.loop.guard import catches_up, held_now, rates_now
from edgeplace.control.loop.memory import HOUR_S, VALID_S, Memory, ProposedChange
from edgeplace.control.loop.recovery import longest_interval_s

BINS_KEPT = 15 * 48
_GRID = FACTOR ** (1 / 8)
"""The levels of a day are on it, too."""
_SAFER = 1.1
"""Where no plan bears what comes, one that bears this many times more is worth a change."""
_SAME_SHARE = 0.01
"""Weights follow the rates: a proposal of weights as near as this is the same one."""


@dataclass(frozen=True)
class Decision:
    """What follows from an answer of the solver."""

    text: str
    proposal: ProposedChange | None = None
    preferred: Places | None = None
    """The plan that staying is compared with from now on; None: staying is best."""
    regret: float = 0.0
    price: float = 0.0
    """Of the change. Both are WAN costs, in `Solved.currency` or in bytes."""
    day_gap: float | None = None
    saved: float = 0.0
    """WAN cost per second."""

    @property
    def verdict(self) -> str:
        """The word that the text begins with: undecided, stays, worth it or must."""
        return self.text.split(":")[0]


def planned(memory: Memory) -> Rates:
    """Return the rates that a plan has to sustain: what is expected with its bound, with headroom.

    More, if placements were seen to sustain less than their costs say.

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
        wanted[op] = _on_the_grid(settings.headroom / memory.bias * max(offered, expected))
    return wanted


def _on_the_grid(rate: float) -> float:
    """Return the next rate of a grid of 1.8 %: a load that comes again is the same question."""
    if rate <= 0:
        return 0.0
    step = math.ceil(math.log(rate) / math.log(_GRID) - 1e-6)
    return float(round(math.pow(_GRID, step), 6))


def decide(memory: Memory, solved: Solved) -> Decision:
    """Return what follows from an answer, before any gate is asked."""
    settings, stay = memory.settings, solved.stay
    if settings is None or stay is None or solved.problem:
        return Decision(f"undecided: {solved.problem or 'the solver says nothing'}")
    total = sum(memory.asked_rates.values())
    move = _move(memory, solved, stay, total)
    other = _weighed(memory, solved, stay, total)
    return move if other is None else _of_both(memory, move, other)


def _of_both(memory: Memory, move: Decision, other: Decision) -> Decision:
    """Return the decision for other weights, or for a move where they are not to be given now."""
    alone = memory.mode == "apply"
    if other.proposal is None:
        return move
    hindered = in_the_way(memory, other.proposal, alone)
    if hindered:
        banned = any(gate_of(text) == "refused" for text in hindered)
        moves = move.proposal is not None and (
            banned or not in_the_way(memory, move.proposal, alone)
        )
        if other.verdict == "must" and not banned and not moves:
            # Once nothing hinders it any more, it is made.
            return other
        said = "; ".join(hindered)
        return replace(move, text=f"{move.text}; other weights are hindered by {said}")
    saves_more = move.saved > other.saved
    if not alone and other.verdict != "must" and move.proposal is not None and saves_more:
        # Weights that nobody gives do not hide the move.
        return move
    return replace(
        other,
        preferred=move.preferred,
        regret=move.regret,
        price=move.price,
        day_gap=move.day_gap,
    )


def _move(memory: Memory, solved: Solved, stay: Figures, total: float) -> Decision:
    if not stay.fits:
        return _must(memory, solved, total)
    path = ahead(memory, solved, _price(memory, solved.restore_cost, stay))
    if path is None:
        return _worth(memory, solved, stay, total)
    within = f"the path of the day is within {path.gap:.0%} of any"
    if path.first is None:
        kept = f"for {path.until / 2:g} h at least" if path.until < DAY else "all day"
        decision = Decision(f"stays: the path of the day does so {kept}; {within}")
    else:
        step = solved.model_copy(
            update={
                "best": path.first.figures,
                "places": path.first.places,
                "moves": path.first.moves,
                "moved_operators": path.first.moved_operators,
                "rescaled": path.first.rescaled,
                "restore_bytes": path.first.restore_bytes,
                "restore_cost": path.first.restore_cost,
                "promises": path.first.promises,
            }
        )
        decision = _worth(memory, step, stay, total)
        decision = replace(decision, text=f"{decision.text}; {within}")
    return replace(decision, day_gap=path.gap)


def _price(memory: Memory, restore_cost: float, stay: Figures) -> float:
    """Return what a change costs: state read back, and a share of an hour's WAN traffic."""
    share = memory.settings.changes.least_gain if memory.settings else 0.0
    return restore_cost + share * stay.wan_cost * HOUR_S


def _worth(memory: Memory, solved: Solved, stay: Figures, total: float) -> Decision:
    settings, best = memory.settings, solved.best
    if settings is None or best is None or not solved.places:
        better = "costs less" if solved.currency else "sends less over the WAN"
        return Decision(f"stays: no plan for {total:,.0f} records/s {better}")
    saved = stay.wan_cost - best.wan_cost
    share = saved / stay.wan_cost if stay.wan_cost > 0 else 0.0
    if share < settings.changes.least_gain:
        saves = by_time(saved, solved.currency)
        return Decision(
            f"stays: the best plan saves {saves}, {share:.1%} of the WAN; "
            f"{settings.changes.least_gain:.0%} is the least that counts"
        )
    price = _price(memory, solved.restore_cost, stay)
    regret = max(0.0, memory.regret + _regret_of_last(memory, solved))
    numbers = (
        f"saves {by_time(saved, solved.currency)} ({share:.0%}), "
        f"staying has cost {amount(regret, solved.currency)} more, "
        f"a change costs {amount(price, solved.currency)}"
    )
    if regret < price:
        return Decision(f"stays: {numbers}", None, solved.places, regret, price)
    proposal = _proposal(memory, solved, "worth it", numbers)
    return Decision(
        f"worth it: {numbers}",
        proposal,
        solved.places,
        regret,
        price,
        saved=saved,
    )


def _weighed(memory: Memory, solved: Solved, stay: Figures, total: float) -> Decision | None:
    """Return the decision for other weights; None: they are not worth it, or a move bears more.

    They stop nothing and read nothing back, so their price is 0, and no regret is waited for.
    """
    settings, then, best = memory.settings, solved.weighed, solved.best
    if settings is None or then is None or not solved.weights:
        return None
    saved = stay.wan_cost - then.wan_cost
    if not stay.fits:
        bears = 0.0 if best is None else best.headroom
        keeps = best is not None and best.fits
        if not then.fits and (keeps or then.headroom < max(_SAFER * stay.headroom, bears)):
            return None
        kind = "must"
        numbers = f"{_short(stay, total)}, other weights bear {then.headroom:.0%}, without a pause"
    else:
        share = saved / stay.wan_cost if stay.wan_cost > 0 else 0.0
        if not then.fits or share < settings.changes.least_gain:
            return None
        kind = "worth it"
        saves = by_time(saved, solved.currency)
        numbers = f"other weights save {saves} ({share:.0%}), without a pause"
    only = Solved(at_s=solved.at_s, ticket=solved.ticket, places=memory.placed)
    proposal = _proposal(memory, only, kind, numbers, solved.weights)
    unproved = kind != "must" and solved.weights_unproved_cost > saved
    proposal = proposal.model_copy(update={"unproved": unproved})
    return Decision(f"{kind}: {numbers}", proposal, None, memory.regret, saved=saved)


def _short(stay: Figures, total: float) -> str:
    """Return what keeps what runs from being enough, in words."""
    if stay.headroom >= 1 and stay.broken:
        return f"what runs breaks {stay.broken}"
    return f"what runs bears {stay.headroom:.0%} of the {total:,.0f} records/s expected"


def _must(memory: Memory, solved: Solved, total: float) -> Decision:
    stay, best = solved.stay, solved.best
    if stay is None:
        raise ValueError("there are no figures of what runs")
    short = _short(stay, total)
    if best is None or not solved.places:
        return Decision(f"stays: {short}, and no plan bears more")
    if not best.fits and best.headroom < _SAFER * stay.headroom:
        return Decision(f"stays: {short}, and the best plan bears {best.headroom:.0%}")
    numbers = (
        f"{short}, the plan bears {best.headroom:.0%}, "
        f"the move reads {amount(solved.restore_bytes)} back"
    )
    proposal = _proposal(memory, solved, "must", numbers)
    return Decision(f"must: {numbers}", proposal, None, memory.regret, solved.restore_cost)


def _regret_of_last(memory: Memory, solved: Solved) -> float:
    """Return what staying cost more since the last decision than the plan preferred there."""
    stay, other = solved.came_stay_cost, solved.came_other_cost
    if stay is None or not memory.preferred:
        return 0.0
    # A plan that would not have borne what came: it was right to stay.
    return -math.inf if other is None else (stay - other) * memory.asked_came_s


def _proposal(
    memory: Memory, solved: Solved, kind: str, why: str, weights: Weights | None = None
) -> ProposedChange:
    former, weights = memory.proposal, weights or {}
    interval_s, said = _interval(memory, solved)
    again = (
        former is not None
        and (former.kind, former.to) == (kind, solved.places)
        and former.weights.keys() == weights.keys()
        and are_alike(weights, former.weights, _SAME_SHARE)
    )
    return ProposedChange(
        id=former.id if former is not None and again else f"c{solved.ticket}",
        kind="must" if kind == "must" else "worth it",
        to=solved.places,
        weights=weights,
        moves=solved.moves,
        moved_operators=solved.moved_operators,
        restore_bytes=solved.restore_bytes,
        promises=solved.promises,
        rescaled=solved.rescaled,
        interval_s=interval_s,
        why=why + said,
        rates=memory.asked_rates,
        unproved=kind != "must" and _unproved(solved),
        made_s=memory.now_s,
        valid_until_s=memory.now_s + VALID_S,
    )


def _interval(memory: Memory, solved: Solved) -> tuple[float | None, str]:
    """Return the interval of checkpoints that goes with a plan, and words for it."""
    recovery_s = memory.settings.recovery_s if memory.settings else None
    if recovery_s is None or solved.best is None or solved.best.headroom <= 0:
        return None, ""
    load = 1 / solved.best.headroom
    interval_s = longest_interval_s(recovery_s, load, memory.checkpoint_took_s)
    if interval_s is None:
        return None, f", no checkpoints are frequent enough to recover within {recovery_s:.0f} s"
    return interval_s, f", a checkpoint every {interval_s:.0f} s"


def _unproved(solved: Solved) -> bool:
    stay, best = solved.stay, solved.best
    if stay is None or best is None:
        return True
    return solved.unproved_cost > stay.wan_cost - best.wan_cost
