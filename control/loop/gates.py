"""The gates: reasons not to make a change now, each with a name and an explanation."""

from collections.abc import Callable, Iterator

from edgeplace.control.loop.expected.bias import unbelieved
from edgeplace.control.loop.guard import HELD, held_now
from edgeplace.control.loop.memory import DAY_S, HOUR_S, BegunChange, Memory, ProposedChange
from edgeplace.control.settings import is_frozen

OLDEST_COSTS_S = DAY_S
"""Costs older than this are good for recommendations only."""
AGAIN_S = {"must": 900.0, "lost": 900.0, "worth it": DAY_S}
"""For so long a plan that was refused or went back is not tried again."""
_FRESH_POLLS = 3
_COUNTERS_S = 10.0
"""Flink's REST counters are new so often at most (`metrics.fetcher.update-interval`)."""
_OLDEST_CHECKPOINT_S = 1800.0


def in_the_way(memory: Memory, proposal: ProposedChange, alone: bool) -> tuple[str, ...]:
    """Return the gates that say no to a change now, each with why.

    Parameters
    ----------
    alone
        No person has approved the change.
    """
    gates = GATES + (_ALONE if alone else ())
    return tuple(f"{name}: {why}" for name, gate in gates for why in gate(memory, proposal) if why)


Gate = Callable[[Memory, ProposedChange], Iterator[str]]


def _fresh(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    settings = memory.settings
    polls_s = _FRESH_POLLS * max(settings.poll_s if settings else 0.0, _COUNTERS_S)
    # While a site is lost, the job does not run: there is no whole answer until it is elsewhere.
    lost = proposal.kind == "lost"
    told_s = memory.there_s if lost else memory.observed_s
    age_s = None if told_s is None else memory.now_s - told_s
    if age_s is None or age_s > polls_s:
        what = "list of TaskManagers" if lost else "whole answer of Flink"
        yield f"the last {what} is too old: {memory.blind or 'no poll since'}"
    if memory.costs_age_s is not None and memory.costs_age_s > OLDEST_COSTS_S:
        yield f"the costs are {memory.costs_age_s / 3600:.0f} hours old"


def _settled(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    held = held_now(memory.recent) >= HELD
    if held and memory.fewer(proposal.to):
        yield "sources are held back: no fewer subtasks while a backlog drains"
    if proposal.kind != "worth it":
        return
    since_s = memory.now_s - memory.settled_s
    if memory.settings is not None and since_s < memory.settings.settle_s:
        yield f"the job runs as it does for {since_s:.0f} s only"
    if held:
        yield "sources are held back: a backlog drains first"


def _checkpoints(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    if proposal.weights:
        return
    if memory.checkpoint_s is None:
        yield "no checkpoint has completed: there would be no way back"
    elif memory.checkpoint_s > _OLDEST_CHECKPOINT_S:
        yield f"the last checkpoint is {memory.checkpoint_s / 60:.0f} minutes old"
    if memory.checkpoint_failed:
        yield "the last checkpoint failed"


def _one_at_a_time(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    if memory.change is not None:
        yield f"change {memory.change.id} is not closed yet"


def _alone(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    yield memory.others


def _window(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    freeze = is_frozen(memory.settings.changes.freeze if memory.settings else (), memory.wall_s)
    if freeze:
        yield f"frozen {freeze}"
    if memory.now_s < memory.frozen_until_s:
        yield f"frozen for {(memory.frozen_until_s - memory.now_s) / 60:.0f} minutes more"


def _rate(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    if memory.settings is None:
        return
    limits, now_s = memory.settings.changes, memory.now_s
    if proposal.kind != "worth it":
        recent = sum(t > now_s - HOUR_S for t in memory.urgent)
        if recent >= limits.urgent_per_hour:
            yield f"{recent} urgent changes within the hour"
        return
    # Weights read nothing back: they leave the moves their number, and have as many of their own.
    begun = memory.reweighed if proposal.weights else memory.voluntary
    for name, span_s, most in (
        ("hour", HOUR_S, limits.voluntary_per_hour),
        ("day", DAY_S, limits.voluntary_per_day),
    ):
        recent = sum(t > now_s - span_s for t in begun)
        if recent >= most:
            yield f"{recent} voluntary changes within the {name}"


def _budget(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    most_mb = memory.settings.changes.wan_mb_per_day if memory.settings else None
    if most_mb is None:
        return
    spent = sum(b for t, b in memory.restored if t > memory.now_s - DAY_S)
    if spent + proposal.restore_bytes > most_mb * 1e6:
        yield (
            f"the change reads {proposal.restore_bytes / 1e6:.1f} MB back, "
            f"{max(0.0, most_mb - spent / 1e6):.1f} MB remain for today"
        )


def _banned(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    at_s = memory.banned.get(plan_key(proposal))
    span_s = AGAIN_S[proposal.kind]
    if at_s is not None and memory.now_s < at_s + span_s:
        left_s = at_s + span_s - memory.now_s
        yield f"the plan was refused or went back; not again for {left_s / 60:.0f} minutes"


def _proof(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    if proposal.unproved:
        yield "what a better plan may save is more than this one saves: solve longer"


def _blast(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    # A job whose site is lost does not run: all of it moves, or it waits.
    proved = memory.proved_rescaled if proposal.rescaled else memory.proved
    if not proved and proposal.moved_operators > 1 and proposal.kind != "lost":
        does = "rescales" if proposal.rescaled else "moves"
        yield (
            f"the first change that nobody approves {does} one operator, not "
            f"{proposal.moved_operators}"
        )


def gate_of(hindered: str) -> str:
    """Return the name of the gate that a text of `in_the_way` begins with."""
    return hindered.split(":")[0]


def _believable(memory: Memory, proposal: ProposedChange) -> Iterator[str]:
    yield unbelieved(memory)


def plan_key(proposal: ProposedChange | BegunChange) -> str:
    """Return what a plan is remembered by; weights, which follow the rates, by their tasks.

    A plan for a lost site is another one: where it did worse than what ran, nothing runs now.
    """
    places = [f"{op}={','.join(row)}" for op, row in sorted(proposal.to.items())]
    lost = ["for a lost site"] if proposal.kind == "lost" else []
    return ";".join(places + [f"weights of {name}" for name in sorted(proposal.weights)] + lost)


GATES: tuple[tuple[str, Gate], ...] = (
    ("fresh", _fresh),
    ("settled", _settled),
    ("checkpoints", _checkpoints),
    ("one at a time", _one_at_a_time),
    ("alone", _alone),
    ("window", _window),
    ("rate", _rate),
    ("budget", _budget),
    ("refused", _banned),
    ("proof", _proof),
    ("believable", _believable),
)
_ALONE: tuple[tuple[str, Gate], ...] = (("blast", _blast),)
