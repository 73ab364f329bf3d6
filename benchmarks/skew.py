"""Hot keys: what a split aggregate sustains beside stock Flink's keyBy, on paced workers.

    python benchmarks/skew.py [FLINK_RELEASE]        (make skew; needs a JDK 17)

Each worker takes so many records a second and sleeps in between, so that two cores can bear many of
them. Two sources send as fast as the workers let them. `hash` is `keyBy(...).window(...)
.aggregate(...)` on stock Flink with the same workers; `even` is a split aggregate without weights;
`weights` has each worker's speed as its weight, written to KEY.shares while the job runs.

Sustained is the number of records that all workers took in a second, over 15 s; the ideal is the
sum of their speeds. Partials beyond keys is how many more partials than keys a window had, in the
median: a checkpoint, every 5 s, sends those of its window twice. The bound beside it is
routers x (workers - 1). To effect is the time from the rename of the file until the report says
that all routers use it: the report is written once a second. Late is how long after the end of its
window the last result of a window was sent, with sources at 80 % of the ideal. The rule's cost is
its processor time in a loop, without Flink.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import split_site  # noqa: E402 - it is in this folder

from testbed.flink.agent_cluster import AgentCluster  # noqa: E402 - it is beside this folder
from testbed.flink.agent_jar import JAR as AGENT  # noqa: E402
from testbed.flink.home import FLINK_VERSION, flink_home  # noqa: E402
from testbed.flink.job_jar import compile_job  # noqa: E402
from testbed.flink.local_cluster import TaskManagerSpec  # noqa: E402
from testbed.flink.split_jar import JAR as SPLIT  # noqa: E402

ROUTERS = 2
WARM_UP_S, MEASURE_S = 6.0, 15.0
MILD_WARM_UP_S = 90.0
"""Until Flink's buffers are full where the fullest worker is only some percent above its share."""
LATE_SHARE = 0.8
TASK_MANAGER = TaskManagerSpec("workers", "127.0.0.1", slots=70, process_memory="1500m")
JAVA = ROOT / "benchmarks" / "split" / "dev" / "edgeplace" / "flink" / "split"
ALIKE_4, UNLIKE_4 = (10_000,) * 4, (5_000, 5_000, 15_000, 15_000)
ALIKE_16, UNLIKE_16 = (2_500,) * 16, (1_250,) * 8 + (3_750,) * 8
UNLIKE_64 = (312,) * 32 + (938,) * 32


@dataclass(frozen=True)
class SkewedStream:
    """A stream and its workers."""

    rates: tuple[int, ...]
    keys: int = 10_000
    zipf: float = 1.5
    drift_ms: int = 0
    per_second: float | None = None
    warm_up_s: float = WARM_UP_S

    @property
    def name(self) -> str:
        speeds = "alike" if len(set(self.rates)) == 1 else "unlike"
        drift = f", drift {self.drift_ms / 1000:.0f} s" if self.drift_ms else ""
        return f"P {len(self.rates)} {speeds}, {self.keys:,} keys, Zipf {self.zipf}{drift}"


CASES = {
    SkewedStream(ALIKE_4, keys=100): ("hash", "even"),
    SkewedStream(UNLIKE_4, keys=100): ("hash", "even", "weights"),
    SkewedStream(ALIKE_16, zipf=0.5, warm_up_s=MILD_WARM_UP_S): ("hash", "even"),
    SkewedStream(ALIKE_16, zipf=1.0): ("hash", "even"),
    SkewedStream(ALIKE_16): ("hash", "even"),
    SkewedStream(ALIKE_16, zipf=2.0): ("hash", "even"),
    SkewedStream(ALIKE_16, drift_ms=3000): ("hash", "even"),
    SkewedStream(UNLIKE_16): ("hash", "even", "weights"),
    SkewedStream(UNLIKE_16, drift_ms=3000): ("hash", "weights"),
    SkewedStream(UNLIKE_64, drift_ms=3000): ("hash", "weights"),
}
"""The modes of each case, which are measured one after the other."""
LATE = SkewedStream(ALIKE_16, per_second=LATE_SHARE * sum(ALIKE_16) / ROUTERS)


def main() -> None:
    home = flink_home(*sys.argv[1:])
    version = (sys.argv[1:] or [FLINK_VERSION])[0]
    print(f"Flink {version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    with AgentCluster(home, AGENT, task_managers=(TASK_MANAGER,), ha=False) as flink:
        print("| case | hash | even | weights | partials beyond keys (bound) | to effect | load |")
        print("|---|---|---|---|---|---|---|")
        for number, case in enumerate(CASES):
            print(side_by_side(flink, case, f"case-{number}"), flush=True)
        print("\n| at 80 % of the ideal | late p50 | p99 |\n|---|---|---|")
        for mode in ("hash", "even"):
            print(late(flink, LATE, mode), flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f} at the end of it\n")
    print(rule_cost(home), "\n")
    print(combine_heap(home), "\n")
    site_of_pis()


def site_of_pis() -> None:
    """Run the site of four Pis under CPU quotas behind a WAN, or say what it lacks."""
    lacks = split_site.lacks()
    if lacks:
        print(f"not run, a site of four Pis behind a WAN (benchmarks/split_site.py): {lacks}")
    else:
        split_site.main()


def started(flink: AgentCluster, case: SkewedStream, mode: str, folder: Path) -> str:
    folder.mkdir()
    job: str = flink.submit(
        "SkewedCount",
        f"mode={'hash' if mode == 'hash' else 'split'}",
        f"rates={','.join(map(str, case.rates))}",
        f"keys={case.keys}",
        f"zipf={case.zipf}",
        f"drift-ms={case.drift_ms}",
        f"per-second={case.per_second or 'max'}",
        f"out={folder}",
        libraries=[SPLIT],
    )
    flink.wait_for_running(job)
    return job


def ended(flink: AgentCluster, job: str) -> None:
    flink.rest.cancel(job)
    flink.wait_until(lambda: flink.rest.state(job) == "CANCELED", "end of the job")


@dataclass(frozen=True)
class Measured:
    """What a case did in one mode; `to_effect_s` only with weights."""

    share: float
    partials_beyond_keys: float
    to_effect_s: float | None


def side_by_side(flink: AgentCluster, case: SkewedStream, name: str) -> str:
    """Return the row of a case: each of its modes, one after the other."""
    of = {mode: measured(flink, case, mode, f"{name}-{mode}") for mode in CASES[case]}
    shares = " | ".join(
        f"{of[mode].share:.3f}" if mode in of else "" for mode in ("hash", "even", "weights")
    )
    split = of.get("weights") or of["even"]
    effect = "" if split.to_effect_s is None else f"{split.to_effect_s:.1f} s"
    bound = ROUTERS * (len(case.rates) - 1)
    return (
        f"| {case.name} | {shares} | {split.partials_beyond_keys:.0f} ({bound}) | {effect} | "
        f"{os.getloadavg()[0]:.1f} |"
    )


def measured(flink: AgentCluster, case: SkewedStream, mode: str, name: str) -> Measured:
    folder = flink.cluster.scratch / name
    job = started(flink, case, mode, folder)
    effect = time_to_effect(flink, job, case.rates) if mode == "weights" else None
    time.sleep(case.warm_up_s + MEASURE_S + 1)
    end = time.time() - 1
    ended(flink, job)
    per_second = sum(rate(file, end) for file in folder.glob("worker-*"))
    rows = windows(folder, case.warm_up_s)
    beyond = float(np.median(rows[:, 2] - rows[:, 1]))
    return Measured(per_second / sum(case.rates), beyond, effect)


def rate(file: Path, end: float) -> float:
    """Return the records that a worker took in a second, over the time measured."""
    rows = np.loadtxt(file, ndmin=2)
    first, last = np.interp(1000 * np.array([end - MEASURE_S, end]), rows[:, 0], rows[:, 1])
    return float(last - first) / MEASURE_S


def windows(folder: Path, warm_up_s: float) -> np.ndarray:
    """Return lateness, keys and partials of the windows behind the warm-up."""
    files = [np.loadtxt(file, ndmin=2) for file in folder.glob("windows-*")]
    return np.concatenate([rows[int(warm_up_s) // 2 :] for rows in files])


def time_to_effect(flink: AgentCluster, job: str, weights: tuple[int, ...]) -> float:
    flink.wait_until(lambda: flink.keys(job) is not None, "a report")
    n = len(weights)
    lines = "".join(f"combine ({i}/{n}); {w}\n" for i, w in enumerate(weights, 1))
    begin = time.monotonic()
    sha256 = flink.write_plan_file(f"{job}.shares", lines.encode())
    while True:
        said = flink.keys(job)
        assert said is not None
        if said["used_sha256"] == sha256 and said["splits"][0]["routers_following"] == ROUTERS:
            return time.monotonic() - begin
        assert time.monotonic() - begin < 60, said
        time.sleep(0.02)


def late(flink: AgentCluster, case: SkewedStream, mode: str) -> str:
    folder = flink.cluster.scratch / f"late-{mode}"
    job = started(flink, case, mode, folder)
    time.sleep(WARM_UP_S + 2 * MEASURE_S)
    ended(flink, job)
    found = windows(folder, WARM_UP_S)[:, 0]
    p50, p99 = np.quantile(found, [0.5, 0.99])
    return f"| {case.name}, {mode} | {p50:,.0f} ms | {p99:,.0f} ms |"


def rule_cost(home: Path) -> str:
    rows = said_by("RuleCost", home)
    costs = [f"| {row[0]} | {row[1]} | {row[2]} ns |" for row in rows if len(row) == 3]
    heap = [f"{row[0]}: {int(row[1]) / 1000:,.0f} kB" for row in rows if len(row) == 2]
    head = "| workers | Zipf | rule's cost of a record |\n|---|---|---|\n"
    return f"{head}{chr(10).join(costs)}\n\nheap of a rule after 1 million keys, by workers: " + (
        ", ".join(heap)
    )


def combine_heap(home: Path) -> str:
    rows = [
        f"| {accumulator} | {int(most):,} | {int(heap) / 1e6:,.1f} MB |"
        for accumulator, most, heap in said_by("CombineHeap", home)
    ]
    head = "| accumulator | atMostKeys | heap of combine, 1 million keys |\n|---|---|---|\n"
    return head + "\n".join(rows)


def said_by(name: str, home: Path) -> list[list[str]]:
    """Run a class beside the jar's, and return the words of each line that it prints."""
    with tempfile.TemporaryDirectory() as scratch:
        main_class = f"dev.edgeplace.flink.split.{name}"
        jar = compile_job(JAVA / f"{name}.java", main_class, home, Path(scratch), [SPLIT])
        # Three of four collections may leave dead objects where they are, and heap is measured.
        compact = "-XX:MarkSweepAlwaysCompactCount=1"
        options = ("-Xmx512m", "-XX:+UseSerialGC", compact, "-cp", f"{jar}:{home}/lib/*")
        command = ["java", *options, main_class]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split() for line in said.splitlines()]


if __name__ == "__main__":
    main()
