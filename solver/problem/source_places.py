"""Where data is born: sources run there, and by the rule `own_data` what follows them, too."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from edgeplace.model import Cluster, InvalidInputError, Operator, OwnData, Rules, did_you_mean
from edgeplace.solver.arrays import Bools, Ints
from edgeplace.solver.clock import look
from edgeplace.solver.problem.constraints import (
    Constraint,
    Restriction,
    allowed_by,
    members_of,
    naming,
)
from edgeplace.solver.problem.places import Places
from edgeplace.solver.problem.subtasks import Subtasks

_NONE, _SEVERAL = -2, -1
"""Instead of a site: no source is upstream, or not all of them are held at one site."""


def source_restrictions(
    subtasks: Subtasks,
    o: int,
    job: str,
    op: Operator,
    places: Places,
    rules: Rules,
    now: Ints | None,
    notes: list[str],
) -> list[Constraint]:
    """Return what holds a source, operator o, where its data is born."""
    own = subtasks.range_of(o)
    if op.born_at:
        return _born(own, op, places)
    pinned = _pinned(own, job, op, rules)
    free = [k for k in own.tolist() if k not in pinned]
    unknown = [k for k in free if now is None or now[k] < 0]
    if unknown:
        raise InvalidInputError(
            f"source {subtasks.title(unknown[0])} has no place where its data is born",
            "say born_at in the job file, pin it by a rule, or give the current placement; "
            "`born_at: [anywhere]` lets it run on any node",
        )
    if free:
        notes.append(f"source {op.name!r} is held on the nodes where it runs now")
    return [
        Restriction(f"source {subtasks.title(k)} stays on its node", np.array([k]), where)
        for k in free
        if now is not None
        for where in [places.node == places.node[now[k]]]
    ]


def _born(own: Ints, op: Operator, places: Places) -> list[Constraint]:
    """Return what holds the subtasks of a source at the places that the job says."""
    births = op.born_at * op.parallelism if len(op.born_at) == 1 else op.born_at
    born: dict[str, list[int]] = {}
    for i, place in enumerate(births):
        if place != "anywhere":
            born.setdefault(place, []).append(i)
    held: list[Constraint] = []
    for place, which in born.items():
        look()
        try:
            allowed = places.at(place)
        except InvalidInputError as e:
            raise InvalidInputError(f"source {op.name!r}: born_at: {e.what}", e.cure) from e
        held.append(Restriction(f"source {op.name} is born at {place}", own[which], allowed))
    return held


def _pinned(own: Ints, job: str, op: Operator, rules: Rules) -> set[int]:
    """Return the subtasks that a rule says more of than where they run now."""
    pinned: set[int] = set()
    for rule in rules.rules:
        if rule.kind not in ("pin", "match", "never_move") or rule.job not in ("", job):
            continue
        if op.id in rule.operators or op.name in rule.operators:
            chosen = getattr(rule, "subtasks", ())
            pinned |= {int(own[i]) for i in chosen if i < len(own)} or set(own.tolist())
    return pinned


def own_data_restrictions(
    rules: Rules,
    cluster: Cluster,
    subtasks: Subtasks,
    places: Places,
    channels: tuple[Ints, Ints],
    constraints: Sequence[Constraint],
) -> list[Constraint]:
    """Return what keeps subtasks away from edge sites that are not theirs.

    Parameters
    ----------
    channels
        Producer and consumer of each channel.
    constraints
        Of all other rules and of the sources: they say where data is born.

    Raises
    ------
    InvalidInputError
        If a rule names an operator or a site that does not exist.
    """
    own = [r for r in rules.rules if isinstance(r, OwnData)]
    if not own:
        return []
    home = _origins(subtasks, places, channels, constraints)
    found: list[Constraint] = []
    for rule in own:
        title = rule.title()
        with naming(rule):
            chosen = np.concatenate(members_of(rule, subtasks))
            is_open = _open(rule, cluster)[places.site]
        for site in np.unique(home[chosen]).tolist():
            allowed = is_open | (places.site == site)
            of = f" (data of {cluster.sites[site].id})" if site >= 0 else ""
            members = chosen[home[chosen] == site]
            found.append(Restriction(f"{title}{of}", members, allowed, rule))
    return found


def _open(rule: OwnData, cluster: Cluster) -> Bools:
    """Return which sites serve the data of others, shape (n_sites,)."""
    ids = [s.id for s in cluster.sites]
    for pattern in rule.open_sites:
        if not any(fnmatchcase(i, pattern) for i in ids):
            raise InvalidInputError(
                f"rule {rule.title()!r}: no site is named as open_sites says: {pattern!r}",
                did_you_mean(
                    pattern, ids, f"the sites are {ids[:12]}; patterns such as depot-* name several"
                ),
            )
    return np.array(
        [
            s.tier != "edge" or any(fnmatchcase(s.id, p) for p in rule.open_sites)
            for s in cluster.sites
        ]
    )


def _origins(
    subtasks: Subtasks,
    places: Places,
    channels: tuple[Ints, Ints],
    constraints: Sequence[Constraint],
) -> Ints:
    """Return the site where all data of each subtask is born, shape (n_subtasks,).

    Below 0: there is no such site.
    """
    n, m = subtasks.count, len(places.site)
    source, target = channels
    home = np.full(n, _NONE, np.intp)
    fed = np.unique(subtasks.operator_of[target])
    at = np.flatnonzero(~np.isin(subtasks.operator_of, fed))
    allowed = allowed_by(constraints, n, m)[at] if m else np.zeros((len(at), 0), bool)
    for k, row in zip(at.tolist(), allowed, strict=True):
        sites = np.unique(places.site[row])
        home[k] = sites[0] if len(sites) == 1 else _SEVERAL
    # A job graph has no cycle: after as many rounds as operators, all is known.
    for _ in subtasks.operators:
        flows = home[source] != _NONE
        least, most = np.full(n, len(places.site) + n, np.intp), np.full(n, _NONE, np.intp)
        np.minimum.at(least, target[flows], home[source[flows]])
        np.maximum.at(most, target[flows], home[source[flows]])
        reached = most != _NONE
        now = np.where(reached, np.where(least == most, most, _SEVERAL), home)
        if (now == home).all():
            break
        home = now
    return home
