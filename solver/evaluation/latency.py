"""The longest path from a source to a sink, and what its time consists of."""

from dataclasses import dataclass

import numpy as np

from edgeplace.solver.arrays import Floats, Ints
from edgeplace.solver.problem import Problem
from edgeplace.solver.problem.credit_windows import waits_ms


@dataclass(frozen=True)
class PathPart:
    """One subtask of a path, and the channel that leads to it; times in ms.

    Attributes
    ----------
    subtask
        Its index.
    buffers_ms
        How long records wait in the buffer of the channel until it is sent.
    links_ms
        Delay of the links and the time to transfer the buffer.
    credit_ms
        How long the buffer waits for credit of the receiver.
    processing_ms
        How long the subtask has a record.
    """

    subtask: int
    buffers_ms: float
    links_ms: float
    credit_ms: float
    processing_ms: float


@dataclass(frozen=True)
class LongestPaths:
    """The longest path to each subtask over channels with traffic; a missing route counts nothing.

    Attributes
    ----------
    service
        How long each subtask has a record, shape (n_subtasks,).
    done, ended
        The longest path to the end of each subtask, before and after the path had its longest
        exchange, shape (n_subtasks,).
    source, target
        Subtasks at the ends of each channel with traffic, shape (n_live,).
    exchange, spread
        What every path has of a channel's buffer, and what it has once, shape (n_live,).
    links, credit
        Of each channel, shape (n_live,).
    """

    service: Floats
    done: Floats
    ended: Floats
    source: Ints
    target: Ints
    exchange: Floats
    spread: Floats
    links: Floats
    credit: Floats

    @classmethod
    def of(cls, p: Problem, site: Ints, node_class: Ints, far: Ints) -> "LongestPaths":
        """Return the paths of a placement.

        Parameters
        ----------
        site, node_class
            Where each subtask runs, shape (n_subtasks,).
        far
            Channels with traffic between two sites.
        """
        net = p.network
        with np.errstate(divide="ignore"):
            per_byte_ms = 1000 / net.bandwidth_bytes_per_s
        links, credit = np.zeros_like(p.channels.exchange_ms), np.zeros_like(p.channels.exchange_ms)
        a, b = site[p.channels.source[far]], site[p.channels.target[far]]
        links[far] = net.along(net.delay_ms, a, b)
        links[far] += p.channels.buffer_bytes[far] * net.along(per_byte_ms, a, b)
        for which, crossed in net.steps(a, b):
            credit[far[which]] += waits_ms(p, far[which], crossed)
        live = np.flatnonzero(p.channels.live)
        source, target = p.channels.source[live], p.channels.target[live]
        exchange, spread = p.channels.exchange_ms[live], p.channels.spread_ms[live]
        delay = exchange + links[live] + credit[live]
        service = p.work.service_ms[np.arange(p.n), node_class]
        done = ended = service
        # One round per stage of the longest path: the graph has no cycle.
        while True:
            arrival, last = np.zeros(p.n), np.zeros(p.n)
            np.maximum.at(arrival, target, done[source] + delay)
            np.maximum.at(last, target, np.maximum(ended[source], done[source] + spread) + delay)
            after, at_end = service + arrival, service + last
            if (after == done).all() and (at_end == ended).all():
                break
            done, ended = after, at_end
        return cls(
            service, done, ended, source, target, exchange, spread, links[live], credit[live]
        )

    def worst_ms(self, of: Ints, n: int) -> Floats:
        """Return the longest path of each group of subtasks that paths do not leave.

        Parameters
        ----------
        of
            Group of each subtask, shape (n_subtasks,), from 0 to n - 1.
        """
        worst = np.zeros(n)
        np.maximum.at(worst, of, self.ended)
        return worst

    def worst(self) -> tuple[PathPart, ...]:
        """Return the steps of the longest of all, from the source to the sink."""
        k = int(np.argmax(self.ended))
        steps: list[PathPart] = []
        had = False  # Whether the path to the sink has its longest exchange on a later channel.
        while len(into := np.flatnonzero(self.target == k)):
            done, ended = self.done[self.source[into]], self.ended[self.source[into]]
            with_spread = np.zeros(len(into), bool) if had else done + self.spread[into] > ended
            before = done if had else np.maximum(ended, done + self.spread[into])
            whole = before + self.exchange[into] + self.links[into] + self.credit[into]
            best = int(np.argmax(whole))
            c = int(into[best])
            own = float(self.spread[c]) if with_spread[best] else 0.0
            steps.append(
                PathPart(
                    k,
                    float(self.exchange[c]) + own,
                    float(self.links[c]),
                    float(self.credit[c]),
                    float(self.service[k]),
                )
            )
            had = had or bool(with_spread[best])
            k = int(self.source[c])
        steps.append(PathPart(k, 0.0, 0.0, 0.0, float(self.service[k])))
        return tuple(reversed(steps))
