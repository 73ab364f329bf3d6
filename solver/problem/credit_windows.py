"""Credit-based flow control: the time until credit returns, and the channels that wait for it.

A sender may have as many buffers under way as the receiver has granted: the exclusive ones of the
channel, and floating ones of its gate as the sender's backlog asks for them (Flink's
`RemoteInputChannel` and `BufferManager`).
"""

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.problem.problem import Problem
from edgeplace.solver.tolerances import TIE


def round_trips_ms(p: Problem, a: Ints, b: Ints) -> Floats:
    """Return how long the credit of a buffer is under way between sites a and b.

    From the first byte of the full buffer until the answer is back; 0 where one way is missing.
    """
    n = p.network.n_sites
    pairs, inverse = np.unique(a * n + b, return_inverse=True)
    there, back = pairs // n, pairs % n
    delay = p.network.delay_ms
    with np.errstate(divide="ignore"):
        transfer = 1000 * p.cluster.buffer_bytes / p.network.bandwidth_bytes_per_s
    times = p.network.along(delay + transfer, there, back) + p.network.along(delay, back, there)
    # A pair without a route is reported as such, not as a slow one.
    whole = p.network.joined_by_route(there, back) & p.network.joined_by_route(back, there)
    trip: Floats = np.where(whole, times, 0.0)[inverse]
    return trip


def waits_ms(p: Problem, channel: Ints, link: Ints) -> Floats:
    """Return how long buffers of channels queue for floating buffers on account of links.

    Floating buffers are granted for a backlog only, so there is one: as many buffers as the
    exclusive ones are too few for a round trip, and the one that is being filled meanwhile.

    That is exact over one link, and too little over several.

    Parameters
    ----------
    channel, link
        Pairs of the two, shape (n,) each.
    """
    with np.errstate(divide="ignore"):
        transfer = 1000 * p.cluster.buffer_bytes / p.network.bandwidth_bytes_per_s[link]
    trip = p.network.turn_ms[link] + transfer
    return wait_ms(p.channels.fill_ms[channel], trip, p.cluster.buffers_per_channel)


def wait_ms(fill_ms: Floats, trip_ms: Floats, exclusive: int) -> Floats:
    """Return how long buffers queue for floating ones.

    Parameters
    ----------
    fill_ms
        How long a buffer takes to fill, infinite without traffic, shape (n,).
    trip_ms
        From the first byte of a buffer until its credit is back, shape (n,).
    exclusive
        Exclusive buffers of a channel.
    """
    flows = np.isfinite(fill_ms)
    fill = np.where(flows, fill_ms, 0.0)
    short = trip_ms - exclusive * fill
    # Equal but for rounding: the answer is back in time.
    late = flows & (short > TIE * trip_ms)
    return np.where(late, short + np.minimum(fill, trip_ms), 0.0)
