"""One minimisation by a solver of PuLP, in a process of its own: `python pulp_process.py REQUEST`.

The process reads `model.npz` in its working folder and writes `answer.npz` there. It imports
nothing of edgeplace, so that it starts quickly. It has a process group of its own and ends that
group, with any program that PuLP started, as soon as its standard input is closed: no solver
outlives the caller.
"""

import inspect
import json
import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pulp


def main() -> None:
    """Solve the model in the working folder."""
    warnings.simplefilter("ignore")
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    request = json.loads(sys.argv[1])
    with np.load("model.npz") as arrays:
        problem, columns = _problem(dict(arrays))
    solver, limits_gap = _solver(request)
    began = time.monotonic()
    problem.solve(solver)
    elapsed_s = time.monotonic() - began
    values = [c.varValue for c in columns]
    np.savez(
        "answer.npz",
        status=problem.status,
        sol_status=problem.sol_status,
        values=np.array(values if None not in values else [], float),
        elapsed_s=elapsed_s,
        limits_gap=limits_gap,
    )


def _end_with_the_caller() -> None:
    # Not through `sys.stdin`, whose lock would be held when this process itself ends.
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def _problem(a: dict[str, Any]) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    problem = pulp.LpProblem("placement", pulp.LpMinimize)
    columns = [
        problem.add_variable(f"c{i:09d}", 0, upper, "Integer" if whole else "Continuous")
        for i, (upper, whole) in enumerate(
            zip(a["upper"].tolist(), a["whole"].tolist(), strict=True)
        )
    ]
    # The constant is a column fixed at 1: what a file format makes of a constant differs.
    one = problem.add_variable("one", 1, 1)
    goal = dict(zip(columns, a["cost"].tolist(), strict=True))
    problem.setObjective(pulp.LpAffineExpression({**goal, one: float(a["constant"])}))
    column, value = a["column"].tolist(), a["value"].tolist()
    ends, bounds, equal = a["ends"].tolist(), a["bound"].tolist(), a["equality"].tolist()
    first = 0
    for i, end in enumerate(ends):
        terms = pulp.LpAffineExpression(
            {columns[c]: v for c, v in zip(column[first:end], value[first:end], strict=True)}
        )
        sense = pulp.LpConstraintEQ if equal[i] else pulp.LpConstraintLE
        problem.addConstraint(pulp.LpConstraint(terms, sense, f"r{i}", bounds[i]))
        first = end
    return problem, columns


def _solver(request: dict[str, Any]) -> tuple[pulp.LpSolver, bool]:
    """Return the solver, and whether it was told at which gap to stop."""
    asked = {
        "timeLimit": request["seconds"],
        "gapRel": request["gap"],
        "gapAbs": 0.0,
        "threads": request["threads"],
    }
    known = inspect.signature(type(pulp.getSolver(request["name"])).__init__).parameters
    options = {k: v for k, v in asked.items() if k in known and v is not None}
    return pulp.getSolver(request["name"], msg=False, **options), "gapRel" in known


if __name__ == "__main__":
    main()
