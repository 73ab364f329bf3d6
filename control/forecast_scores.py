"""Scores of a forecast on the past: each bin is forecast from what was known before it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgeplace.control.forecast import Forecaster
from edgeplace.solver.arrays import Floats


@dataclass(frozen=True)
class Scores:
    """What became of forecasts one bin ahead.

    Parameters
    ----------
    forecasts
        How many there were.
    coverage
        Share of them whose bin stayed below its bound; `quantile` is what was promised.
    pinball
        Mean pinball loss of the bound, relative to the mean of the series.
    mase
        Mean absolute error over that of the naive forecast, which is the value one season ago
        where the past holds it, else the last value (Hyndman and Koehler, 2006).
    """

    forecasts: int
    quantile: float
    coverage: float
    pinball: float
    mase: float


def scores(
    series: Floats, seasons: Sequence[int], quantile: float, memory: int, first: int
) -> Scores | None:
    """Return the scores of forecasts one bin ahead; None if the series is too short.

    Parameters
    ----------
    series
        Shape (bins,).
    seasons, quantile, memory
        As for `Forecaster`.
    first
        The first bin that is forecast, 1 or more.
    """
    bins = np.arange(max(first, 1), len(series))
    if not len(bins):
        return None
    forecaster = Forecaster(seasons, 1, quantile, memory)
    made = [forecaster.forecast(series[:b]) for b in bins]
    truth = series[bins]
    expected = np.array([m.expected[0] for m in made])
    upper = np.array([m.upper[0] for m in made])
    below = upper - truth
    pinball = np.where(below >= 0, (1 - quantile) * below, -quantile * below)
    known = [max((s for s in seasons if b >= s), default=1) for b in bins]
    naive = series[bins - np.array(known)]
    level = max(float(truth.mean()), 1e-12)
    # A series that never changes is no basis for a ratio.
    naive_error = max(float(np.abs(truth - naive).mean()), 1e-9 * level)
    return Scores(
        len(bins),
        quantile,
        float((truth <= upper).mean()),
        float(pinball.mean()) / level,
        float(np.abs(truth - expected).mean()) / naive_error,
    )
