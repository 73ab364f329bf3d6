"""How long records wait in the buffer of a channel until it is sent."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def held_ms(
    timeout_ms: Floats,
    bytes_per_s: Floats,
    records_per_s: Floats,
    buffer_bytes: int,
) -> Floats:
    """Return how long a buffer is filled at most, for each channel, shape (n_channels,).

    Until it is full or the timer ticks. Records come whole: the end of one that is larger than a
    buffer waits for the next.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fill = np.maximum(1000 * buffer_bytes / bytes_per_s, 1000 / records_per_s)
    held: Floats = np.minimum(timeout_ms, fill)
    return held


def exchanges_ms(held: Floats, source: Ints, target: Ints, live: NDArray[np.bool_]) -> Floats:
    """Return the part of each channel in the 95th percentile of a path, shape (n_channels,).

    Timers tick at equal intervals. Of the channels of a path, the one that holds records longest
    spreads their arrival over all of that time; the others meet them at moments of their own, half
    of it on average. So a path has half of each, and half of the longest once more: counted where
    a channel holds longer than all before it.

    Parameters
    ----------
    held
        Of each channel, shape (n_channels,).
    source, target
        Subtasks at its ends.
    live
        Whether it has traffic.
    """
    longest = np.zeros(int(max(source.max(initial=-1), target.max(initial=-1))) + 1)
    while True:
        before = np.zeros_like(longest)
        at_most = np.maximum(longest[source], held)
        np.maximum.at(before, target[live], at_most[live])
        if (before == longest).all():
            break
        longest = before
    share: Floats = held / 2 + np.maximum(held - longest[source], 0) / 2
    return share
