"""What is asked of a case by chance: rules, limits and the objective."""

from collections.abc import Callable
from typing import Any

from tests.conformance.draws import Draw, Draws

TERMS = ("wan", "latency", "server_cores", "moves", "throughput")
LEVELS_OF_RULES = ("site", "node", "task_manager")


class DrawsRules(Draws):
    """Draws objectives and rules."""

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

    def place_of_pin(self, cluster: dict[str, Any]) -> str:
        name: str = self.pick([n[k] for n in cluster["nodes"] for k in ("id", "site")])
        return f"{name[:1]}*" if self.draw.random() < 0.2 else name

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
             "never_move", "own_data"]
        )  # fmt: skip
        level = self.pick(LEVELS_OF_RULES)
        base = {"kind": kind, "operators": some, **of_job}
        by_id = {o["id"]: o for o in ops}
        makers: dict[str, Callable[[], dict[str, Any] | None]] = {
            "pin": lambda: {
                **base,
                "operators": [self.pick(fed + loose)],
                "to": self.place_of_pin(cluster),
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
            "own_data": lambda: {**base, "operators": fed},
            "never_move": lambda: (
                {**base, "operators": [self.pick(fed + loose)]} if placed else None
            ),
        }
        made = makers[kind]()
        if made and kind == "pin" and self.draw.random() < 0.4:
            made["subtasks"] = [int(self.draw.integers(by_id[made["operators"][0]]["parallelism"]))]
        return made


def add_wishes(case: dict[str, Any], draw: Draw) -> None:
    """Wish for one to three things, at any level of the objective, in one case of five."""
    if draw.random() > 1 / 5:
        return
    wishes = []
    for _ in range(int(draw.integers(1, 4))):
        job = case["jobs"][int(draw.integers(len(case["jobs"])))]
        sizes = {op["id"]: op["parallelism"] for op in job["operators"]}
        op = str(draw.choice(list(sizes)))
        alike = [o for o, n in sizes.items() if n == sizes[op] and o != op]
        kind = str(draw.choice(["pin", "match", "exlocate", "at_most", "stay_on_site", "spread"]))
        if alike and draw.random() < 0.4:
            kind = "colocate"
        more: dict[str, dict[str, Any]] = {
            "pin": {"to": str(draw.choice([n["id"] for n in case["cluster"]["nodes"]]))},
            "match": {"labels": {"node_class": str(draw.choice(["pi", "server"]))}},
            "at_most": {"count": int(draw.integers(0, 3))},
            "colocate": {"operators": [op, *alike[:1]]},
        }
        level = {"level": str(draw.choice(LEVELS_OF_RULES))}
        wish = {"kind": kind, "operators": [op], "weight": int(draw.integers(1, 101))}
        without = kind in ("pin", "match", "stay_on_site")
        wishes.append({**wish, **({} if without else level), **more.get(kind, {})})
        if len(case["jobs"]) > 1:
            wishes[-1]["job"] = job["name"]
    case["rules"]["wishes"] = wishes
    case["objective"].insert(int(draw.integers(0, len(case["objective"]) + 1)), "wishes")


def add_demand(case: dict[str, Any], draw: Draw) -> None:
    """Let demand vary over two or three periods of a day, in one case of six."""
    if draw.random() > 1 / 6:
        return
    factors = [0.0, 0.1, 0.5, 0.9, 1.0, 1.0, 1.1, 2.0]
    periods: list[dict[str, Any]] = []
    for i in range(int(draw.integers(2, 4))):
        periods.append(
            {
                "name": f"p{i}",
                "share": float(draw.choice([0.3, 1, 8, 14])),
                "factor": float(draw.choice(factors)),
            }
        )
        job = case["jobs"][int(draw.integers(len(case["jobs"])))]
        source = next(op["id"] for op in job["operators"] if "demand" in op["cost"])
        if draw.random() < 0.4:
            own = {"operators": [source], "factor": float(draw.choice(factors))}
            if len(case["jobs"]) > 1:
                own["job"] = job["name"]
            periods[-1]["sources"] = [own]
    case["rules"]["demand"] = periods
