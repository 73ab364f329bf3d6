"""The record of the loop's own decisions: the last ones in words, and their number."""

from edgeplace.control.loop.decide import Decision
from edgeplace.control.loop.events import AnyEvent, Ended, Polled
from edgeplace.control.loop.gates import gate_of
from edgeplace.control.loop.memory import Memory, Told

_KEPT = 50


def logged(before: Memory, event: AnyEvent, memory: Memory, says: str) -> Memory:
    """Return the memory with an event in its log, unless it is a poll that changed nothing."""
    same = (before.change and before.change.id) == (memory.change and memory.change.id)
    if isinstance(event, Polled) and same and memory.fallen == before.fallen:
        return memory
    told = Told(at_s=memory.now_s, says=says)
    return memory.now(log=(*memory.log, told)[-_KEPT:])


def decided(memory: Memory, decision: Decision) -> Memory:
    """Count a decision; one that is hindered counts once for each gate that said no."""
    hindered = memory.proposal.hindered if memory.proposal and decision.proposal else ()
    made = memory.decisions_made
    for gate in {gate_of(text) for text in hindered} or {""}:
        made = _more(made, decision.verdict, gate)
    return memory.now(decisions_made=made)


def ended(before: Memory, event: Ended, memory: Memory) -> Memory:
    """Count the end of a change."""
    change = before.change
    if change is None or change.id != event.id:
        return memory
    return memory.now(
        changes_made=_more(memory.changes_made, change.kind, event.end),
        changing_s=memory.changing_s + memory.now_s - change.began_s,
    )


def _more(counts: dict[str, dict[str, int]], one: str, other: str) -> dict[str, dict[str, int]]:
    row = counts.get(one, {})
    return {**counts, one: {**row, other: row.get(other, 0) + 1}}
