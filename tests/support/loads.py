"""Loads of a known shape."""

from collections.abc import Sequence

import numpy as np

from edgeplace.control.load import DAY_S, Load


def steady(rate_per_s: float, days: float) -> Load:
    """Return a load that never changes."""
    return Load("steady", np.full(round(days * DAY_S), rate_per_s))


def step(low_per_s: float, high_per_s: float, days: float) -> Load:
    """Return a load that is high from 9 to 17 o'clock each day, low else."""
    hour = np.arange(round(days * DAY_S)) % DAY_S // 3600
    return Load("step", np.where((hour >= 9) & (hour < 17), high_per_s, low_per_s).astype(float))


def sawtooth(low_per_s: float, high_per_s: float, period_s: int, days: float) -> Load:
    """Return a load that rises evenly for a period and falls at once."""
    phase = np.arange(round(days * DAY_S)) % period_s / period_s
    return Load(f"sawtooth {period_s} s", low_per_s + (high_per_s - low_per_s) * phase)


def flash_crowd(base_per_s: float, peak_per_s: float, at_s: Sequence[int], days: float) -> Load:
    """Return a steady load with crowds that come within a minute and leave over an hour."""
    seconds = np.arange(round(days * DAY_S))
    rates = np.full(len(seconds), base_per_s)
    for at in at_s:
        since = seconds - at
        crowd = np.where(since < 60, since / 60, np.exp(-(since - 60) / 1200))
        rates += np.where(since >= 0, crowd, 0.0) * (peak_per_s - base_per_s)
    return Load("flash crowd", rates)
