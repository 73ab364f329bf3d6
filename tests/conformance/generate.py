"""Small instances of every kind, by seed: few enough plans that all of them can be tried.

A case is plain data (JSON): jobs, cluster, rules, objective, current, and the family and seed that
it came from. Families turn kinds of trouble on; the rest is drawn.
"""

from typing import Any

import numpy as np

from edgeplace.solver import evaluate
from tests.conformance.drawn_cluster import DrawsClusters
from tests.conformance.drawn_jobs import DrawsJobs
from tests.conformance.drawn_rules import DrawsRules, add_demand, add_wishes
from tests.conformance.draws import Draw
from tests.conformance.families import FAMILIES, USUAL
from tests.conformance.parsed import Parsed

Case = dict[str, Any]

HOURS = 730.5
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
        case = _Maker(draw, {**USUAL, **FAMILIES[chosen]}).case()
        # Few plans hide little; a few such cases stay.
        fewest = 16 if draw.random() < 0.9 else 1
        if fewest <= _plans(case) <= most_plans:
            _add_gpus(case, np.random.default_rng([20_26, seed, 1]))
            _add_money(case, np.random.default_rng([20_26, seed, 2]))
            add_wishes(case, np.random.default_rng([20_26, seed, 3]))
            add_demand(case, np.random.default_rng([20_26, seed, 4]))
            _add_limits(case, np.random.default_rng([20_26, seed, 5]))
            return {"family": chosen, "seed": seed, **case}


def _add_gpus(case: Case, draw: Draw) -> None:
    """Give some TaskManagers GPUs, and let an operator need them, in one case of six."""
    if draw.random() < 1 / 6:
        operators = case["jobs"][int(draw.integers(len(case["jobs"])))]["operators"]
        operators[int(draw.integers(len(operators)))]["gpus"] = 1
        for tm in case["cluster"]["task_managers"]:
            tm["gpus"] = int(draw.integers(0, 4))


def _add_limits(case: Case, draw: Draw) -> None:
    """Limit the latency and the moves of jobs near to what a plan has, in one case of five."""
    if draw.random() > 1 / 5:
        return
    document = Parsed.of({**case, "rules": {**case["rules"], "demand": []}}).document()
    plans = document.plans()
    document.judge(plans[:1])
    entries = []
    for j, job in enumerate(case["jobs"]):
        own: dict[str, Any] = {}
        if len(plans) and draw.random() < 0.7:
            row = plans[draw.integers(len(plans))][None]
            worst = float(document.latencies(row)[j, 0])
            own["max_latency_ms"] = worst * float(draw.choice([0.5, 0.9, 1.001, 1.5]))
        if case["current"] is not None and draw.random() < 0.5:
            own["max_moves"] = int(draw.integers(0, 3))
        if own:
            entries.append({"job": job["name"], **own})
    case["rules"]["jobs"] = entries


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


class _Maker(DrawsClusters, DrawsJobs, DrawsRules):
    """Draws a case, and makes its parts fit one another."""

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
