"""Make a failing case small: drop what it fails without, round what it fails with.

python -m tests.conformance.shrink CASE.json OUT.json [--kind "value too high"] [--backend milp]
"""

import argparse
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conformance.check import BACKENDS, Solver, check
from tests.conformance.parsed import Case

Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails) -> Iterator[Case]:
    """Yield ever smaller cases that fail, too: greedy, one change at a time, until none helps."""
    smaller: Case | None = case
    while smaller is not None:
        case = smaller
        yield case
        smaller = next((c for c in _smaller(case) if _fails(c, fails)), None)


def _fails(case: Case, fails: Fails) -> bool:
    try:
        return fails(case)
    except Exception:  # A case that is no case any more.
        return False


def _smaller(case: Case) -> Iterator[Case]:
    yield from _without_operators(case)
    for path in (
        ("jobs",),
        ("rules", "rules"),
        ("objective",),
        ("cluster", "links"),
        ("cluster", "task_managers"),
        ("cluster", "nodes"),
        ("cluster", "sites"),
    ):
        every = _get(case, path)
        if path in (("jobs",), ("objective",)) and len(every) == 1:
            continue
        for i in range(len(every) - 1, -1, -1):
            smaller = copy.deepcopy(case)
            dropped = _get(smaller, path).pop(i)
            if path == ("jobs",) and smaller["current"]:
                smaller["current"]["jobs"].pop(dropped["name"])
            yield smaller
    for j, job in enumerate(case["jobs"]):
        for i in range(len(job["streams"])):
            smaller = copy.deepcopy(case)
            smaller["jobs"][j]["streams"].pop(i)
            yield smaller
    yield from _narrower(case)
    if case["current"]:
        yield {**copy.deepcopy(case), "current": None}
    yield from _without_keys(case)
    yield from _rounder(case)


def _get(case: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        case = case[key]
    return case


def _without_operators(case: Case) -> Iterator[Case]:
    for j, job in enumerate(case["jobs"]):
        for op in job["operators"]:
            smaller = copy.deepcopy(case)
            it = smaller["jobs"][j]
            it["operators"] = [o for o in it["operators"] if o["id"] != op["id"]]
            it["streams"] = [s for s in it["streams"] if op["id"] not in (s["source"], s["target"])]
            if smaller["current"]:
                smaller["current"]["jobs"][job["name"]].pop(op["id"], None)
            for rule in smaller["rules"].get("rules", []):
                rule["operators"] = [o for o in rule["operators"] if o != op["id"]]
            yield smaller


def _narrower(case: Case) -> Iterator[Case]:
    """Take a subtask from all operators of a parallelism, or from one."""
    for j, job in enumerate(case["jobs"]):
        ids = [o["id"] for o in job["operators"] if o["parallelism"] > 1]
        for group in [ids, *[[i] for i in ids]]:
            smaller = copy.deepcopy(case)
            for op in smaller["jobs"][j]["operators"]:
                if op["id"] not in group:
                    continue
                p = op["parallelism"] = op["parallelism"] - 1
                if len(op.get("born_at", [])) > 1:
                    op["born_at"] = op["born_at"][:p]
                demand = op["cost"].get("demand")
                if demand and len(demand["rates_per_s"]) > 1:
                    demand["rates_per_s"] = demand["rates_per_s"][:p]
                if smaller["current"]:
                    now = smaller["current"]["jobs"][job["name"]]
                    now[op["id"]] = now[op["id"]][:p]
            if group:
                yield smaller


_KEPT = {
    "id", "name", "source", "target", "site", "node", "operators", "kind", "slots", "cores",
    "node_class", "parallelism", "true_rate_per_s", "ship_strategy", "streams", "sites", "nodes",
    "task_managers", "links", "rules", "cost",
}  # fmt: skip


def _leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key), value
            yield from _leaves(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield (*path, i), value
            yield from _leaves(value, (*path, i))


def _without_keys(case: Case) -> Iterator[Case]:
    for part in ("jobs", "cluster", "rules"):
        for path, _ in _leaves(case[part]):
            if isinstance(path[-1], str) and path[-1] not in _KEPT:
                smaller = copy.deepcopy(case)
                del _get(smaller[part], path[:-1])[path[-1]]
                yield smaller


def _rounder(case: Case) -> Iterator[Case]:
    for part in ("jobs", "cluster", "rules"):
        for path, value in _leaves(case[part]):
            if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
                continue
            for new in (1.0, 10.0, 100.0, 1000.0, float(f"{value:.0e}"), float(f"{value:.1e}")):
                if abs(_digits(new)) < abs(_digits(value)):
                    smaller = copy.deepcopy(case)
                    whole = isinstance(value, int)
                    _get(smaller[part], path[:-1])[path[-1]] = int(new) if whole else new
                    yield smaller
    for i, level in enumerate(case["objective"]):
        if ":" in level:
            smaller = copy.deepcopy(case)
            smaller["objective"][i] = level.split(":")[0]
            yield smaller


def _digits(value: float) -> int:
    """Return how long a figure is to read."""
    plain = f"{value:g}"
    return len(plain) if float(plain) == value else 20


def main() -> None:
    """Shrink the case of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kind", help="the kind of mismatch to keep; else any")
    parser.add_argument("--backend", choices=[*BACKENDS, "evaluator"])
    parser.add_argument("--seconds", type=float, default=20.0, help="what counts as no end")
    options = parser.parse_args()
    case = json.loads(options.case.read_text())
    backends = {None: BACKENDS, "evaluator": ()}.get(options.backend, (options.backend,))
    with Solver(options.seconds) as solver:

        def fails(candidate: Case) -> bool:
            return any(
                options.kind in (None, m.kind) and options.backend in (None, m.backend)
                for m in check(candidate, solver, backends)
            )

        # Each step is kept, so that an ended run was not for nothing.
        for small in shrink(case, fails):
            options.out.write_text(json.dumps(small, indent=1) + "\n")


if __name__ == "__main__":
    main()
