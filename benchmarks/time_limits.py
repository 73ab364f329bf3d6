"""Hard cases with small time limits: how many are exceeded by more than 10 % and 1 s.

    python benchmarks/time_limits.py [--load 4] [--limits 0.5 1 3] [--only WORD] [--most 200]

A case is one call: `solve` by each back end and for several objectives, with and without a plan,
small and far too large for its time, `balance`, `solve_fleet`, `prices`, `pareto`, and `edgeplace
solve` with settings. Each is run in a process of its own that has loaded its libraries already;
commands are timed from when they have read their arguments. With `--load N`, N processes compute
beside them, and end with this one.

Prints each call that is late, and how many there were. The target is 0.
"""

import argparse
import contextlib
import io
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import fleet as fleets

import edgeplace.report.solution
import edgeplace.solver.linear.cpsat
import edgeplace.solver.linear.highs  # noqa: F401
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.main import main as command
from edgeplace.instances.families import generate
from edgeplace.model import write
from edgeplace.solver import pareto, prices, solve
from edgeplace.solver.baselines import all_server
from edgeplace.solver.fleet import solve_fleet
from edgeplace.solver.problem import build
from edgeplace.solver.worker_load import balance

SHARE, GRACE_S = 1.1, 1.0
HUNG_S = 60.0
"""After which a call is ended from outside."""
Prepared = Callable[[float], Callable[[], object]]
"""Seconds allowed -> the call, with all it needs."""
Case = tuple[str, Prepared]

INSTANCES = (
    "scale-1000-1",
    "scale-1900-1",
    "scale-10000-1",
    "scale-30000-1",
    "multi-query-6-3",
    "multi-query-20-1",
    "infeasible-12-1",
    "infeasible-60-0",
    "infeasible-60-1",
    "infeasible-60-2",
    "latency-bound-12-1",
    "riotbench-40-1",
)
OBJECTIVES = (("wan", "latency", "server_cores"), ("latency", "wan"), ("throughput:2%", "wan"))
BALANCED = ("riotbench-4-0", "multi-query-6-3", "scale-1000-1", "scale-10000-1")
PRICED = ("riotbench-4-0", "multi-query-6-3", "scale-1000-1")
REPLICAS = (1_000, 10_000, 100_000)


def cases() -> Iterator[Case]:
    """Yield the calls by name."""
    for name in INSTANCES:
        for objective in OBJECTIVES:
            for backend in ("milp", "cp-sat"):
                yield (
                    f"solve {name} {','.join(objective)} {backend}",
                    _solve(name, objective, backend),
                )
    for name in BALANCED:
        yield f"balance {name}", _balance(name)
    for replicas in REPLICAS:
        yield f"fleet {replicas}", _fleet(replicas)
    for name in PRICED:
        yield f"prices {name}", _prices(name)
        yield f"pareto {name}", _pareto(name)
        for setting in ("", "node", "site"):
            yield f"command solve {name} {setting}", _command(name, setting)


def _solve(name: str, objective: tuple[str, ...], backend: str) -> Prepared:
    def call(seconds: float) -> Callable[[], object]:
        it = generate(name)
        return lambda: solve(
            it.jobs,
            it.cluster,
            it.rules,
            objective,
            it.current,
            time_limit_s=seconds,
            backend=backend,
        )

    return call


def _balance(name: str) -> Prepared:
    def call(seconds: float) -> Callable[[], object]:
        it = generate(name)
        return lambda: balance(it.jobs, it.cluster, time_limit_s=seconds)

    return call


def _fleet(replicas: int) -> Prepared:
    def call(seconds: float) -> Callable[[], object]:
        many = fleets.fleet(replicas, 1)
        return lambda: solve_fleet(many, time_limit_s=seconds, workers=2)

    return call


def _prices(name: str) -> Prepared:
    def call(seconds: float) -> Callable[[], object]:
        it = generate(name)
        found = solve(it.jobs, it.cluster, it.rules, ("wan",), time_limit_s=20.0)
        problem = build(it.jobs, it.cluster, it.rules)
        plan = found.plan or problem.plan(all_server(problem))
        return lambda: prices(it.jobs, it.cluster, plan, it.rules, time_limit_s=seconds)

    return call


def _pareto(name: str) -> Prepared:
    def call(seconds: float) -> Callable[[], object]:
        it = generate(name)
        return lambda: pareto(it.jobs, it.cluster, it.rules, time_limit_s=seconds)

    return call


def _command(name: str, setting: str) -> Prepared:
    def call(seconds: float) -> Callable[[], object]:
        it = generate(name)
        folder = Path(tempfile.mkdtemp())
        write(it.jobs[0], folder / "job.json")
        write(it.cluster, folder / "cluster.json")
        words = ["solve", str(folder / "job.json"), str(folder / "cluster.json")]
        if it.rules:
            write(it.rules, folder / "rules.json")
            words += ["--rules", str(folder / "rules.json")]
        words += ["--time-limit", str(seconds), "--report", str(folder / "report.html")]
        # What a command loads is loaded before its time counts.
        with contextlib.redirect_stdout(io.StringIO()):
            command([*words[:3], "--help"])
        lost = {"node": f"node:{it.cluster.nodes[0].id}=lost", "site": "site:site-0=lost"}
        words += ["--set", lost[setting]] if setting else []

        def run() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                status = command(words)
            if status == ExitStatus.INTERNAL_ERROR:
                raise RuntimeError("the command ended as a bug")

        return run

    return call


def _timed(case: Case, seconds: float, pipe: "multiprocessing.connection.Connection") -> None:
    """Prepare a call, make it, and send how long it took and what it ended with."""
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        call = case[1](seconds)
        pipe.send(("begins", 0.0))
        began = time.monotonic()
        call()
        pipe.send(("ended", time.monotonic() - began))
    except BaseException as e:
        pipe.send((f"{type(e).__name__}: {e}"[:200], 0.0))


def measured(case: Case, seconds: float) -> tuple[str, float]:
    """Return how a call ended, and after how long."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_timed, args=(case, seconds, theirs))
    process.start()
    try:
        said, took = ours.recv() if ours.poll(300) else ("not prepared in 300 s", 0.0)
        if said != "begins":
            return said, took
        return ours.recv() if ours.poll(seconds + HUNG_S) else ("hung", seconds + HUNG_S)
    finally:
        process.kill()
        process.join()


def _busy() -> None:
    """Compute until the parent is gone."""
    parent = os.getppid()
    while os.getppid() == parent:
        sum(i * i for i in range(100_000))


def main() -> None:
    """Make the calls, and print those that are late."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--load", type=int, default=0, help="processes that compute beside")
    parser.add_argument("--limits", type=float, nargs="+", default=[0.5, 1.0, 3.0])
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--most", type=int, default=10_000, help="calls at most, evenly chosen")
    options = parser.parse_args()
    multiprocessing.set_start_method("fork")
    calls = [
        (case, seconds) for case in cases() for seconds in options.limits if options.only in case[0]
    ]
    step = max(len(calls) / options.most, 1.0)
    calls = [calls[int(i * step)] for i in range(min(len(calls), options.most))]
    beside = [multiprocessing.Process(target=_busy, daemon=True) for _ in range(options.load)]
    for process in beside:
        process.start()
    late, failed, worst = 0, 0, 0.0
    try:
        for case, seconds in calls:
            said, took = measured(case, seconds)
            over = took - (SHARE * seconds + GRACE_S)
            worst = max(worst, over)
            late += over > 0
            failed += said != "ended"
            if over > 0 or said != "ended":
                print(f"{case[0]:<60} limit {seconds:g} s, took {took:.2f} s: {said}", flush=True)
    finally:
        for process in beside:
            process.kill()
    print(
        f"{len(calls)} calls beside {options.load} processes: {late} late by more than 10 % + 1 s, "
        f"the latest by {max(worst, 0.0):.2f} s more; {failed} ended otherwise"
    )


if __name__ == "__main__":
    main()
