"""Sites and TaskManagers that come and go: who is lost, who is kept out after its return.

Returns are damped as those of routes are (RFC 2439): each loss adds to a figure that halves every
quarter of an hour. Above one threshold a place is kept out, below a lower one it is let in again;
so one that comes and goes does not move the job each time.
"""

import math
from collections.abc import Iterator, Mapping

from edgeplace.control.loop.events import Places, Polled
from edgeplace.control.loop.memory import LossFigure, Memory
from edgeplace.model import Cluster

LOSS = 1000.0
HALF_S = 900.0
OUT = 2000.0
IN = 750.0
MOST = IN * 2**4
"""No place is kept out for longer than four halvings, an hour, after its last loss."""
_OWN_FAILURES_S = 3600.0
"""A TaskManager that fails by itself twice within this time is kept out."""
_REGISTERING_S = 30.0
"""TaskManagers that a new JobManager does not know yet are not lost."""


def site(name: str) -> str:
    """Return by which name a site is remembered."""
    return f"site {name}"


def task_manager(name: str) -> str:
    """Return by which name a TaskManager is remembered."""
    return f"TaskManager {name}"


def by_site(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """Return the TaskManagers of each site that has some."""
    of = {n.id: n.site for n in cluster.nodes}
    found: dict[str, tuple[str, ...]] = {}
    for tm in cluster.task_managers:
        found[of[tm.node]] = (*found.get(of[tm.node], ()), tm.id)
    return found


def figure_now(figure: LossFigure, now_s: float) -> float:
    """Return the figure after the time since its last loss."""
    return figure.value * 2 ** (-max(0.0, now_s - figure.at_s) / HALF_S)


def after_loss(figure: LossFigure | None, now_s: float, own: bool = False) -> LossFigure:
    """Return the figure of a place after one more loss.

    Parameters
    ----------
    own
        A TaskManager has failed by itself.
    """
    before = figure_now(figure, now_s) if figure else 0.0
    value = min(MOST, before + LOSS)
    out = value > OUT or (figure is not None and figure.out)
    again = own and figure is not None and now_s - figure.at_s <= _OWN_FAILURES_S
    return LossFigure(value=value, at_s=now_s, out=out or again)


def aged(figures: Mapping[str, LossFigure], now_s: float) -> dict[str, LossFigure]:
    """Return the figures without those that say nothing any more."""
    kept = {}
    for name, figure in figures.items():
        value = figure_now(figure, now_s)
        if figure.out and value < IN:
            figure = figure.model_copy(update={"out": False})
        if figure.out or now_s - figure.at_s <= _OWN_FAILURES_S:
            kept[name] = figure
    return kept


def noticed(memory: Memory, event: Polled) -> tuple[Memory, tuple[str, ...]]:
    """Return the memory with what a poll tells of TaskManagers, and what is new about them."""
    now_s = memory.now_s
    if event.problem and not event.job:
        memory = memory.now(unreachable_s=now_s)
    if not event.registered:
        # Without a single TaskManager, Flink itself has just started.
        return memory, ()
    there = frozenset(event.registered)
    if memory.there is None:
        lost = tuple(s for s, tms in memory.sites.items() if not there & set(tms))
        return memory.now(there=event.registered, there_s=now_s, lost=lost), ()
    if memory.unreachable_s is not None and now_s - memory.unreachable_s < _REGISTERING_S:
        return memory, ()
    return _compared(memory, there, event.registered)


def _compared(
    memory: Memory, there: frozenset[str], registered: tuple[str, ...]
) -> tuple[Memory, tuple[str, ...]]:
    before, figures, said = set(memory.there or ()), dict(memory.losses), []
    lost = []
    for name, tms in memory.sites.items():
        gone = [tm for tm in tms if tm in before and tm not in there]
        if not there & set(tms):
            lost.append(name)
            if name not in memory.lost:
                figures[site(name)] = after_loss(figures.get(site(name)), memory.now_s)
                said.append(f"site {name} is lost")
        else:
            for tm in gone:
                key = task_manager(tm)
                figures[key] = after_loss(figures.get(key), memory.now_s, own=True)
                said.append(f"TaskManager {tm} is gone")
            if name in memory.lost:
                said.append(f"site {name} is back{_until(figures.get(site(name)), memory.now_s)}")
    memory = memory.now(there=registered, there_s=memory.now_s, lost=tuple(lost))
    return memory.now(losses=figures), tuple(said)


def _until(figure: LossFigure | None, now_s: float) -> str:
    if figure is None or not figure.out:
        return ""
    left_s = max(0.0, figure.at_s + HALF_S * math.log2(figure.value / IN) - now_s)
    return f", and gets nothing for {left_s / 60:.0f} minutes: it was lost too often"


def avoided(memory: Memory) -> Iterator[str]:
    """Yield the TaskManagers that get nothing new: those that are gone or are kept out."""
    there = None if memory.there is None else set(memory.there)
    for name, tms in memory.sites.items():
        out = _is_out(memory, site(name))
        for tm in tms:
            gone = there is not None and tm not in there
            if out or gone or _is_out(memory, task_manager(tm)):
                yield tm


def _is_out(memory: Memory, name: str) -> bool:
    figure = memory.losses.get(name)
    return figure is not None and figure.out


def stranded(memory: Memory) -> str:
    """Return a lost site at which the job was to run; empty: none."""
    used = {tm for row in memory.places.values() for tm in row}
    return next((s for s in memory.lost if used & set(memory.sites.get(s, ()))), "")


def unregistered(memory: Memory, places: Places) -> tuple[str, ...]:
    """Return the TaskManagers of a placement that are not there."""
    if memory.there is None:
        return ()
    there = set(memory.there)
    return tuple(sorted({tm for row in places.values() for tm in row if tm not in there}))
