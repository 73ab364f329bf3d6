"""A ledger of a week: the time to add an hour's segment, and to answer from all of it.

    python benchmarks/ledger.py [--hours 168] [--interval 5]

The log is that of a job of 20 subtasks on 4 TaskManagers with a load that changes by the hour, a
checkpoint a minute and a poll each 5 s. Each hour is a segment, which `edgeplace costs SEGMENT
--ledger LEDGER` adds. Then `edgeplace costs LEDGER` answers for all of it, for the last day and for
the last two hours. All times are those of whole commands. Targets: an hour is added in 15 s, and a
week answers in 5 s after the start of the command, which is the time of its `--help`.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from edgeplace.adapters.flink.collect.poll import SUBTASK_METRICS, TASK_MANAGER_METRICS

JOB = "9339ac76019ab1be7e6d8e4d2f32a4c1"
VERTICES, PARALLELISM = 5, 4
IDS = [f"{0xA0 + v:032x}" for v in range(VERTICES)]
START_MS = 1_795_046_400_000
HOUR_MS = 3_600_000
CHECKPOINT_MS = 60_000
ADD_S, ANSWER_S = 15.0, 5.0


def records_by(ts_ms: int) -> float:
    """Return the records of a subtask since the start: the load goes up and down with the day."""
    hours = (ts_ms - START_MS) / HOUR_MS
    return 1e6 * (hours + 3 * math.sin(2 * math.pi * hours / 24))


def segment(hour: int, interval_ms: int) -> Iterator[tuple[int, str, object]]:
    """Yield time, path and answer of all that is asked in an hour."""
    dice = random.Random(hour)  # noqa: S311
    start = START_MS + hour * HOUR_MS
    names = [f"operator {v}" for v in range(VERTICES)]
    vertices = [
        {"id": i, "name": n, "parallelism": PARALLELISM} for i, n in zip(IDS, names, strict=True)
    ]
    nodes = [
        {"id": i, "inputs": [{"id": before, "ship_strategy": "HASH"}] if before else []}
        for i, before in zip(IDS, [None, *IDS], strict=False)
    ]
    yield start, f"/jobs/{JOB}", {"name": "pipeline", "vertices": vertices}
    yield start, f"/jobs/{JOB}/plan", {"plan": {"name": "pipeline", "nodes": nodes}}
    for ts_ms in range(start, start + HOUR_MS, interval_ms):
        records = records_by(ts_ms)
        for vertex in IDS:
            tasks = [
                {"subtask": s, "attempt": 0, "taskmanager-id": f"tm-{s}"}
                for s in range(PARALLELISM)
            ]
            yield ts_ms, f"/jobs/{JOB}/vertices/{vertex}", {"id": vertex, "subtasks": tasks}
            answer = [
                {"id": f"{s}.{metric}", "value": str(int(records * (1 + 0.01 * m)) + s)}
                for s in range(PARALLELISM)
                for m, metric in enumerate(SUBTASK_METRICS)
            ]
            dice.shuffle(answer)
            yield ts_ms, f"/jobs/{JOB}/vertices/{vertex}/metrics", answer
        for s in range(PARALLELISM):
            used = [
                {"id": metric, "value": str(int(1e4 * records + 1e6 * (ts_ms - START_MS)))}
                for metric in TASK_MANAGER_METRICS
            ]
            yield ts_ms, f"/taskmanagers/tm-{s}/metrics", used
        if (ts_ms - start) % CHECKPOINT_MS < interval_ms:
            number = (ts_ms - START_MS) // CHECKPOINT_MS
            for vertex in IDS:
                size = dice.randrange(1_000_000, 1_100_000)
                done = {"status": "COMPLETED", "state_size": size, "checkpointed_size": size}
                at = f"/jobs/{JOB}/checkpoints/details/{number}/subtasks/{vertex}"
                yield ts_ms, at, {"id": number, **done}


def write_segment(path: Path, hour: int, interval_ms: int) -> None:
    """Write the canonical log of an hour."""
    with path.open("w") as out:
        for ts_ms, at, answer in segment(hour, interval_ms):
            line = {"edgeplace_log": 1, "ts_ms": ts_ms, "path": at, "answer": answer}
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


def seconds_of(*arguments: str) -> float:
    """Return the seconds that a command of edgeplace takes."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "edgeplace", "-q", "costs", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def main() -> int:
    """Print the times; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=int, default=168)
    parser.add_argument("--interval", type=int, default=5, help="seconds between polls")
    options = parser.parse_args()
    added = []
    with tempfile.TemporaryDirectory() as scratch:
        ledger = Path(scratch) / "ledger"
        for hour in range(options.hours):
            log = Path(scratch) / f"metrics.{hour:04d}.jsonl"
            write_segment(log, hour, 1000 * options.interval)
            size = log.stat().st_size / 1e6
            added.append(seconds_of(str(log), "--ledger", str(ledger)))
            log.unlink()
        stored = sum(f.stat().st_size for f in ledger.iterdir()) / 1e6
        answers = {
            name: seconds_of(str(ledger), *last)
            for name, last in (
                ("all of it", ()),
                ("the last day", ("--last", "24h")),
                ("the last two hours", ("--last", "2h")),
            )
        }
    print(
        f"{options.hours} hours of {size:.0f} MB, added in {median(added):.1f} s each "
        f"(longest {max(added):.1f}, first {added[0]:.1f}, last {added[-1]:.1f}); "
        f"the ledger has {stored:.0f} MB"
    )
    start = seconds_of("--help")
    print(f"start of a command: {start:.1f} s")
    for name, seconds in answers.items():
        print(f"costs of {name}: {seconds:.1f} s")
    missed = (max(added) > ADD_S) + (answers["all of it"] - start > ANSWER_S)
    print("all targets hold" if not missed else f"{missed} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
