"""What `edgeplace explain` costs at 10,000 subtasks, beside one evaluation of the same plan.

    python benchmarks/explain.py [INSTANCE]

The plan is that of the `all-server` policy. Figures are seconds of this process's processor time,
and how many evaluations they come to; `whole command` has Python's start, reading and printing.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from edgeplace.instances.families import generate
from edgeplace.model import write
from edgeplace.solver import evaluate, moves, policies, tightest, why


def seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def main(name: str) -> None:
    case = generate(name)
    jobs, cluster, rules = case.jobs, case.cluster, case.rules
    plan = next(p.plan for p in policies(jobs, cluster, rules) if p.name == "all-server")
    found = evaluate(jobs, cluster, plan, rules)
    subtask = f"filter (1/{jobs[0].operator('filter').parallelism})"
    once = seconds(lambda: evaluate(jobs, cluster, plan, rules))
    print(f"{name}: {case.subtasks} subtasks, {len(cluster.task_managers)} TaskManagers")
    for what, call in (
        ("evaluate", lambda: evaluate(jobs, cluster, plan, rules)),
        ("what binds", lambda: tightest(cluster, found, rules)),
        ("why", lambda: why(jobs, cluster, plan, rules)),
        ("other places of a subtask", lambda: moves(jobs, cluster, plan, subtask, rules)),
    ):
        took = seconds(call)
        print(f"{what:26} {took:6.2f} s {took / once:6.1f} evaluations")
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{part}.json") for part in ("job", "cluster", "plan", "rules")]
        for document, file in zip((jobs[0], cluster, plan, rules), files, strict=True):
            write(document, file)
        command = [sys.executable, "-m", "edgeplace", "explain", *files[:3], "--rules", files[3]]
        for what, more in (("whole command", []), ("... for a subtask", ["--subtask", subtask])):
            began = time.perf_counter()
            subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
            print(f"{what:26} {time.perf_counter() - began:6.2f} s of wall time")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "scale-10000-1")
