"""The loop's forecasts beside what came: of the last day, and of the next one."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgeplace.control.forecast import DAY, LEARNED, SEASONS, Forecaster
from edgeplace.control.forecast_scores import scores
from edgeplace.control.loop.memory import Memory
from edgeplace.solver.arrays import Floats

BIN_S = 1800
"""Of the history that forecasts are made of."""

Series = tuple[float, ...]


@dataclass(frozen=True)
class Day:
    """Records per second of all sources, by half hour.

    Parameters
    ----------
    came
        The largest rate of each half hour of the last day, at most; the oldest first.
    bound
        For each of these, the bound that the half hours before it gave.
    next_expected, next_bound
        Of the next day.
    """

    came: Series
    bound: Series
    next_expected: Series
    next_bound: Series


def forecaster(quantile: float, horizons: int = 1) -> Forecaster:
    """Return the loop's forecaster of half hours."""
    return Forecaster(SEASONS, horizons, quantile, LEARNED)


def the_day(memory: Memory) -> Day | None:
    """Return the day; None: no half hour is over yet."""
    if memory.settings is None or not memory.peaks:
        return None
    days = [_day(series, memory.settings.quantile) for series in memory.peaks.values()]
    bins = min(len(d.came) for d in days)
    if not bins:
        return None
    return Day(
        _sum([d.came[-bins:] for d in days]),
        _sum([d.bound[-bins:] for d in days]),
        _sum([d.next_expected for d in days]),
        _sum([d.next_bound for d in days]),
    )


def coverage(memory: Memory) -> dict[str, float]:
    """Return by source how often its bound held in the last week; young sources are left out."""
    quantile = memory.settings.quantile if memory.settings else 0.0
    found = {op: _coverage(series, quantile) for op, series in memory.peaks.items()}
    return {op: share for op, share in found.items() if share is not None}


@lru_cache(maxsize=64)
def _day(series: Series, quantile: float) -> Day:
    past = np.array(series)
    first = max(1, len(past) - DAY)
    bound = [
        float(forecaster(quantile).forecast(past[:b]).upper[0]) for b in range(first, len(past))
    ]
    ahead = forecaster(quantile, DAY).forecast(past)
    return Day(series[first:], tuple(bound), _plain(ahead.expected), _plain(ahead.upper))


@lru_cache(maxsize=64)
def _coverage(series: Series, quantile: float) -> float | None:
    found = scores(np.array(series), SEASONS, quantile, LEARNED, max(DAY, len(series) - LEARNED))
    return None if found is None else found.coverage


def _plain(values: Floats) -> Series:
    return tuple(map(float, values))


def _sum(rows: list[Series]) -> Series:
    return tuple(map(sum, zip(*rows, strict=True)))
