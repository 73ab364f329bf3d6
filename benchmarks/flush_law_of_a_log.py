"""The flush law from one log of a real Flink job whose rate changes.

    python benchmarks/flush_law_of_a_log.py [--seconds 130] [--rates 60 400 2500 9000] [--keep FILE]

The script runs the headline's word count on a local Flink, changes the rate of its sources while
`edgeplace` collects the metric log, and makes costs of the log as `edgeplace costs --flushes` does.
It prints what the combiner put out at each rate, and what the other rates say of it, with the law
and without: q-errors, the larger one of predicted / measured and measured / predicted. A second log
has a rate that no fit has seen.
"""

import argparse
import gzip
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from edgeplace.adapters.flink.collect.poll import Poller
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.model.laws.by_rate import selectivity_at
from edgeplace.model.laws.flush import Gathering
from edgeplace.spark_stats import measure
from edgeplace.spark_stats.laws import fitted, held_out

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from testbed.experiments.workloads import WORKLOADS, compile_workloads  # noqa: E402
from testbed.flink.home import flink_home  # noqa: E402
from testbed.flink.local_cluster import LocalCluster, TaskManagerSpec  # noqa: E402

POLL_SECONDS = 5.0
SETTINGS = {"metrics.fetcher.update-interval": "2500 ms"}
FLUSHES = {"combine": Gathering(interval_s=1, records=20_000, keys_per_record=10)}


def record(log: Path, rates: list[float], seconds: float) -> None:
    """Write the log of a job with these records/s of each source, one after the other."""
    [word_count] = [w for w in WORKLOADS if w.name == "word-count"]
    home = flink_home()
    worker = TaskManagerSpec("worker", "127.0.0.41", slots=2, process_memory="1200m")
    with LocalCluster(home, [worker], SETTINGS) as cluster, gzip.open(log, "wb") as out:
        jar = cluster.rest.upload(compile_workloads(home, cluster.scratch))
        rate_file = cluster.scratch / "rate"
        rate_file.write_text(str(rates[0]))
        arguments = [f"out={cluster.scratch}", f"rate-file={rate_file}", "parallelism=2"]
        job = cluster.rest.run(jar, arguments, main_class=word_count.main_class)
        cluster.wait_until(lambda: cluster.rest.state(job) == "RUNNING", "start of the job", 60)
        time.sleep(10)
        with FlinkClient(cluster.rest.url) as client, ThreadPoolExecutor(1) as pool:
            poller = Poller(client, job, 1.0, pool)
            for rate in rates:
                rate_file.write_text(str(rate))
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    next_poll = time.monotonic() + POLL_SECONDS
                    out.write(poller.poll(describe=False).lines)
                    time.sleep(max(0.0, next_poll - time.monotonic()))
        cluster.rest.cancel(job)


def show(log: Path, unseen: Path) -> None:
    """Print the law of the log, its errors, and those at the rate of another log."""
    costs = measure([log], None, flushes=FLUSHES).costs
    named = {op.operator: op.name.split()[0] for op in costs.operators}
    [found] = [s for s in costs.streams if named[s.source] == "combine"]
    law, seen = found.flush_law, found.by_rate
    if law is None:
        print("no law:", *found.notes)
        return
    print(f"law: {law.form}, {law.keys:,.0f} keys, shape {law.shape:.3f}")
    without = held_out(seen, lambda others: None)
    print("records/s into a subtask, records out per record, q without the law, with its form")
    form = held_out(seen, lambda others: fitted(law.gathering, law.form, others))
    for at, no, yes in zip(seen, without, form, strict=True):
        print(f"{at.rate_per_s:10,.0f} {at.selectivity:8.4f} {no.q:6.2f} {yes.q:6.2f}")
    other = measure([unseen], None).costs
    [met] = [s for s in other.streams if s.source == found.source]
    demand = next(op.demand for op in other.operators if op.demand)
    rate = sum(demand.rates_per_s) / len(demand.rates_per_s)
    for way, said in (("with", law), ("without", None)):
        predicted = selectivity_at(rate, seen, said)
        if predicted is None or met.selectivity is None:
            print(f"unseen {rate:,.0f} records/s: {way} the law nothing is predicted")
            continue
        q = max(predicted / met.selectivity, met.selectivity / predicted)
        print(f"unseen {rate:,.0f} records/s: {way} the law q {q:.3f}")


def main() -> None:
    """Record, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=130)
    parser.add_argument("--rates", type=float, nargs="+", default=[60, 400, 2500, 9000])
    parser.add_argument("--unseen", type=float, default=1000)
    parser.add_argument("--keep", type=Path, help="folder for the two logs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        log, unseen = folder / "rates.jsonl.gz", folder / "unseen.jsonl.gz"
        record(log, args.rates, args.seconds)
        record(unseen, [args.unseen], args.seconds)
        show(log, unseen)


if __name__ == "__main__":
    main()
