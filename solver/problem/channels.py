"""Channels between subtasks: bytes on the wire, buffers, delays, credit windows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgeplace.model import Cluster
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.problem.buffering import exchanges_ms, held_ms
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.solver.problem.wire import OnWire, on_wire


@dataclass(frozen=True)
class Channels:
    """Channels of records, and behind them what their receivers answer, from them to the senders.

    Arrays have the shape (n_channels,).

    Attributes
    ----------
    source, target
        Subtasks, by index.
    records_per_s
        Of the channel; answers have none.
    bytes_per_s
        As a link carries them, see `wire`.
    least_bytes_per_s
        What is left of them where a full link delays the timers of flush laws: less than that no
        link can make of it.
    n_feeding
        Number of channels of records.
    live
        Channels with records; answers have none.
    exchange_ms
        How long a record waits until its buffer is sent, filled or at the buffer timeout: half of
        that time, and the other half where it is longer than all before it.
    spread_ms
        That other half where paths to the channel differ in what is before it: a path has it of
        one of its channels. 0 everywhere if `exchange_ms` says all.
    buffer_bytes
        Bytes of the channel that are sent at once: what a buffer then holds, at least a record.
    fill_ms
        How long the channel takes to fill a buffer; infinite without traffic.
    window_bytes
        Credit window of the channel: bytes in flight before the receiver must answer, as a link
        carries them.
    stream
        Stream of the channel, by index; answers have numbers of their own.
    """

    source: Ints
    target: Ints
    records_per_s: Floats
    bytes_per_s: Floats
    least_bytes_per_s: Floats
    n_feeding: int
    live: Bools
    exchange_ms: Floats
    spread_ms: Floats
    buffer_bytes: Floats
    fill_ms: Floats
    window_bytes: Floats
    stream: Ints

    @property
    def feeding(self) -> tuple[Ints, Ints]:
        """Producer and consumer of each channel of records: they form no cycle."""
        return self.source[: self.n_feeding], self.target[: self.n_feeding]

    @cached_property
    def of_source(self) -> Floats:
        """Share of the records of its source that each channel has, shape (n_channels,)."""
        return self._of_subtask(self.source)

    @cached_property
    def of_target(self) -> Floats:
        """Share of the records of its target that each channel has, shape (n_channels,)."""
        return self._of_subtask(self.target)

    def _of_subtask(self, end: Ints) -> Floats:
        passing = np.bincount(end, weights=self.records_per_s)[end]
        none = np.zeros(len(end))
        return np.divide(self.records_per_s, passing, out=none, where=passing > 0)

    @classmethod
    def of(cls, traffic: Traffic, cluster: Cluster, answered: Bools | None = None) -> "Channels":
        """Return the channels that some traffic takes, given the cluster's network buffers.

        Parameters
        ----------
        answered
            Channels of records whose receivers answer; None: as `answers` says.
        """
        flow = traffic.bytes_per_s
        with np.errstate(divide="ignore", invalid="ignore"):
            fill = 1000 * cluster.buffer_bytes / flow
        held = held_ms(traffic.timeout_ms, flow, traffic.records_per_s, cluster.buffer_bytes)
        # A record that is larger than a buffer is there when its last buffer is.
        sent = np.minimum(flow * held / 1000, cluster.buffer_bytes)
        sent = np.maximum(sent, traffic.record_bytes)
        live = traffic.records_per_s > 0
        exchange, spread = exchanges_ms(held, traffic.source, traffic.target, live)
        wire, least = (_carried(traffic, cluster, share) for share in (1.0, traffic.held_back))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Credit is for records: of a channel whose records have no bytes none is used up.
            grown = np.where(flow > 0, wire.forward / flow, np.inf)
        fan_in = np.maximum(traffic.fan_in, 1)
        window = grown * cluster.buffer_bytes
        window *= cluster.buffers_per_channel + cluster.floating_buffers_per_gate / fan_in
        # Answers take the links without records: they are late for nobody, and need no credit.
        back = np.flatnonzero(wire.back > 0 if answered is None else answered)
        none = np.zeros(len(back))
        stream = traffic.stream
        return cls(
            source=np.concatenate([traffic.source, traffic.target[back]]),
            target=np.concatenate([traffic.target, traffic.source[back]]),
            records_per_s=np.concatenate([traffic.records_per_s, none]),
            bytes_per_s=np.concatenate([wire.forward, wire.back[back]]),
            least_bytes_per_s=np.concatenate([least.forward, least.back[back]]),
            n_feeding=len(flow),
            live=np.concatenate([live, none > 0]),
            exchange_ms=np.concatenate([exchange, none]),
            spread_ms=np.concatenate([spread, none]),
            buffer_bytes=np.concatenate([sent, none]),
            fill_ms=np.concatenate([fill, none + np.inf]),
            window_bytes=np.concatenate([window, none + np.inf]),
            stream=np.concatenate([stream, stream[back] + stream.max(initial=0) + 1]),
        )


def answers(traffic: Traffic, cluster: Cluster) -> Bools:
    """Return the channels of records whose receivers send bytes back, shape (n_channels,)."""
    found: Bools = _carried(traffic, cluster, 1.0).back > 0
    return found


def _carried(traffic: Traffic, cluster: Cluster, share: Floats | float) -> OnWire:
    """Return the bytes on the wire of a share of the records."""
    return on_wire(
        share * traffic.bytes_per_s,
        share * traffic.records_per_s,
        traffic.watermarks_per_s,
        traffic.timeout_ms,
        traffic.flushes_per_s,
        cluster.buffer_bytes,
        cluster.mtu_bytes,
    )
