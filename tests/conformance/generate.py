"""Small instances of every kind, by seed: few enough plans that all of them can be tried.

A case is plain data (JSON): jobs, cluster, rules, objective, current, and the family and seed that
it came from. Families turn kinds of trouble on; the rest is drawn. Figures come from three scales:
round ones, drawn ones, and skewed ones that span many powers of ten.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edgeplace.solver import evaluate
from tests.conformance.parsed import Parsed

Case = dict[str, Any]
Draw = np.random.Generator

TERMS = ("wan", "latency", "server_cores", "moves", "throughput")
HOURS = 730.5
LEVELS_OF_RULES = ("site", "node", "task_manager")

FAMILIES: dict[str, dict[str, float]] = {
    "plain": {},
    "skewed": {"skew": 1.0},
    "silent": {"silent": 0.3, "fan_out": 0.7},
    "side_output": {"fan_out": 1.0, "silent": 0.3, "anywhere": 0.7},
    "ties": {"round": 1.0, "alike": 0.8, "anywhere": 0.4},
    "alike": {"round": 0.7, "alike": 1.0, "wide": 1.0},
    "tight": {"tight": 1.0},
    "ring": {"ring": 1.0},
    "mesh": {"mesh": 1.0},
    "one_way": {"mesh": 0.6, "one_way": 0.5},
    "asymmetric": {"asymmetric": 1.0, "mesh": 0.4},
    "chain_of_sites": {"path": 1.0, "sites": 4},
    "disconnected": {"cut": 0.5},
    "task_managers": {"several_tms": 1.0},
    "two_jobs": {"two_jobs": 1.0},
    "priced": {"priced": 1.0},
    "by_rate": {"by_rate": 0.7},
    "flush_law": {"by_rate": 0.8, "flush_law": 0.8, "silent": 0.1},
    "wire": {"wire": 1.0, "watermarks": 0.5},
    "background": {"background": 0.8, "tight": 0.5},
    "current": {"current": 1.0, "moves_matter": 1.0},
    "rules": {"rules": 3.0},
    "rules_on_graphs": {"rules": 2.0, "mesh": 0.7, "current": 0.5},
    "latency_limit": {"latency_limit": 1.0, "rules": 0.5},
    "tolerances": {"tolerance": 0.8},
    "overload": {"throughput_first": 1.0, "tight": 0.8},
    "state": {"state": 1.0, "tight": 0.5},
    "to_the_last": {"exact": 1.0, "round": 0.5},
    "wide_prices": {"priced": 1.0, "skew": 0.6, "mesh": 0.4, "anywhere": 0.4},
    "equal_routes": {"ring": 0.6, "mesh": 0.6, "sites": 4, "round": 1.0, "sources_unplaced": 0.3},
    "unplaced": {"current": 1.0, "sources_unplaced": 1.0, "moves_matter": 1.0, "rules": 1.0},
    "everything": {
        "skew": 0.2, "silent": 0.2, "fan_out": 0.4, "alike": 0.3, "tight": 0.4, "mesh": 0.3,
        "asymmetric": 0.3, "several_tms": 0.3, "priced": 0.4, "by_rate": 0.2, "wire": 0.2,
        "background": 0.3, "current": 0.4, "rules": 1.0, "tolerance": 0.4, "state": 0.4,
        "anywhere": 0.3, "latency_limit": 0.2, "watermarks": 0.2,
    },
}  # fmt: skip
"""Family -> chance of each kind of trouble; what is not named has its chance in `_USUAL`."""

_USUAL = {
    "skew": 0.03, "silent": 0.05, "fan_out": 0.2, "alike": 0.2, "tight": 0.25, "mesh": 0.1,
    "ring": 0.05, "asymmetric": 0.1, "several_tms": 0.1, "priced": 0.15, "by_rate": 0.04,
    "wire": 0.05, "background": 0.05, "current": 0.15, "rules": 0.3, "tolerance": 0.15,
    "state": 0.2, "anywhere": 0.15, "latency_limit": 0.03, "watermarks": 0.03, "round": 0.4,
    "one_way": 0.02, "cut": 0.02, "path": 0.1, "two_jobs": 0.04, "moves_matter": 0.1,
    "throughput_first": 0.05, "wide": 0.15, "sites": 3, "exact": 0.05, "sources_unplaced": 0.05,
    "flush_law": 0.1,
}  # fmt: skip


TOO_MANY = 1e5
"""Plans that are not listed in order to choose one."""


def generate(seed: int, most_plans: int = 2000, family: str | None = None) -> Case:
    """Return the case of a seed, with at most about `most_plans` plans.

    Families take turns: seed modulo their number.
    """
    names = list(FAMILIES)
    chosen = family or names[seed % len(names)]
    draw = np.random.default_rng([20_26, seed])
    while True:
        case = _Maker(draw, {**_USUAL, **FAMILIES[chosen]}).case()
        # Few plans hide little; a few such cases stay.
        fewest = 16 if draw.random() < 0.9 else 1
        if fewest <= _plans(case) <= most_plans:
            _add_gpus(case, np.random.default_rng([20_26, seed, 1]))
            _add_money(case, np.random.default_rng([20_26, seed, 2]))
            return {"family": chosen, "seed": seed, **case}


def _add_gpus(case: Case, draw: Draw) -> None:
    """Give some TaskManagers GPUs, and let an operator need them, in one case of six."""
    if draw.random() < 1 / 6:
        operators = case["jobs"][int(draw.integers(len(case["jobs"])))]["operators"]
        operators[int(draw.integers(len(operators)))]["gpus"] = 1
        for tm in case["cluster"]["task_managers"]:
            tm["gpus"] = int(draw.integers(0, 4))


def _add_money(case: Case, draw: Draw) -> None:
    """Give the cluster a currency and prices, and ask for the least cost, in one case of four."""
    if draw.random() > 1 / 4:
        return
    cluster = case["cluster"]
    cluster["currency"] = "EUR"
    by_node = draw.random() < 0.4
    for node in cluster["nodes"]:
        if draw.random() < 0.6:
            node["price_per_core_hour"] = float(f"{10 ** draw.uniform(-3, 1):.3g}")
        if by_node and draw.random() < 0.6:
            node["price_per_node_hour"] = float(f"{10 ** draw.uniform(-4, 0.5):.3g}")
    # Mostly links and cores cost as much as one another.
    scale = 10 ** draw.uniform(-11, -6)
    for link in cluster["links"]:
        link["price_per_byte"] = float(f"{link.get('price_per_byte', 1.0) * scale:.4g}")
    most = _most_carried(case)
    priced_back = {(a["target"], a["source"]): a for a in cluster["links"]}
    for link in cluster["links"]:
        if draw.random() < 0.6:
            volume = most * HOURS * 3600 * float(draw.choice([1e-3, 0.1, 0.5, 0.9, 2.0]))
            back = priced_back.get((link["source"], link["target"]))
            if back and "included_bytes" in back:
                # Links that share a volume have one price.
                link["price_per_byte"] = back["price_per_byte"]
                volume = back["included_bytes"]
            link["included_bytes"] = volume
    levels = case["objective"]
    place = 0 if draw.random() < 0.6 else int(draw.integers(len(levels) + 1))
    tolerance = ":10%" if draw.random() < 0.2 else ""
    case["objective"] = [*levels[:place], "cost" + tolerance, *levels[place:]]


def _most_carried(case: Case) -> float:
    """Return the bytes/s that a link carries in some plan."""
    document = Parsed.of(case).document()
    if document.count() > TOO_MANY:
        return 1e6
    return float(document.carried(document.plans()).max(initial=0.0)) or 1e6


def _plans(case: Case) -> float:
    """Return about how many plans there are: sources with a home have one place."""
    tms = len(case["cluster"]["task_managers"])
    count = 1.0
    for job in case["jobs"]:
        fed = {s["target"] for s in job["streams"]}
        for op in job["operators"]:
            held = op["id"] not in fed and op.get("born_at", ["anywhere"]) != ["anywhere"]
            if not held:
                count *= float(tms) ** op["parallelism"]
    return count


class _Maker:
    def __init__(self, draw: Draw, chances: dict[str, float]) -> None:
        self.draw = draw
        self.chances = chances
        self.round = self.often("round")
        self.skew = self.often("skew")

    def often(self, trouble: str) -> bool:
        return bool(self.draw.random() < self.chances[trouble])

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.draw.integers(len(options)))]

    def number(self, low: float, high: float) -> float:
        """Draw a figure: round, between the two, or far off."""
        if self.skew and self.draw.random() < 0.5:
            middle = (low * high) ** 0.5
            return float(f"{middle * 10 ** self.draw.uniform(-5, 4):.4g}")
        value = float(np.exp(self.draw.uniform(np.log(low), np.log(high))))
        if self.round:
            return float(f"{value:.0e}")
        return float(f"{value:.4g}")

    # The cluster.

    def cluster(self) -> dict[str, Any]:
        n_sites = int(self.draw.integers(2, int(self.chances["sites"]) + 1))
        n_sites = max(n_sites, 3 if self.chances.get("ring") == 1.0 else 2)
        sites = [{"id": f"s{i}", "tier": "cloud" if i == 0 else "edge"} for i in range(n_sites)]
        if self.draw.random() < 0.1:
            self.pick(sites)["tier"] = "cloud"
        classes = ["pi", "server"]
        nodes: list[dict[str, Any]] = []
        tms: list[dict[str, Any]] = []
        for i in range(n_sites):
            if i > 0 and self.draw.random() < 0.08:
                continue  # A junction.
            for _ in range(2 if self.draw.random() < 0.15 else 1):
                node = {
                    "id": f"n{len(nodes)}",
                    "site": f"s{i}",
                    "node_class": classes[0 if i else 1]
                    if self.draw.random() < 0.9
                    else classes[0],
                    "cores": float(self.pick([1, 2, 4])),
                }
                if self.draw.random() < 0.4:
                    node["labels"] = {"disk": self.pick(["ssd", "hdd"])}
                nodes.append(node)
                for _ in range(2 if self.often("several_tms") else 1):
                    tms.append(
                        {
                            "id": f"t{len(tms)}",
                            "node": node["id"],
                            "slots": int(self.pick([1, 2, 3, 8])),
                        }
                    )
        out: dict[str, Any] = {
            "sites": sites,
            "nodes": nodes,
            "task_managers": tms,
            "links": self.links(n_sites),
        }
        if self.draw.random() < 0.3 or self.often("state"):
            out["checkpoint_storage"] = self.pick(sites)["id"]
        if self.draw.random() < 0.3:
            out["cpu_target"] = self.pick([0.5, 0.9, 1.0])
            out["link_target"] = self.pick([0.5, 0.9, 1.0])
        if self.often("wire"):
            out["mtu_bytes"] = self.pick([576, 1500, 9000])
        if self.draw.random() < 0.1:
            out["buffers_per_channel"] = self.pick([0, 1, 4])
            out["floating_buffers_per_gate"] = self.pick([1, 8, 16])
            out["buffer_bytes"] = self.pick([4096, 32768])
        return out

    def links(self, n: int) -> list[dict[str, Any]]:
        if self.often("ring"):
            pairs = [(i, (i + 1) % n) for i in range(n)] if n > 2 else [(0, 1)]
        elif self.often("mesh"):
            pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        elif self.often("path"):
            pairs = [(i, i + 1) for i in range(n - 1)]
        else:
            pairs = [(int(self.draw.integers(j)), j) for j in range(1, n)]
        links: list[dict[str, Any]] = []
        for a, b in pairs:
            if self.often("cut"):
                continue
            if self.often("one_way"):
                links.append(self.link(*self.pick([(a, b), (b, a)])))
            elif self.often("asymmetric"):
                links += [self.link(a, b), self.link(b, a)]
            else:
                links.append({**self.link(a, b), "both_ways": True})
        return links

    def link(self, a: int, b: int) -> dict[str, Any]:
        link: dict[str, Any] = {"source": f"s{a}", "target": f"s{b}"}
        if self.draw.random() < 0.9:
            delay = self.number(1, 200)
            link["delay_ms"] = float(self.pick([0, 10, 10, 20])) if self.round else delay
        if self.draw.random() < 0.7:
            link["bandwidth_bytes_per_s"] = self.number(1e4, 1e7)
        if self.often("priced"):
            link["price_per_byte"] = self.pick(
                [0.0, 1.0, 2.0, 1e3, 1e6, float(f"{10 ** self.draw.uniform(0, 6):.4g}")]
            )
        if self.often("background") and "bandwidth_bytes_per_s" in link:
            room = link["bandwidth_bytes_per_s"] * 0.5
            link["background_bytes_per_s"] = float(f"{room * self.draw.uniform(0.01, 0.95):.4g}")
        return link

    # Jobs.

    def job(
        self, name: str, sites: list[dict[str, Any]], cluster: dict[str, Any]
    ) -> dict[str, Any]:
        n_ops = int(self.draw.integers(2, 5))
        widest = 3 if self.often("wide") else 2
        alike = self.often("alike")
        width = int(self.draw.integers(1, widest + 1))
        operators: list[dict[str, Any]] = []
        streams: list[dict[str, Any]] = []
        hosts = sorted({n["site"] for n in cluster["nodes"]})
        n_sources = 2 if n_ops > 2 and self.draw.random() < 0.25 else 1
        for i in range(n_ops):
            p = (
                width
                if alike or self.draw.random() < 0.6
                else int(self.draw.integers(1, widest + 1))
            )
            op: dict[str, Any] = {"id": f"{name}o{i}", "name": f"op {i}", "parallelism": p}
            cost: dict[str, Any] = {"classes": self.classes()}
            if i < n_sources:
                each = [self.rate() for _ in range(p)]
                cost["demand"] = {"rates_per_s": each[:1] if alike else each}
                if self.often("anywhere"):
                    op["born_at"] = ["anywhere"]
                else:
                    homes = [self.pick(hosts) for _ in range(p)]
                    op["born_at"] = homes[:1] if alike else homes
            if self.draw.random() < 0.2:
                op["slot_sharing_group"] = self.pick(["g", "h"])
            if self.draw.random() < 0.1:
                op["max_parallelism"] = self.pick([4, 7, 128, 1000])
            if self.often("state"):
                cost["state_bytes"] = self.number(1e4, 1e8)
                cost["checkpointed_bytes"] = self.number(1e3, 1e6)
                if self.draw.random() < 0.4:
                    op["memory_bytes"] = self.number(1e5, 1e7)
            op["cost"] = cost
            operators.append(op)
        feeds: list[list[int]] = []
        for j in range(n_sources, n_ops):
            first = int(self.draw.integers(j)) if self.often("fan_out") else j - 1
            into = [first]
            if j == n_sources and n_sources == 2:
                into = [0, 1]
            elif j > 1 and self.draw.random() < 0.15:
                into = sorted({first, int(self.draw.integers(j))})
            feeds.append(into)
        outs = [sum(i in into for into in feeds) for i in range(n_ops)]
        for j, into in zip(range(n_sources, n_ops), feeds, strict=True):
            for i in into:
                streams.append(self.stream(operators[i], operators[j], i < n_sources, outs[i]))
        job: dict[str, Any] = {"name": name, "operators": operators, "streams": streams}
        if self.draw.random() < 0.5 or self.often("state"):
            job["checkpoint_interval_ms"] = float(self.pick([1000, 10000, 60000]))
        if self.draw.random() < 0.3:
            job["state_backend"] = "rocksdb"
        if self.draw.random() < 0.3:
            job["buffer_timeout_ms"] = float(self.pick([0, 1, 10, 1000]))
        if self.often("watermarks"):
            job["watermark_interval_ms"] = float(self.pick([50, 200, 1000]))
        return job

    def rate(self) -> float:
        return 0.0 if self.often("silent") else self.number(1, 1000)

    def classes(self) -> list[dict[str, Any]]:
        low, high = (200, 2000) if self.draw.random() < 0.5 else (1000, 1e5)
        out = []
        for c in ("pi", "server"):
            entry = {"node_class": c, "true_rate_per_s": self.number(low, high)}
            if self.draw.random() < 0.15:
                entry["cpu_ms_per_record"] = self.number(0.01, 2)
            out.append(entry)
        return out

    def stream(
        self, a: dict[str, Any], b: dict[str, Any], of_source: bool, outputs: int
    ) -> dict[str, Any]:
        same = a["parallelism"] == b["parallelism"]
        kinds = ["HASH", "HASH", "REBALANCE", "RESCALE", "SHUFFLE", "BROADCAST", "GLOBAL", "CUSTOM"]
        kind = "FORWARD" if same and self.draw.random() < 0.5 else self.pick(kinds)
        cost: dict[str, Any] = {}
        if self.often("by_rate"):
            rates = sorted({self.number(1, 1000) for _ in range(int(self.draw.integers(1, 4)))})
            cost["by_rate"] = [
                {
                    "rate_per_s": r,
                    "selectivity": self.number(0.01, 3),
                    "bytes_per_record": self.number(10, 1e4),
                }
                for r in rates
            ]
            if self.often("flush_law"):
                cost["flush_law"] = self.flush_law()
        else:
            cost["bytes_per_record"] = 0.0 if self.often("silent") else self.number(10, 1e4)
            if not (of_source and outputs == 1 and self.draw.random() < 0.5):
                cost["selectivity"] = 0.0 if self.often("silent") else self.number(0.01, 3)
        if kind == "CUSTOM" or (kind == "HASH" and self.draw.random() < 0.2):
            weights = self.draw.dirichlet([1.0] * b["parallelism"])
            if self.often("silent"):
                weights = np.eye(b["parallelism"])[0]
            cost["shares"] = [float(w) for w in weights]
        return {"source": a["id"], "target": b["id"], "ship_strategy": kind, "cost": cost}

    def flush_law(self) -> dict[str, Any]:
        """Draw a law; of Zipf with no more keys than the oracle sums one by one."""
        gathering: dict[str, Any] = {}
        if self.draw.random() < 0.7:
            gathering["interval_s"] = self.number(0.1, 10)
        if self.draw.random() < 0.5:
            gathering["records"] = float(np.ceil(self.number(2, 2000)))
        if self.draw.random() < 0.5:
            gathering["checkpoint_s"] = self.number(0.5, 60)
        if self.draw.random() < 0.3:
            gathering["keys_per_record"] = self.number(0.5, 10)
        zipf = self.draw.random() < 0.5
        return {
            "gathering": gathering,
            "form": "zipf" if zipf else "hot and cold",
            "keys": min(self.number(1, 32), 32) if zipf else self.number(1, 1000),
            "shape": float(f"{self.draw.uniform(0, 3 if zipf else 1):.3g}"),
        }

    # What is asked.

    def case(self) -> Case:
        cluster = self.cluster()
        names = ["a", "b"] if self.often("two_jobs") else ["a"]
        jobs = [self.job(n, cluster["sites"], cluster) for n in names]
        if self.often("tight"):
            self.tighten(jobs, cluster)
        current = self.current(jobs, cluster) if self.often("current") else None
        if current is not None:
            self.unplace(jobs, current)
        case = {
            "jobs": jobs,
            "cluster": cluster,
            "rules": self.rules(jobs, cluster, current),
            "objective": self.objective(current),
            "current": current,
        }
        if self.often("exact"):
            self.fit_to_a_plan(case)
        return case

    def unplace(self, jobs: list[dict[str, Any]], current: dict[str, Any]) -> None:
        """Take from some sources where their data is born: they are held where they run now."""
        for job in jobs:
            for op in job["operators"]:
                if "born_at" in op and self.often("sources_unplaced"):
                    del op["born_at"]
        if (
            len(jobs) > 1
            and self.draw.random() < 0.3
            and all("born_at" in o for o in jobs[-1]["operators"] if "demand" in o["cost"])
        ):
            del current["jobs"][jobs[-1]["name"]]

    def fit_to_a_plan(self, case: Case) -> None:
        """Set limits to what some plan uses, to the last byte and core."""
        if _plans(case) > TOO_MANY:
            return  # The case is drawn anew in any case.
        parsed = Parsed.of(case)
        document = parsed.document()
        plans = document.plans()
        if not len(plans):
            return
        plan = document.as_plan(plans[int(self.draw.integers(len(plans)))])
        said = evaluate(parsed.jobs, parsed.cluster, plan, parsed.rules, parsed.current)
        for node, used in zip(case["cluster"]["nodes"], said.nodes, strict=True):
            if used.used > 0 and self.draw.random() < 0.7:
                node["cores"] = used.used / parsed.cluster.cpu_target
        carried = {v.where: v.used for v in said.links}
        for link in case["cluster"]["links"]:
            used_there = carried[f"{link['source']} -> {link['target']}"]
            if used_there > 0 and not link.get("both_ways") and self.draw.random() < 0.7:
                room = used_there + link.get("background_bytes_per_s", 0.0)
                link["bandwidth_bytes_per_s"] = room / parsed.cluster.link_target
        if said.latency_ms > 0 and self.draw.random() < 0.3:
            case["rules"]["max_latency_ms"] = said.latency_ms

    def tighten(self, jobs: list[dict[str, Any]], cluster: dict[str, Any]) -> None:
        """Scale the machines to what the sources send, so that some limits bind."""
        work = 0.0
        for job in jobs:
            for op in job["operators"]:
                rates = op["cost"].get("demand", {}).get("rates_per_s")
                if rates:
                    each = sum(rates) * op["parallelism"] / len(rates)
            total = sum(
                o["parallelism"] * 50.0 / min(c["true_rate_per_s"] for c in o["cost"]["classes"])
                for o in job["operators"]
            )
            work += max(total, each / 1e4)
        for node in cluster["nodes"]:
            node["cores"] = max(1e-3, float(f"{work * self.draw.uniform(0.2, 2.5):.3g}"))
        n = sum(o["parallelism"] for j in jobs for o in j["operators"])
        for tm in cluster["task_managers"]:
            tm["slots"] = int(self.draw.integers(1, max(2, n // 2 + 1)))
            if self.often("state"):
                tm["memory_bytes"] = self.number(1e5, 1e8)
                tm["disk_bytes"] = self.number(1e5, 1e8)
        for link in cluster["links"]:
            if self.draw.random() < 0.6 and "background_bytes_per_s" not in link:
                link["bandwidth_bytes_per_s"] = self.number(1e3, 1e6)

    def current(self, jobs: list[dict[str, Any]], cluster: dict[str, Any]) -> Any:
        tms = [t["id"] for t in cluster["task_managers"]]
        node_of = {t["id"]: t["node"] for t in cluster["task_managers"]}
        site_of = {n["id"]: n["site"] for n in cluster["nodes"]}
        placed: dict[str, dict[str, list[str]]] = {}
        for job in jobs:
            placed[job["name"]] = {}
            for op in job["operators"]:
                homes = op.get("born_at") or ["anywhere"]
                homes = homes * op["parallelism"] if len(homes) == 1 else homes
                placed[job["name"]][op["id"]] = [
                    self.pick([t for t in tms if h in ("anywhere", site_of[node_of[t]])])
                    for h in homes
                ]
        return {"jobs": placed}

    def objective(self, current: Any) -> list[str]:
        terms = [t for t in TERMS if t != "moves" or current is not None]
        if self.draw.random() < 0.3 and self.chances["moves_matter"] != 1.0:
            levels = [t for t in ("wan", "latency", "server_cores", "moves") if t in terms]
        else:
            self.draw.shuffle(terms)
            levels = terms[: int(self.draw.integers(1, len(terms) + 1))]
            if self.draw.random() < 0.3:
                levels = ["wan", *[v for v in levels if v != "wan"]]
        if self.often("throughput_first"):
            levels = ["throughput", *[v for v in levels if v != "throughput"]]
        return [
            f"{v}:{self.pick(['1%', '5%', '50%', '1000%', '0.001%'])}"
            if self.often("tolerance")
            else v
            for v in levels
        ]

    def rules(
        self, jobs: list[dict[str, Any]], cluster: dict[str, Any], current: Any
    ) -> dict[str, Any]:
        wanted = int(self.draw.poisson(self.chances["rules"]))
        rules = [self.rule(self.pick(jobs), cluster, current, len(jobs)) for _ in range(wanted)]
        out: dict[str, Any] = {"rules": [r for r in rules if r]}
        if self.often("latency_limit"):
            out["max_latency_ms"] = self.number(1, 1000)
        if current is not None and self.draw.random() < 0.2:
            out["max_moves"] = int(self.draw.integers(0, 4))
        return out

    def rule(
        self, job: dict[str, Any], cluster: dict[str, Any], current: Any, n_jobs: int
    ) -> dict[str, Any] | None:
        ops = job["operators"]
        fed = sorted({s["target"] for s in job["streams"]})
        loose = [o["id"] for o in ops if "demand" in o["cost"] and "born_at" not in o]
        placed = current is not None and job["name"] in current["jobs"]
        some = sorted({self.pick(ops)["id"] for _ in range(int(self.draw.integers(1, 3)))})
        of_job = {"job": job["name"]} if n_jobs > 1 else {}
        kind = self.pick(
            ["pin", "match", "colocate", "exlocate", "at_most", "stay_on_site", "exclusive",
             "never_move"]
        )  # fmt: skip
        level = self.pick(LEVELS_OF_RULES)
        base = {"kind": kind, "operators": some, **of_job}
        by_id = {o["id"]: o for o in ops}
        makers: dict[str, Callable[[], dict[str, Any] | None]] = {
            "pin": lambda: {
                **base,
                "operators": [self.pick(fed + loose)],
                "to": self.pick([n[k] for n in cluster["nodes"] for k in ("id", "site")]),
            },
            "match": lambda: {
                **base,
                "operators": [self.pick(fed + loose)],
                "labels": {"disk": self.pick(["ssd", "hdd"])},
            },
            "colocate": lambda: (
                {**base, "level": level}
                if len(some) > 1 and len({by_id[o]["parallelism"] for o in some}) == 1
                else None
            ),
            "exlocate": lambda: {**base, "level": level},
            "at_most": lambda: {
                **base,
                "level": level,
                "count": int(self.draw.integers(1, 3)),
            },
            "stay_on_site": lambda: {**base, "operators": [self.pick(fed)]},
            "exclusive": lambda: {**base, "level": level},
            "never_move": lambda: (
                {**base, "operators": [self.pick(fed + loose)]} if placed else None
            ),
        }
        made = makers[kind]()
        if made and kind == "pin" and self.draw.random() < 0.4:
            made["subtasks"] = [int(self.draw.integers(by_id[made["operators"][0]]["parallelism"]))]
        return made
