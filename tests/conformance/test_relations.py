"""Relations that hold whatever the true values are: no oracle is asked."""

import copy
from typing import Any

import numpy as np
import pytest
from check import BACKENDS, Case, Parsed
from generate import generate

from edgeplace.model import Plan
from edgeplace.model.result import Result, Status
from edgeplace.solver import evaluate, solve

SEEDS = range(100_000, 100_054)
PARTS = 6


def _solve(case: Case, backend: str) -> Result:
    p = Parsed.of(case)
    return solve(p.jobs, p.cluster, p.rules, p.objective, p.current, backend=backend)  # type: ignore[arg-type]


def _values(result: Result) -> dict[str, float]:
    return {v.name: v.value for v in result.levels}


def _strict(case: Case) -> Case:
    """Return the case without tolerances: with them, values of equal answers differ."""
    return {**case, "objective": [v.split(":")[0] for v in case["objective"]]}


def _renamed(case: Case, draw: np.random.Generator) -> Case:
    """Return the case with other names, everything listed in another order."""
    names = {}
    for part, prefix in (("sites", "S"), ("nodes", "N"), ("task_managers", "T")):
        fresh = draw.permutation(len(case["cluster"][part]))
        for item, number in zip(case["cluster"][part], fresh, strict=True):
            names[item["id"]] = f"{prefix}{number}"
    for job in case["jobs"]:
        fresh = draw.permutation(len(job["operators"]))
        for op, number in zip(job["operators"], fresh, strict=True):
            names[op["id"]] = f"{job['name']}-{number}"
    # What is no name of a thing keeps its value.
    keys = {"id", "site", "node", "source", "target", "to", "checkpoint_storage"}

    def rename(data: Any, key: str = "") -> Any:
        if isinstance(data, dict):
            inside = {"jobs": "jobs"}.get(key, "")
            return {
                (names.get(k, k) if inside or key == "placed" else k): rename(
                    v, "placed" if inside else k
                )
                for k, v in data.items()
            }
        if isinstance(data, list):
            done = [rename(v, key) for v in data]
            if key in ("sites", "nodes", "task_managers", "links", "rules", "streams"):
                return [done[i] for i in draw.permutation(len(done))]
            return done
        if isinstance(data, str) and (key in keys or key in ("operators", "born_at", "placed")):
            return names.get(data, data)
        return data

    out = {k: rename(case[k]) for k in ("jobs", "cluster", "rules", "objective")}
    for job in out["jobs"]:
        job["operators"] = [
            job["operators"][i] for i in draw.permutation(len(job["operators"]))
        ]
    now = case["current"]
    out["current"] = now and {
        "jobs": {
            job: {names[o]: [names[t] for t in tms] for o, tms in ops.items()}
            for job, ops in now["jobs"].items()
        }
    }
    return out
