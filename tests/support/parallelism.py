"""Every vector and every placement, tried: the judge of `solve(..., parallelism=...)`.

Written from docs/job.md, "Let solve choose the parallelism", with plain loops, apart from
`edgeplace.model.what_if.parallelism`.
"""

import itertools
from collections import Counter

from hypothesis import assume
from hypothesis import strategies as st

from edgeplace.model import Colocate, NeverMove, Pin, Plan
from tests.support.oracle import Oracle

MOST_PLACEMENTS = 3000


def owner(group, n, key_groups):
    return group * n // key_groups


def keyed_operators(job):
    """Operator -> key groups, of those behind HASH, and behind FORWARD from one of them."""
    found = {s.target for s in job.streams if s.ship_strategy == "HASH"}
    groups = {o.id: o.max_parallelism for o in job.operators if o.id in found}
    for _ in job.operators:
        for s in job.streams:
            if s.ship_strategy == "FORWARD" and s.source in groups and s.target not in groups:
                groups[s.target] = groups[s.source]
    return groups


def sets_of(job, rules):
    """The operators that change together, as frozensets."""
    joined = {o.id: {o.id} for o in job.operators}
    pairs = [(s.source, s.target) for s in job.streams if s.ship_strategy == "FORWARD"]
    for r in rules.rules:
        if isinstance(r, Colocate):
            pairs += list(itertools.pairwise(r.operators))
    for a, b in pairs:
        both = joined[a] | joined[b]
        for o in both:
            joined[o] = both
    return {frozenset(v) for v in joined.values()}


def may_change(job, rules, members):
    fed = {s.target for s in job.streams}
    held = {o for r in rules.rules if isinstance(r, NeverMove) for o in r.operators}
    by_subtask = {
        s.target
        for s in job.streams
        if s.cost and s.cost.shares and s.ship_strategy in ("CUSTOM", "REBALANCE", "SHUFFLE")
    }
    return members <= fed and not members & held and not members & by_subtask


def at(job, rules, current, wanted):
    """(job, rules, current) with wanted[operator] subtasks; None where that cannot be mapped."""
    was = {o.id: o.parallelism for o in job.operators}
    now = {**was, **wanted}
    keyed = keyed_operators(job)
    most = {o.id: o.max_parallelism for o in job.operators}
    if any(now[o] > most[o] for o in wanted):
        return None
    streams = []
    for s in job.streams:
        if s.cost and s.cost.shares and now[s.target] != was[s.target]:
            shares = None
            if s.ship_strategy == "HASH":
                k = most[s.target]
                size = Counter(owner(g, was[s.target], k) for g in range(k))
                shares = [0.0] * now[s.target]
                for g in range(k):
                    old = owner(g, was[s.target], k)
                    shares[owner(g, now[s.target], k)] += s.cost.shares[old] / size[old]
                shares = tuple(v / sum(shares) for v in shares)
            s = s.model_copy(update={"cost": s.cost.model_copy(update={"shares": shares})})
        streams.append(s)
    found = []
    for r in rules.rules:
        if not (isinstance(r, Pin) and r.subtasks and any(now[o] != was[o] for o in r.operators)):
            found.append(r)
            continue
        for o in r.operators:
            chosen = pinned(set(r.subtasks), was[o], now[o], keyed.get(o))
            if chosen is None:
                return None
            found.append(r.model_copy(update={"operators": (o,), "subtasks": chosen}))
    operators = tuple(o.model_copy(update={"parallelism": now[o.id]}) for o in job.operators)
    if current is not None:
        current = {
            o: tuple(places[heir(i, was[o], now[o], keyed.get(o))] for i in range(now[o]))
            for o, places in current.items()
        }
    changed = job.model_copy(update={"operators": operators, "streams": tuple(streams)})
    return changed, rules.model_copy(update={"rules": tuple(found)}), current


def pinned(subtasks, was, now, key_groups):
    if was == now:
        return tuple(subtasks)
    if subtasks == set(range(was)):
        return tuple(range(now))
    if not key_groups:
        return None
    held = [set() for _ in range(now)]
    for g in range(key_groups):
        held[owner(g, now, key_groups)].add(owner(g, was, key_groups) in subtasks)
    if any(len(h) == 2 for h in held):
        return None
    return tuple(i for i in range(now) if held[i] == {True})


def heir(i, was, now, key_groups):
    if was == now:
        return i
    if not key_groups:
        return i * was // now
    mine = [g for g in range(key_groups) if owner(g, now, key_groups) == i]
    count = Counter(owner(g, was, key_groups) for g in mine)
    return max(count, key=lambda old: (count[old], -old))


def vectors(asked, job, rules):
    """Yield {operator: n} for every combination; operators of a set have one n."""
    sets = [
        (sorted(members), next(asked[o] for o in members if o in asked))
        for members in sets_of(job, rules)
        if members & set(asked)
    ]
    for ns in itertools.product(*(values for _, values in sets)):
        yield {o: n for (members, _), n in zip(sets, ns, strict=True) for o in members}


def optimum(job, cluster, rules, current, asked, levels, soft):
    """[value of each level over all vectors], or None if no placement holds in any."""
    held = []
    for wanted in vectors(asked, job, rules):
        found = at(job, rules, current, wanted)
        if found is not None:
            oracle = Oracle(found[0], cluster, found[1], found[2])
            held += [
                v.values
                for _, v in oracle.everything()
                if v.broken <= ({"rates"} if soft else set())
            ]
    if not held:
        return None
    best = []
    for name, tolerance in levels:
        least = min(v[name] for v in held)
        best.append(least)
        held = [v for v in held if v[name] <= least * (1 + tolerance) + 1e-7 * abs(least) + 1e-9]
    return best


def plan_of(job, current):
    return Plan(jobs={job.name: current}) if current else None


def asked_of(draw, job, cluster, rules):
    """{operator: numbers}, for one or two sets of operators that may change."""
    sets = [s for s in sets_of(job, rules) if may_change(job, rules, s)]
    assume(sets)
    asked = {}
    for members in sorted(sets, key=sorted)[: draw(st.integers(1, 2))]:
        most = min(o.max_parallelism for o in job.operators if o.id in members)
        asked[min(members)] = draw(
            st.sampled_from([range(1, min(3, most) + 1), (1, 2), (2, 3), (1, 3)])
        )
    m = len(cluster.task_managers)
    subtasks = sum(o.parallelism for o in job.operators)
    total = 0
    for wanted in vectors(asked, job, rules):
        more = sum(n - o.parallelism for o in job.operators for k, n in wanted.items() if k == o.id)
        total += m ** (subtasks + more)
    assume(total <= MOST_PLACEMENTS)
    return asked
