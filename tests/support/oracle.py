"""Brute force over a naive reading of the model: the judge of evaluator and back ends.

Written from docs/formulation.md with plain loops over the model's objects, sharing no code with
`edgeplace.solver`: rates by walking records downstream, latency by walking every path.
"""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

import networkx as nx

from tests.support.credit_loop import waiting
from tests.support.oracle_flows import carried
from tests.support.oracle_rules import RulesOracle

EPS = 1e-9


@dataclass
class OracleVerdict:
    values: dict[str, float]
    broken: set[str] = field(default_factory=set)
    held_back: float = 0.0
    """Largest utilisation if checkpoints may take longer than their interval."""


def channels_of(job, full=False):
    """[(k, l, records/s, bytes/s, record bytes, stream)], {k: records in (out for sources)}

    `full`: full links keep the timers of flush laws from firing.
    """
    ops = {o.id: o for o in job.operators}
    ins = {o.id: [s for s in job.streams if s.target == o.id] for o in job.operators}
    outs = {o.id: [s for s in job.streams if s.source == o.id] for o in job.operators}
    rate = defaultdict(float)
    channels = []
    order = list(nx.topological_sort(nx.MultiDiGraph([(s.source, s.target) for s in job.streams])))
    order += [o for o in ops if o not in order]
    for oid in order:
        op = ops[oid]
        p = op.parallelism
        if not ins[oid]:
            rates = op.cost.demand.rates_per_s
            for i in range(p):
                rate[oid, i] = rates[i] if len(rates) == p else rates[0]
        for s in outs[oid]:
            q = ops[s.target].parallelism
            groups = ops[s.target].max_parallelism
            for i in range(p):
                selectivity, size = carried(s, op, not ins[oid], rate[oid, i], full)
                out = rate[oid, i] * selectivity
                for j, share in deal(s, i, p, q, groups).items():
                    channels.append(
                        (
                            (oid, i),
                            (s.target, j),
                            out * share,
                            out * share * size,
                            size,
                            (s.source, s.target),
                        )
                    )
                    rate[s.target, j] += out * share
    return channels, rate


def deal(stream, i, p, q, groups):
    kind = stream.ship_strategy.value
    if kind == "FORWARD":
        return {i: 1.0}
    if kind == "BROADCAST":
        return {j: 1.0 for j in range(q)}
    if kind == "GLOBAL":
        return {j: float(j == 0) for j in range(q)}
    if kind == "RESCALE":
        if p >= q:
            return {j: 1.0 for j in range(q) if j * p // q <= i < (j + 1) * p // q}
        mine = [j for j in range(q) if j * p // q == i]
        return {j: 1.0 / len(mine) for j in mine}
    if stream.cost and stream.cost.shares_by_producer:
        return dict(enumerate(stream.cost.shares_by_producer[i]))
    if stream.cost and stream.cost.shares:
        return dict(enumerate(stream.cost.shares))
    if kind == "HASH":
        share = defaultdict(float)
        for g in range(groups):
            share[g * q // groups] += 1 / groups
        return {j: share[j] for j in range(q)}
    return {j: 1.0 / q for j in range(q)}


class Oracle(RulesOracle):
    def __init__(self, job, cluster, rules, current=None):
        self.job, self.cluster, self.rules, self.current = job, cluster, rules, current
        self.ops = {o.id: o for o in job.operators}
        self.subtasks = [(o.id, i) for o in job.operators for i in range(o.parallelism)]
        self.channels, self.rate = channels_of(job)
        self.held_back, _ = channels_of(job, full=True)
        self.seldom = {
            (s.source, s.target): (s.cost and s.cost.flushes_per_s) or float("inf")
            for s in job.streams
        }
        self.node = {n.id: n for n in cluster.nodes}
        self.tms = {t.id: t for t in cluster.task_managers}
        self.site_of = {t.id: self.node[t.node].site for t in cluster.task_managers}
        self.links = {(a.source, a.target): a for a in cluster.directed_links()}
        g = nx.DiGraph()
        g.add_nodes_from(s.id for s in cluster.sites)
        for (a, b), link in self.links.items():
            g.add_edge(a, b, weight=round(link.delay_ms * 1e6) * len(cluster.sites) + 1)
        self.path = {}
        for a in g:
            distance = nx.single_source_dijkstra_path_length(g, a)
            for b in distance:
                route = [b]
                while route[0] != a:
                    # Of equal routes the one whose last site has the first name.
                    route.insert(
                        0,
                        min(
                            c
                            for c in g.predecessors(route[0])
                            if distance.get(c, float("inf")) + g.edges[c, route[0]]["weight"]
                            == distance[route[0]]
                        ),
                    )
                self.path[a, b] = list(itertools.pairwise(route))
        self.out = defaultdict(list)
        for c in self.channels:
            if c[2] > 0:
                self.out[c[0]].append(c)
        fan = defaultdict(int)
        for c in self.channels:
            if c[2] > 0:
                fan[c[1], c[5]] += 1
        self.fan = fan
        self.fed = {c[1] for c in self.channels}
        # What no placement changes is computed once, not for each of thousands of them.
        self.cost, self.state, self.packed = map(cache, (self.cost, self.state, self.packed))

    def cost(self, k, tm):
        """(busy seconds, core seconds) per record of subtask k on a TaskManager"""
        op = self.ops[k[0]]
        if not op.cost or not op.cost.classes:
            return 0.0, 0.0
        c = op.cost.on(self.node[self.tms[tm].node].node_class)
        return 1 / c.true_rate_per_s, (c.cpu_ms_per_record or 1000 / c.true_rate_per_s) / 1000

    def packed(self, records, payload, seldom, full=False):
        """Bytes per second on the wire there and back: docs/formulation.md, the wire. Behind a
        full link all buffers are full."""
        mtu = self.cluster.mtu_bytes
        if mtu is None:
            return payload, 0.0
        marks = 0.0
        if self.job.watermark_interval_ms:
            fastest = max(max(s.cost.demand.rates_per_s) for s in self.job.sources())
            marks = min(1000 / self.job.watermark_interval_ms, fastest)
        ticks = records + marks
        if t := self.job.buffer_timeout_ms / 1000:
            ticks = (1 - max(1 - marks * t, 0) * math.exp(-records * t)) / t
        buffers = payload / self.cluster.buffer_bytes + (0 if full else min(ticks, seldom))
        framed = payload + 47 * buffers
        packets = max(framed / (mtu - 52) + buffers / 2, buffers)
        return framed + 52 * (packets + buffers), 81 * buffers + 26 * (packets - buffers)

    def judge(self, place):
        """OracleVerdict on {subtask: TaskManager id}."""
        broken = set()
        load = defaultdict(float)
        state = defaultdict(float)
        windows = {}
        cl = self.cluster
        for k, j, rec, w, _size, stream in self.channels:
            a, b = self.site_of[place[k]], self.site_of[place[j]]
            if (a, b) not in self.path:
                broken.add("route")
                continue
            sent, answered = self.packed(rec, w, self.seldom[stream])
            for hop in self.path[a, b]:
                load[hop] += sent
            if answered and (b, a) not in self.path:
                broken.add("route")
                continue
            for hop in self.path[b, a] if answered else ():
                load[hop] += answered
            if a != b and w > 0 and (b, a) in self.path:
                trip = sum(self.links[h].delay_ms for h in self.path[a, b] + self.path[b, a])
                rates = [self.links[h].bandwidth_bytes_per_s for h in self.path[a, b]]
                trip += sum(1000 * cl.buffer_bytes / rate for rate in rates if rate)
                granted = cl.buffers_per_channel + (
                    cl.floating_buffers_per_gate / self.fan[j, stream]
                )
                used = w * trip / 1000 / (cl.buffer_bytes * granted)
                windows[k, j, stream] = used, granted
        interval = self.job.checkpoint_interval_ms
        for k in self.subtasks:
            written = self.state(k[0])[1] / self.ops[k[0]].parallelism
            if cl.mtu_bytes:
                is_fed = any(s.target == k[0] for s in self.job.streams)
                written *= cl.mtu_bytes / (cl.mtu_bytes - 52)
                written += 5900 if is_fed else 12600
            if interval and written and cl.checkpoint_storage:
                w = written / (interval / 1000)
                a = self.site_of[place[k]]
                if (a, cl.checkpoint_storage) not in self.path:
                    broken.add("route")
                    continue
                for hop in self.path[a, cl.checkpoint_storage]:
                    load[hop] += w
                    state[hop] += w
        rho, late = self.links_in_use(place, state)
        links = len(rho)
        cores = defaultdict(float)
        server = 0.0
        tier = {s.id: s.tier for s in cl.sites}
        for k in self.subtasks:
            busy, cpu = self.cost(k, place[k])
            rho.append(self.rate[k] * busy)
            cores[self.tms[place[k]].node] += self.rate[k] * cpu
            if tier[self.site_of[place[k]]] == "cloud":
                server += self.rate[k] * cpu
        rho += [c / (self.node[n].cores * cl.cpu_target) for n, c in cores.items()]
        queues = self.with_queues(place, windows, cores)
        rho += [used for used, _ in windows.values()]
        if max(rho) > 1 + EPS:
            broken.add("rates")
        self._places(place, broken)
        latency = -1.0 if "route" in broken else self._latency(place)
        if self.rules.max_latency_ms is not None and latency > self.rules.max_latency_ms * (
            1 + EPS
        ):
            broken.add("latency")
        moves = 0
        if self.current:
            moves = sum(self.current[k[0]][k[1]] != place[k] for k in self.subtasks)
            if self.rules.max_moves is not None and moves > self.rules.max_moves:
                broken.add("moves")
        self._limits_of_the_job(latency, moves, broken)
        wan = sum(w * self.links[h].price_per_byte for h, w in load.items())
        return OracleVerdict(
            {
                "wan": wan,
                "latency": latency,
                "server_cores": server,
                "moves": float(moves),
                "throughput": max(rho),
                "cost": self._money(load, cores) if cl.currency else 0.0,
                "wishes": sum(
                    float(w.weight * self.broken_by(w, place)) for w in self.rules.wishes
                ),
            },
            broken,
            max(late + rho[links:] + queues),
        )

    def with_queues(self, place, windows, cores):
        """[share of a credit window on the way or waiting for a processor at one of its ends]"""
        shares = {loop: used for loop, (used, _) in windows.items() if used > 0}
        for side in (0, 1):
            records, work, used = defaultdict(float), defaultdict(dict), {}
            for *ends, rec, _w, _size, _stream in self.channels:
                records[ends[side]] += rec
            for k, j, rec, _w, _size, stream in self.channels:
                if (k, j, stream) in shares:
                    end = (k, j)[side]
                    node = self.tms[place[end]].node
                    busy, cpu = (self.rate[end] * c for c in self.cost(end, place[end]))
                    used[end], used[node] = busy, cores[node] / self.node[node].cores
                    part = rec / records[end]
                    work[end][k, j, stream] = part * min(busy, 1.0)
                    work[node][k, j, stream] = part * cpu / max(cores[node], self.node[node].cores)
            waits = defaultdict(list)
            for station, own in work.items():
                of_loops = [windows[loop][1] for loop in own]
                for loop, wait in zip(
                    own, waiting([*own.values()], used[station], of_loops), strict=True
                ):
                    waits[loop].append(wait)
            for loop, both in waits.items():
                shares[loop] += max(both)
        return list(shares.values())

    def _limits_of_the_job(self, latency, moves, broken):
        for own in self.rules.jobs:
            assert own.job == self.job.name
            if own.max_latency_ms is not None and latency > own.max_latency_ms * (1 + EPS):
                broken.add("latency of a job")
            if own.max_moves is not None and moves > own.max_moves:
                broken.add("moves of a job")

    def links_in_use(self, place, state):
        """[share of each link], [the same if it is full: full buffers, and checkpoints that may
        take longer than their interval]"""
        least, full = defaultdict(float), defaultdict(float)
        for k, j, rec, w, _size, stream in self.held_back:
            a, b = self.site_of[place[k]], self.site_of[place[j]]
            for of, waits in ((least, False), (full, True)):
                sent, answered = self.packed(rec, w, self.seldom[stream], waits)
                for hop in self.path.get((a, b), ()):
                    of[hop] += sent
                for hop in self.path.get((b, a), ()):
                    of[hop] += answered
        rho, late = [0.0], [0.0]
        for hop, link in self.links.items():
            if link.bandwidth_bytes_per_s is not None:
                room = link.bandwidth_bytes_per_s * self.cluster.link_target
                room -= link.background_bytes_per_s
                if least[hop] + state[hop] > 0:
                    rho.append((least[hop] + state[hop]) / room)
                    late.append((full[hop] + min(state[hop], room / 3)) / room)
        return rho, late

    def state(self, oid):
        """(state, bytes of a checkpoint) of an operator, at the rates"""
        op = self.ops[oid]
        if not op.cost:
            return 0.0, 0.0
        kept, written, law = op.cost.state_bytes, op.cost.checkpointed_bytes, op.cost.state_law
        if not law:
            return kept or 0.0, written or 0.0
        rate = sum(self.rate[oid, i] for i in range(op.parallelism))
        by_law = law.fixed_bytes + law.held_bytes_s * rate
        return by_law, by_law * (1.0 if not kept or written is None else written / kept)

    def _money(self, load, cores):
        """Money a month, given bytes/s by link and busy cores by node"""
        prices = {n: self.node[n].price_per_core_hour for n in cores}
        money = 730.5 * sum(prices[n] * c for n, c in cores.items())
        money += 730.5 * sum(self.node[n].price_per_node_hour for n in cores)
        for hop, link in self.links.items():
            sent = load[hop] * 730.5 * 3600
            back = self.links.get(hop[::-1])
            if link.included_bytes and back and back.included_bytes:
                # Both ways share the volume, so each of them is half of the bill.
                both = sent + load[hop[::-1]] * 730.5 * 3600
                money += max(both - link.included_bytes, 0) * link.price_per_byte / 2
            else:
                money += max(sent - link.included_bytes, 0) * link.price_per_byte
        return money

    def _places(self, place, broken):
        slots = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
        memory, disk, gpus = defaultdict(float), defaultdict(float), defaultdict(int)
        for k in self.subtasks:
            op = self.ops[k[0]]
            slots[place[k]][op.slot_sharing_group][op.id] += 1
            memory[place[k]] += op.memory_bytes
            gpus[place[k]] += op.gpus
            state = self.state(k[0])[0] / op.parallelism
            (memory if self.job.state_backend == "heap" else disk)[place[k]] += state
        for t in self.cluster.task_managers:
            if sum(max(g.values()) for g in slots[t.id].values()) > t.slots:
                broken.add("slots")
            if t.memory_bytes is not None and memory[t.id] > t.memory_bytes * (1 + 1e-12):
                broken.add("memory")
            if t.disk_bytes is not None and disk[t.id] > t.disk_bytes * (1 + 1e-12):
                broken.add("disk")
            if gpus[t.id] > t.gpus:
                broken.add("GPUs")
        for o in self.job.operators:
            born = o.born_at * o.parallelism if len(o.born_at) == 1 else o.born_at
            for i, where in enumerate(born):
                if where != "anywhere" and not self.at(place[o.id, i], where):
                    broken.add("born")
        for r in self.rules.rules:
            if not self.obeys(r, place):
                broken.add(r.kind)

    def _latency(self, place):
        """Walk every path from every source."""
        cl = self.cluster

        def service(k):
            busy, _ = self.cost(k, place[k])
            if self.rate[k] == 0:
                return 0.0
            u = self.rate[k] * busy
            factor = min(1 / (1 - u), 20.0) if u < 0.95 else 20.0
            return 1000 * busy * factor

        def held(rec, w):
            whole = max(cl.buffer_bytes / w, 1 / rec) if w else float("inf")
            return min(self.job.buffer_timeout_ms, 1000 * whole)

        def walk(k, longest):
            """Of the longest path from k on: half of the longest wait of all counts once more."""
            rest = longest / 2
            for _, j, rec, w, size, _ in self.out[k]:
                fill = 1000 * cl.buffer_bytes / w if w else float("inf")
                wait = held(rec, w)
                sent = max(min(w * wait / 1000, cl.buffer_bytes), size)
                hop_ms = 0.0
                for hop in self.path[self.site_of[place[k]], self.site_of[place[j]]]:
                    link = self.links[hop]
                    hop_ms += link.delay_ms
                    if link.bandwidth_bytes_per_s:
                        hop_ms += 1000 * sent / link.bandwidth_bytes_per_s
                    if w and hop[::-1] in self.links:
                        trip = link.delay_ms + self.links[hop[::-1]].delay_ms
                        if link.bandwidth_bytes_per_s:
                            trip += 1000 * cl.buffer_bytes / link.bandwidth_bytes_per_s
                        short = trip - cl.buffers_per_channel * fill
                        hop_ms += short + min(fill, trip) if short > 0 else 0
                rest = max(rest, wait / 2 + hop_ms + walk(j, max(longest, wait)))
            return service(k) + rest

        # Records come from sources: a path begins nowhere else.
        begins = set(self.subtasks) - {j for k in self.out for _, j, *_ in self.out[k]}
        return max(walk(k, 0.0) for k in begins)

    def placements(self):
        """Yield every assignment."""
        for choice in itertools.product(self.tms, repeat=len(self.subtasks)):
            yield dict(zip(self.subtasks, choice, strict=True))

    def everything(self):
        """Yield (placement, verdict) of every assignment."""
        for place in self.placements():
            yield place, self.judge(place)

    def fits(self, place):
        """Whether a placement keeps slots, space and rules; rates and latency are not looked at."""
        broken = set()
        self._places(place, broken)
        return not broken

    def optimum(self, levels, soft):
        """[value of each level], or None if no placement holds; levels = [(name, tolerance)]"""
        judged = (self.judge(place) for place in self.placements() if self.fits(place))
        held = [v.values for v in judged if v.broken <= ({"rates"} if soft else set())]
        if not held:
            return None
        best = []
        for name, tolerance in levels:
            least = min(v[name] for v in held)
            best.append(least)
            held = [
                v for v in held if v[name] <= least * (1 + tolerance) + 1e-7 * abs(least) + 1e-9
            ]
        return best
