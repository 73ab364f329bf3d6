"""Changes to the inputs after which a plan holds: as data, in words, and applied.

Figures are rounded up to what suffices: what is printed is what was tried.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

from edgeplace.model import Change, Freed, Limit, Link
from edgeplace.solver.infeasibility.dropped_rules import freed_by, rule_of, without_rules
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.network import Network
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE


def changes(problem: Problem, shortfalls: Sequence[Limit]) -> tuple[Change, ...]:
    """Return what lets an assignment hold that exceeds some limits, and nothing else."""
    return merged([_change(problem, v) for v in shortfalls])


def merged(parts: Sequence[Change]) -> tuple[Change, ...]:
    """Return changes made one after the other as one for each thing that is changed."""
    found: dict[tuple[str, str], Change] = {}
    for c in parts:
        # All channels have the same number of buffers.
        key = c.kind, "" if c.kind == "credit window" else c.where
        before = found.get(key)
        if before is None:
            found[key] = c
            continue
        amount = before.amount + c.amount
        if c.kind == "credit window":
            amount = max(before.amount, c.amount)
        elif c.kind == "subtask busy":
            amount = _rounded_up(product := before.amount * c.amount, product.__le__)
        frees = tuple(dict.fromkeys((*before.frees, *c.frees)))
        found[key] = before.model_copy(update={"amount": amount, "frees": frees})
    return tuple(found.values())


def applied(problem: Problem, parts: Sequence[Change]) -> Problem:
    """Return the problem with all changes made."""
    p = problem
    slots, memory, disk = p.tms.slots.copy(), p.tms.memory_bytes.copy(), p.tms.disk_bytes.copy()
    cores, capacity = p.tms.node_cores.copy(), p.network.capacity_bytes_per_s.copy()
    bandwidth = p.network.bandwidth_bytes_per_s.copy()
    busy, windows, rules = p.work.busy.copy(), p.channels.window_bytes.copy(), p.rules
    tm = {t.id: i for i, t in enumerate(p.cluster.task_managers)}
    node = {n.id: i for i, n in enumerate(p.cluster.nodes)}
    joined: list[Link] = []
    for c in parts:
        match c.kind:
            case "slots":
                slots[tm[c.where]] += int(c.amount)
            case "memory":
                memory[tm[c.where]] += c.amount
            case "disk":
                disk[tm[c.where]] += c.amount
            case "node cpu":
                cores[node[c.where]] += c.amount * p.cluster.cpu_target
            case "link bandwidth":
                link = p.network.names.index(c.where)
                capacity[link] += c.amount * p.cluster.link_target
                bandwidth[link] += c.amount
            case "subtask busy":
                titled = (f"{p.subtasks.title(k)} on " for k in range(p.n))
                busy[[c.where.startswith(title) for title in titled]] /= c.amount
            case "credit window":
                windows *= c.amount
            case "latency":
                most = (rules.max_latency_ms or 0.0) + c.amount
                rules = rules.model_copy(update={"max_latency_ms": most})
            case "moves":
                most_moves = (rules.max_moves or 0) + int(c.amount)
                rules = rules.model_copy(update={"max_moves": most_moves})
            case "route":
                a, _, b = c.where.partition(" -> ")
                joined.append(Link(source=a, target=b))
            case "rule":
                pass
    network = dataclasses.replace(
        p.network, capacity_bytes_per_s=capacity, bandwidth_bytes_per_s=bandwidth
    )
    if joined:
        links = (*p.cluster.links, *joined)
        network = Network.of(p.cluster.model_copy(update={"links": links}))
        network.capacity_bytes_per_s[: len(capacity)] = capacity
        network.bandwidth_bytes_per_s[: len(capacity)] = bandwidth
    changed = dataclasses.replace(
        p,
        tms=dataclasses.replace(
            p.tms, slots=slots, memory_bytes=memory, disk_bytes=disk, node_cores=cores
        ),
        work=dataclasses.replace(p.work, busy=busy),
        channels=dataclasses.replace(p.channels, window_bytes=windows),
        rules=rules,
        network=network,
    )
    dropped = [c for c in parts if c.kind == "rule"]
    return without_rules(changed, dropped) if dropped else changed


def describe(parts: Sequence[Change]) -> str:
    """Return changes in the user's terms."""
    return "; ".join(map(_in_words, parts))


def _change(p: Problem, v: Limit) -> Change:
    room, short = v.capacity or 0.0, v.shortfall
    amount, where = 0.0, v.where
    frees: tuple[Freed, ...] = ()
    match v.kind:
        case "slots" | "moves":
            amount = math.ceil(short)
        case "memory" | "disk":
            amount = _whole_up(short, lambda x: v.used <= (room + x) * (1 + BYTES_TOLERANCE))
        case "node cpu":
            target = p.cluster.cpu_target
            amount = _rounded_up(short / target, lambda x: _holds(v, room + x * target))
        case "link bandwidth":
            target = p.cluster.link_target
            amount = _whole_up(short / target, lambda x: _holds(v, room + x * target))
        case "subtask busy" | "credit window":
            amount = _rounded_up(v.utilisation, lambda x: _holds(v, room * x))
        case "latency":
            amount = _rounded_up(short, lambda x: _holds(v, room + x))
        case "rule":
            where, frees = rule_of(p, v.where), freed_by(p, v.where)
        case "route":
            pass
    return Change(kind=v.kind, where=where, amount=amount, frees=frees)


def _holds(v: Limit, room: float) -> bool:
    return v.used <= room * (1 + TOLERANCE)


def _rounded_up(amount: float, enough: Callable[[float], bool]) -> float:
    """Return a figure of at most four digits that suffices, and hardly more."""
    near = float(f"{amount:.4g}")
    if enough(near):
        return near
    step = 10.0 ** (math.floor(math.log10(amount)) - 3)
    return float(f"{near + step:.4g}")


def _whole_up(amount: float, enough: Callable[[float], bool]) -> float:
    near = float(round(amount))
    return near if enough(near) else float(math.floor(amount) + 1)


def _in_words(c: Change) -> str:
    match c.kind:
        case "slots":
            return f"{c.amount:.0f} more slot{'s' if c.amount > 1 else ''} on {c.where}"
        case "memory" | "disk":
            return f"{c.amount:,.0f} more bytes of {c.kind} on {c.where}"
        case "node cpu":
            return f"{c.amount:.4g} more cores on {c.where}"
        case "link bandwidth":
            return f"{c.amount:,.0f} more bytes/s of bandwidth on link {c.where}"
        case "subtask busy":
            return f"{c.amount:.4g} times the speed of one thread for {c.where}: a faster node"
        case "credit window":
            return (
                f"{c.amount:.4g} times the network buffers (buffers_per_channel and "
                f"floating_buffers_per_gate), for {c.where}"
            )
        case "latency":
            return f"{c.amount:.4g} ms more for the worst path"
        case "moves":
            return f"{c.amount:.0f} more moves"
        case "route":
            return f"a link that joins {c.where}"
        case "rule":
            text = f"drop or change the rule “{c.where}”"
            if not c.frees:
                return text
            sources = dict.fromkeys(f.operator for f in c.frees)
            own = {s: sorted(f.subtask + 1 for f in c.frees if f.operator == s) for s in sources}
            named = ", ".join(f"{s} {', '.join(map(str, which))}" for s, which in own.items())
            return f"{text}, and say `anywhere` in born_at for source subtasks {named}"
