"""A change from proposal to its end: gates, the intent, what is seen after it, the way back.

A change is on record before it is made. Whatever ends the loop in between, the next one finds it
open, and looks: the job runs as intended, and is watched; or the time is over, and the former
placement is written, which changes nothing where it runs already.
"""

from edgeplace.control.loop.answering.alike import are_alike
from edgeplace.control.loop.events import AnyEffect, Apply, Asked, Ended, Weigh
from edgeplace.control.loop.gates import in_the_way, plan_key
from edgeplace.control.loop.guard import HELD, held_now, rates_now
from edgeplace.control.loop.memory import BegunChange, Memory, ProposedChange
from edgeplace.control.loop.observe import Observation
from edgeplace.control.loop.sites import unregistered

WATCH_S = 300.0
"""How long the job has to do well after a change."""
_CATCH_UP_S = 120.0
"""After a change the job catches up: that its sources are held back then means nothing."""
_WORSE_POLLS = 6
_AWAY_POLLS = 3
_MOST_RESTARTS = 1
"""A job may fail for a reason of its own, once."""
_MUCH_WORSE = 0.1
"""Share of the time that sources are held back more than before: the change made it worse."""
_SLACK_S = 60.0
_MOST_BACK = 2
"""Ways back within a day, after which the loop only recommends."""
_GOOD = ("applied", "unchanged")

Then = tuple[Memory, str, tuple[AnyEffect, ...]]

__all__ = ["HELD", "asked", "ended", "freed", "proposed", "watched"]


def proposed(memory: Memory, proposal: ProposedChange, said: str) -> Then:
    """Recommend a change, wait for a person, or begin it, as the mode and the gates say."""
    alone = memory.mode == "apply"
    hindered = in_the_way(memory, proposal, alone)
    proposal = proposal.model_copy(update={"hindered": hindered})
    memory = memory.now(proposal=proposal)
    if hindered:
        return memory, f"{said}; {proposal.id} is hindered by {'; '.join(hindered)}", ()
    memory = memory.now(recommended=memory.recommended + 1)
    if memory.mode == "recommend":
        return memory, f"{said}; recommends {proposal.id}: {proposal.acts}", ()
    if memory.mode == "approve":
        asks = f"approve {proposal.id} within the hour: {proposal.acts}"
        return memory, f"{said}; {asks}", ()
    return _begun(memory, proposal, said)


def freed(memory: Memory) -> ProposedChange | None:
    """Return the proposal without which the job does not do, once nothing hinders it any more."""
    proposal = memory.proposal
    if proposal is None or proposal.kind != "must" or not proposal.hindered:
        return None
    alone = memory.mode == "apply"
    return None if in_the_way(memory, proposal, alone) else proposal


def asked(memory: Memory, event: Asked) -> Then:
    """Do what a person wants, or say why not."""
    by = f" by {event.who}" if event.who else ""
    if event.what == "freeze":
        memory = memory.now(frozen_until_s=memory.now_s + event.for_s)
        return memory, f"no changes for {event.for_s / 60:.0f} minutes{by}", ()
    if event.what == "back":
        return _back_by_hand(memory, by)
    proposal = memory.proposal
    if proposal is None or proposal.id != event.id:
        there = f"{proposal.id} is proposed" if proposal else "nothing is proposed"
        return memory, f"{event.what} {event.id} refused{by}: {there}", ()
    if event.what == "reject":
        banned = {**memory.banned, plan_key(proposal): memory.now_s}
        return memory.now(proposal=None, banned=banned), f"{proposal.id} is rejected{by}", ()
    if memory.mode == "recommend":
        why = memory.fallen or "the mode is recommend"
        return memory, f"approve {proposal.id} refused{by}: {why}", ()
    hindered = in_the_way(memory, proposal, alone=False)
    if hindered:
        return memory, f"{proposal.id} is hindered by {'; '.join(hindered)}", ()
    return _begun(memory, proposal, f"{proposal.id} is approved{by}")


def ended(memory: Memory, event: Ended) -> Then:
    """Note what came of an `Apply`."""
    change = memory.change
    if change is None or change.id != event.id:
        return memory, f"{event.id} {event.end}: it was closed already", ()
    why = "; ".join(event.reasons)
    said = f"{change.id} {event.end}" + (f": {why}" if why else "")
    if change.kind == "back":
        if event.end in _GOOD:
            return _closed(memory, f"{said}; {_former(change)}", _counts(change))
        if event.end == "unverified" and memory.now_s < change.deadline_s:
            return memory, f"{said}; watches until it is seen", ()
        return _fell(memory, f"the way back {change.id} {event.end}", said)
    if event.end in _GOOD:
        # The polls that come are of the job after the change.
        change = change.model_copy(update={"seen_s": memory.now_s})
        memory = memory.now(change=change, figures=None, recent=(), base=None)
        return memory, f"{said}; watches for {WATCH_S:.0f} s", ()
    if event.end == "rolled back":
        return _closed(_ban(memory, change), said, went_back=True)
    if event.end == "unverified":
        return memory, f"{said}; watches what runs until its time is over", ()
    if event.end == "refused":
        memory = _ban(memory, change)
    return _closed(memory, said)


def watched(memory: Memory, seen: Observation | None, said: str) -> Then:
    """Watch an open change; `seen` is None where there is no answer."""
    change = memory.change
    if change is None:
        return memory, said, ()
    if change.weights and not memory.weights:
        # Not told since they were given: no poll says yet what came of it.
        seen, said = None, f"{said}; the weights in force are not known"
    if change.seen_s is None:
        return _awaited(memory, change, seen, said)
    if seen is None:
        if memory.now_s < change.seen_s + 2 * WATCH_S:
            return memory, f"{said}; {change.id} is watched", ()
        return _fell(memory, f"what came of {change.id} was not seen to the end", said)
    if not _runs(memory, change):
        change = change.model_copy(update={"away": change.away + 1})
        if change.away >= _AWAY_POLLS:
            does = "changed the weights" if change.weights else "moved the job"
            return _closed(memory, f"somebody has {does} after {change.id}: it stays so")
        where = "other weights are in force" if change.weights else "it runs elsewhere"
        return memory.now(change=change), f"watches {change.id}: {where}", ()
    if change.kind == "back":
        return _closed(memory, f"{change.id}: {_former(change)}", _counts(change))
    return _judged(memory, change)


def overtaken(memory: Memory, said: str) -> Then:
    """Close a change that was made, and whose effect cannot be seen any more."""
    change = memory.change
    name = change.id if change else "nothing"
    return _closed(memory.now(last_change=None), f"{said}: {name} is watched no more")


def _awaited(memory: Memory, change: BegunChange, seen: Observation | None, said: str) -> Then:
    """Look whether an intent without an outcome has been carried out."""
    if seen is not None and _runs(memory, change):
        change = change.model_copy(update={"seen_s": memory.now_s, "run": memory.run})
        return memory.now(change=change, figures=None), f"{change.id} runs as intended", ()
    if memory.now_s < change.deadline_s:
        return memory, f"{said}; {change.id} is open", ()
    if change.kind == "back":
        return _fell(memory, f"the way back {change.id} did not end in time", said)
    return _back(memory, f"{change.id} did not end in time")


def _judged(memory: Memory, change: BegunChange) -> Then:
    """Compare how the job does with how it did before."""
    seen_s = change.seen_s or memory.now_s
    if change.run not in ("", memory.run):
        if change.restarts >= _MOST_RESTARTS:
            return _back(memory, f"the job restarted again after {change.id}")
        # It is watched anew.
        seen_s = memory.now_s
        change = change.model_copy(update={"restarts": change.restarts + 1, "worse": 0})
    since_s = memory.now_s - seen_s
    worse = change.worse + 1 if since_s >= _CATCH_UP_S and _worse(memory, change) else 0
    change = change.model_copy(
        update={"run": memory.run, "seen_s": seen_s, "worse": worse, "away": 0}
    )
    memory = memory.now(change=change)
    if worse >= _WORSE_POLLS:
        held = held_now(memory.recent)
        return _back(
            memory,
            f"worse since {change.id}: sources are held back {held:.0%} of the time, "
            f"{change.held:.0%} before",
        )
    if since_s < WATCH_S or not memory.recent:
        return memory, f"watches {change.id}", ()
    rescaled = any(len(row) != len(change.former[op]) for op, row in change.to.items())
    memory = memory.now(
        # Weights say nothing of how the job takes a move.
        proved=memory.proved or not change.weights,
        proved_rescaled=memory.proved_rescaled or rescaled,
        last_change=change,
        regret=0.0,
        preferred={},
    )
    return _closed(memory, f"{change.id} did well for {since_s:.0f} s and stays")


def _counts(change: BegunChange) -> bool:
    """Return whether a way back speaks against the loop: not where a person wanted it."""
    return not change.by_hand


def _former(change: BegunChange) -> str:
    """Return what is so again after a way back, in words."""
    return "the former weights are in force" if change.weights else "the former placement runs"


def _runs(memory: Memory, change: BegunChange) -> bool:
    """Return whether the job runs as a change says, by the weights that it gives, too."""
    places = {op: tuple(row) for op, row in memory.places.items()}
    return places == change.to and are_alike(change.weights, memory.weights)


def _worse(memory: Memory, change: BegunChange) -> bool:
    """Return whether the job does worse than before, at no more than was planned for."""
    if not memory.recent or held_now(memory.recent) < change.held + _MUCH_WORSE:
        return False
    rates = rates_now(memory.recent)
    if change.held >= HELD and sum(rates.values()) > sum(change.emitted.values()):
        # They are held back while they drain what has piled up, and emit more than before.
        return False
    return all(rate <= change.rates.get(op, 0.0) for op, rate in rates.items())


def _begun(memory: Memory, proposal: ProposedChange, said: str) -> Then:
    """Put a change on record, and make it."""
    settings = memory.settings
    if settings is None:
        return memory, said, ()
    now_s = memory.now_s
    change = BegunChange(
        id=proposal.id,
        kind=proposal.kind,
        former=memory.placed,
        to=proposal.to,
        former_weights=memory.weights if proposal.weights else {},
        weights=proposal.weights,
        rates=proposal.rates,
        held=held_now(memory.recent),
        emitted=rates_now(memory.recent),
        began_s=now_s,
        # There and back, each in its time.
        deadline_s=now_s + 2 * settings.apply_s + _SLACK_S,
    )
    voluntary = "reweighed" if proposal.weights else "voluntary"
    paid = {voluntary if proposal.kind == "worth it" else "urgent": now_s}
    memory = memory.now(
        change=change,
        proposal=None,
        restored=(*memory.restored, (now_s, proposal.restore_bytes)),
        **{name: (*getattr(memory, name), at_s) for name, at_s in paid.items()},
    )
    if change.weights:
        return _weighs(memory, change, f"{said}; gives {proposal.acts}", settings.apply_s)
    lost = change.kind == "lost"
    effect = Apply(
        id=change.id,
        places=change.to,
        former={} if lost else change.former,
        at_once=lost,
        interval_s=proposal.interval_s,
        promises=proposal.promises,
        limit_s=settings.apply_s,
    )
    interval_s = proposal.interval_s
    every = "" if interval_s is None else f", a checkpoint every {interval_s:.0f} s"
    return memory, f"{said}; makes {proposal.acts}{every}", (effect,)


def _back(memory: Memory, why: str, by_hand: bool = False) -> Then:
    """Go back to where the job was before the open change."""
    change, settings = memory.change, memory.settings
    if change is None or settings is None:
        return memory, why, ()
    memory = _ban(memory, change)
    gone = unregistered(memory, change.former)
    if gone:
        said = f"{why}; no way back: {', '.join(gone)} is gone"
        return _closed(memory, said, went_back=not by_hand)
    back = BegunChange(
        id=f"{change.id}-back",
        kind="back",
        former=change.to,
        to=change.former,
        former_weights=change.weights,
        weights=change.former_weights,
        rates=change.rates,
        held=change.held,
        began_s=memory.now_s,
        deadline_s=memory.now_s + 2 * settings.apply_s + _SLACK_S,
        by_hand=by_hand,
    )
    return again(memory.now(change=back, figures=None), f"{why}: goes back")


def again(memory: Memory, said: str) -> Then:
    """Carry the open way back out, once more if need be: where it runs already, nothing moves."""
    change, settings = memory.change, memory.settings
    if change is None or settings is None or change.kind != "back":
        return memory, said, ()
    deadline_s = memory.now_s + 2 * settings.apply_s + _SLACK_S
    memory = memory.now(change=change.model_copy(update={"deadline_s": deadline_s}))
    if change.weights:
        return _weighs(memory, change, said, settings.apply_s)
    return memory, said, (Apply(id=change.id, places=change.to, limit_s=settings.apply_s),)


def _weighs(memory: Memory, change: BegunChange, said: str, limit_s: float) -> Then:
    """Give weights: those in force are not known until they are told anew.

    A way back ends whatever is in force.
    """
    former = {} if change.kind == "back" else change.former_weights
    effect = Weigh(id=change.id, weights=change.weights, former=former, limit_s=limit_s)
    return memory.now(weights={}), said, (effect,)


def _back_by_hand(memory: Memory, by: str) -> Then:
    if memory.mode == "recommend":
        why = memory.fallen or "the mode is recommend"
        return memory, f"back refused{by}: {why}", ()
    if memory.change is not None:
        if memory.change.kind == "back" or memory.change.seen_s is None:
            return memory, f"back refused{by}: change {memory.change.id} is under way", ()
        return _back(memory, f"back is wanted{by}", by_hand=True)
    last = memory.last_change
    if last is None or not _runs(memory, last):
        return memory, f"back refused{by}: what runs is not what a change of ours has made", ()
    memory = memory.now(change=last, last_change=None)
    return _back(memory, f"back from {last.id} is wanted{by}", by_hand=True)


def _ban(memory: Memory, change: BegunChange) -> Memory:
    return memory.now(banned={**memory.banned, plan_key(change): memory.now_s})


def _closed(memory: Memory, said: str, went_back: bool = False) -> Then:
    """Close the open change; after two ways back within a day, only recommend."""
    memory = memory.now(change=None, figures=None, settled_s=memory.now_s, asked_s=None)
    if not went_back:
        return memory, said, ()
    memory = memory.now(went_back=(*memory.went_back, memory.now_s), last_change=None)
    if len(memory.went_back) >= _MOST_BACK:
        why = f"{len(memory.went_back)} changes went back within a day"
        return memory.now(fallen=why), f"{said}; only recommends from now on: {why}", ()
    return memory, said, ()


def _fell(memory: Memory, why: str, said: str) -> Then:
    """Close a change that a person has to look at."""
    memory = memory.now(change=None, figures=None, settled_s=memory.now_s, fallen=why)
    return memory, f"{said}; only recommends from now on, a person has to look: {why}", ()
