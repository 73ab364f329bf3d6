"""What docs/formulation.md says of every plan of a small instance.

Written from docs/formulation.md, docs/job.md and the classes of `edgeplace.model` alone; nothing
here comes from `edgeplace.solver`. All plans are judged at once: an array of plans, a row each,
with the TaskManager of every subtask.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, JobGraph, Plan, Rules
from edgeplace.model.job import Operator, Stream
from tests.conformance.document_flows import flow, shares

Floats = NDArray[np.float64]
Plans = NDArray[np.int64]

QUEUE_CAP = 20.0
"""M/M/1 queueing, 1/(1 - busy), counts at most this."""
FRAME, IP_TCP, CREDIT = 47, 52, 29
"""Bytes: Flink's head of a buffer, headers of a packet, a message that grants a credit."""
OF_SOURCE, OF_OTHER = 12.6e3, 5.9e3
"""Bytes of the messages of a checkpoint, for each subtask."""
SAME = 1e-9
"""Share by which two equal values may differ; a cap is kept up to as much."""
HOURS = 730.5
"""Of an average month: 365.25 days by 24 hours, by 12."""
EXACT = 1e-9
"""Share of a limit within which its use is too near to tell: see `Judged.doubtful`."""


@dataclass(frozen=True)
class Subtask:
    job: int
    operator: Operator
    index: int
    is_source: bool


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


@dataclass
class Judged:
    """What the document says of plans, an entry each."""

    values: dict[str, Floats]
    hold: NDArray[np.bool_]
    """All limits hold."""
    rated_aside: NDArray[np.bool_]
    """All limits hold but those that grow with the rates."""
    doubtful: NDArray[np.bool_]
    """Some limit is used to the last billionth, give or take: rounding decides."""
    broken: dict[str, NDArray[np.bool_]] = field(default_factory=dict)


class Document:
    """One instance, indexed."""

    def __init__(
        self,
        jobs: Sequence[JobGraph],
        cluster: Cluster,
        rules: Rules | None = None,
        current: Plan | None = None,
    ) -> None:
        self.jobs, self.cluster, self.rules = list(jobs), cluster, rules or Rules()
        self.current_plan = current
        self.tms = [t.id for t in cluster.task_managers]
        nodes = {n.id: n for n in cluster.nodes}
        self.node_ids = [n.id for n in cluster.nodes]
        self.site_ids = [s.id for s in cluster.sites]
        self.tm_node = np.array([self.node_ids.index(t.node) for t in cluster.task_managers])
        self.tm_site = np.array(
            [self.site_ids.index(nodes[t.node].site) for t in cluster.task_managers]
        )
        self.tm_class = [nodes[t.node].node_class for t in cluster.task_managers]
        self.subtasks = [
            Subtask(j, op, i, op.id in {s.id for s in job.sources()})
            for j, job in enumerate(self.jobs)
            for op in job.operators
            for i in range(op.parallelism)
        ]
        self.at = {(s.job, s.operator.id, s.index): k for k, s in enumerate(self.subtasks)}
        self._routes()
        self._traffic()
        self._current()
        self._places()

    # Routes.

    def _routes(self) -> None:
        """Find the routes: least delay to the nanosecond, then fewest links, then first ids.

        Of equal ones to site b it is the one whose last site before b has the first id.
        """
        self.links = list(self.cluster.directed_links())
        site = {s: i for i, s in enumerate(self.site_ids)}
        n = self.n_sites = len(site)
        ends = [(site[e.source], site[e.target]) for e in self.links]
        length = [(round(e.delay_ms * 1e6), 1) for e in self.links]
        self.route: dict[tuple[int, int], list[int]] = {}
        for a in range(n):
            best = {a: (0, 0)}
            for _ in range(n):
                for (u, v), (delay, one) in zip(ends, length, strict=True):
                    if u in best:
                        new = (best[u][0] + delay, best[u][1] + one)
                        best[v] = min(best.get(v, new), new)
            last = {
                v: min(
                    (
                        e
                        for e, (u, w) in enumerate(ends)
                        if w == v
                        and u in best
                        and (best[u][0] + length[e][0], best[u][1] + 1) == best[v]
                    ),
                    key=lambda e: self.site_ids[ends[e][0]],
                )
                for v in best
                if v != a
            }
            for v in best:
                path, at = [], v
                while at != a:
                    path.append(last[at])
                    at = ends[last[at]][0]
                self.route[a, v] = path[::-1]

    # Traffic.

    def _traffic(self) -> None:
        self.rate = np.zeros(len(self.subtasks))
        raw: list[tuple[int, int, float, float, int]] = []
        for j, job in enumerate(self.jobs):
            fed = {s.target for s in job.streams}
            for op in job.operators:
                if op.id not in fed:
                    given = op.cost.demand.rates_per_s if op.cost and op.cost.demand else ()
                    for i in range(op.parallelism):
                        self.rate[self.at[j, op.id, i]] = given[i if len(given) > 1 else 0]
            for name in _downwards(job):
                for stream in job.streams:
                    if stream.source == name:
                        raw += self._dealt(j, job, stream)
        self.channels = [self._channel(*c) for c in raw]
        self.written = [self._checkpointed(s) for s in self.subtasks]

    def _dealt(
        self, j: int, job: JobGraph, stream: Stream
    ) -> list[tuple[int, int, float, float, int]]:
        a, b = job.operator(stream.source), job.operator(stream.target)
        pairs: list[tuple[int, int, float]] = []
        for i in range(a.parallelism):
            pairs += [(i, to, share) for to, share in shares(stream, i, a, b)]
        flows = []
        for i, to, share in pairs:
            k, l_ = self.at[j, a.id, i], self.at[j, b.id, to]
            selectivity, size = flow(stream, a, self.rate[k])
            flows.append((k, l_, self.rate[k] * selectivity * share, size))
        # Silent channels take no buffers of the gate.
        gate = {to: sum(x == to and r > 0 for _, x, r, _ in flows) for _, to, *_ in flows}
        for _, l_, records, _ in flows:
            self.rate[l_] += records
        return [(*flow, gate[flow[1]]) for flow in flows]

    def _channel(self, k: int, l_: int, records: float, size: float, gate: int) -> Channel:
        job = self.jobs[self.subtasks[k].job]
        buffer = float(self.cluster.buffer_bytes)
        timeout = job.buffer_timeout_ms / 1000
        flow = records * size
        fill = buffer / flow if flow > 0 else math.inf
        next_one = 1 / records if records > 0 else math.inf
        hold = min(timeout, max(fill, next_one) if size > buffer else fill)
        sent = max(size, min(buffer, flow * hold)) if records > 0 else 0.0
        forth, back = flow, 0.0
        if self.cluster.mtu_bytes is not None:
            seen = records + self._watermarks(self.subtasks[k].job)
            ticks = min(seen, 1 / timeout) if timeout > 0 else seen
            buffers = flow / buffer + ticks
            payload = flow + FRAME * buffers
            room = self.cluster.mtu_bytes - IP_TCP
            frame = payload / buffers if buffers > 0 else 0.0
            packets = max(1.0, frame / room + 0.5)
            forth = payload + IP_TCP * buffers * packets + IP_TCP * buffers
            back = (CREDIT + IP_TCP) * buffers + IP_TCP * buffers * (packets - 1) / 2
        return Channel(k, l_, records, flow, gate, hold, fill, sent, forth, back)

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
        if self.cluster.mtu_bytes is not None:
            state *= 1 + IP_TCP / (self.cluster.mtu_bytes - IP_TCP)
            state += OF_SOURCE if subtask.is_source else OF_OTHER
        return state / (every / 1000)

    # Places.

    def _current(self) -> None:
        """Where each subtask runs now; -1 without a current place."""
        self.now = np.full(len(self.subtasks), -1)
        if self.current_plan is None:
            return
        for k, s in enumerate(self.subtasks):
            placed = self.current_plan.jobs.get(self.jobs[s.job].name, {}).get(s.operator.id)
            if placed is not None and s.index < len(placed) and placed[s.index] in self.tms:
                self.now[k] = self.tms.index(placed[s.index])

    def _of_rule(self, rule: Any) -> list[list[int]]:
        """Return the subtasks of each operator that a rule names."""
        jobs = [j for j, job in enumerate(self.jobs) if rule.job in ("", job.name)]
        out = []
        for ref in rule.operators:
            for j in jobs:
                op = self.jobs[j].operator(ref)
                out.append([self.at[j, op.id, i] for i in range(op.parallelism)])
        return out

    def _places(self) -> None:
        every = set(range(len(self.tms)))
        self.allowed: list[set[int]] = [set(every) for _ in self.subtasks]
        freed = {
            k
            for r in self.rules.rules
            if r.kind in ("pin", "match", "never_move")
            for ks in self._of_rule(r)
            for k in ks
            if r.kind != "pin" or not r.subtasks or self.subtasks[k].index in r.subtasks
        }
        for k, s in enumerate(self.subtasks):
            if not s.is_source:
                continue
            born = s.operator.born_at
            if born:
                home = born[s.index if len(born) > 1 else 0]
                if home != "anywhere":
                    self.allowed[k] &= self._at(home)
            elif k not in freed and self.now[k] >= 0:
                node = self.tm_node[self.now[k]]
                self.allowed[k] &= {int(t) for t in np.flatnonzero(self.tm_node == node)}
        labels = {n.id: n.labels for n in self.cluster.nodes}
        for r in self.rules.rules:
            for ks in self._of_rule(r):
                for k in ks:
                    if r.kind == "pin":
                        if not r.subtasks or self.subtasks[k].index in r.subtasks:
                            self.allowed[k] &= self._at(r.to)
                    elif r.kind == "match":
                        self.allowed[k] &= {
                            t
                            for t in every
                            if all(
                                labels[self.node_ids[self.tm_node[t]]].get(a) == b
                                for a, b in r.labels.items()
                            )
                        }
                    elif r.kind == "never_move":
                        self.allowed[k] &= {int(self.now[k])}

    def _at(self, place: str) -> set[int]:
        return {self.tms.index(t) for t in self.cluster.task_managers_at(place)}

    def plans(self) -> Plans:
        """Return every plan that keeps to the allowed places."""
        columns = [sorted(a) for a in self.allowed]
        if not all(columns):
            return np.zeros((0, len(columns)), dtype=np.int64)
        grids = np.meshgrid(*[np.array(c) for c in columns], indexing="ij")
        return np.stack([g.ravel() for g in grids], axis=1).astype(np.int64)

    def count(self) -> float:
        """Return how many plans there are."""
        return math.prod(float(len(a)) for a in self.allowed)

    def as_plan(self, row: NDArray[np.int64]) -> Plan:
        """Return a row of `plans` as a plan."""
        out: dict[str, dict[str, tuple[str, ...]]] = {}
        for j, job in enumerate(self.jobs):
            out[job.name] = {
                op.id: tuple(self.tms[row[self.at[j, op.id, i]]] for i in range(op.parallelism))
                for op in job.operators
            }
        return Plan(jobs=out)

    def as_row(self, plan: Plan) -> Plans:
        """Return a plan as a row of `plans`."""
        row = [
            self.tms.index(plan.jobs[self.jobs[s.job].name][s.operator.id][s.index])
            for s in self.subtasks
        ]
        return np.array([row], dtype=np.int64)

    # Judging.

    def judge(self, plans: Plans) -> Judged:
        """Return what the document says of plans."""
        n = len(plans)
        self._limits: list[tuple[str, Floats, Floats | float, bool]] = []
        broken: dict[str, NDArray[np.bool_]] = {}
        cores = self._cores(plans)
        carried = self.carried(plans)
        self._bandwidths(carried)
        prices = np.array([e.price_per_byte for e in self.links])
        wan = carried @ prices if len(prices) else np.zeros(n)
        cost = self._cost(plans, carried, cores)
        broken["route"] = self._unjoined(plans)
        latency = self._latency(plans)
        latency[broken["route"]] = -1.0
        clouds = [i for i, s in enumerate(self.cluster.sites) if s.tier == "cloud"]
        at_cloud = np.isin(self.tm_site[plans], clouds)
        # A subtask whose current place is unknown or gone moves wherever it runs.
        moved = (plans != self.now) & (self.current_plan is not None)
        self._slots(plans)
        self._space(plans)
        self._credit(plans)
        self._rules(plans, broken)
        if self.rules.max_latency_ms is not None:
            self._limits.append(("latency", latency, self.rules.max_latency_ms, False))
        if self.rules.max_moves is not None:
            broken["moves"] = moved.sum(axis=1) > self.rules.max_moves
        rho = np.zeros(n)
        fixed, rated, near = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)
        for kind, used, capacity, grows in self._limits:
            cap = np.broadcast_to(np.asarray(capacity, float), (n,))
            over = used > cap * (1 + EXACT)
            close = np.abs(used - np.where(np.isfinite(cap), cap, 0.0)) <= np.abs(cap) * EXACT
            near |= close & np.isfinite(cap) & (used > 0) & (kind not in ("slots", "GPUs"))
            broken[kind] = broken.get(kind, np.zeros(n, bool)) | over
            if grows:
                rated |= over
                rho = np.maximum(rho, np.where(used > 0, used / cap, 0.0))
            else:
                fixed |= over
        for kind in ("route", "moves", "rule"):
            if kind in broken:
                fixed |= broken[kind]
        for k, places in enumerate(self.allowed):
            fixed |= ~np.isin(plans[:, k], sorted(places))
        values = {
            "wan": wan,
            "latency": latency,
            "server_cores": (cores * at_cloud).sum(axis=1),
            "moves": moved.sum(axis=1).astype(float),
            "throughput": rho,
            "cost": cost,
        }
        return Judged(values, ~(fixed | rated), ~fixed, near, broken)

    def _cores(self, plans: Plans) -> Floats:
        n = len(plans)
        cores = np.zeros((n, len(self.subtasks)))
        self.busy_table = np.zeros((len(self.subtasks), len(self.tms)))
        self.service_table = np.zeros_like(self.busy_table)
        core_table = np.zeros_like(self.busy_table)
        for k, s in enumerate(self.subtasks):
            for t, name in enumerate(self.tm_class):
                cost = s.operator.cost.on(name) if s.operator.cost else None
                assert cost is not None, "the generator gives every class a cost"
                busy = self.rate[k] / cost.true_rate_per_s
                self.busy_table[k, t] = busy
                queue = min(QUEUE_CAP, 1 / (1 - busy)) if busy < 1 else QUEUE_CAP
                if self.rate[k] == 0:
                    continue
                self.service_table[k, t] = 1000 / cost.true_rate_per_s * queue
                ms = cost.cpu_ms_per_record
                core_table[k, t] = self.rate[k] * ms / 1000 if ms is not None else busy
            cores[:, k] = core_table[k, plans[:, k]]
            self._limits.append(("subtask busy", self.busy_table[k, plans[:, k]], 1.0, True))
        for v, node in enumerate(self.cluster.nodes):
            used = (cores * (self.tm_node[plans] == v)).sum(axis=1)
            self._limits.append(("node cpu", used, node.cores * self.cluster.cpu_target, True))
        return cores

    def carried(self, plans: Plans) -> Floats:
        """Return the bytes/s on each link, a row a plan."""
        sites = self.tm_site[plans]
        n, m = len(plans), len(self.links)
        crosses = np.zeros((self.n_sites, self.n_sites, m))
        for (a, b), path in self.route.items():
            crosses[a, b, path] = 1.0
        use = np.zeros((n, m))
        for c in self.channels:
            a, b = sites[:, c.source], sites[:, c.target]
            use += c.forth_bytes_per_s * crosses[a, b]
            use += c.back_bytes_per_s * crosses[b, a]
        home = self.cluster.checkpoint_storage
        if home is not None:
            to = np.full(n, self.site_ids.index(home))
            for k, written in enumerate(self.written):
                use += written * crosses[sites[:, k], to]
        return use

    def _bandwidths(self, carried: Floats) -> None:
        for e, link in enumerate(self.links):
            if link.bandwidth_bytes_per_s is not None:
                room = link.bandwidth_bytes_per_s * self.cluster.link_target
                self._limits.append(
                    ("link bandwidth", carried[:, e], room - link.background_bytes_per_s, True)
                )

    def _cost(self, plans: Plans, carried: Floats, cores: Floats) -> Floats:
        """Return the money that plans cost in an average month; 0 without a currency."""
        total = np.zeros(len(plans))
        if self.cluster.currency is None:
            return total
        nodes = {n.id: n for n in self.cluster.nodes}
        hourly = np.array([nodes[self.node_ids[v]].price_per_core_hour for v in self.tm_node])
        for k in range(len(self.subtasks)):
            total += cores[:, k] * hourly[plans[:, k]] * HOURS
        for v, node in enumerate(self.cluster.nodes):
            total += (self.tm_node[plans] == v).any(axis=1) * node.price_per_node_hour * HOURS
        month = carried * (HOURS * 3600)
        number = {(e.source, e.target): i for i, e in enumerate(self.links)}
        for e, link in enumerate(self.links):
            back = number.get((link.target, link.source))
            bytes_ = month[:, e].copy()
            if link.included_bytes and back is not None and self.links[back].included_bytes:
                if back < e:
                    continue  # Both ways are one volume.
                bytes_ += month[:, back]
            total += np.maximum(bytes_ - link.included_bytes, 0.0) * link.price_per_byte
        return total

    def _unjoined(self, plans: Plans) -> NDArray[np.bool_]:
        sites = self.tm_site[plans]
        joined = np.zeros((self.n_sites, self.n_sites), bool)
        for pair in self.route:
            joined[pair] = True
        out = np.zeros(len(plans), bool)
        for c in self.channels:
            out |= ~joined[sites[:, c.source], sites[:, c.target]]
            if c.back_bytes_per_s > 0:
                out |= ~joined[sites[:, c.target], sites[:, c.source]]
        home = self.cluster.checkpoint_storage
        if home is not None:
            to = self.site_ids.index(home)
            for k in range(len(self.subtasks)):
                if self.written[k] > 0:
                    out |= ~joined[sites[:, k], to]
        return out

    def _transit(self, c: Channel) -> Floats:
        """Return the ms that a channel's buffers take between every two sites."""
        out = np.zeros((self.n_sites, self.n_sites))
        buffer = float(self.cluster.buffer_bytes)
        for (a, b), path in self.route.items():
            for e in path:
                link = self.links[e]
                speed = link.bandwidth_bytes_per_s or math.inf
                out[a, b] += link.delay_ms + 1000 * c.sent_bytes / speed
                out[a, b] += self._starved(c, a, b, e, buffer / speed)
        return out

    def _starved(self, c: Channel, a: int, b: int, e: int, transfer_s: float) -> float:
        link = self.links[e]
        back = [x for x in self.links if (x.target, x.source) == (link.source, link.target)]
        if not back or c.bytes_per_s <= 0:
            return 0.0
        trip = (link.delay_ms + back[0].delay_ms) / 1000
        answer = trip + transfer_s
        fill = min(c.fill_s, answer)
        wait = answer - self.cluster.buffers_per_channel * fill
        return 1000 * (wait + fill) if wait > SAME * answer else 0.0

    def _latency(self, plans: Plans) -> Floats:
        """Return the ms of the worst path: its sum, and half its longest hold again."""
        n = len(plans)
        sites = self.tm_site[plans]
        worst = np.zeros(n)
        live = [c for c in self.channels if c.records_per_s > 0]
        fed = {c.target for c in self.channels}
        feeds = {c.source for c in live}
        # Of each subtask: the worst way to it, without and with one hold of it counted again.
        reach: dict[int, tuple[Floats, Floats]] = {}
        for k in self._order():
            here = self.service_table[k, plans[:, k]]
            none = np.full(n, -np.inf)
            if k not in fed:
                if self.rate[k] > 0:
                    reach[k] = here, none
            else:
                plain, again = none, none
                for c in live:
                    if c.target != k or c.source not in reach:
                        continue
                    half = 500 * c.hold_s
                    step = half + self._transit(c)[sites[:, c.source], sites[:, k]]
                    before, before_again = reach[c.source]
                    plain = np.maximum(plain, before + step)
                    again = np.maximum(again, np.maximum(before_again, before + half) + step)
                if np.isfinite(plain).any():
                    reach[k] = plain + here, again + here
            if k in reach and k not in feeds:
                worst = np.maximum(worst, np.maximum(*reach[k]))
        return worst

    def _order(self) -> list[int]:
        return [
            self.at[j, name, i]
            for j, job in enumerate(self.jobs)
            for name in _downwards(job)
            for i in range(job.operator(name).parallelism)
        ]

    def _slots(self, plans: Plans) -> None:
        for t, tm in enumerate(self.cluster.task_managers):
            used = np.zeros(len(plans))
            groups: dict[tuple[int, str], list[Floats]] = {}
            for j, job in enumerate(self.jobs):
                for op in job.operators:
                    ks = [self.at[j, op.id, i] for i in range(op.parallelism)]
                    count = (plans[:, ks] == t).sum(axis=1).astype(float)
                    groups.setdefault((j, op.slot_sharing_group), []).append(count)
            for counts in groups.values():
                used += np.max(counts, axis=0)
            self._limits.append(("slots", used, float(tm.slots), False))

    def _space(self, plans: Plans) -> None:
        n = len(plans)
        for t, tm in enumerate(self.cluster.task_managers):
            memory, disk, gpus = np.zeros(n), np.zeros(n), np.zeros(n)
            for k, s in enumerate(self.subtasks):
                here = plans[:, k] == t
                cost = s.operator.cost
                state = ((cost.state_bytes if cost else None) or 0.0) / s.operator.parallelism
                memory += s.operator.memory_bytes * here
                gpus += s.operator.gpus * here
                if self.jobs[s.job].state_backend == "heap":
                    memory += state * here
                else:
                    disk += state * here
            if tm.memory_bytes is not None:
                self._limits.append(("memory", memory, tm.memory_bytes, False))
            if tm.disk_bytes is not None:
                self._limits.append(("disk", disk, tm.disk_bytes, False))
            self._limits.append(("GPUs", gpus, float(tm.gpus), False))

    def _credit(self, plans: Plans) -> None:
        sites = self.tm_site[plans]
        buffer = float(self.cluster.buffer_bytes)
        for c in self.channels:
            if c.bytes_per_s <= 0:
                continue
            window = np.full((self.n_sites, self.n_sites), np.inf)
            credits = (
                self.cluster.buffers_per_channel + self.cluster.floating_buffers_per_gate / c.gate
            )
            for (a, b), path in self.route.items():
                back = self.route.get((b, a))
                if not path or back is None:
                    continue  # Without a way back the round trip is not known.
                trip = sum(self.links[e].delay_ms for e in [*path, *back]) / 1000
                transfer = sum(
                    buffer / (self.links[e].bandwidth_bytes_per_s or math.inf) for e in path
                )
                if trip + transfer > 0:
                    window[a, b] = credits * buffer / (trip + transfer)
            cap = window[sites[:, c.source], sites[:, c.target]]
            self._limits.append(("credit window", np.full(len(plans), c.bytes_per_s), cap, True))

    def _rules(self, plans: Plans, broken: dict[str, NDArray[np.bool_]]) -> None:
        out = np.zeros(len(plans), bool)
        unit = {
            "site": self.tm_site,
            "node": self.tm_node,
            "task_manager": np.arange(len(self.tms)),
        }
        for r in self.rules.rules:
            ops = self._of_rule(r)
            ks = sorted({k for o in ops for k in o})
            if r.kind == "colocate":
                at = unit[r.level][plans]
                for a, b in itertools.pairwise(ops):
                    for x, y in zip(a, b, strict=False):
                        out |= at[:, x] != at[:, y]
            elif r.kind in ("exlocate", "at_most"):
                at = unit[r.level][plans][:, ks]
                most = 1 if r.kind == "exlocate" else r.count
                for place in set(unit[r.level].tolist()):
                    out |= (at == place).sum(axis=1) > most
            elif r.kind == "exclusive":
                at = unit[r.level][plans]
                for k in ks:
                    for other in range(len(self.subtasks)):
                        if other not in ks:
                            out |= at[:, k] == at[:, other]
            elif r.kind == "stay_on_site":
                at = self.tm_site[plans]
                for c in self.channels:
                    if c.target in ks:
                        out |= at[:, c.source] != at[:, c.target]
        broken["rule"] = out


def _downwards(job: JobGraph) -> list[str]:
    """Return the operators of a job, each after those that feed it."""
    left = {op.id: {s.source for s in job.streams if s.target == op.id} for op in job.operators}
    out: list[str] = []
    while left:
        ready = [o for o, before in left.items() if before <= set(out)]
        out += ready
        for o in ready:
            del left[o]
    return out
