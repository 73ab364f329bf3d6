"""What `edgeplace control run` itself takes: processor, memory, and journal.

    python benchmarks/control_cost.py [--minutes 5]

The loop watches a job of five subtasks on a Flink of memory (`tests/support/fake_flink.py`), as
often as it does by default, and somebody asks for its metrics each 15 s. Processor seconds are
those of the loop's process after its first minute, so that other work on the machine does not
count. The solver is not asked: this is what the loop takes between decisions.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.fake_flink import FakeFlink  # noqa: E402
from tests.support.fake_job import now_ms  # noqa: E402

CLUSTER = """\
sites: [{id: field}, {id: hall, tier: cloud}]
nodes:
  - {id: pi-1, site: field, node_class: pi, cores: 4, slots: 2}
  - {id: pi-2, site: field, node_class: pi, cores: 4, slots: 2}
  - {id: pi-3, site: field, node_class: pi, cores: 4, slots: 2}
  - {id: server, site: hall, node_class: server, cores: 16, slots: 4}
links: [{source: field, target: hall, delay_ms: 5, bandwidth_bytes_per_s: 1000000, both_ways: true}]
"""
WEEK_S = 7 * 86_400
PORT = 19_550


def processor_s(pid: int) -> float:
    """Return the processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """Return the most memory that a process has held, in 10^6 bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, FakeFlink(None) as flink:
        folder = Path(name)
        flink.metrics |= {"backPressuredTimeMsPerSecond": "0"}
        flink.jobs[0].deployed_ms = now_ms() - 3_600_000
        (folder / "cluster.yaml").write_text(CLUSTER)
        (folder / "control.yaml").write_text(
            f"jobmanager: {flink.url}\njob: wordcount\ncluster: cluster.yaml\n"
            f"listen: 127.0.0.1:{PORT}\nsurvive: [hall]\n"
        )
        command = [sys.executable, "-m", "edgeplace", "control", "run", "control.yaml"]
        loop = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            time.sleep(60)
            journal = folder / "control" / "journal.jsonl"
            began = time.monotonic(), processor_s(loop.pid), journal.stat().st_size
            while time.monotonic() < began[0] + 60 * args.minutes:
                time.sleep(15)
                with urlopen(f"http://127.0.0.1:{PORT}/metrics") as answer:
                    answer.read()
            span_s = time.monotonic() - began[0]
            used_s = processor_s(loop.pid) - began[1]
            grown = journal.stat().st_size - began[2]
            print(f"processor: {used_s / span_s:.2%} of a core ({used_s:.2f} s in {span_s:.0f} s)")
            print(f"memory: {memory_mb(loop.pid):.0f} MB at most")
            print(f"journal: {grown / span_s * WEEK_S / 1e6:.1f} MB a week")
        finally:
            loop.send_signal(signal.SIGTERM)
            loop.wait(60)


if __name__ == "__main__":
    main()
