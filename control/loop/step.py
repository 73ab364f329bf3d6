"""The loop as a pure function: memory and an event give memory, what to say, and effects.

It knows no clock, no network, no file and no chance, so a journal of events gives the same loop
again. Nothing is silent: each event leaves one line that says what was done, or why nothing was.
"""

from dataclasses import dataclass
from itertools import zip_longest

from edgeplace.control.loop import advising, changing, record, rescue, sites
from edgeplace.control.loop.answering.alike import are_alike
from edgeplace.control.loop.decide import BINS_KEPT, decide, planned
from edgeplace.control.loop.events import (
    AnyEffect,
    AnyEvent,
    Asked,
    Ended,
    LogMeasured,
    Polled,
    Reloaded,
    Solve,
    Solved,
    Started,
    Stopped,
)
from edgeplace.control.loop.expected import bias
from edgeplace.control.loop.expected.ahead import levels
from edgeplace.control.loop.expected.day import BIN_S
from edgeplace.control.loop.guard import POLLS, guard, held_now, waits_s
from edgeplace.control.loop.memory import (
    DAY_S,
    Memory,
    RecentRates,
)
from edgeplace.control.loop.observe import Blind, Observation, observe
from edgeplace.control.settings import numbers

GUARD_S = 30.0
_RECENT_S = 300.0
_AGAIN_S = 120.0
"""Between urgent questions to the solver."""
_LOST_S = 300.0
"""An answer of the solver that has not come by then, beside its time limit, does not come."""
_LONGEST_SPAN_S = 600.0
"""Rates over a longer time say nothing of any half hour."""


@dataclass(frozen=True)
class Stepped:
    """What follows from an event."""

    memory: Memory
    says: str
    effects: tuple[AnyEffect, ...] = ()


def step(memory: Memory, event: AnyEvent) -> Stepped:
    """Return what follows from an event."""
    stepped = _step(memory, event)
    again = [name for name in memory.kept_out if name not in stepped.memory.kept_out]
    says = "; ".join((*(f"{name} may be used again" for name in again), stepped.says))
    kept = record.logged(memory, event, stepped.memory, says)
    return Stepped(kept, says, stepped.effects)


def _step(memory: Memory, event: AnyEvent) -> Stepped:
    # A clock that went back while no loop ran stands still until it has caught up.
    now_s = max(memory.now_s, event.at_s)
    memory = _aged(memory.now(lines=memory.lines + 1, now_s=now_s))
    match event:
        case Started():
            return _started(memory, event)
        case Reloaded():
            return _reloaded(memory, event)
        case Polled():
            return _polled(memory, event)
        case Solved():
            return _solved(memory, event)
        case LogMeasured():
            return _measured(memory, event)
        case Ended():
            after, said, effects = changing.ended(memory, event)
            return Stepped(record.ended(memory, event, after), said, effects)
        case Asked():
            return Stepped(*changing.asked(memory.now(wall_s=event.wall_s), event))
        case Stopped():
            return Stepped(memory, f"ends: {event.why}")


def _aged(memory: Memory) -> Memory:
    """Forget what is over."""
    since_s = memory.now_s - DAY_S
    if memory.losses:
        losses = sites.aged(memory.losses, memory.now_s)
        # Whoever is let in again may be worth a move: that is decided at once.
        again = any(f.out and not (n in losses and losses[n].out) for n, f in memory.losses.items())
        memory = memory.now(losses=losses, decided_s=0.0 if again else memory.decided_s)
    if memory.proposal is not None and memory.now_s >= memory.proposal.valid_until_s:
        memory = memory.now(proposal=None)
    begun = memory.voluntary or memory.reweighed or memory.urgent
    if not (begun or memory.restored or memory.banned):
        return memory
    return memory.now(
        voluntary=tuple(t for t in memory.voluntary if t > since_s),
        reweighed=tuple(t for t in memory.reweighed if t > since_s),
        urgent=tuple(t for t in memory.urgent if t > since_s),
        restored=tuple(r for r in memory.restored if r[0] > since_s),
        went_back=tuple(t for t in memory.went_back if t > since_s),
        banned={k: t for k, t in memory.banned.items() if t > since_s},
    )


def _started(memory: Memory, event: Started) -> Stepped:
    said = [f"leads with epoch {event.epoch}, mode {event.settings.mode}"]
    if event.mended:
        said.append(event.mended)
    changed = memory.settings is not None and event.settings != memory.settings
    if changed:
        said.append("the settings are others: what was proposed is void")
    if memory.fallen and not event.i_know:
        said.append(f"only recommends: {memory.fallen}; --i-know lifts that")
    memory = memory.now(
        epoch=event.epoch,
        settings=event.settings,
        i_know=event.i_know,
        fallen="" if event.i_know else memory.fallen,
        first_s=event.at_s if memory.first_s is None else memory.first_s,
        # What was measured before says nothing about the time in between.
        base=None,
        recent=(),
        came={},
        came_s=0.0,
        observed_s=None,
        blind="nothing was asked yet",
        asked_s=None,
        sites=event.sites or memory.sites,
        there=None,
        loss_plans={} if changed else memory.loss_plans,
        preferred={} if changed else memory.preferred,
        regret=0.0 if changed else memory.regret,
        proposal=None if changed else memory.proposal,
    )
    if memory.change is not None:
        said.append(f"change {memory.change.id} is open: Flink is asked what came of it")
    return Stepped(*changing.again(memory, "; ".join(said)))


def _reloaded(memory: Memory, event: Reloaded) -> Stepped:
    if event.settings is None:
        return Stepped(memory, f"goes on with the settings it has: {event.problem}")
    changed = event.settings != memory.settings
    memory = memory.now(settings=event.settings, sites=event.sites or memory.sites)
    if not changed:
        return Stepped(memory, "control.yaml was read anew: the settings are the same")
    memory = memory.now(
        preferred={}, regret=0.0, proposal=None, loss_plans={}, asked_s=None, decided_s=0.0
    )
    says = f"control.yaml was read anew, mode {memory.mode}: what was proposed is void"
    return Stepped(memory.now(ticket=memory.ticket + 1), says)


def _polled(memory: Memory, event: Polled) -> Stepped:
    memory = memory.now(wall_s=event.wall_s)
    if event.places is not None:
        memory = memory.now(told=event.places)
    memory, reweighed = _weights_told(memory, event)
    if memory.settings is None:
        return Stepped(memory, "nobody leads: the poll is not used")
    before = memory.lost
    memory, news = sites.noticed(memory, event)
    if event.others is not None and event.others != memory.others:
        memory = memory.now(others=event.others)
        news = (*news, event.others or "no other autoscaler is on any more")
    if set(before) - set(memory.lost):
        memory = memory.now(decided_s=0.0)
    news = (*news, reweighed) if reweighed else news
    stepped = _looked(memory, event)
    if not news:
        return stepped
    return Stepped(stepped.memory, "; ".join((*news, stepped.says)), stepped.effects)


def _weights_told(memory: Memory, event: Polled) -> tuple[Memory, str]:
    """Return the memory with the weights in force, and whether somebody else has changed them."""
    if event.weights is None or event.weights == memory.weights:
        return memory, ""
    others = memory.change is None and not are_alike(event.weights, memory.weights)
    known, memory = bool(memory.weights), memory.now(weights=event.weights)
    if not event.weights:
        if memory.proposal is not None and memory.proposal.weights:
            memory = memory.now(proposal=None)
        return memory, "not all routers follow their weights: which are in force is not known"
    if not others:
        return memory, ""
    # What was reckoned, or is being reckoned, is about the weights before.
    memory = memory.now(figures=None, preferred={}, regret=0.0, proposal=None)
    memory = memory.now(asked_s=None, ticket=memory.ticket + 1, loss_plans={}, decided_s=0.0)
    if not known:
        return memory, "the weights of the routers are known"
    return memory, "somebody has changed the weights of the routers; what was proposed is void"


def _looked(memory: Memory, event: Polled) -> Stepped:
    seen = observe(memory, event)
    if isinstance(seen, Blind):
        memory = memory.now(base=seen.base, blind=seen.why)
        said = f"no answer: {seen.why}"
        place = "" if rescue.is_unseen(memory) else sites.stranded(memory)
        if place and (memory.change is None or rescue.is_due(memory)):
            return Stepped(*rescue.rescued(memory, place, said))
        if memory.change is not None:
            return Stepped(*changing.watched(memory, None, said))
        return Stepped(memory, said)
    memory, moved = _noted(memory, event, seen)
    if memory.change is not None:
        return _watched(memory, seen)
    if moved:
        return _ask(memory, moved)
    return _cycle(memory)


def _watched(memory: Memory, seen: Observation) -> Stepped:
    """Watch an open change; while nothing else is to be done, plan for the loss of sites."""
    memory, said, effects = changing.watched(memory, seen, "watches")
    settings = memory.settings
    if settings is None or memory.change is None or effects:
        return Stepped(memory, said, effects)
    if memory.asked_s is not None:
        late_s = memory.now_s - memory.asked_s - settings.solve_s - _LOST_S
        return Stepped(memory if late_s < 0 else memory.now(asked_s=None), said)
    place = rescue.next_to_plan(memory)
    if not place:
        return Stepped(memory, said)
    memory, asks, effects = rescue.asks(memory, place)
    return Stepped(memory, f"{said}; {asks}", effects)


def _noted(memory: Memory, event: Polled, seen: Observation) -> tuple[Memory, str]:
    """Return the memory with an observation in it, and what else is new about the job."""
    places = memory.told
    new_run = event.run != memory.run
    moved = bool(memory.places) and places != memory.places
    said = ""
    if memory.change is None and moved:
        count = sum(
            a != b
            for op, row in places.items()
            for a, b in zip_longest(row, memory.places.get(op, ()))
        )
        said = f"somebody has moved the job: {count} subtasks; what was proposed is void"
    elif memory.change is None and new_run and memory.run:
        said = "the job has started anew"
    memory = memory.now(
        blind="",
        observed_s=memory.now_s,
        base=seen.base,
        job_id=event.job_id,
        run=event.run,
        places=places,
        checkpoint_s=event.checkpoint_s,
        checkpoint_failed=event.checkpoint_failed,
        checkpoint_took_s=event.checkpoint_took_s or memory.checkpoint_took_s,
        settled_s=memory.now_s - event.up_s if new_run or moved else memory.settled_s,
    )
    if new_run or moved:
        memory = memory.now(recent=(), came={}, came_s=0.0)
    if moved:
        # An answer that is under way is about places that are no more.
        memory = memory.now(figures=None, preferred={}, regret=0.0, proposal=None)
        memory = memory.now(asked_s=None, ticket=memory.ticket + 1, loss_plans={})
    return _counted(memory, seen), said


def _counted(memory: Memory, seen: Observation) -> Memory:
    """Return the memory with the rates of an observation."""
    if seen.rates is None or seen.span_s > _LONGEST_SPAN_S:
        return memory
    entry = RecentRates(at_s=memory.now_s, rates=seen.rates, held=seen.held)
    recent = (*(s for s in memory.recent if s.at_s > memory.now_s - _RECENT_S), entry)
    settle_s = memory.settings.settle_s if memory.settings else 0.0
    if memory.now_s - memory.settled_s < settle_s:
        return memory.now(recent=recent)
    if len(recent) >= POLLS and held_now(recent) < changing.HELD:
        memory = memory.now(kept_up_s=memory.now_s)
    came = {op: memory.came.get(op, 0.0) + r * seen.span_s for op, r in seen.rates.items()}
    memory = memory.now(recent=recent, came=came, came_s=memory.came_s + seen.span_s)
    minute = [s for s in recent if s.at_s > memory.now_s - 60]
    mean = {op: sum(s.rates.get(op, 0.0) for s in minute) / len(minute) for op in seen.rates}
    bin_now = int(memory.now_s // BIN_S)
    peaks, peak = memory.peaks, memory.bin_peak
    if bin_now != memory.bin:
        # Half hours without an answer are as the one before: they were no load of nothing.
        gap = min(bin_now - memory.bin, BINS_KEPT) if memory.bin else 0
        if peak and gap:
            peaks = {
                op: (*peaks.get(op, ()), *(value,) * gap)[-BINS_KEPT:] for op, value in peak.items()
            }
        peak = {}
    peak = {op: max(value, peak.get(op, 0.0)) for op, value in mean.items()}
    return memory.now(peaks=peaks, bin=bin_now, bin_peak=peak)


def _cycle(memory: Memory) -> Stepped:
    """Guard and decide, each in its time."""
    settings = memory.settings
    if settings is None or not memory.recent:
        return Stepped(memory, "watches: no rates yet")
    if waits_s(memory) > 0:
        return Stepped(memory, "waits: the job has just started; what it catches up is no load")
    if memory.asked_s is not None and not memory.asked_machines:
        if memory.now_s - memory.asked_s < settings.solve_s + _LOST_S:
            return Stepped(memory, "watches: the solver is at work")
        memory = memory.now(asked_s=None)
    freed = changing.freed(memory)
    if freed:
        said = f"nothing hinders {freed.id} any more: {freed.why}"
        return Stepped(*changing.proposed(memory, freed, said))
    since_s = memory.now_s - memory.decided_s
    if since_s >= (_AGAIN_S if memory.figures is None else settings.decide_s):
        return _ask(memory, guard(memory).text)
    place = rescue.next_to_plan(memory)
    if place:
        return Stepped(*rescue.asks(memory, place))
    if advising.is_due(memory):
        return Stepped(*advising.asks(memory))
    if memory.now_s - memory.guarded_s < GUARD_S:
        return Stepped(memory, "watches")
    memory = bias.learned(memory.now(guarded_s=memory.now_s))
    found = guard(memory)
    if found.must and memory.now_s - memory.urged_s >= _AGAIN_S:
        return _ask(memory.now(urged_s=memory.now_s), f"{found.text}: decides at once")
    return Stepped(memory, found.text)


def _ask(memory: Memory, said: str) -> Stepped:
    """Ask the solver, if there is something to ask with."""
    settings = memory.settings
    rates = planned(memory)
    memory = memory.now(decided_s=memory.now_s, ticket=memory.ticket + 1)
    if settings is None or (settings.costs is None and not memory.measured):
        why = f", and none were measured: {memory.not_measured}" if memory.not_measured else ""
        return Stepped(memory, f"{said}; no `costs` are given{why}: nothing is decided")
    if not rates:
        # It has just started anew: the next cycle with rates asks.
        return Stepped(memory.now(decided_s=0.0), said)
    came = {op: n / memory.came_s for op, n in memory.came.items()} if memory.came_s > 0 else {}
    first = settings.mode == "apply" and not memory.proved
    first_rescaled = settings.mode == "apply" and not memory.proved_rescaled
    small = first or (first_rescaled and bool(settings.rescale))
    day, at = ((), ()) if small else levels(memory, rates)
    ask = Solve(
        ticket=memory.ticket,
        places=memory.placed,
        weights=memory.weights,
        rates=rates,
        came=came,
        other=memory.preferred if came else {},
        avoid=tuple(sites.avoided(memory)),
        day=day,
        parallelism={op: numbers(text) for op, text in settings.rescale.items()},
        drains=held_now(memory.recent) >= changing.HELD,
        one_operator=first,
        one_rescaled=first_rescaled,
        limit_s=settings.solve_s,
    )
    memory = memory.now(
        asked_s=memory.now_s,
        asked_without="",
        asked_machines=False,
        asked_rates=rates,
        asked_day=at,
        asked_came_s=memory.came_s,
        came={},
        came_s=0.0,
    )
    return Stepped(memory, f"{said}; asks the solver", (ask,))


def _measured(memory: Memory, event: LogMeasured) -> Stepped:
    if event.problem:
        given = memory.measured or (memory.settings is not None and memory.settings.costs)
        goes_on = "; the costs before go on" if given else ""
        return Stepped(
            memory.now(not_measured=event.problem), f"not measured: {event.problem}{goes_on}"
        )
    memory = memory.now(measured=True, not_measured="", costs_age_s=event.costs_age_s)
    age = "" if event.costs_age_s is None else f", until {event.costs_age_s / 60:.0f} minutes ago"
    return Stepped(
        memory, f"measured: {event.segments} segments more in the ledger, new costs of a day{age}"
    )


def _solved(memory: Memory, event: Solved) -> Stepped:
    of_change = memory.change is not None and not memory.asked_without
    if memory.asked_s is None or event.ticket != memory.ticket or of_change:
        return Stepped(memory, "an answer of the solver came too late: it is not used")
    memory = memory.now(asked_s=None, costs_age_s=event.costs_age_s)
    if memory.asked_machines:
        return Stepped(*advising.advised(memory, event))
    if memory.asked_without:
        return Stepped(*rescue.planned(memory, event))
    if event.problem or event.stay is None:
        undecided = decide(memory, event)
        memory = record.decided(memory.now(decision=undecided.text), undecided)
        return Stepped(memory, undecided.text)
    memory = memory.now(figures=event.stay, figures_rates=memory.asked_rates)
    decided = decide(memory, event)
    memory = memory.now(
        decision=decided.text,
        preferred=decided.preferred or {},
        regret=decided.regret,
        price=decided.price,
        currency=event.currency,
        day_gap=decided.day_gap,
        proposal=decided.proposal,
    )
    stay = "".join(
        f"; {name} stays where it runs: its weights are by subtask" for name in event.held
    )
    held = held_now(memory.recent)
    if decided.proposal is None:
        doubt = f"; sources are held back {held:.0%} of the time: measure the costs anew"
        fits = event.stay.fits and held >= changing.HELD
        said = decided.text + (doubt if fits else "") + stay
        return Stepped(record.decided(memory, decided), said)
    memory, said, effects = changing.proposed(memory, decided.proposal, decided.text)
    return Stepped(record.decided(memory, decided), said + stay, effects)
