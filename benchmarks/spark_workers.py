"""One Spark worker against two: `edgeplace costs --master` on a standalone cluster.

    python benchmarks/spark_workers.py [--millions 30] [--rounds 1] [--quota 0.6]

A master and two workers of one core each run on the loopback interface of this machine. Each round
has the same log measured by an application of one core, which runs on one worker, and of two, which
runs on both. The seconds are those of the whole command, with the start of Spark. The costs must be
equal to the last digit. Target: two workers are at least 1.6 times as fast as one.

Executors have Spark's default of 1 GB. The driver and the master need a core, too. With `--quota`,
each worker with its executor has so many cores (by the kernel's cgroups, needs root), as if it were
a machine of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.spark_stats import write_log  # noqa: E402

from testbed.network.cpu_quota import CpuQuotas  # noqa: E402
from tests.support.spark_cluster import SparkCluster  # noqa: E402

TARGET = 1.6


def seconds_with(cores: int, master: str, log: Path, out: Path) -> float:
    """Return how long the whole command takes on so many workers."""
    conf = {
        "spark.cores.max": str(cores),
        "spark.executor.cores": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
    }
    options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-m", "edgeplace", "costs", str(log), "--master", master, *options]
    start = time.perf_counter()
    subprocess.run([*command, "-o", str(out)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Print a table of times; return 1 if the target is missed or the costs differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--quota", type=float, help="cores of each worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as ending:
        folder = Path(scratch)
        log = folder / "log.jsonl"
        values = write_log(log, int(1e6 * options.millions), 0)
        print(f"{values:,} values, {log.stat().st_size / 1e6:,.0f} MB")
        cluster = SparkCluster(folder, worker_memory="1g")
        ending.callback(cluster.end)
        if options.quota:
            quotas = ending.enter_context(CpuQuotas())
            for name in ("worker-0", "worker-1"):
                quotas.create(name)
                quotas.limit(name, options.quota)
                quotas.add(name, cluster.processes[name].pid)
        best: dict[int, float] = {}
        for _ in range(options.rounds):
            for cores in (1, 2):
                seconds = seconds_with(cores, cluster.master, log, folder / f"{cores}.json")
                best[cores] = min(seconds, best.get(cores, seconds))
        equal = (folder / "1.json").read_bytes() == (folder / "2.json").read_bytes()
    gain = best[1] / best[2]
    print(f"one worker {best[1]:.1f} s, two workers {best[2]:.1f} s: {gain:.2f} times as fast")
    print("the costs are equal" if equal else "THE COSTS DIFFER")
    print("the target holds" if gain >= TARGET else f"target of {TARGET} missed")
    return 0 if equal and gain >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
