"""Fifty tight instances: how far `solve` is from its bound, and what others reach in equal time.

    python benchmarks/families.py --out families.jsonl [--only 0-9] [--seconds 60]
        [--methods edgeplace tabu ...]

The instances (benchmarks/planted.py) were fixed before any was solved. Every method gets the same
wall time: `edgeplace` by `solve`'s time limit, for `wan` alone, the published ones by their budget.
The evaluator judges all plans. Each run is a line of the output file; what the file has is not run
again, so that an ended measurement goes on where it was.

The table says of `edgeplace` the gap, (value - bound) / value, of every instance and over all, and
of each method how much more `wan` its plans that hold have than `edgeplace`'s, how far they are
from `edgeplace`'s bound, and where one is better than `edgeplace`.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from planted import COUNT, Planted, planted

from edgeplace.solver import solve
from edgeplace.solver.baselines import PUBLISHED, Budget
from edgeplace.solver.evaluation.usage import measure_usage
from edgeplace.solver.problem import build
from edgeplace.solver.tolerances import OPTIMAL_GAP

OURS = "edgeplace"
Row = dict[str, Any]


def ours(case: Planted, seconds: float, workers: int | None) -> Row:
    """Solve, and return value, bound and times; value None without a plan."""
    it = case.instance
    result = solve(
        it.jobs, it.cluster, it.rules, objective=("wan",), time_limit_s=seconds, workers=workers
    )
    level = result.levels[0] if result.levels else None
    return {
        "value": level.value if level else None,
        "bound": level.bound if level else None,
        "status": result.status.value,
        "incumbents": [(round(i.at_s, 3), i.value) for i in result.incumbents],
    }


def theirs(case: Planted, method: str, seconds: float) -> Row:
    """Run a published method; value None if it has no plan, or its plan breaks a limit."""
    it = case.instance
    problem = build(it.jobs, it.cluster, it.rules)
    found = PUBLISHED[method](problem, Budget(time_limit_s=seconds)).assignment
    if found is None:
        return {"value": None, "broken": None}
    said = measure_usage(problem, found)
    holds = said.rated_hold and said.fixed_hold
    return {"value": said.value("wan") if holds else None, "broken": not holds}


def measured(number: int, method: str, seconds: float, workers: int | None) -> Row:
    """Run one method on one instance."""
    case = planted(number)
    wall, cpu = time.perf_counter(), time.process_time()
    row = ours(case, seconds, workers) if method == OURS else theirs(case, method, seconds)
    return {
        "number": number,
        "method": method,
        "seconds": seconds,
        "subtasks": case.instance.subtasks,
        "sites": len(case.instance.cluster.sites),
        **row,
        "wall_s": round(time.perf_counter() - wall, 3),
        "cpu_s": round(time.process_time() - cpu, 3),
    }


def gap(row: Row) -> float:
    """Return the distance of a value to its bound, as a share of the value."""
    over: float = row["value"] - row["bound"]
    return over / row["value"] if row["value"] > 0 else 0.0


def table(rows: Sequence[Row]) -> str:
    """Return what the runs show."""
    own = {r["number"]: r for r in rows if r["method"] == OURS}
    lines = [" no subtasks sites        value        bound    gap %  first s   wall s    cpu s"]
    for n, r in sorted(own.items()):
        figures = f"{'no plan':>12} {'':12} {'':8} {'':8}"
        if r["value"] is not None:
            figures = f"{r['value']:12.6g} {r['bound']:12.6g} {100 * gap(r):8.4f}"
            figures += f" {r['incumbents'][0][0]:8.2f}"
        lines.append(
            f"{n:3d} {r['subtasks']:8d} {r['sites']:5d} {figures} {r['wall_s']:8.2f} "
            f"{r['cpu_s']:8.2f}"
        )
    solved = {n: r for n, r in own.items() if r["value"] is not None}
    gaps = [gap(r) for r in solved.values()]
    if gaps:
        lines.append(
            f"gap %: mean {100 * mean(gaps):.3f}, median {100 * median(gaps):.4f}, worst "
            f"{100 * max(gaps):.3f}; proved {sum(r['status'] == 'optimal' for r in own.values())} "
            f"of {len(own)}, without plan {len(own) - len(solved)}"
        )
    lines.append("          method  runs  plans  more than ours %   beyond bound %  better")
    for method in PUBLISHED:
        runs = [r for r in rows if r["method"] == method and r["number"] in own]
        if not runs:
            continue
        held = [(r, own[r["number"]]) for r in runs if r["value"] is not None]
        pairs = [(r["value"], o["value"], o["bound"]) for r, o in held if o["value"] is not None]
        better = sum(o["value"] is None for _, o in held)
        better += sum(v < ours_ * (1 - OPTIMAL_GAP) for v, ours_, _ in pairs)
        loss = f"{100 * mean(v / o - 1 for v, o, _ in pairs):16.2f}" if pairs else f"{'-':>16}"
        beyond = f"{100 * mean(1 - b / v for v, _, b in pairs):16.2f}" if pairs else f"{'-':>16}"
        lines.append(f"{method:>16} {len(runs):5d} {len(held):6d} {loss} {beyond} {better:7d}")
    return "\n".join(lines)


def numbers(text: str) -> list[int]:
    """Return the instances that `I` or `I-J` names."""
    first, _, last = text.partition("-")
    return list(range(int(first), min(int(last or first), COUNT - 1) + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one a run")
    parser.add_argument("--only", type=numbers, default=list(range(COUNT)), metavar="I-J")
    parser.add_argument("--seconds", type=float, default=60.0, help="wall time of one run")
    parser.add_argument("--workers", type=int, help="threads of edgeplace's back end")
    parser.add_argument(
        "--methods", nargs="+", choices=[OURS, *PUBLISHED], default=[OURS, *PUBLISHED]
    )
    args = parser.parse_args()
    rows: list[Row] = []
    if args.out.exists():
        rows = [json.loads(line) for line in args.out.read_text().splitlines()]
    done = {(r["number"], r["method"], r["seconds"]) for r in rows}
    with args.out.open("a") as out:
        for number in args.only:
            for method in args.methods:
                if (number, method, args.seconds) not in done:
                    rows.append(measured(number, method, args.seconds, args.workers))
                    print(json.dumps(rows[-1]), file=out, flush=True)
    print(table([r for r in rows if r["seconds"] == args.seconds and r["number"] in args.only]))


if __name__ == "__main__":
    main()
