"""Time from metric log to costs, against what Spark needs to parse and count the same log.

    python benchmarks/spark_stats.py [--millions 1 10] [--rounds 3] [--bad-lines N]

Both run side by side in one session on local[2] with a driver of 1 GB. Targets: costs take at most
3 times the parse at up to a million values, 2.5 times above; ten times the log takes at most 11
times as long. Of the largest log, the script also prints how long each step takes with all steps
before it: the parse with what our lines need more, the rows of single values, one row for each
subtask and time, differences between these, and sums.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from edgeplace.adapters.flink.collect.poll import SUBTASK_METRICS
from edgeplace.spark_stats import measure
from edgeplace.spark_stats.by_spark import find_log, long_tables
from edgeplace.spark_stats.counter_deltas import deltas, sums_with_minutes
from edgeplace.spark_stats.session import local_session
from edgeplace.spark_stats.wide_table import wide_rows

JOB = "9339ac76019ab1be7e6d8e4d2f32a4c1"
VERTICES, PARALLELISM, PERIOD_MS = 5, 16, 5000


def write_log(path: Path, values: int, bad_lines: int, seed: int = 0) -> int:
    """Write a canonical log of a running pipeline; return the number of metric values in it."""
    dice = random.Random(seed)  # noqa: S311
    per_poll = VERTICES * PARALLELISM * len(SUBTASK_METRICS)
    polls = max(values // per_poll, 2)
    ids = [f"{0xA0 + v:032x}" for v in range(VERTICES)]
    names = [f"operator {v}" for v in range(VERTICES)]
    with path.open("w") as out:

        def write(ts_ms: int, at: str, answer: object) -> None:
            line = {"edgeplace_log": 1, "ts_ms": ts_ms, "path": at, "answer": answer}
            out.write(json.dumps(line, separators=(",", ":")) + "\n")

        vertices = [
            {"id": i, "name": n, "parallelism": PARALLELISM}
            for i, n in zip(ids, names, strict=True)
        ]
        nodes = [
            {"id": i, "inputs": [{"id": before, "ship_strategy": "HASH"}] if before else []}
            for i, before in zip(ids, [None, *ids], strict=False)
        ]
        write(0, f"/jobs/{JOB}", {"name": "pipeline", "vertices": vertices})
        write(0, f"/jobs/{JOB}/plan", {"plan": {"name": "pipeline", "nodes": nodes}})
        for poll in range(polls):
            ts_ms = 1_795_225_900_000 + poll * PERIOD_MS
            for number, vertex in enumerate(ids):
                tasks = [
                    {"subtask": s, "attempt": 0, "taskmanager-id": f"tm-{s % 8}"}
                    for s in range(PARALLELISM)
                ]
                at = f"/jobs/{JOB}/vertices/{vertex}"
                write(ts_ms, at, {"id": vertex, "subtasks": tasks})
                answer = [
                    {"id": f"{s}.{metric}", "value": str((poll + 1) * (1000 + 37 * m + s + number))}
                    for s in range(PARALLELISM)
                    for m, metric in enumerate(SUBTASK_METRICS)
                ]
                dice.shuffle(answer)
                write(ts_ms + number, f"{at}/metrics", answer)
            for _ in range(bad_lines // polls):
                out.write('{"edgeplace_log":1,"ts_ms":17952259\n')
    return polls * per_poll


def parse_and_count(spark: SparkSession, log: Path) -> int:
    """Parse each line and count the metric values: the least that any reader has to do."""
    schema = "ts_ms BIGINT, path STRING, answer ARRAY<STRUCT<id: STRING, value: STRING>>"
    lines = spark.read.text(str(log)).select(F.from_json("value", schema).alias("line"))
    items = lines.select("line.path", F.explode("line.answer").alias("item"))
    row = items.agg(F.count("path"), F.count("item.id"), F.count("item.value")).first()
    return row[2] if row else 0


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def steps(spark: SparkSession, log: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each step of a measurement, with all steps before it; all columns are computed."""
    long = long_tables(spark, find_log([log], spark))
    wide = wide_rows(long)
    differences = deltas(wide)
    for name, table in (
        ("rows of single values", long),
        ("rows of subtasks and times", wide),
        ("differences", differences),
        ("sums", sums_with_minutes(differences)),
    ):
        yield name, table.write.format("noop").mode("overwrite").save


def main() -> int:
    """Print a table of times; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bad-lines", type=int, default=0)
    options = parser.parse_args()
    spark = local_session("2", "1g")
    best: dict[float, float] = {}
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        print(f"{'values':>12} {'MB':>7} {'parse s':>9} {'costs s':>9} {'ratio':>6}")
        for millions in options.millions:
            log = Path(scratch) / f"{millions}.jsonl"
            values = write_log(log, int(1e6 * millions), options.bad_lines)
            # The first round also warms the JVM up, and counts for neither.
            pairs = [
                (
                    timed(lambda: parse_and_count(spark, log)),  # noqa: B023
                    timed(lambda: measure([log], None, spark=spark)),  # noqa: B023
                )
                for _ in range(options.rounds + 1)
            ][1:]
            parse, costs = min(p for p, _ in pairs), min(c for _, c in pairs)
            best[millions] = costs
            missed += costs > (3 if millions <= 1 else 2.5) * parse
            size = log.stat().st_size / 1e6
            print(f"{values:>12,} {size:>7.0f} {parse:>9.2f} {costs:>9.2f} {costs / parse:>6.2f}")
            if millions == max(options.millions):
                for name, work in steps(spark, log):
                    seconds = min(timed(work) for _ in range(options.rounds))
                    print(f"{name:>30} {seconds:>9.2f} s")
            if options.bad_lines:
                bad = measure([log], None, spark=spark).quarantine
                seconds = timed(lambda: sum(1 for _ in bad.lines()))  # noqa: B023
                print(f"{len(bad):,} bad lines, numbered in {seconds:.1f} s")
            log.unlink()
    for millions in sorted(best.keys() & {10 * each for each in best}):
        growth = best[millions] / best[millions / 10]
        missed += growth > 11
        print(f"{millions:g} million values take {growth:.1f} times as long as a tenth of them")
    print("all targets hold" if not missed else f"{missed} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
