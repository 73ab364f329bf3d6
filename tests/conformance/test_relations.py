"""Relations that hold whatever the true values are: no oracle is asked."""

import copy
import json
import re

import numpy as np
import pytest

from edgeplace.model.result import Result, Status
from edgeplace.solver import evaluate, solve
from tests.conformance.check import BACKENDS
from tests.conformance.generate import generate
from tests.conformance.parsed import Case, Parsed

SEEDS = range(100_000, 100_036)
CALLS = [(seed, BACKENDS[seed % 2]) for seed in SEEDS]
LISTS = ("sites", "nodes", "task_managers", "links")
TINY_RATE = 1e-9
NEAR = 1e-6


def _solve(case: Case, backend: str) -> Result:
    p = Parsed.of(case)
    return solve(p.jobs, p.cluster, p.rules, p.objective, p.current, backend=backend)  # type: ignore[arg-type]


def _case(seed: int) -> Case:
    """Return a case without tolerances: with them, equally good answers differ in values."""
    case = generate(seed, most_plans=300)
    return {**case, "objective": [v.split(":")[0] for v in case["objective"]]}


def _same(case: Case, other: Case, backend: str, factor: dict[str, float] | None = None) -> None:
    a, b = _solve(case, backend), _solve(other, backend)
    assert a.status == b.status
    if a.status is Status.OPTIMAL:
        for x, y in zip(a.levels, b.levels, strict=True):
            expected = x.value * (factor or {}).get(x.name, 1.0)
            assert y.value == pytest.approx(expected, rel=NEAR, abs=1e-9), x.name


def _renamed(case: Case, draw: np.random.Generator) -> Case:
    """Return the case with other names, everything listed in another order."""
    text = json.dumps({k: case[k] for k in ("jobs", "cluster", "rules", "objective", "current")})
    names = sorted(set(re.findall(r'"((?:[snt]|[ab]o)\d+)"', text)))
    number = dict(zip(names, draw.permutation(len(names)).tolist(), strict=True))
    # Of equal routes, the names of sites choose one: their order stays.
    sites = [n for n in names if n[0] == "s"]
    number.update(zip(sites, sorted(number[s] for s in sites), strict=True))
    new = {n: f"{n[0]}-{i:03}" for n, i in number.items()}
    text = re.sub(r'"((?:[snt]|[ab]o)\d+)"', lambda m: f'"{new[m[1]]}"', text)
    out: Case = json.loads(text)

    def shuffle(items: list[object]) -> None:
        items[:] = [items[i] for i in draw.permutation(len(items))]

    for job in out["jobs"]:
        shuffle(job["operators"])
        shuffle(job["streams"])
    for part in LISTS:
        shuffle(out["cluster"][part])
    shuffle(out["rules"]["rules"])
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "backend"), CALLS)
def test_names_and_order_do_not_matter(seed: int, backend: str) -> None:
    case = _case(seed)
    _same(case, _renamed(case, np.random.default_rng(seed)), backend)


@pytest.mark.parametrize(("seed", "backend"), CALLS)
def test_more_capacity_is_never_worse(seed: int, backend: str) -> None:
    case = _case(seed)
    more = copy.deepcopy(case)
    for node in more["cluster"]["nodes"]:
        node["cores"] *= 1.5
    for tm in more["cluster"]["task_managers"]:
        tm["slots"] += 1
        for space in ("memory_bytes", "disk_bytes"):
            if space in tm:
                tm[space] *= 2
    for link in more["cluster"]["links"]:
        if "bandwidth_bytes_per_s" in link:
            link["bandwidth_bytes_per_s"] *= 2
    few, many = _solve(case, backend), _solve(more, backend)
    if few.status is Status.OPTIMAL:
        assert many.status is Status.OPTIMAL
        assert many.levels[0].value <= few.levels[0].value * (1 + NEAR) + 1e-9


@pytest.mark.parametrize(("seed", "backend"), CALLS)
def test_scaled_bytes_scale_wan(seed: int, backend: str) -> None:
    case = _case(seed)
    case["cluster"].pop("mtu_bytes", None)  # Headers do not scale.
    scaled = copy.deepcopy(case)
    for job in scaled["jobs"]:
        for stream in job["streams"]:
            for entry in (stream["cost"], *stream["cost"].get("by_rate", [])):
                if "bytes_per_record" in entry:
                    entry["bytes_per_record"] *= 4
        for op in job["operators"]:
            if "checkpointed_bytes" in op["cost"]:
                op["cost"]["checkpointed_bytes"] *= 4
    scaled["cluster"]["buffer_bytes"] = 4 * scaled["cluster"].get("buffer_bytes", 32768)
    for link in scaled["cluster"]["links"]:
        for figure in ("bandwidth_bytes_per_s", "background_bytes_per_s", "included_bytes"):
            if figure in link:
                link[figure] *= 4
    for node in scaled["cluster"]["nodes"]:
        for price in ("price_per_core_hour", "price_per_node_hour"):
            if price in node:
                node[price] *= 4
    _same(case, scaled, backend, {"wan": 4.0, "cost": 4.0})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_that_is_added_never_shortens_the_worst(seed: int) -> None:
    case = _case(seed)
    document = Parsed.of(case).document()
    draw = np.random.default_rng(seed)
    job = case["jobs"][0]
    fed = sorted({s["target"] for s in job["streams"]})
    more = copy.deepcopy(case)
    classes = job["operators"][0]["cost"]["classes"]
    more["jobs"][0]["operators"].append(
        {
            "id": "late",
            "name": "late",
            "parallelism": 1,
            "born_at": ["anywhere"],
            "cost": {"classes": classes, "demand": {"rates_per_s": [TINY_RATE]}},
        }
    )
    more["jobs"][0]["streams"].append(
        {
            "source": "late",
            "target": fed[int(draw.integers(len(fed)))],
            "ship_strategy": "REBALANCE",
            "cost": {"bytes_per_record": 100.0},
        }
    )
    before, after = Parsed.of(case), Parsed.of(more)
    for _ in range(5):
        row = draw.integers(len(document.tms), size=len(document.subtasks))
        plan = document.as_plan(row)
        longer = {**plan.jobs, job["name"]: {**plan.jobs[job["name"]], "late": (document.tms[0],)}}
        with_it = plan.model_copy(update={"jobs": longer})
        # A source without a home is held where it runs: here, where the plan has it.
        was = evaluate(before.jobs, before.cluster, plan, current=plan).latency_ms
        now = evaluate(after.jobs, after.cluster, with_it, current=with_it).latency_ms
        if was >= 0 and now >= 0:
            assert now >= was * (1 - NEAR)
