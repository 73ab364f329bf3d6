"""When a site is lost: plans that are made in advance, and written at once."""

from collections.abc import Mapping

from edgeplace.control.loop.changing import Then, overtaken, proposed
from edgeplace.control.loop.events import Solve, Solved
from edgeplace.control.loop.memory import VALID_S, LossPlan, Memory, ProposedChange
from edgeplace.control.loop.sites import avoided, stranded, unregistered


def next_to_plan(memory: Memory) -> str:
    """Return the site whose loss has to be planned for next; empty: all is planned.

    A change makes other plans necessary: they are made while it is watched.
    """
    settings, change = memory.settings, memory.change
    since_s = memory.decided_s if change is None else change.seen_s
    if settings is None or since_s is None or (change is None and memory.figures is None):
        return ""
    made: Mapping[str, float] = {name: plan.made_s for name, plan in memory.loss_plans.items()}
    due = (s for s in settings.survive if made.get(s, -1.0) < since_s)
    return next((s for s in due if s not in memory.lost), "")


def is_due(memory: Memory) -> bool:
    """Return whether a site is lost, and nothing was done or said about it yet."""
    settings, site = memory.settings, stranded(memory)
    if settings is None or not site or is_unseen(memory) or memory.proposal is not None:
        return False
    plan = memory.loss_plans.get(site)
    return site in settings.survive and plan is not None and not plan.problem


def is_unseen(memory: Memory) -> bool:
    """Return whether a change is open of which nobody knows yet whether it was made."""
    change = memory.change
    return change is not None and (change.seen_s is None or change.kind == "back")


def asks(memory: Memory, site: str) -> Then:
    """Ask the solver for the plan without a site."""
    ask = Solve(
        ticket=memory.ticket + 1,
        places=memory.placed,
        weights=memory.weights,
        rates=memory.asked_rates,
        avoid=tuple(avoided(memory)),
        without=site,
        limit_s=memory.settings.solve_s if memory.settings else 1.0,
    )
    memory = memory.now(ticket=ask.ticket, asked_s=memory.now_s)
    memory = memory.now(asked_without=site, asked_machines=False)
    return memory, f"plans for the loss of site {site}: asks the solver", (ask,)


def planned(memory: Memory, event: Solved) -> Then:
    """Keep the answer to that."""
    site = memory.asked_without
    problem = event.problem
    if not problem and not event.places:
        used = {tm for row in memory.placed.values() for tm in row}
        there = used & set(memory.sites.get(site, ()))
        problem = "no plan without it was found" if there else "nothing runs there"
    plan = LossPlan(
        places=event.places,
        rates=memory.asked_rates,
        moves=event.moves,
        moved_operators=event.moved_operators,
        restore_bytes=event.restore_bytes,
        promises=event.promises,
        made_s=memory.now_s,
        problem=problem,
    )
    memory = memory.now(loss_plans={**memory.loss_plans, site: plan})
    said = problem or f"{event.moves} subtasks would move"
    return memory, f"if site {site} is lost: {said}", ()


def rescued(memory: Memory, site: str, said: str) -> Then:
    """Propose, or make, the change that was planned for the loss of a site."""
    said = f"{said}; it ran at site {site}, which is lost"
    plan = memory.loss_plans.get(site)
    if memory.change is not None:
        # What came of it will not be seen any more.
        memory, said, _ = overtaken(memory, said)
    if memory.settings is None or site not in memory.settings.survive:
        return memory, f"{said} and not among `survive`: it waits", ()
    if plan is None or plan.problem:
        why = plan.problem if plan else "no plan was ready"
        return memory, f"{said}: it waits: {why}", ()
    gone = unregistered(memory, plan.places)
    if gone:
        needs = f"its plan needs {', '.join(gone)}, gone too"
        return memory, f"{said}: it waits: {needs}", ()
    former = memory.proposal
    if former is not None and former.kind == "lost" and not former.hindered:
        return memory, f"{said}: {former.id} is proposed", ()
    age_s = memory.now_s - plan.made_s
    proposal = ProposedChange(
        id=f"loss{memory.lines}",
        kind="lost",
        to=plan.places,
        moves=plan.moves,
        moved_operators=plan.moved_operators,
        restore_bytes=plan.restore_bytes,
        promises=plan.promises,
        why=f"site {site} is lost; its plan was made {age_s / 60:.0f} minutes ago",
        rates=plan.rates,
        made_s=memory.now_s,
        valid_until_s=memory.now_s + VALID_S,
    )
    return proposed(memory, proposal, said)
