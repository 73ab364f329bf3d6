"""Changes to the inputs after which a plan holds: in words, and applied."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from edgeplace.model import Limit, Link
from edgeplace.solver.problem import Problem


def cured(problem: Problem, shortfalls: Sequence[Limit]) -> Problem:
    """Return the problem with each limit raised to what is used of it, and broken rules dropped."""
    p = problem
    slots, memory, disk = p.tm_slots.copy(), p.tm_memory.copy(), p.tm_disk.copy()
    cores, capacity = p.node_cores.copy(), p.network.capacity_bytes_per_s.copy()
    busy, windows, rules = p.busy.copy(), p.window_bytes.copy(), p.rules
    tm = {t.id: i for i, t in enumerate(p.cluster.task_managers)}
    node = {n.id: i for i, n in enumerate(p.cluster.nodes)}
    dropped: set[str] = set()
    joined: list[Link] = []
    for v in shortfalls:
        match v.kind:
            case "slots":
                slots[tm[v.where]] = v.used
            case "memory":
                memory[tm[v.where]] = v.used
            case "disk":
                disk[tm[v.where]] = v.used
            case "node cpu":
                cores[node[v.where]] = v.used
            case "link bandwidth":
                capacity[p.network.names.index(v.where)] = v.used
            case "subtask busy":
                titled = (f"{p.subtasks.title(k)} on " for k in range(p.n))
                busy[[v.where.startswith(title) for title in titled]] /= v.used
            case "credit window":
                windows *= v.utilisation
            case "latency":
                rules = rules.model_copy(update={"max_latency_ms": v.used})
            case "moves":
                rules = rules.model_copy(update={"max_moves": int(v.used)})
            case "rule":
                dropped.add(v.where)
            case "route":
                a, _, b = v.where.partition(" -> ")
                joined.append(Link(source=a, target=b))
    network = dataclasses.replace(p.network, capacity_bytes_per_s=capacity)
    if joined:
        network = network.joined(p.cluster, joined)
    return dataclasses.replace(
        p,
        tm_slots=slots,
        tm_memory=memory,
        tm_disk=disk,
        node_cores=cores,
        busy=busy,
        window_bytes=windows,
        rules=rules,
        network=network,
        constraints=tuple(c for c in p.constraints if c.title not in dropped),
    )


def describe(p: Problem, shortfalls: Sequence[Limit]) -> str:
    """Return the change that makes the nearest plan hold, in the user's terms."""
    parts = []
    for v in shortfalls:
        short = v.shortfall
        match v.kind:
            case "slots":
                parts.append(f"{short:.0f} more slot{'s' if short > 1 else ''} on {v.where}")
            case "memory" | "disk":
                parts.append(f"{np.ceil(short):,.0f} more bytes of {v.kind} on {v.where}")
            case "node cpu":
                cores = short / p.cluster.cpu_target
                parts.append(f"{cores:.4g} more cores on {v.where}")
            case "link bandwidth":
                rate = short / p.cluster.link_target
                parts.append(f"{np.ceil(rate):,.0f} more bytes/s of bandwidth on link {v.where}")
            case "subtask busy":
                parts.append(f"{v.used:.4g} times the parallelism, or a faster node, for {v.where}")
            case "credit window":
                factor = v.utilisation
                parts.append(f"network buffers times {factor:.3g} for {v.where}")
            case "latency":
                parts.append(f"{short:.4g} ms more for the worst path")
            case "moves":
                parts.append(f"{short:.0f} more moves")
            case "route":
                parts.append(f"a link that joins {v.where}")
            case "rule":
                parts.append(f"drop or change the rule “{v.where}”")
    return "; ".join(parts)
