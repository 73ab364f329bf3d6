"""One direction of a WAN link: a queue of limited rate, then a delay."""

import random
from dataclasses import dataclass

from testbed.errors import TestbedError


@dataclass(frozen=True)
class LinkSpec:
    """A directed link between two sites.

    Parameters
    ----------
    source, target
        Sites.
    bytes_per_s
        Rate at which IP packets leave the queue, 0 for no limit.
    delay_ms
        One-way delay behind the queue.
    jitter_ms
        Largest additional delay, uniformly distributed. Packets are never reordered.
    loss
        Share of the packets that is lost at random; 1: the link is cut.
    queue_ms
        Longest time of a packet in the queue; a packet that would wait longer is dropped.
    """

    source: str
    target: str
    bytes_per_s: float = 0.0
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    queue_ms: float = 200.0

    def __post_init__(self) -> None:
        times = (self.bytes_per_s, self.delay_ms, self.jitter_ms, self.queue_ms)
        if min(times) < 0 or not 0 <= self.loss <= 1:
            raise TestbedError(f"link {self.source} -> {self.target}: {self} makes no sense")


class WanLink:
    """The state of a directed link.

    Parameters
    ----------
    spec
        Properties of the link; may be replaced at any time.
    seed
        Of jitter and loss.

    Attributes
    ----------
    carried_bytes
        Of all packets that were let through so far, IP headers included.
    dropped_packets
        Because the queue was full, or lost.
    """

    def __init__(self, spec: LinkSpec, seed: int) -> None:
        self.spec = spec
        self.carried_bytes = 0
        self.dropped_packets = 0
        self._random = random.Random(seed)  # noqa: S311 - no secrets here
        self._free_s = 0.0
        self._last_arrival_s = 0.0

    def send(self, now_s: float, size: int) -> float | None:
        """Return when a packet that comes now arrives, or ``None`` if it is dropped.

        Parameters
        ----------
        now_s
            The time, never less than at the call before.
        size
            Bytes of the IP packet.
        """
        spec = self.spec
        start_s = max(now_s, self._free_s)
        is_lost = spec.loss > 0 and self._random.random() < spec.loss
        if is_lost or (start_s - now_s) * 1000 > spec.queue_ms:
            self.dropped_packets += 1
            return None
        self._free_s = start_s + size / spec.bytes_per_s if spec.bytes_per_s else start_s
        late_ms = spec.delay_ms + (self._random.random() * spec.jitter_ms if spec.jitter_ms else 0)
        self._last_arrival_s = max(self._last_arrival_s, self._free_s + late_ms / 1000)
        self.carried_bytes += size
        return self._last_arrival_s
