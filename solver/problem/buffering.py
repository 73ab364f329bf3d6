"""The time that records wait in the buffer of a channel until it is sent."""

import numpy as np

from edgeplace.solver.arrays import Bools, Floats, Ints


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


def exchanges_ms(held: Floats, source: Ints, target: Ints, live: Bools) -> tuple[Floats, Floats]:
    """Return the parts of each channel in the 95th percentile of a path, shape (n_channels,) each.

    Timers tick at equal intervals. Of the channels of a path, the one that holds records longest
    spreads their arrival over all of that time; the others meet them at moments of their own, half
    of it on average. So a path has half of each, and half of the longest once more.

    Where all paths to a channel agree on how much longer it holds than any before, that half is
    part of the channel. Elsewhere it depends on the path: the path has it once, on the channel of
    its choice, and the longest path chooses its longest.

    Parameters
    ----------
    held
        Of each channel, shape (n_channels,).
    source, target
        Subtasks at its ends.
    live
        Whether it has traffic.

    Returns
    -------
    tuple
        What every path has of a channel, and what it has once, of one of its channels.
    """
    n = int(max(source.max(initial=-1), target.max(initial=-1))) + 1
    a, b = source[live], target[live]
    fed = np.zeros(n, bool)
    fed[b] = True
    least = most = np.zeros(n)
    # One round per stage of the longest path: the graph has no cycle.
    while True:
        low, high = np.where(fed, np.inf, 0.0), np.zeros(n)
        np.minimum.at(low, b, np.maximum(least[a], held[live]))
        np.maximum.at(high, b, np.maximum(most[a], held[live]))
        if (low == least).all() and (high == most).all():
            break
        least, most = low, high
    disputed = live & (least[source] < most[source]) & (held > least[source])
    if disputed.any():
        return held / 2, held / 2
    return held / 2 + np.maximum(held - most[source], 0) / 2, np.zeros_like(held)
