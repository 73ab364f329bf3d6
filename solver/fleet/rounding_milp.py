"""Round prices to a plan: most replicas take the best pattern; a MILP decides the others.

A pattern that costs a replica more than the gap above its best, prices included, is in no better
plan (reduced-cost fixing: Dantzig, Fulkerson and Johnson, 1954). If all other patterns are in the
model, its optimum is that of the fleet.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.fleet.part import Part
from edgeplace.solver.linear.backend import Outcome
from edgeplace.solver.linear.highs import Milp
from edgeplace.solver.linear.model import Affine, Kind, LinearModel, Row

_ROUNDS = 30
"""How often a choice that exceeds a limit by less than HiGHS sees is ruled out."""


@dataclass(frozen=True)
class Columns:
    """Alternative patterns of some replicas, besides those chosen at the prices.

    Attributes
    ----------
    part, replica, pattern
        Where each belongs, shape (n_columns,).
    extra
        What it costs more than the replica's best, prices included, shape (n_columns,).
    cost, used
        Its `wan`, and what it takes of shared limits, shape (n_columns, n_limits).
    """

    part: Ints
    replica: Ints
    pattern: Ints
    extra: Floats
    cost: Floats
    used: Floats


def columns(
    parts: Sequence[Part], replicas: Sequence[Ints], prices: Floats, most_extra: float
) -> Columns:
    """Return the patterns of some replicas of each part that are within so much of their best."""
    found = []
    for i, (part, near) in enumerate(zip(parts, replicas, strict=True)):
        some = part.of(near)
        extra = some.costs(prices)
        extra -= extra.min(axis=1, keepdims=True)
        replica, pattern = np.nonzero(np.isfinite(extra) & (extra <= most_extra))
        features = some.features[replica]
        terms = part.terms

        def each(term: Floats, features: Floats = features, pattern: Ints = pattern) -> Floats:
            taken: Floats = np.einsum("cf,fc->c", features, term[:, pattern])
            return taken

        found.append(
            (
                np.full(len(replica), i),
                near[replica],
                pattern,
                extra[replica, pattern],
                some.price[replica, 0] * each(terms.up)
                + some.price[replica, 1] * each(terms.down)
                + each(terms.priced),
                np.einsum("cf,rfc->cr", features, terms.shared[:, :, pattern]),
            )
        )
    return Columns(*(np.concatenate(c) for c in zip(*found, strict=True)))


def choose(
    own: Columns,
    room: Floats,
    base: float,
    seconds: float | None,
    gap: float,
) -> tuple[Ints | None, float]:
    """Return which columns to take, one a replica, and what no choice costs less than.

    Parameters
    ----------
    room
        Of each shared limit, for these replicas; shape (n_limits,).
    base
        What all other replicas cost: gaps are relative to the whole.
    """
    replicas, row = np.unique(np.stack([own.part, own.replica]), axis=1, return_inverse=True)
    row = row.ravel()
    n = len(own.cost)
    model = LinearModel()
    take = model.columns(Kind.BINARY, np.ones(n))
    model.all_equal(row, take, np.ones(n), np.ones(replicas.shape[1]))
    least = np.full((own.used.shape[1], replicas.shape[1]), np.inf)
    for r in range(len(least)):
        # The least that each replica takes goes to the other side: what is left are small numbers.
        used = own.used[:, r]
        np.minimum.at(least[r], row, used)
        left = room[r] - least[r].sum()
        unit = max(abs(left), float((used - least[r, row]).max(initial=0.0)), 1e-300)
        model.all_at_most(
            np.zeros(n, np.intp), take, (used - least[r, row]) / unit, np.array([left / unit])
        )
    objective = Affine(dict(zip(take.tolist(), own.cost.tolist(), strict=True)), base)
    milp = Milp(model)
    ends = np.inf if seconds is None else time.monotonic() + seconds
    for _ in range(_ROUNDS):
        left_s = None if seconds is None else max(ends - time.monotonic(), 0.0)
        answer = milp.minimise(objective, seconds=left_s, gap=gap, start=None)
        if answer.outcome is Outcome.INFEASIBLE or answer.values is None:
            return None, answer.bound
        taken = np.flatnonzero(answer.values > 0.5)
        over = np.flatnonzero(own.used[taken].sum(axis=0) > room)
        if not len(over):
            return taken, answer.bound
        # By less than HiGHS's tolerance, but too much: not all of these at once.
        for r in over.tolist():
            more = taken[own.used[taken, r] > least[r, row[taken]]]
            milp.add_rows([Row(dict.fromkeys(more.tolist(), 1.0), len(more) - 1.0)])
    return None, answer.bound
