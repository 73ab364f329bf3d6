"""Sustained rates of the headline's recorded cells: without and with laws of flushes and state.

    python benchmarks/sustained.py

For each cell the script compares the sustained rate that was measured with the predicted one, for
cores as fast as they were in that cell. Without laws, combiners put out what they did at the
nearest measured rates, and state is that of the common rate. It says, too, how often the measured
rate was not below the predicted one, by the costs as measured and with a confidence of 0.9; and
what part of a full link checkpoints took that were late.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from edgeplace.model import Case, Cluster, JobGraph, Plan, read
from edgeplace.solver import evaluate
from edgeplace.solver.evaluation.usage import LATE_CHECKPOINTS_SHARE

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.at_rates import at_all_rates  # noqa: E402
from testbed.experiments.headline_report import (  # noqa: E402
    cluster_of,
    core_speed_of,
    of_offered,
)
from testbed.experiments.policies import (  # noqa: E402
    sustained_per_subtask,
    with_rate,
)

FOLDER = ROOT / "benchmarks" / "headline"
NEAR = 0.105
HELD = 0.95
"""Share of the predicted rate from which it counts as sustained; cells vary as much."""


def plain(job: JobGraph) -> JobGraph:
    """Return a job without laws of state and flushes."""
    streams = tuple(
        s.model_copy(update={"cost": s.cost and s.cost.model_copy(update={"flush_law": None})})
        for s in job.streams
    )
    operators = tuple(
        op.model_copy(update={"cost": op.cost and op.cost.model_copy(update={"state_law": None})})
        for op in job.operators
    )
    return job.model_copy(update={"streams": streams, "operators": operators})


def show(name: str, ratios: Sequence[float]) -> None:
    """Print how near predicted / measured is to 1."""
    off = [abs(r - 1) for r in ratios]
    print(
        f"{name:28} {sum(e <= NEAR for e in off):3} of {len(off)} within {NEAR:.1%}, "
        f"{sum(e > 0.5 for e in off)} off by more than 50 %, median {median(off):.1%}; "
        f"sustained {sum(HELD * r <= 1 for r in ratios)} times"
    )


def main() -> None:
    """Print the figures of all cells."""
    cells = [json.loads(line) for line in (FOLDER / "cells.jsonl").read_text().splitlines()]
    cluster = read(FOLDER / "cluster.json", Cluster)
    ways: dict[str, list[float]] = {}
    late = []
    for cell in cells:
        name, mbit = cell["workload"], cell["mbit_per_s"]
        files = [read(f, JobGraph) for f in sorted(FOLDER.glob(f"{name}-*.job.json"))]
        job = at_all_rates(read(FOLDER / f"{name}-{mbit:g}.job.json", JobGraph), files)
        there = cluster_of(cluster, cell, core_speed_of(cell))
        plan = Plan(jobs={job.name: {op: tuple(tms) for op, tms in cell["placement"].items()}})
        full = cell["full"]
        measured = full["per_subtask"]
        [sure] = Case((job,), there).at_confidence(0.9).jobs
        for way, tried in (("without laws", plain(job)), ("laws", job), ("confidence 0.9", sure)):
            said, _ = sustained_per_subtask(tried, there, plan)
            ways.setdefault(way, []).append(of_offered(cell, said) / measured)
        seen = evaluate(with_rate(job, measured), there, plan)
        for link in seen.links:
            carried = full["link_bytes_per_s"][link.where]
            if link.capacity and link.used > link.capacity:
                due = _checkpoints(job, there, plan, measured, link.where)
                if due > LATE_CHECKPOINTS_SHARE * link.capacity:
                    part = (carried - (link.used - due)) / link.capacity
                    late.append((name, mbit, link.where, part))
    for way, ratios in ways.items():
        show(way, ratios)
    print("checkpoints that were late took of a full link:")
    for name, mbit, where, part in late:
        print(f"  {name} at {mbit:g} Mbit/s, {where}: {part:.0%}")


def _checkpoints(job: JobGraph, cluster: Cluster, plan: Plan, rate: float, where: str) -> float:
    """Return the checkpoints' part of a link, at their interval."""
    both = [
        next(
            link.used
            for link in evaluate(with_rate(each, rate), cluster, plan).links
            if link.where == where
        )
        for each in (job, job.model_copy(update={"checkpoint_interval_ms": None}))
    ]
    return both[0] - both[1]


if __name__ == "__main__":
    main()
