"""Forecast of a load's next bins, with an upper bound that holds with a stated frequency.

Terms weighted by least squares for each horizon: the last value, the value before it, and the
value one season ago at today's level, for each season (a day, a week) that the past holds. The
bound is the conformal quantile of the relative errors that the same forecast made before (split
conformal prediction: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Floats, Ints

DAY = 48
"""Bins of half an hour."""
SEASONS = (DAY, 7 * DAY)
LEARNED = 7 * DAY
"""Forecasts that weights and bounds of half hours are learned from."""
_LEVEL_BINS = 4
"""Bins whose means compare today's level with the level one season ago."""
_LEVEL_RANGE = (0.5, 2.0)
"""Levels further apart than this are added instead of multiplied, because their quotient would be
extreme.
"""
_RIDGE = 1e-3
"""Weight of the prior: half the last value, half the season."""
_CUT = 2.0
"""No forecast is above this multiple of the largest value seen."""
_FEWEST_ORIGINS = 24
"""Number of forecasts with known errors from which least squares and quantiles are used."""
_COLD_MARGIN = 0.15
"""Upper bound relative to the forecast, while too few errors are known."""


@dataclass(frozen=True)
class Forecast:
    """The expected rates of the next bins.

    Parameters
    ----------
    expected
        Shape (horizons,): rate of each bin.
    upper
        Shape (horizons,): a rate that the bin does not exceed with frequency `quantile`.
    quantile
        That frequency.
    """

    expected: Floats
    upper: Floats
    quantile: float


class Forecaster:
    """Forecasts the next bins of a series from its past.

    Parameters
    ----------
    seasons
        Bins after which the series may repeat: a day, a week. A season is used when the past is
        longer than it by `memory` bins, or by one season more.
    horizons
        How many bins ahead.
    quantile
        Share of the bins that shall not exceed their upper bound.
    memory
        Number of the last forecasts from which the weights and the bound are learned.
    """

    def __init__(self, seasons: Sequence[int], horizons: int, quantile: float, memory: int) -> None:
        self.seasons = tuple(seasons)
        self.horizons = horizons
        self.quantile = quantile
        self.memory = memory

    def forecast(self, past: Floats) -> Forecast:
        """Return the forecast of the bins after `past`, shape (bins,), the oldest first."""
        expected = np.empty(self.horizons)
        upper = np.empty(self.horizons)
        for h in range(1, self.horizons + 1):
            expected[h - 1], upper[h - 1] = self._one(past, h)
        cut = _CUT * past.max(initial=0.0)
        return Forecast(np.clip(expected, 0.0, cut), np.clip(upper, 0.0, cut), self.quantile)

    def _one(self, past: Floats, ahead: int) -> tuple[float, float]:
        """Return the expected value and the upper bound of the bin `ahead` bins after the past."""
        now = len(past)
        seasons = [s for s in self.seasons if now - ahead - _first(s, ahead) >= _FEWEST_ORIGINS]
        first = max((_first(s, ahead) for s in seasons), default=1)
        origins = np.arange(max(first, now - ahead - self.memory + 1), now - ahead + 1)
        if len(origins) < _FEWEST_ORIGINS:
            return float(past[-1]), float(past[-1]) * (1 + _COLD_MARGIN)
        terms = _terms(past, origins, ahead, seasons)
        truth = past[origins + ahead - 1]
        prior = np.full(terms.shape[1], 1 / (1 + len(seasons)))
        prior[0] = 0.0
        scale = _RIDGE * max(float(terms.mean()), 1e-12)
        weights = np.linalg.lstsq(
            np.concatenate([terms, scale * np.eye(len(prior))]),
            np.concatenate([truth, scale * prior]),
            rcond=None,
        )[0]
        made = np.maximum(terms @ weights, 1e-12)
        # The finite-sample rank of split conformal prediction.
        rank = min(1.0, np.ceil((len(made) + 1) * self.quantile) / len(made))
        higher = int(np.ceil(rank * (len(made) - 1)))
        error = float(np.partition(truth / made - 1.0, higher)[higher])
        value = float((_terms(past, np.array([now]), ahead, seasons) @ weights)[0])
        return value, value * (1 + max(error, 0.0))


def _first(season: int, ahead: int) -> int:
    """Return the first origin for which the bin one season before its target is known."""
    return season * -(-ahead // season) + _LEVEL_BINS


def _terms(past: Floats, origins: Ints, ahead: int, seasons: Sequence[int]) -> Floats:
    """Return the terms for each origin: value before the last, last value, seasons.

    An origin i knows `past[:i]` and forecasts bin i + ahead - 1. Shape (origins, 2 + seasons).
    """
    columns = [past[np.maximum(origins - 2, 0)], past[origins - 1]]
    sums = np.concatenate([[0.0], np.cumsum(past)])
    level = (sums[origins] - sums[np.maximum(origins - _LEVEL_BINS, 0)]) / _LEVEL_BINS
    for season in seasons:
        # Whole seasons back, so that the bin lies in the origin's past.
        back = season * -(-ahead // season)
        then = past[origins + ahead - 1 - back]
        old = (sums[origins - back] - sums[origins - back - _LEVEL_BINS]) / _LEVEL_BINS
        quotient = level / np.maximum(old, 1e-12)
        low, high = _LEVEL_RANGE
        seasonal = np.where(
            (quotient > low) & (quotient < high), then * quotient, then + level - old
        )
        columns.append(np.maximum(seasonal, 0.0))
    return np.stack(columns, axis=1)
