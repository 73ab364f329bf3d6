"""CAPS and `balance` side by side: largest normalised load of a worker, seconds, bound, proof.

    python benchmarks/caps.py [FOLDER] [--workers 4] [--slots 8] [--generated 64 256 1024]

* generated jobs of 64, 256 and 1,024 tasks on 8, 16 and 16 workers, as many slots as tasks: two
  chains of sources and transformers that meet in a window behind HASH exchanges, and a sink; what
  they take, keep and send is drawn by a fixed seed;
* with FOLDER, every CAPS job (JSON) in it, on `--workers` alike workers that just have the slots,
  or `--slots` each.
  CAPSys publishes its own: https://github.com/CASP-Systems-BU/CAPSys, scripts.

`balance` has 1, 5 and 20 s for up to 64, 256 and more tasks, one thread. CAPS is
`solver/baselines/caps.py`, to its own end. Seconds are wall and processor time of one run; both
plans are scored by `caps_load.largest_load` from the subtasks.

Each job has a row for each reading of what a task weighs (`caps_load`), by which both methods
decide and are scored: `flink`, as Flink runs it, and `caps`, CAPS's own weights. The last column is
what the plan that `balance` makes by the other reading has in this one: the best by one need not be
the best by both.
"""

import argparse
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeplace.instances.caps_json import is_caps, read_caps
from edgeplace.model import Cluster, JobGraph, Node, Site, TaskManager, load
from edgeplace.solver.baselines.caps import caps
from edgeplace.solver.baselines.caps_load import Reading, largest_load
from edgeplace.solver.baselines.found import Budget
from edgeplace.solver.problem import Problem, build
from edgeplace.solver.worker_load import decide

WORKERS = {64: 8, 256: 16, 1024: 16}
READINGS: tuple[Reading, ...] = ("flink", "caps")
LIMITS_S = ((64, 1.0), (256, 5.0), (math.inf, 20.0))
ROW = (
    # id, share of the tasks, ship strategy, consumer
    ("sink", 0.03, "", None),
    ("window", 0.37, "FORWARD", "sink"),
    ("persons", 0.06, "HASH", "window"),
    ("read persons", 0.06, "REBALANCE", "persons"),
    ("auctions", 0.28, "HASH", "window"),
    ("read auctions", 0.20, "REBALANCE", "auctions"),
)


def workers(number: int, slots: int) -> Cluster:
    names = [f"worker-{i:02}" for i in range(number)]
    return Cluster(
        sites=(Site(id="here", tier="cloud"),),
        nodes=tuple(Node(id=n, site="here", cores=slots) for n in names),
        task_managers=tuple(TaskManager(id=n, node=n, slots=slots) for n in names),
    )


def generated(tasks: int, seed: int = 1) -> JobGraph:
    """Return a job of so many tasks, read from a file of CAPS like any other."""
    rng = random.Random(seed)  # noqa: S311 - an instance generator
    wide = {name: max(1, round(tasks * share)) for name, share, _, _ in ROW}
    wide["window"] += tasks - sum(wide.values())
    entries: list[dict[str, Any]] = [
        {
            "id": name,
            "name": name,
            "parallelism": wide[name],
            "compute": wide[name] * rng.uniform(50, 250),
            "state": wide[name] * 2500.0 if name == "window" else 0.0,
            "network": wide[name] * rng.uniform(0.1, 6) if target else 0.0,
            "outboundtype": strategy,
            "downNode": [target] if target else [],
            "upNode": [other for other, _, _, to in ROW if to == name],
        }
        for name, _, strategy, target in ROW
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"generated-{tasks}.json")
        path.write_text(json.dumps(entries))
        return read_caps(path)


def cases(args: argparse.Namespace) -> Iterator[Problem]:
    for tasks in args.generated:
        number = WORKERS.get(tasks, args.workers)
        yield build([generated(tasks)], workers(number, -(-tasks // number)))
    for path in sorted(args.folder.glob("*.json")) if args.folder else ():
        if is_caps(load(path)):
            job = read_caps(path)
            tasks = sum(op.parallelism for op in job.operators)
            yield build([job], workers(args.workers, args.slots or -(-tasks // args.workers)))


def timed(run: Callable[[], Any]) -> tuple[Any, str]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return found, f"{wall:7.2f} {cpu:7.2f}"


def scored(problem: Problem, assignment: NDArray[np.intp] | None, reading: Reading) -> str:
    return "none" if assignment is None else f"{largest_load(problem, assignment, reading):.6f}"


def row(problem: Problem, reading: Reading, no_caps: bool) -> tuple[str, NDArray[np.intp] | None]:
    """Return a line of the table, and the plan of `balance`."""
    limit = next(s for tasks, s in LIMITS_S if problem.n <= tasks)
    theirs, theirs_s = "", f"{'':15}"
    if not no_caps:
        found, theirs_s = timed(lambda: caps(problem, Budget(), reading))
        theirs = scored(problem, found.assignment, reading)
    ours, ours_s = timed(lambda: decide(problem, limit, reading=reading))
    gap = (ours.value - ours.bound) / ours.value if ours.value > 0 else 0.0
    proof = "optimal" if ours.proved else f"gap {gap:.2%}"
    line = (
        f"{reading:7}{theirs:>9} {theirs_s}  {scored(problem, ours.assignment, reading):>9} "
        f"{ours_s}  {ours.bound:9.6f}  {proof:12}"
    )
    return line, ours.assignment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--slots", type=int, help="of each worker; default: just enough")
    parser.add_argument("--generated", nargs="*", type=int, default=list(WORKERS))
    parser.add_argument("--no-caps", action="store_true", help="leave CAPS out")
    args = parser.parse_args()
    print(f"ortools {version('ortools')}; wall and processor seconds, one thread")
    print(
        f"{'job':34}{'tasks':>6}{'on':>4}  {'reading':7}{'CAPS':>9}{'wall':>8}{'cpu':>8}  "
        f"{'balance':>9}{'wall':>8}{'cpu':>8}  {'bound':>9}  {'proof':12}other's"
    )
    for problem in cases(args):
        name = problem.subtasks.jobs[0].name
        found = {reading: row(problem, reading, args.no_caps) for reading in READINGS}
        for reading, (line, _) in found.items():
            (other,) = (plan for key, (_, plan) in found.items() if key != reading)
            print(
                f"{name[:33]:34}{problem.n:6}{problem.m:4}  {line}"
                f"{scored(problem, other, reading)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
