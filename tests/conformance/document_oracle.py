"""What docs/formulation.md says of every plan of a small instance.

Written from docs/formulation.md, docs/job.md and the classes of `edgeplace.model` alone; nothing
here comes from `edgeplace.solver`. All plans are judged at once: an array of plans, a row each,
with the TaskManager of every subtask.
"""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.conformance.document_places import Plans
from tests.conformance.document_traffic import Channel, Floats, downwards
from tests.conformance.document_wishes import WithWishes

QUEUE_CAP = 20.0
"""M/M/1 queueing, 1/(1 - busy), counts at most this."""
SAME = 1e-9
"""Share by which two equal values may differ; a cap is kept up to as much."""
HOURS = 730.5
"""Of an average month: 365.25 days by 24 hours, by 12."""
EXACT = 1e-9
"""Share of a limit within which its use is too near to tell: see `Judged.doubtful`."""


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


class Document(WithWishes):
    """One instance, and its judge."""

    def judge(self, plans: Plans) -> Judged:
        """Return what the document says of plans."""
        n = len(plans)
        self._limits: list[tuple[str, Floats, Floats | float, bool]] = []
        broken: dict[str, NDArray[np.bool_]] = {}
        cores = self._cores(plans)
        carried = self.carried(plans)
        self._bandwidths(self.carried(plans, least=True))
        prices = np.array([e.price_per_byte for e in self.links])
        wan = carried @ prices if len(prices) else np.zeros(n)
        cost = self._cost(plans, carried, cores)
        broken["route"] = self._unjoined(plans)
        of_jobs = self.latencies(plans)
        latency = of_jobs.max(axis=0)
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
        of_job = np.array([s.job for s in self.subtasks])
        for own in self.rules.jobs:
            j = [job.name for job in self.jobs].index(own.job)
            if own.max_latency_ms is not None:
                worst = np.where(broken["route"], -1.0, of_jobs[j])
                self._limits.append(("latency of a job", worst, own.max_latency_ms, False))
            if own.max_moves is not None:
                leave = moved[:, of_job == j].sum(axis=1) > own.max_moves
                broken["moves of a job"] = broken.get("moves of a job", False) | leave
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
        for kind in ("route", "moves", "moves of a job", "rule"):
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
            "wishes": self._wishes(plans),
        }
        return Judged(values, ~(fixed | rated), ~fixed, near, broken)

    def judge_cores(self, plans: Plans) -> Floats:
        """Return the cores of each subtask, a row a plan."""
        self._limits = []
        return self._cores(plans)

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

    def carried(self, plans: Plans, least: bool = False) -> Floats:
        """Return the bytes/s on each link, a row a plan; `least`: with delayed timers."""
        sites = self.tm_site[plans]
        n, m = len(plans), len(self.links)
        crosses = np.zeros((self.n_sites, self.n_sites, m))
        for (a, b), path in self.route.items():
            crosses[a, b, path] = 1.0
        use = np.zeros((n, m))
        for c in self.channels:
            a, b = sites[:, c.source], sites[:, c.target]
            forth, back = c.forth_bytes_per_s, c.back_bytes_per_s
            if least:
                forth, back = c.least_forth_bytes_per_s, c.least_back_bytes_per_s
            use += forth * crosses[a, b]
            use += back * crosses[b, a]
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

    def latencies(self, plans: Plans) -> Floats:
        """Return the ms of each job's worst path: its sum, and half its longest hold again.

        Shape (n_jobs, n_plans).
        """
        n = len(plans)
        sites = self.tm_site[plans]
        worst = np.zeros((len(self.jobs), n))
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
                j = self.subtasks[k].job
                worst[j] = np.maximum(worst[j], np.maximum(*reach[k]))
        return worst

    def _order(self) -> list[int]:
        return [
            self.at[j, name, i]
            for j, job in enumerate(self.jobs)
            for name in downwards(job)
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
                state = self._state(s)
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
        for c in self.channels:
            if c.bytes_per_s <= 0:
                continue
            cap = np.array([self.let_through(c, a, b) for a, b in self._pairs])
            cap = cap.reshape(self.n_sites, self.n_sites)[sites[:, c.source], sites[:, c.target]]
            self._limits.append(("credit window", np.full(len(plans), c.bytes_per_s), cap, True))

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return [(a, b) for a in range(self.n_sites) for b in range(self.n_sites)]

    def credits(self, c: Channel) -> float:
        """Return how many buffers the receiver of a channel grants."""
        return self.cluster.buffers_per_channel + self.cluster.floating_buffers_per_gate / c.gate

    def let_through(self, c: Channel, a: int, b: int) -> float:
        """Return the bytes/s that credit lets through from site a to site b."""
        path, back = self.route.get((a, b)), self.route.get((b, a))
        if not path or back is None:
            return math.inf  # Without a way back the round trip is not known.
        buffer = float(self.cluster.buffer_bytes)
        trip = sum(self.links[e].delay_ms for e in [*path, *back]) / 1000
        transfer = sum(buffer / (self.links[e].bandwidth_bytes_per_s or math.inf) for e in path)
        return self.credits(c) * buffer / (trip + transfer) if trip + transfer > 0 else math.inf

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
