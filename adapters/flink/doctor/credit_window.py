r"""Credit windows: how much Flink's network buffers let through a link with a round-trip time.

A sender may have as many bytes on their way as the receiver has announced buffers for. Channel
:math:`(k, l)` has its exclusive buffers, and a share of the floating ones of its gate:

.. math:: w_{kl} \leq (exclusive + floating / channels\ of\ the\ gate) \cdot buffer / round\ trip

On a real Flink with 50 ms of round trip, nine tenths of that were measured.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgeplace.adapters.flink.checks.routes import LeastDelayRoutes
from edgeplace.adapters.flink.rest.release import major_minor
from edgeplace.model import Cluster, JobGraph, ShipStrategy

PER_CHANNEL = "taskmanager.network.memory.buffers-per-channel"
PER_GATE = "taskmanager.network.memory.floating-buffers-per-gate"
SEGMENT_SIZE = "taskmanager.memory.segment-size"
_DEFAULT_PER_CHANNEL = 2
_DEFAULT_PER_GATE = 8
_DEFAULT_SEGMENT_BYTES = 32768
_UNITS = {"": 1, "b": 1, "bytes": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20}


@dataclass(frozen=True)
class Buffers:
    """Network buffers of the TaskManagers.

    Attributes
    ----------
    exclusive
        Buffers of each channel.
    floating
        Buffers that the channels of a gate share.
    segment_bytes
        Size of a buffer, by default and by TaskManager where that is known.
    settable
        Whether numbers of buffers can be configured: Flink 2.0 has fixed them to 2 and 8.
    """

    exclusive: int = _DEFAULT_PER_CHANNEL
    floating: int = _DEFAULT_PER_GATE
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES
    segment_bytes_of: Mapping[str, int] | None = None
    settable: bool = True

    def segment_bytes_at(self, task_manager: str) -> int:
        """Return the size of a buffer on a TaskManager."""
        return (self.segment_bytes_of or {}).get(task_manager, self.segment_bytes)


@dataclass(frozen=True)
class Crossing:
    """The channels of a job from one site to another, and the link they share.

    Attributes
    ----------
    channels
        Their number.
    buffers
        Buffers announced to them in all.
    floating
        How many of these are floating ones.
    window_bytes
        Bytes that may be on their way in all.
    segment_bytes
        Mean size of these buffers.
    round_trip_ms, bandwidth_bytes_per_s
        Of the route: the sum of its delays, both ways, and its narrowest link.
    """

    source: str
    target: str
    channels: int
    buffers: float
    floating: float
    window_bytes: float
    round_trip_ms: float
    bandwidth_bytes_per_s: float

    @property
    def room_bytes_per_s(self) -> float:
        """The bytes/s that the windows allow."""
        return 1000 * self.window_bytes / self.round_trip_ms

    @property
    def segment_bytes(self) -> float:
        """Mean size of a buffer."""
        return self.window_bytes / self.buffers

    @property
    def missing_window_factor(self) -> float:
        """The factor by which the windows must grow to fill the link; at most 1: they fill it."""
        return self.bandwidth_bytes_per_s / self.room_bytes_per_s

    def exclusive_to_fill(self) -> int:
        """Return the buffers per channel that fill the link.

        Floating buffers would not do: a receiver asks for them by the sender's backlog, which
        `max-buffers-per-channel` (10) bounds.
        """
        needed = self.buffers * self.missing_window_factor
        return math.ceil((needed - self.floating) / self.channels)

    def segment_bytes_to_fill(self) -> int:
        """Return the size of a buffer that fills the link; Flink wants a power of two."""
        return int(2 ** math.ceil(math.log2(self.segment_bytes * self.missing_window_factor)))


def buffers(
    release: str,
    configuration: Mapping[str, str],
    segment_bytes_of: Mapping[str, int] | None = None,
) -> Buffers:
    """Return the buffers of a cluster, Flink's defaults where they are not configured.

    Parameters
    ----------
    configuration
        The JobManager's; a TaskManager's own is not to be seen.
    segment_bytes_of
        TaskManager -> size of a buffer, measured.
    """
    settable = (major_minor(release) or (2, 0)) < (2, 0)
    stated = configuration if settable else {}
    return Buffers(
        exclusive=_count(stated.get(PER_CHANNEL), _DEFAULT_PER_CHANNEL),
        floating=_count(stated.get(PER_GATE), _DEFAULT_PER_GATE),
        segment_bytes=_bytes(configuration.get(SEGMENT_SIZE), _DEFAULT_SEGMENT_BYTES),
        segment_bytes_of=segment_bytes_of,
        settable=settable,
    )


def crossings(
    graph: JobGraph,
    places: Mapping[str, Sequence[str | None]],
    site_of: Mapping[str, str],
    cluster: Cluster,
    network: Buffers,
) -> list[Crossing]:
    """Return the channels of a running job between sites, where a link bounds them.

    Pairs of sites without a route, a delay or a bandwidth are left out.

    Parameters
    ----------
    places
        Operator id -> TaskManager of each subtask.
    site_of
        TaskManager -> site.
    cluster
        Has the links.
    """
    totals: dict[tuple[str, str], list[float]] = {}
    for fan_in, sender, receiver in _channels(graph, places):
        a, b = site_of.get(sender), site_of.get(receiver)
        if a is None or b is None or a == b:
            continue
        floating = network.floating / fan_in
        count = network.exclusive + floating
        # A buffer is as full as its sender's size allows.
        size = min(network.segment_bytes_at(sender), network.segment_bytes_at(receiver))
        total = totals.setdefault((a, b), [0.0, 0.0, 0.0, 0.0])
        for i, value in enumerate((1, count, floating, count * size)):
            total[i] += value
    routes = LeastDelayRoutes(cluster)
    found = []
    for (a, b), (channels, count, floating, window) in totals.items():
        there, back = routes.between(a, b), routes.between(b, a)
        if there is None or back is None:
            continue
        trip_ms, bandwidth = there[0] + back[0], there[1]
        if trip_ms > 0 and math.isfinite(bandwidth) and count > 0:
            found.append(Crossing(a, b, int(channels), count, floating, window, trip_ms, bandwidth))
    return found


def _channels(
    graph: JobGraph, places: Mapping[str, Sequence[str | None]]
) -> Iterator[tuple[int, str, str]]:
    """Yield (channels of the receiver's gate, sender, receiver) of each channel with traffic."""
    parallelism = {op.id: op.parallelism for op in graph.operators}
    for stream in graph.streams:
        p, q = parallelism[stream.source], parallelism[stream.target]
        senders, receivers = places.get(stream.source, ()), places.get(stream.target, ())
        if len(senders) != p or len(receivers) != q:
            continue
        for j, feeding in enumerate(_feeding(stream.ship_strategy, p, q)):
            receiver = receivers[j]
            for sender in (senders[i] for i in feeding):
                if sender is not None and receiver is not None:
                    yield len(feeding), sender, receiver


def _feeding(strategy: ShipStrategy, p: int, q: int) -> list[range]:
    """Return the subtasks that send to each of q receivers."""
    match strategy:
        case ShipStrategy.FORWARD | ShipStrategy.RESCALE if p >= q:
            # As in Flink's VertexInputInfoComputationUtils: contiguous ranges of senders.
            return [range(j * p // q, (j + 1) * p // q) for j in range(q)]
        case ShipStrategy.FORWARD | ShipStrategy.RESCALE:
            starts = [(i * q + p - 1) // p for i in range(p + 1)]
            return [range(i, i + 1) for i in range(p) for _ in range(starts[i], starts[i + 1])]
        case ShipStrategy.GLOBAL:
            return [range(p), *[range(0)] * (q - 1)]
        case _:
            return [range(p)] * q


def _count(text: str | None, default: int) -> int:
    return int(text) if text and text.strip().isdigit() else default


def _bytes(text: str | None, default: int) -> int:
    number = "".join(c for c in text or "" if c.isdigit())
    unit = (text or "").strip().lower().removeprefix(number).strip()
    return int(number) * _UNITS[unit] if number and unit in _UNITS else default
