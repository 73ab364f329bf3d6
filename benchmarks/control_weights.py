"""The loop gives a running job other weights when the rate outgrows the weights in force.

    sudo python benchmarks/control_weights.py        (Linux, cgroup v1, JDK 17; 7 min)

The job is that of `split_site.py`: four Pis of unlike speed, each with a source and a combiner, and
even weights. `edgeplace flink collect` and `costs` measure it at three rates. Then
`edgeplace control run` watches it, and may apply. The rate rises to what even weights do not bear
and others do. Printed: what the loop decided and why, when every router followed, what the sources
emitted before and after, and the WAN bytes that were predicted and seen.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.split_site import LAYOUT, MEASURED, WIDE, PlacedForm, say  # noqa: E402

from edgeplace import Rules  # noqa: E402
from edgeplace.adapters.flink.plans import PlansFolder  # noqa: E402
from edgeplace.adapters.flink.split import read_keys_report  # noqa: E402
from edgeplace.model import Pin, write  # noqa: E402
from testbed.experiments.policies import over, sinks, sustained_per_subtask  # noqa: E402
from testbed.flink.home import FLINK_VERSION, flink_home  # noqa: E402
from testbed.flink.job_jar import compile_own_job  # noqa: E402
from testbed.flink.local_cluster import JOB_MANAGER  # noqa: E402
from testbed.flink.split_jar import JAR as SPLIT  # noqa: E402
from testbed.world import CLOUD, World  # noqa: E402

Found = TypeVar("Found")
LOW, HIGH = 0.5, 1.4
"""Of what even weights should sustain."""
WATCHED_S = 120.0
STARTS_S = 120.0


def main() -> None:
    home = flink_home()
    with World(home, WIDE, LAYOUT) as world:
        say(f"Flink {FLINK_VERSION}, load {os.getloadavg()[0]:.1f}")
        jar = world.cluster.rest.upload(
            compile_own_job("SplitReadings", home, world.cluster.scratch, [SPLIT])
        )
        spread = PlacedForm(world, jar, "spread")
        job = spread.costs([spread.recorded(offered) for offered in MEASURED])
        cluster = over(spread.found.cluster, WIDE.mbit_per_s)
        per_source, limit = sustained_per_subtask(job, cluster, spread.plan)
        even = per_source * len(job.sources()[0].born_at or ())
        say(f"even weights should sustain {even:,.0f}/s ({limit.binding and limit.binding.where})")
        write(spread.found.cluster, spread.folder / "loop-cluster.json")
        pins = Pin(operators=tuple(op.id for op in sinks(job)), to=CLOUD)
        write(Rules(rules=(pins,)), spread.folder / "rules.json")
        before = spread.watch(LOW * even, 3)
        with controlled(spread, job.name) as journal:
            wait_for(lambda: _read_weights(journal), "the loop to read the weights")
            stepped = time.time()
            spread.rate(HIGH * even)
            say(f"offered {HIGH * even:,.0f}/s")
            folder = PlansFolder(world.cluster.conf_dir(JOB_MANAGER) / "edgeplace")
            given = wait_for(lambda: _followed(folder, spread.id), "other weights")
            say(f"all routers follow {given} {time.time() - stepped:.1f} s after the step")
            time.sleep(20)
            after = spread.watch(HIGH * even, 5)
        for line in journal.read_text().splitlines():
            said = json.loads(line)
            if "weights" in str(said.get("says", "")):
                say(f"journal: {said['says']}")
        spread.end()
    print(
        f"\nload {os.getloadavg()[0]:.1f} at the end\n"
        f"before: {before.records_per_s:,.0f}/s of {LOW * even:,.0f} offered\n"
        f"after: {after.records_per_s:,.0f}/s of {HIGH * even:,.0f} offered, "
        f"WAN {after.wan_bytes_per_s / 1000:,.1f} kB/s"
    )


def wait_for(found: Callable[[], Found], what: str) -> Found:
    """Return what is found within the time, or end."""
    deadline = time.monotonic() + WATCHED_S
    while not (it := found()):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {WATCHED_S:.0f} s for {what}")
        time.sleep(0.2)
    return it


def _read_weights(journal: Path) -> bool:
    """Say whether the loop has polled the job, and which weights its routers follow."""
    if not journal.exists():
        return False
    whole = journal.read_text().rpartition("\n")[0].splitlines()
    return any(json.loads(line)["event"].get("weights") for line in whole)


def _followed(folder: PlansFolder, job_id: str) -> tuple[float, ...]:
    """Return the weights that all routers follow; empty while they are even."""
    report = read_keys_report(folder, job_id)
    [split] = report.splits if report else []
    follow = split.weights and split.routers_following == split.routers
    return next(iter(split.weights.values())) if split.weights and follow else ()


@contextmanager
def controlled(spread: PlacedForm, job_name: str) -> Iterator[Path]:
    """Run the loop while the block runs; yields its journal."""
    settings = {
        "jobmanager": spread.world.url,
        "job": job_name,
        "cluster": "loop-cluster.json",
        "costs": "costs.json",
        "rules": "rules.json",
        "mode": "apply",
        "settle_s": 15,
    }
    file = spread.folder / "control.yaml"
    file.write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "edgeplace", "control", "run", str(file), "--i-know"]
    told = spread.folder / "control.log"
    with told.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as loop:
        try:
            yield spread.folder / "control" / "journal.jsonl"
        finally:
            loop.send_signal(signal.SIGTERM)
            loop.wait(STARTS_S)
            print(told.read_text())


if __name__ == "__main__":
    main()
