"""Time of `edgeplace costs`, the whole command, without Spark against Spark on this machine.

    python benchmarks/without_spark.py [--megabytes 10 100] [--rounds 3]

Each round runs both commands, one after the other, on the demo's log and on canonical logs of these
sizes. The costs must be equal to the last digit. Targets: the demo's log in 3 s on an idle machine,
the first line of `edgeplace demo` in 2 s, a log of 100 MB in less than 1 GB of memory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from edgeplace.instances import path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.spark_stats import write_log  # noqa: E402

VALUES_A_MEGABYTE = 17_500
COMMAND = (sys.executable, "-m", "edgeplace")
WAYS = {"without": (), "Spark": ("--master", "local[2]")}


def ran(arguments: Sequence[str]) -> tuple[float, float, str]:
    """Return seconds, megabytes of the process at most, and what a command says."""
    start = time.perf_counter()
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return time.perf_counter() - start, used.ru_maxrss / 1e3, said


def first_line_s() -> float:
    """Return the seconds to the first line of the demo."""
    start = time.perf_counter()
    with subprocess.Popen([*COMMAND, "demo"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - start
        process.stdout.read()
    return seconds


def main() -> int:
    """Print a table; return 1 if costs differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="*", default=[10.0, 100.0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as scratch:
        logs = {"demo": path("demo/metrics.jsonl.gz")}
        for megabytes in options.megabytes:
            log = Path(scratch) / f"{megabytes:g} MB.jsonl"
            # A little less: larger logs go to Spark.
            write_log(log, int(0.9 * megabytes * VALUES_A_MEGABYTE), 0)
            logs[log.stem] = log
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"{'log':>8} {'MB':>7} {'without s':>10} {'MB used':>8} {'Spark s':>8} {'ratio':>6}")
        for name, log in logs.items():
            best: dict[str, float] = {}
            most, costs = 0.0, set()
            for _ in range(options.rounds):
                for way, more in WAYS.items():
                    seconds, used, said = ran(["costs", str(log), "--json", *more])
                    best[way] = min(seconds, best.get(way, seconds))
                    most = max(most, used) if way == "without" else most
                    costs.add(said)
            different += len(costs) > 1
            print(
                f"{name:>8} {log.stat().st_size / 1e6:>7.1f} {best['without']:>10.2f} {most:>8.0f} "
                f"{best['Spark']:>8.2f} {best['Spark'] / best['without']:>6.1f}"
            )
    first = min(first_line_s() for _ in range(options.rounds))
    print(f"first line of the demo after {first:.2f} s")
    print("all costs are equal" if not different else f"{different} logs have different costs")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
