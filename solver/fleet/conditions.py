"""The patterns that are valid at each replica, by every limit that concerns one replica alone."""

from collections.abc import Iterator

import numpy as np

from edgeplace.model import AMOUNTS, LimitKind
from edgeplace.solver.arrays import Bools, Floats, Ints
from edgeplace.solver.fleet.layout import Layout, SiteKind
from edgeplace.solver.fleet.site_placements import Leg, SitePlacements, delayed
from edgeplace.solver.problem.channels import Channels
from edgeplace.solver.problem.credit_windows import wait_ms
from edgeplace.solver.problem.work import Work
from edgeplace.solver.tolerances import BYTES_TOLERANCE, TOLERANCE

_ROOM = 1 + TOLERANCE


class Conditions:
    """The limits of some replicas of a kind, from `first` to `last`."""

    def __init__(
        self,
        layout: Layout,
        kind: SiteKind,
        patterns: SitePlacements,
        carried: tuple[Channels, Work],
        replicas: slice,
    ) -> None:
        self._layout, self._kind, self._patterns = layout, kind, patterns
        self._replicas = replicas
        self._channels, self._work = carried
        n = kind.count
        feeding = self._channels.n_feeding
        wires = [self._channels.bytes_per_s]
        if delayed(self._channels):
            wires.append(self._channels.least_bytes_per_s)
        self.features = np.concatenate(
            [
                *(
                    part.reshape(n, -1)[replicas]
                    for wire in wires
                    for part in (wire[:feeding], wire[feeding:])
                ),
                kind.rate[replicas],
                np.ones((n, 1))[replicas],
            ],
            axis=1,
        )
        """Of each replica, shape (n_replicas, n_features); see `patterns`."""

    def each(self) -> Iterator[tuple[LimitKind, Bools]]:
        """Yield limits by name, with the patterns that keep them; shape (n_replicas, Q)."""
        k, q, own = self._kind, self._patterns, self._replicas
        for i, term in enumerate((q.least_up, q.least_down)):
            yield LimitKind.LINK_BANDWIDTH, self.features @ term <= k.capacity[own, i, None] * _ROOM
        for v, term in enumerate(q.cores):
            yield LimitKind.NODE_CPU, self.features @ term <= k.cores[own, v, None] * _ROOM
        for t, used in enumerate(q.slots.T):
            yield LimitKind.SLOTS, used[None, :] <= k.slots[own, t, None]
        p = self._layout.template
        for name, used, room in zip(AMOUNTS, q.taken, p.tms.has.T, strict=True):
            each = used <= room[k.task_managers] * (1 + BYTES_TOLERANCE)
            fits: Bools = np.logical_and.reduce(each, axis=1)
            if not fits.all():
                yield name, np.broadcast_to(fits, (len(self.features), len(fits)))
        for j, busiest in enumerate(q.busiest.T):
            yield LimitKind.SUBTASK_BUSY, k.rate[own, j, None] * busiest[None, :] <= _ROOM
        yield LimitKind.CREDIT_WINDOW, self._windows()
        yield from self._latencies()

    def _latencies(self) -> Iterator[tuple[LimitKind, Bools]]:
        """Yield the patterns that keep the limits on worst paths, of all jobs and of one."""
        p, k = self._layout.template, self._kind
        of_job = LimitKind.JOB_LATENCY.bounds_of_jobs(p.rules)
        for j in range(k.rate.shape[1]):
            job = p.subtasks.jobs[p.subtasks.job_of[k.subtasks[k.job == j][0]]]
            stated = {
                LimitKind.LATENCY: p.rules.max_latency_ms,
                LimitKind.JOB_LATENCY: of_job.get(job.name),
            }
            for kind, limit in stated.items():
                if limit is not None:
                    yield kind, self._latency(j) <= limit * _ROOM

    def _has_records(self, channel: int) -> bool:
        """Return whether a channel of records has any; watermarks alone are late for nobody."""
        return bool(self._layout.traffic.records_per_s[self._kind.channels[channel]] > 0)

    def _of_channel(self, column: Floats, channel: int) -> Floats:
        """Return a column of one channel of records at each replica."""
        by_replica = column[: self._channels.n_feeding].reshape(self._kind.count, -1)
        own: Floats = by_replica[self._replicas, channel]
        return own

    def _along(self, links: tuple[int, ...], name: str) -> Floats:
        """Return the sum of some links' `delay_ms` or milliseconds a byte at each replica."""
        total = np.zeros(len(self.features))
        for i in links:
            total += self._of_link(i, name)
        return total

    def _of_link(self, link: int, name: str) -> Floats:
        k, net = self._kind, self._layout.template.network
        if link in k.links:
            own = int(np.flatnonzero(k.links == link)[0])
            column: Floats = (k.delay_ms if name == "delay_ms" else k.bandwidth)[
                self._replicas, own
            ]
        else:
            each = net.delay_ms if name == "delay_ms" else net.bandwidth_bytes_per_s
            column = np.full(len(self.features), each[link])
        return column if name == "delay_ms" else 1000 / column

    def _windows(self) -> Bools:
        """Return the patterns in which the credit of all channels between sites suffices."""
        p, q = self._layout.template, self._patterns
        broken = np.zeros((len(self.features), q.places.shape[0]), bool)
        for leg, crossing in zip(q.legs, q.crossing, strict=True):
            if leg.channel >= q.n_feeding or not self._has_records(leg.channel):
                continue
            back = p.network.route(leg.target, leg.source) or ()
            trip = (
                self._along(leg.links, "delay_ms")
                + self._along(back, "delay_ms")
                + p.cluster.buffer_bytes * self._along(leg.links, "ms_per_byte")
            )
            flow = self.features[:, leg.channel]
            window = self._of_channel(self._channels.window_bytes, leg.channel)
            over = (flow * trip > 1000 * window * _ROOM) & (trip > 0)
            if over.any():
                broken |= over[:, None] & crossing[None, :]
        return ~broken

    def _latency(self, job: int) -> Floats:
        """Return the longest path of a job in each pattern, shape (n_replicas, Q)."""
        k, q = self._kind, self._patterns
        members = np.flatnonzero(k.job == job)
        # Patterns that differ in other jobs only, or in who of a site's machines of one class.
        p = self._layout.template
        tm = k.places[q.places[:, members]]
        alike = p.tms.site[tm] * (int(p.tms.node_class.max()) + 1) + p.tms.node_class[tm]
        _, first, which = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        each = [self._longest(int(pattern), members) for pattern in first]
        return np.stack(each, axis=1)[:, which.ravel()]

    def _longest(self, pattern: int, members: Ints) -> Floats:
        k, q, p = self._kind, self._patterns, self._layout.template
        tm = k.places[q.places[pattern]]
        n_subtasks = len(k.subtasks)
        legs = {
            leg.channel: leg for leg, on in zip(q.legs, q.crossing[:, pattern], strict=True) if on
        }
        service = self._work.service_ms.reshape(k.count, n_subtasks, -1)
        into: dict[int, list[tuple[int, int]]] = {m: [] for m in members.tolist()}
        for c in range(q.n_feeding):
            a, b = q.channels[:, c].tolist()
            if b in into and self._has_records(c):
                into[b].append((a, c))
        done: dict[int, tuple[Floats, Floats]] = {}

        def finish(m: int) -> tuple[Floats, Floats]:
            """Return the longest path to m, before and after it had its longest exchange."""
            if m not in done:
                own: Floats = service[self._replicas, m, p.tms.node_class[tm[m]]]
                early, late = [], []
                for a, c in into[m]:
                    before, after = finish(a)
                    delay = self._delay(c, legs.get(c))
                    spread = self._of_channel(self._channels.spread_ms, c)
                    early.append(before + delay)
                    late.append(np.maximum(after, before + spread) + delay)
                done[m] = (
                    (own + np.maximum.reduce(early), own + np.maximum.reduce(late))
                    if into[m]
                    else (own, own)
                )
            return done[m]

        longest: Floats = np.maximum.reduce([finish(m)[1] for m in members.tolist()])
        return longest

    def _delay(self, channel: int, leg: Leg | None) -> Floats:
        """Return how long records are under way on a channel, in ms."""
        delay = self._of_channel(self._channels.exchange_ms, channel)
        if leg is None:
            return delay
        p = self._layout.template
        size = self._of_channel(self._channels.buffer_bytes, channel)
        fill = self._of_channel(self._channels.fill_ms, channel)
        delay = (
            delay
            + self._along(leg.links, "delay_ms")
            + size * self._along(leg.links, "ms_per_byte")
        )
        for i in leg.links:
            a, b = p.network.ends[i]
            turn = self._of_link(i, "delay_ms") + self._of_link(
                (p.network.route(b, a) or (i,))[0], "delay_ms"
            )
            transfer = p.cluster.buffer_bytes * self._of_link(i, "ms_per_byte")
            delay = delay + wait_ms(fill, turn + transfer, p.cluster.buffers_per_channel)
        return delay
