"""Bytes of a stream on the wire: records, frames, packets and acknowledgements.

Measured on Flink 2.3 packet by packet; the sizes of its messages are those of `NettyMessage`
(flink-runtime, org.apache.flink.runtime.io.network.netty). A channel sends a buffer when it is
full, and at each tick of the buffer timeout whatever is in it. Records and watermarks that meet in
one tick share a buffer. Records that come in bursts, as a window sends them, are there at few
ticks. Every buffer is one frame; the receiver answers each with the credit it gives back, and TCP
acknowledges both.
"""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Floats

FRAME_BYTES = 47
"""Header of a `BufferResponse`."""
CREDIT_BYTES = 29
"""An `AddCredit` message."""
HEADER_BYTES = 52
"""IP and TCP headers with timestamps, of every packet and so of a bare acknowledgement."""
SOURCE_CHECKPOINT_BYTES = 12_600
"""Messages between a source's subtask and the JobManager at each checkpoint, headers and both
directions: it is triggered, it acknowledges, it is told of the end."""
CHECKPOINT_BYTES = 5_900
"""The same for any other subtask, which barriers trigger."""
_PACKETS_PER_ACK = 2.0
"""TCP acknowledges every second full packet (RFC 1122, 4.2.3.2)."""


@dataclass(frozen=True)
class OnWire:
    """Bytes per second of each channel, shape (n_channels,)."""

    forward: Floats
    """In the direction of the records."""
    back: Floats
    """Credits and acknowledgements, in the other direction."""


def on_wire(
    bytes_per_s: Floats,
    records_per_s: Floats,
    watermarks_per_s: Floats,
    timeout_ms: Floats,
    flushes_per_s: Floats,
    buffer_bytes: int,
    mtu_bytes: int | None,
) -> OnWire:
    """Return what channels take on the wire if they leave a site.

    Parameters
    ----------
    bytes_per_s, records_per_s, watermarks_per_s, timeout_ms
        Serialised records, their number, that of watermarks, and the buffer timeout of each
        channel, shape (n_channels,).
    flushes_per_s
        Ticks a second at which a channel has something to send, at most, shape (n_channels,);
        infinite: as many as records meet that come independently of each other.
    buffer_bytes
        `taskmanager.memory.segment-size`.
    mtu_bytes
        Of the path; None: headers and answers are not counted.
    """
    if mtu_bytes is None:
        return OnWire(bytes_per_s, np.zeros_like(bytes_per_s))
    ticks_per_s = _ticks_in_use(records_per_s, watermarks_per_s, timeout_ms)
    buffers_per_s = bytes_per_s / buffer_bytes + np.minimum(ticks_per_s, flushes_per_s)
    framed = bytes_per_s + FRAME_BYTES * buffers_per_s
    full = framed / (mtu_bytes - HEADER_BYTES)
    # The last packet of a buffer is full or not: half of one more on average, or the only one.
    packets = np.maximum(full + 0.5 * buffers_per_s, buffers_per_s)
    acks_of_packets = np.maximum(packets - buffers_per_s, 0) / _PACKETS_PER_ACK
    return OnWire(
        forward=framed + HEADER_BYTES * (packets + buffers_per_s),
        back=(CREDIT_BYTES + HEADER_BYTES) * buffers_per_s + HEADER_BYTES * acks_of_packets,
    )


def _ticks_in_use(records_per_s: Floats, watermarks_per_s: Floats, timeout_ms: Floats) -> Floats:
    """Return the ticks a second at which each channel has something to send.

    Watermarks come at regular times, at most one in a tick. Records come independently of each
    other (Poisson), so a tick of length t has none with probability exp(-r t).
    """
    every_s = np.where(timeout_ms > 0, timeout_ms / 1000, 1.0)
    without = np.maximum(1 - watermarks_per_s * every_s, 0) * np.exp(-records_per_s * every_s)
    one_each: Floats = records_per_s + watermarks_per_s
    return np.where(timeout_ms > 0, (1 - without) / every_s, one_each)


def checkpoint_on_wire(bytes_: float, is_source: bool, mtu_bytes: int | None) -> float:
    """Return the bytes of a subtask's checkpoint on the wire, with the JobManager's messages.

    These go both ways, and are counted in the direction of the state. The JobManager is taken to
    be where checkpoints are stored.

    Parameters
    ----------
    bytes_
        Of state that it writes.
    is_source
        Whether it is fed by no other.
    mtu_bytes
        As for `on_wire`.
    """
    if mtu_bytes is None:
        return bytes_
    messages = SOURCE_CHECKPOINT_BYTES if is_source else CHECKPOINT_BYTES
    return bytes_ * mtu_bytes / (mtu_bytes - HEADER_BYTES) + messages
