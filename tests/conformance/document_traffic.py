"""What the channels of an instance carry, and what its checkpoints write.

Written from docs/formulation.md, docs/job.md and the classes of `edgeplace.model` alone; nothing
here comes from `edgeplace.solver`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, JobGraph, Plan, Rules
from edgeplace.model.job import Stream
from tests.conformance.document_flows import flow, shares
from tests.conformance.document_index import Indexed, Subtask

Floats = NDArray[np.float64]

FRAME, IP_TCP, CREDIT = 47, 52, 29
"""Bytes: Flink's head of a buffer, headers of a packet, a message that grants a credit."""
OF_SOURCE, OF_OTHER = 12.6e3, 5.9e3
"""Bytes of the messages of a checkpoint, for each subtask."""


Flow = tuple[int, int, float, float, int, float]
"""Ends, records/s, bytes a record, channels of the gate, and `flushes_per_s`."""


@dataclass(frozen=True)
class Channel:
    source: int
    target: int
    records_per_s: float
    bytes_per_s: float
    gate: int
    """Channels of the consumer's gate."""
    hold_s: float
    """Until a buffer is sent."""
    fill_s: float
    """Until a buffer is full."""
    sent_bytes: float
    """What a buffer then holds."""
    forth_bytes_per_s: float
    """On the links that it crosses, as a packet capture shows."""
    back_bytes_per_s: float
    least_forth_bytes_per_s: float
    """The same where full links delay the timers of flush laws."""
    least_back_bytes_per_s: float


class WithTraffic(Indexed):
    """An instance with its rates, channels and checkpoints."""

    def __init__(
        self,
        jobs: Sequence[JobGraph],
        cluster: Cluster,
        rules: Rules | None = None,
        current: Plan | None = None,
    ) -> None:
        super().__init__(jobs, cluster, rules, current)
        self._traffic()

    def _traffic(self) -> None:
        self.rate, raw = self._propagated(delayed=False)
        _, late = self._propagated(delayed=True)
        self.channels = [
            self._channel(*c, min(c[2], delayed[2])) for c, delayed in zip(raw, late, strict=True)
        ]
        self.written = [self._checkpointed(s) for s in self.subtasks]

    def _propagated(self, delayed: bool) -> tuple[Floats, list[Flow]]:
        """Return rates and channels, also where full links delay the timers of flush laws."""
        rate = np.zeros(len(self.subtasks))
        raw: list[Flow] = []
        for j, job in enumerate(self.jobs):
            fed = {s.target for s in job.streams}
            for op in job.operators:
                if op.id not in fed:
                    given = op.cost.demand.rates_per_s if op.cost and op.cost.demand else ()
                    for i in range(op.parallelism):
                        rate[self.at[j, op.id, i]] = given[i if len(given) > 1 else 0]
            for name in downwards(job):
                for stream in job.streams:
                    if stream.source == name:
                        raw += self._dealt(j, job, stream, rate, delayed)
        return rate, raw

    def _dealt(
        self, j: int, job: JobGraph, stream: Stream, rate: Floats, delayed: bool
    ) -> list[Flow]:
        a, b = job.operator(stream.source), job.operator(stream.target)
        pairs: list[tuple[int, int, float]] = []
        for i in range(a.parallelism):
            pairs += [(i, to, share) for to, share in shares(stream, i, a, b)]
        flows = []
        for i, to, share in pairs:
            k, l_ = self.at[j, a.id, i], self.at[j, b.id, to]
            selectivity, size = flow(stream, a, rate[k], delayed)
            flows.append((k, l_, rate[k] * selectivity * share, size))
        # Silent channels take no buffers of the gate.
        gate = {to: sum(x == to and r > 0 for _, x, r, _ in flows) for _, to, *_ in flows}
        for _, l_, records, _ in flows:
            rate[l_] += records
        seldom = (stream.cost.flushes_per_s if stream.cost else None) or math.inf
        return [(*flow, gate[flow[1]], seldom) for flow in flows]

    def _channel(
        self,
        k: int,
        l_: int,
        records: float,
        size: float,
        gate: int,
        seldom: float,
        least: float,
    ) -> Channel:
        job = self.jobs[self.subtasks[k].job]
        buffer = float(self.cluster.buffer_bytes)
        timeout = job.buffer_timeout_ms / 1000
        flow = records * size
        fill = buffer / flow if flow > 0 else math.inf
        next_one = 1 / records if records > 0 else math.inf
        hold = min(timeout, max(fill, next_one) if size > buffer else fill)
        sent = max(size, min(buffer, flow * hold)) if records > 0 else 0.0
        full, delayed = (self._on_wire(k, r, r * size, timeout, seldom) for r in (records, least))
        return Channel(k, l_, records, flow, gate, hold, fill, sent, *full, *delayed)

    def _on_wire(
        self, k: int, records: float, flow: float, timeout: float, seldom: float
    ) -> tuple[float, float]:
        """Return the bytes/s of a channel in both directions, as a packet capture shows."""
        if self.cluster.mtu_bytes is None:
            return flow, 0.0
        watermarks = self._watermarks(self.subtasks[k].job)
        if timeout > 0:
            # A tick is not used if it has neither a watermark nor a record.
            empty = max(0.0, 1 - watermarks * timeout) * math.exp(-records * timeout)
            ticks = min((1 - empty) / timeout, seldom)
        else:
            ticks = min(records + watermarks, seldom)
        buffers = flow / float(self.cluster.buffer_bytes) + ticks
        payload = flow + FRAME * buffers
        room = self.cluster.mtu_bytes - IP_TCP
        frame = payload / buffers if buffers > 0 else 0.0
        packets = max(1.0, frame / room + 0.5)
        forth = payload + IP_TCP * buffers * packets + IP_TCP * buffers
        return forth, (CREDIT + IP_TCP) * buffers + IP_TCP * buffers * (packets - 1) / 2

    def _watermarks(self, job: int) -> float:
        """Return the watermarks/s on every channel of a job: as many as records, at most."""
        every = self.jobs[job].watermark_interval_ms
        fastest = max(
            self.rate[k] for k, s in enumerate(self.subtasks) if s.job == job and s.is_source
        )
        return min(1000 / every, float(fastest)) if every else 0.0

    def _checkpointed(self, subtask: Subtask) -> float:
        """Return the bytes/s that a subtask sends to the checkpoint storage."""
        every = self.jobs[subtask.job].checkpoint_interval_ms
        if every is None or self.cluster.checkpoint_storage is None:
            return 0.0
        cost = subtask.operator.cost
        state = ((cost.checkpointed_bytes if cost else None) or 0.0) / subtask.operator.parallelism
        if cost and cost.state_law:
            written = state * subtask.operator.parallelism
            part = written / cost.state_bytes if cost.state_bytes else 1.0
            state = part * self._state(subtask)
        if self.cluster.mtu_bytes is not None:
            state *= 1 + IP_TCP / (self.cluster.mtu_bytes - IP_TCP)
            state += OF_SOURCE if subtask.is_source else OF_OTHER
        return state / (every / 1000)

    def _state(self, subtask: Subtask) -> float:
        """Return the bytes of state of a subtask."""
        cost, n = subtask.operator.cost, subtask.operator.parallelism
        if cost is None or cost.state_law is None:
            return ((cost.state_bytes if cost else None) or 0.0) / n
        into = sum(self.rate[self.at[subtask.job, subtask.operator.id, i]] for i in range(n))
        law = cost.state_law
        return float(law.fixed_bytes + law.held_bytes_s * into) / n


def downwards(job: JobGraph) -> list[str]:
    """Return the operators of a job, each after those that feed it."""
    left = {op.id: {s.source for s in job.streams if s.target == op.id} for op in job.operators}
    out: list[str] = []
    while left:
        ready = [o for o, before in left.items() if before <= set(out)]
        out += ready
        for o in ready:
            del left[o]
    return out
