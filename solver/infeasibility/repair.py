"""Changes to the inputs after which a plan holds: as data, in words, and applied.

Figures are rounded up to what suffices: what is printed is what was tried.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from edgeplace.model import (
    AMOUNTS,
    BOUNDS,
    JOB_BOUNDS,
    Change,
    JobGraph,
    Limit,
    LimitKind,
    Link,
    RateUnit,
    Rules,
    Step,
)
from edgeplace.solver.arrays import Floats
from edgeplace.solver.infeasibility.dropped_rules import freed_by, without_rules
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.network import Network
from edgeplace.solver.problem.work import Work
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE


def changes(problem: Problem, shortfalls: Sequence[Limit]) -> tuple[Change, ...]:
    """Return what lets an assignment hold that exceeds some limits, and nothing else."""
    return merged([_change(problem, v) for v in shortfalls])


def merged(parts: Sequence[Change]) -> tuple[Change, ...]:
    """Return changes made one after the other as one for each thing that is changed."""
    found: dict[tuple[LimitKind, str], Change] = {}
    for c in parts:
        # All channels have the same number of buffers.
        everywhere = c.kind is LimitKind.CREDIT_WINDOW
        key = c.kind, "" if everywhere else c.where
        before = found.get(key)
        if before is None:
            found[key] = c
            continue
        amount = before.amount + c.amount
        if everywhere:
            amount = max(before.amount, c.amount)
        elif c.kind.facts.step is Step.FACTOR:
            amount = _rounded_up(product := before.amount * c.amount, product.__le__)
        frees = tuple(dict.fromkeys((*before.frees, *c.frees)))
        found[key] = before.model_copy(update={"amount": amount, "frees": frees})
    return tuple(found.values())


def applied(problem: Problem, parts: Sequence[Change]) -> Problem:
    """Return the problem with all changes made."""
    p = problem
    slots = p.tms.slots.copy()
    has = p.tms.has.copy()
    cores, capacity = p.tms.node_cores.copy(), p.network.capacity_bytes_per_s.copy()
    bandwidth = p.network.bandwidth_bytes_per_s.copy()
    faster, wider, rules = np.ones(p.n), 1.0, p.rules
    tm = {t.id: i for i, t in enumerate(p.cluster.task_managers)}
    node = {n.id: i for i, n in enumerate(p.cluster.nodes)}
    joined: list[Link] = []
    for c in parts:
        if c.kind in AMOUNTS:
            has[tm[c.where], AMOUNTS.index(c.kind)] += c.amount
        elif c.kind is LimitKind.SLOTS:
            slots[tm[c.where]] += int(c.amount)
        elif c.kind in BOUNDS:
            most = (c.kind.bound(rules) or 0) + _amount(c)
            rules = rules.model_copy(update={c.kind.facts.by: most})
        elif c.kind in JOB_BOUNDS:
            rules = _raised(rules, c)
        elif c.kind is LimitKind.NODE_CPU:
            cores[node[c.where]] += c.amount * p.cluster.cpu_target
        elif c.kind is LimitKind.LINK_BANDWIDTH:
            link = p.network.names.index(c.where)
            capacity[link] += c.amount * p.cluster.link_target
            bandwidth[link] += c.amount
        elif c.kind is LimitKind.SUBTASK_BUSY:
            faster[p.subtasks.of_ids(c.subject)] *= c.amount
        elif c.kind is LimitKind.CREDIT_WINDOW:
            wider *= c.amount
        elif c.kind is LimitKind.ROUTE:
            a, b = c.subject
            joined.append(Link(source=a, target=b))
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
        tms=dataclasses.replace(p.tms, slots=slots, has=has, node_cores=cores),
        work=_faster(p.work, faster),
        channels=_wider(p.channels, wider),
        day=tuple(
            dataclasses.replace(
                own, work=_faster(own.work, faster), channels=_wider(own.channels, wider)
            )
            for own in p.day
        ),
        rules=rules,
        network=network,
    )
    dropped = [c for c in parts if c.kind is LimitKind.RULE]
    return without_rules(changed, dropped) if dropped else changed


def _raised(rules: Rules, c: Change) -> Rules:
    """Return the rules with a higher limit on one job."""
    by, most = c.kind.facts.by, c.kind.bounds_of_jobs(rules)[c.where] + _amount(c)
    jobs = (own.model_copy(update={by: most}) if own.job == c.where else own for own in rules.jobs)
    return rules.model_copy(update={"jobs": tuple(jobs)})


def _amount(c: Change) -> float:
    """Return by how much more a bound may be used."""
    return int(c.amount) if c.kind.facts.step is Step.WHOLE else c.amount


def _faster(work: Work, by: Floats) -> Work:
    return dataclasses.replace(work, busy=work.busy / by[:, None])


def _wider(channels: Channels, by: float) -> Channels:
    return dataclasses.replace(channels, window_bytes=channels.window_bytes * by)


def describe(parts: Sequence[Change], jobs: Sequence[JobGraph], rates: RateUnit) -> str:
    """Return changes in the user's terms."""
    # An id may be a JobVertexID.
    names = {(job.name, op.id): op.name for job in jobs for op in job.operators}
    return "; ".join(_in_words(part, names, rates) for part in parts)


def _change(p: Problem, v: Limit) -> Change:
    """Return what lets a limit hold, by an amount that is rounded up to what suffices."""
    facts, room = v.kind.facts, v.capacity or 0.0
    target = getattr(p.cluster, facts.target) if facts.target else 1.0
    allowed = BYTES_TOLERANCE if v.kind in AMOUNTS else TOLERANCE

    def enough(more: float) -> bool:
        raised = room * more if facts.step is Step.FACTOR else room + more * target
        return v.used <= raised * (1 + allowed)

    match facts.step:
        case Step.WHOLE:
            amount = _whole_up(v.shortfall / target, enough)
        case Step.DIGITS:
            amount = _rounded_up(v.shortfall / target, enough)
        case Step.FACTOR:
            amount = _rounded_up(v.utilisation, enough)
        case Step.NONE:
            amount = 0.0
    if v.kind is LimitKind.RULE:
        (rule,) = v.subject
        frees = freed_by(p, rule)
        return Change(kind=v.kind, where=rule, subject=v.subject, frees=frees)
    return Change(kind=v.kind, where=v.where, subject=v.subject, amount=amount)


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


def _in_words(c: Change, names: Mapping[tuple[str, str], str], rates: RateUnit) -> str:
    text = c.kind.cure(c.where, c.amount, rates)
    if not c.frees:
        return text
    sources = dict.fromkeys((f.job, f.operator) for f in c.frees)
    own = {s: sorted(f.subtask + 1 for f in c.frees if (f.job, f.operator) == s) for s in sources}
    named = ", ".join(f"{names[s]} {', '.join(map(str, which))}" for s, which in own.items())
    return f"{text}, and say `anywhere` in born_at for source subtasks {named}"
