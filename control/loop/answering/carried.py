"""Bounds that are carried over from rates at which they were proved to others.

Let b(i) be the bytes/s of item i, a channel or the checkpoints of a subtask, and h(i, x) the price
of a byte of it where plan x puts its ends. The WAN term is the sum of b(i) h(i, x). Let proof k say
that it is at least B(k) for all plans at bytes b(k, i). Then at bytes b'(i), for factors f(k) >= 0,

    sum b'(i) h(i, x) >= sum f(k) B(k) + sum (b'(i) - sum f(k) b(k, i)) h(i, x)

where h(i, x) is at least the least price among the sites at which the ends may run, if its factor
is positive, and at most the largest one otherwise. A proof speaks of the plans that keep all limits
at its own rates. All plans that do so at the other rates are among them if nothing takes less
there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.model import BOUNDS, LimitKind
from edgeplace.solver import Problem
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.tolerances import ROUNDING

_FACTORS = 4
"""Most factors that are tried."""
_RATES_DO_NOT_MATTER = {LimitKind.MOVES}
"""Bounds on a term of the objective that is the same at all rates."""


@dataclass(frozen=True)
class RateLoads:
    """What a case at some rates sends and takes, wherever its subtasks run.

    Parameters
    ----------
    sent
        Bytes/s of each channel, then those of each subtask's checkpoints.
    taken
        All that limits are held against, as numbers of which more is never easier to keep.
    ends
        Subtasks at the ends of each channel, shape (2, n_channels).
    """

    sent: Floats
    taken: Floats
    ends: Ints

    @classmethod
    def of(cls, p: Problem) -> "RateLoads":
        """Return those of a problem."""
        c = p.channels
        with np.errstate(divide="ignore", invalid="ignore"):
            of_window = np.where(c.bytes_per_s > 0, c.bytes_per_s / c.window_bytes, 0.0)
        checkpoints = p.footprint.checkpoint_bytes_per_s
        if p.storage_site is None:
            checkpoints = np.zeros(p.n)
        taken = (
            c.least_bytes_per_s,
            of_window,
            c.live,
            checkpoints,
            p.work.cores.ravel(),
            p.work.busy.ravel(),
            p.footprint.takes.ravel(),
        )
        return cls(
            np.concatenate([c.bytes_per_s, checkpoints]),
            np.concatenate(taken),
            np.stack([c.source, c.target]),
        )

    def no_less_than(self, other: "RateLoads") -> bool:
        """Whether a plan that keeps the limits here keeps them at the loads of the other, too."""
        if self.taken.shape != other.taken.shape or not np.array_equal(self.ends, other.ends):
            return False
        return bool((self.taken >= other.taken).all())


@dataclass(frozen=True)
class PriceRanges:
    """The least and the largest price of a byte of each item, among the sites allowed."""

    least: Floats
    largest: Floats

    @classmethod
    def of(cls, p: Problem) -> "PriceRanges":
        """Return those of a problem."""
        sites = np.zeros((p.n + 1, p.network.n_sites), bool)
        allowed = p.allowed() & (p.tms.slots > 0)
        for site in range(p.network.n_sites):
            sites[:-1, site] = allowed[:, p.tms.site == site].any(axis=1)
        if p.storage_site is not None:
            sites[-1, p.storage_site] = True
        kinds, kind = np.unique(sites, axis=0, return_inverse=True)
        kind = kind.ravel()
        of_subtasks = np.arange(p.n)
        source = np.concatenate([p.channels.source, of_subtasks])
        target = np.concatenate([p.channels.target, np.full(p.n, p.n)])
        each = np.indices((p.network.n_sites,) * 2).reshape(2, -1)
        price = p.network.along(p.network.price, *each)
        joined = p.network.joined_by_route(*each)
        found = []
        for sign in (1.0, -1.0):
            cost = np.where(joined, sign * price, np.inf).reshape(p.network.n_sites, -1)
            best = _least(kinds, _least(kinds, cost).T).T
            # Ends that no route joins send nothing in a plan that keeps all limits.
            best = sign * np.where(np.isfinite(best), best, 0.0)
            found.append(best[kind[source], kind[target]])
        return cls(*found)


def _least(kinds: Bools, cost: Floats) -> Floats:
    """Return the least cost among the sites of each kind, shape (n_kinds, ...)."""
    return np.stack([cost[own].min(axis=0, initial=np.inf) for own in kinds])


def may_carry(p: Problem) -> bool:
    """Whether what keeps all limits is decided by the loads alone.

    A delay, for one, is less at higher rates.
    """
    bounds = (kind for kind in BOUNDS if kind not in _RATES_DO_NOT_MATTER)
    return all(kind.bound(p.rules) is None for kind in bounds) and not p.rules.limit_latency


@dataclass(frozen=True)
class ProvedBound:
    """A lower bound of the WAN term of all plans that keep the limits at some loads.

    Parameters
    ----------
    bound
        Infinite: there is no such plan.
    """

    loads: RateLoads
    bound: float


def carried(
    proofs: Sequence[ProvedBound],
    others: Sequence[ProvedBound],
    now: RateLoads,
    prices: PriceRanges,
) -> float:
    """Return a lower bound of the WAN term at other rates; 0 if none is known.

    Parameters
    ----------
    proofs, others
        The best of combinations of one of the first with others, in their order.
    """
    holding = [p for p in proofs if now.no_less_than(p.loads)]
    if any(p.bound == np.inf for p in holding):
        return np.inf
    more = [p for p in others if now.no_less_than(p.loads) and p.bound < np.inf]
    best = 0.0
    for proof in holding:
        for factor in _factors(now.sent, proof.loads.sent):
            proved = factor * proof.bound
            sent = now.sent - factor * proof.loads.sent
            found = _whole(proved, sent, prices)
            for other in more:
                # Each takes what it can of what is left; 0 is a factor, too.
                tried = [
                    (_whole(proved + f * other.bound, left, prices), f)
                    for f in _factors(sent, other.loads.sent)
                    for left in [sent - f * other.loads.sent]
                ]
                better, f = max(tried, default=(found, 0.0))
                if better > found:
                    found, proved = better, proved + f * other.bound
                    sent = sent - f * other.loads.sent
            best = max(best, found)
    return best


def _factors(sent: Floats, then: Floats) -> list[float]:
    """Return factors of a proof that are worth a try."""
    live = then > 0
    ratios = np.unique(np.round(sent[live] / then[live], 9))
    if len(ratios) > _FACTORS:
        ratios = np.quantile(ratios, np.linspace(0, 1, _FACTORS))
    return [factor for factor in ratios.tolist() if factor > 0]


def _whole(proved: float, sent: Floats, prices: PriceRanges) -> float:
    """Return the bound, less what rounding may have made of it."""
    rest = np.where(sent > 0, sent * prices.least, sent * prices.largest)
    return proved + float(rest.sum()) - ROUNDING * (proved + float(np.abs(rest).sum()))
