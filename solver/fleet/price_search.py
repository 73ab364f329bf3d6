"""Prices of shared resources: computed for a few replicas first, then for all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.fleet.boxstep import CuttingPlane, Dual, highest
from edgeplace.solver.fleet.executor import Spread
from edgeplace.solver.fleet.part import Part
from edgeplace.solver.fleet.parts import Parts

_Asked = Callable[[Floats], tuple[float, Floats]]
"""Returns what replicas cost at least at some prices, and what they take of each limit."""

_SAMPLES = (2_000, 40_000)
"""Replicas of which prices are found first, from nothing and then from those of fewer."""
_SAMPLE_GAP = 1e-4


def find_prices(
    parts: Parts, spread: Spread, seed: int, gap: float, seconds_left: Callable[[], float]
) -> Dual:
    """Return the prices of the highest bound, in units of each limit.

    Parameters
    ----------
    seed
        Of the replicas that prices are found on first.
    gap
        Relative gap that is near enough for a plan; the prices are found to a tenth of it.
    """
    unit = parts.unit

    def found(ask: _Asked, share: float, start: Floats, gap: float) -> Dual:
        """Return the prices for a share of the replicas, scaled so that 1 is much."""
        room = parts.room * share

        def at(scaled: Floats) -> CuttingPlane:
            prices = scaled * unit
            value, used = ask(prices)
            return CuttingPlane(scaled, value - float(prices @ room), (used - room) * unit)

        return highest(at, start, parts.most * share, gap, seconds_left)

    start = np.zeros(len(unit))
    rng = np.random.default_rng(seed)
    for size in _SAMPLES:
        share = size / parts.n_replicas
        if share > 0.5 or not len(unit):
            break
        some = [part.of(_sample(rng, len(part.fits), share)) for part in parts.parts]
        sampled = found(
            partial(_asked, some),
            sum(len(part.fits) for part in some) / parts.n_replicas,
            start,
            _SAMPLE_GAP,
        )
        if not sampled.exceeds:
            start = sampled.best.prices
    whole = found(
        lambda prices: _total(spread.map(lambda part: part.bound(prices))), 1.0, start, gap / 10
    )
    best = replace(whole.best, prices=whole.best.prices * unit)
    return replace(whole, best=best)


def _sample(rng: np.random.Generator, n: int, share: float) -> Ints:
    return np.sort(rng.choice(n, max(round(n * share), 1), replace=False))


def _asked(parts: Sequence[Part], prices: Floats) -> tuple[float, Floats]:
    return _total([part.bound(prices) for part in parts])


def _total(bounds: Sequence[tuple[float, Floats]]) -> tuple[float, Floats]:
    used: Floats = np.sum([u for _, u in bounds], axis=0)
    return sum(v for v, _ in bounds), used
