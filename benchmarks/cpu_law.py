"""CPU by regression on the headline's recorded cells: leave one rate out, and one placement.

    python benchmarks/cpu_law.py

A cell has the cores that each TaskManager used at two rates, here in cores as fast as when costs
were measured. For each job and node class, the script predicts the cores of each rate from the
other rates, and those of each placement from the others, by regression. Beside it stands what the
evaluator predicts by the costs of the job file. These are from other logs: by regression over them
where that held, else by busy time. (Here they lack the background, a fifth of a Pi.) q-error is
the larger one of predicted / measured and measured / predicted. It is printed for loaded
TaskManagers, where a wrong cost matters: half of a Pi's cores in use, or a quarter of the server's.

At last it tries a second column for each operator that has an output, its records out: the keys of
a window that fires. Placements are left out; errors are in cores.
"""

import json
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import Cluster, JobGraph, read
from edgeplace.solver.problem.traffic import Traffic
from edgeplace.spark_stats.cpu.choice import CpuChoice, learn
from edgeplace.spark_stats.cpu.non_negative import non_negative_least_squares
from edgeplace.spark_stats.cpu.slices import Slices

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.at_rates import at_all_rates  # noqa: E402
from testbed.experiments.policies import with_rate  # noqa: E402

FOLDER = ROOT / "benchmarks" / "headline"
LOADED = {"pi": 0.15, "server": 0.2}
"""Cores from which a TaskManager counts as loaded; a Pi has 0.3, the server 0.8."""


@dataclass(frozen=True)
class SliceOfCell:
    """One TaskManager in one cell at one rate; cores as fast as when costs were measured."""

    rate: Hashable
    placement: Hashable
    node_class: str
    cores: float
    per_s: dict[str, float]
    out_per_s: dict[str, float]


def rows_of(workload: str, cells: Sequence[dict], cluster: Cluster) -> list[SliceOfCell]:
    """Return what each TaskManager did, with the records that the evaluator says it had."""
    class_of = {n.id: n.node_class for n in cluster.nodes}
    files = [read(f, JobGraph) for f in sorted(FOLDER.glob(f"{workload}-*.job.json"))]
    found = []
    for cell in cells:
        own = read(FOLDER / f"{workload}-{cell['mbit_per_s']:g}.job.json", JobGraph)
        job = at_all_rates(own, files)
        for mode in ("steady", "full"):
            seen = cell[mode]
            relative = seen["core_speed"] / cell["core_speed_of_costs"]
            traffic = Traffic.of([with_rate(job, np.mean(seen["per_source"]))])
            rates = iter(traffic.rate_per_s)
            out = iter(np.bincount(traffic.source, traffic.records_per_s, len(traffic.rate_per_s)))
            load: dict[str, dict[str, float]] = {tm: {} for tm in class_of}
            sent: dict[str, dict[str, float]] = {tm: {} for tm in class_of}
            for op in job.operators:
                for place in cell["placement"][op.id]:
                    load[place][op.id] = load[place].get(op.id, 0.0) + float(next(rates))
                    sent[place][op.id] = sent[place].get(op.id, 0.0) + float(next(out))
            found += [
                SliceOfCell(
                    (cell["mbit_per_s"], mode),
                    tuple(cell["policies"]),
                    name,
                    relative * seen["cores"][tm],
                    load[tm],
                    sent[tm],
                )
                for tm, name in class_of.items()
            ]
    return found


def slices_of(rows: Sequence[SliceOfCell]) -> Slices:
    """Return the rows as slices; each cell and rate stands for a minute."""
    operators = tuple(sorted({op for row in rows for op in row.per_s}))
    return Slices(
        operators,
        place=np.zeros(len(rows), dtype=np.int64),
        minute=_numbered([(row.rate, row.placement) for row in rows]),
        cores=np.array([row.cores for row in rows]),
        per_s=np.array([[row.per_s.get(op, 0.0) for op in operators] for row in rows]),
        busy=np.zeros((len(rows), len(operators))),
        full=np.zeros(len(rows), dtype=bool),
    )


def recorded_s(job: JobGraph, operators: Sequence[str], node_class: str) -> NDArray[np.float64]:
    """Return core-seconds a record of the job file; another class's where it has no other."""
    found = []
    for operator in operators:
        cost = job.operator(operator).cost
        classes = cost.classes if cost else ()
        seen = next((c for c in classes if c.node_class == node_class), classes[0])
        found.append(seen.core_ms_per_record / 1000)
    return np.array(found)


def chosen(job: JobGraph, node_class: str, rows: Sequence[SliceOfCell]) -> tuple[Slices, CpuChoice]:
    """Return what the regression finds for one job and node class."""
    slices = slices_of(rows)
    parts = {
        "rate": _numbered([row.rate for row in rows]),
        "placement": _numbered([row.placement for row in rows]),
    }
    recorded = recorded_s(job, slices.operators, node_class)
    return slices, learn(slices, parts, lambda _: recorded)


def q(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the q-errors."""
    return np.maximum(predicted / measured, measured / predicted)


def with_records_out(rows: Sequence[SliceOfCell]) -> dict[str, tuple[float, float]]:
    """Return operator -> mean error in cores of left-out placements, without and with a column of
    its records out.
    """
    slices = slices_of(rows)
    part = _numbered([row.placement for row in rows])
    columns = np.column_stack([np.ones(len(rows)), slices.per_s])

    def error(columns: NDArray[np.float64]) -> float:
        found = np.zeros(len(rows))
        length = np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
        scaled = columns / length
        for own in (part == number for number in np.unique(part)):
            a, b = scaled[~own], slices.cores[~own]
            found[own] = scaled[own] @ non_negative_least_squares(a.T @ a, a.T @ b)
        return float(np.abs(found - slices.cores).mean())

    without = error(columns)
    errors = {}
    for operator in slices.operators:
        out = np.array([row.out_per_s.get(operator, 0.0) for row in rows])
        if out.any():
            errors[operator] = without, error(np.column_stack([columns, out]))
    return errors


def _numbered(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    order = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([order[key] for key in keys])


def _show(job: JobGraph, node_class: str, slices: Slices, choice: CpuChoice) -> None:
    print(f"\n{job.name} on {node_class}: {len(slices.cores)} rows")
    for left_out, seen in choice.held_out.items():
        print(
            f"  {left_out + ' left out:':20} off by {seen.error(seen.by_busy_time):.4f} cores by "
            f"the job file, {seen.error(seen.by_regression):.4f} by regression"
        )
    if choice.fit is None:
        print(f"  refused: {choice.reason}")
        return
    recorded = recorded_s(job, slices.operators, node_class)
    print(f"  background {choice.fit.background:.4f} cores")
    for i, operator in enumerate(slices.operators):
        cost = 1e6 * choice.fit.cost_s[i]
        name = job.operator(operator).name.split("[")[0]
        told = "" if choice.identified[i] else ", not identifiable"
        print(f"  {name}: {cost:.2f} µs (was {1e6 * recorded[i]:.2f}){told}")


def main() -> None:
    """Print what is found for each job and node class, and the errors at left-out rates."""
    cells = [json.loads(line) for line in (FOLDER / "cells.jsonl").read_text().splitlines()]
    cluster = read(FOLDER / "cluster.json", Cluster)
    errors: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    kept = tried = 0
    for workload in dict.fromkeys(cell["workload"] for cell in cells):
        job = read(FOLDER / f"{workload}-50.job.json", JobGraph)
        rows = rows_of(workload, [c for c in cells if c["workload"] == workload], cluster)
        for node_class, least in LOADED.items():
            own = [r for r in rows if r.node_class == node_class]
            slices, choice = chosen(job, node_class, own)
            _show(job, node_class, slices, choice)
            tried, kept = tried + 1, kept + (choice.fit is not None)
            for operator, (without, with_out) in with_records_out(own).items():
                name = job.operator(operator).name.split("[")[0]
                print(f"  records out of {name}: off by {without:.4f} cores, with {with_out:.4f}")
            for left_out, seen in choice.held_out.items():
                loaded = seen.measured >= least
                ways = {"job file": seen.by_busy_time, "regression": seen.by_regression}
                for way, predicted in ways.items():
                    found = q(predicted[loaded], seen.measured[loaded])
                    for which in ("all", "kept") if choice.fit else ("all",):
                        errors.setdefault((f"{which}, {left_out} left out", way), []).append(found)
    print(f"\nkept for {kept} of {tried} jobs and node classes. Loaded TaskManagers, q-error:")
    for (which, way), parts in sorted(errors.items()):
        together = np.concatenate(parts)
        middle, most = np.quantile(together, (0.5, 0.9))
        print(
            f"  {which}, by {way:10}: median {middle:.2f}, 90 % {most:.2f}, "
            f"worst {together.max():.2f} ({len(together)} rows)"
        )


if __name__ == "__main__":
    main()
