"""What a move and a change of parallelism cost where state crosses a thin WAN.

    python benchmarks/state_over_wan.py [FLINK_RELEASE]

Two sites with a TaskManager each and a cloud with the JobManager and the checkpoint storage, 25 ms
apart, as network namespaces: what is checkpointed and read back crosses the WAN. A job counts per
key, with four subtasks at each site; RocksDB's checkpoints are incremental. Three changes: one of
the eight subtasks moves to the other site, with local recovery and without; six subtasks instead of
eight, for which all their state is read back. Needs root and a JDK 17.

Taken is the time from writing the plan until REST shows every subtask where it is planned. Of it,
the pause is the time from the first subtask that is cancelled until the last one runs again, from
the JobManager's log; before it, the job runs on while it takes a checkpoint. State is that of the
subtask that moved, or of all where all is read back. Read back is what the TaskManagers read from
the checkpoint storage; to the sites is all that the links to both sites carried meanwhile,
Flink's messages included.
"""

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.flink.agent_cluster import AgentCluster  # noqa: E402 - it is beside this folder
from testbed.flink.config import QUICK  # noqa: E402
from testbed.flink.home import flink_home  # noqa: E402
from testbed.flink.local_cluster import JOB_MANAGER, JobManagerSpec, TaskManagerSpec  # noqa: E402
from testbed.network.file_server import file_server  # noqa: E402
from testbed.network.namespaces import Host, Namespaces  # noqa: E402
from testbed.scratch import scratch_folder  # noqa: E402
from testbed.world import Wan  # noqa: E402

AGENT = ROOT / "adapters" / "flink" / "agent" / "edgeplace-flink-agent.jar"
CLOUD, STORAGE = "cloud", "storage"
MACHINES = {"pi-lyon": "lyon", "pi-nice": "nice"}
COUNTS, FEWER = 8, 6
SOURCES = 2
PORT = 7777
SETTLING_CHECKPOINTS = 6
WARM_UP_PER_SECOND, PER_SUBTASK_AND_SECOND = 60_000, 20
LONGEST_SECONDS = 600.0
REST_SECONDS = 6.0
"""Between two changes; the agent takes one every 5 s."""
SETTINGS = {
    **QUICK,
    "jobmanager.retrieve-taskmanager-hostname": "false",
    "execution.checkpointing.timeout": "600000",
    # A full thin link delays heartbeats, too: Flink's default.
    "heartbeat.timeout": "50000",
    # Else small state comes with the deployment.
    "state.storage.fs.memory-threshold": "0",
    "execution.checkpointing.data-inline-threshold": "0",
}
ROCKSDB = {
    "state.backend": "rocksdb",
    "state.backend.type": "rocksdb",  # Its name since Flink 1.19.
    "state.backend.incremental": "true",
    "execution.checkpointing.incremental": "true",  # Its name since Flink 1.20.
}
LOCAL_RECOVERY = {
    "state.backend.local-recovery": "true",
    "execution.state-recovery.from-local": "true",
    "execution.checkpointing.local-backup.enabled": "true",
}
Places = dict[str, str]


@dataclass(frozen=True)
class StateBehindLink:
    """A link, and how much state lies behind it."""

    mbit_per_s: float
    keys: int
    backend: Mapping[str, str]
    checkpoint_ms: int
    """Interval of checkpoints: those of a thin link are rare, or it carries nothing else."""


CASES = {
    "1 MB a site on the heap, 4 Mbit/s": StateBehindLink(4.0, 21_000, {}, 10_000),
    "10 MB a site in RocksDB, 0.5 Mbit/s": StateBehindLink(0.5, 220_000, ROCKSDB, 600_000),
}


@contextmanager
def cluster(release: str, settings: Mapping[str, str]) -> Iterator[tuple[AgentCluster, Namespaces]]:
    """Start the hosts, the file server and a Flink, behind links without a limit."""
    hosts = [Host(name, site) for name, site in MACHINES.items()]
    hosts += [Host(JOB_MANAGER, CLOUD), Host(STORAGE, CLOUD)]
    with scratch_folder() as folder, Namespaces(hosts, links(0.0), JOB_MANAGER, folder) as network:
        files = folder / "checkpoints"
        files.mkdir()
        address = (network.address(STORAGE), PORT)
        storage = f"remote://{address[0]}:{PORT}{files}"
        machines = [
            TaskManagerSpec(
                name, network.address(name), 8, "780m", namespace=network.namespace(name)
            )
            for name in MACHINES
        ]
        job_manager = JobManagerSpec(
            network.address(JOB_MANAGER),
            network.outside_address,
            namespace=network.namespace(JOB_MANAGER),
        )
        where = {"execution.checkpointing.dir": storage, "state.checkpoints.dir": storage}
        with (
            file_server(address, files, network.namespace(STORAGE)),
            AgentCluster(
                flink_home(release),
                AGENT,
                "",
                machines,
                {**SETTINGS, **settings, **where},
                file_system="RemoteFiles",
                job_manager=job_manager,
                ha=False,
            ) as flink,
        ):
            yield flink, network


def links(mbit_per_s: float) -> list:
    """Return the links between the two sites and the cloud."""
    return Wan(mbit_per_s).links()


class CountingJobAtSites:
    """The counting job: its sources at the sites, four of eight subtasks of each operator too."""

    def __init__(self, flink: AgentCluster, case: StateBehindLink) -> None:
        self.flink = flink
        out = flink.cluster.scratch / "out"
        out.mkdir()
        rate = out / "rate"
        self.id = flink.submit(
            "CountingJob",
            f"keys={case.keys}",
            f"parallelism={SOURCES}",
            f"count-parallelism={COUNTS}",
            f"records={2 * case.keys * SOURCES * 500}",
            f"per-second={WARM_UP_PER_SECOND}",
            f"finish={rate}",
            f"out={out}",
            "chaining=false",
        )
        flink.wait_for_running(self.id)
        # The filter keeps every other round of keys: all keys are there, and change.
        wanted = round(2.02 * case.keys)
        flink.wait_until(lambda: self._counted() > wanted, "state", LONGEST_SECONDS)
        rate.write_text(str(PER_SUBTASK_AND_SECOND))
        # RocksDB compacts what has been written over and over.
        for _ in range(SETTLING_CHECKPOINTS):
            flink.wait_for_checkpoint(self.id)

    def _vertex(self) -> Mapping:
        vertices = self.flink.rest.get(f"/jobs/{self.id}")["vertices"]
        return next(v for v in vertices if v["name"] == "count")

    def _counted(self) -> int:
        return self._vertex()["metrics"]["read-records"]

    def state_bytes(self) -> list[int]:
        """Return the state of each subtask of `count` in the last checkpoint."""
        last = self.flink.rest.latest_checkpoint(self.id, "completed")
        path = f"/jobs/{self.id}/checkpoints/details/{last}/subtasks/{self._vertex()['id']}"
        return [s["state_size"] for s in self.flink.rest.get(path)["subtasks"]]

    def change(self, places: Places, checkpoint_ms: int) -> tuple[float, float]:
        """Write a plan; return how long it took, and the pause in it, in seconds."""
        log = self.flink.cluster.scratch / JOB_MANAGER / "console.log"
        start = log.stat().st_size
        began = time.monotonic()
        lines = [f"# checkpoint-interval-ms: {checkpoint_ms}"]
        lines += [f"{task}; {place}" for task, place in places.items()]
        content = "\n".join(lines) + "\n"
        self.flink.write_plan_file(f"{self.id}.schedulercfg", content.encode())
        self.flink.wait_for_placement(self.id, places, LONGEST_SECONDS)
        taken_s = time.monotonic() - began
        return taken_s, pause_s(log.read_bytes()[start:].decode())


def places(counts: int) -> Places:
    """Return the sources at their sites, and half of the counts at each."""
    first, second = MACHINES
    found = {
        f"{task} ({i + 1}/{SOURCES})": (first, second)[i]
        for task in ("Source: numbers", "filter")
        for i in range(SOURCES)
    }
    for task in ("count", "sink"):
        for i in range(counts):
            found[f"{task} ({i + 1}/{counts})"] = first if i < counts // 2 else second
    return found


def pause_s(log: str) -> float:
    """Return the seconds from the first subtask that is cancelled to the last one that runs."""
    time_of = r"^(\S+ \S+) .* switched from "
    ends = re.findall(time_of + r"RUNNING to CANCELING", log, re.MULTILINE)
    runs = re.findall(time_of + r"INITIALIZING to RUNNING", log, re.MULTILINE)
    first, last = (datetime.strptime(t, "%Y-%m-%d %H:%M:%S,%f") for t in (ends[0], runs[-1]))
    return (last - first).total_seconds()


class Reads:
    """What the TaskManagers have read from the checkpoint storage."""

    def __init__(self, flink: AgentCluster) -> None:
        self._files = [flink.cluster.scratch / name / "counted-reads" for name in MACHINES]
        self._seen = 0

    def more(self) -> int:
        """Return the bytes since the last call."""
        lines = [x for f in self._files if f.exists() for x in f.read_text().splitlines()]
        total = sum(int(line.split()[0]) for line in lines)
        self._seen, before = total, self._seen
        return total - before


def carried_to_sites(network: Namespaces) -> int:
    """Return the bytes that the links from the cloud have carried so far."""
    return sum(n.carried_bytes for (a, _), n in network.counts().items() if a == CLOUD)


def measure(release: str, name: str, case: StateBehindLink, local_recovery: bool) -> Iterator[str]:
    """Yield a row of the table for each change."""
    settings = {**case.backend, **(LOCAL_RECOVERY if local_recovery else {})}
    said = "on" if local_recovery else "off"
    with cluster(release, settings) as (flink, network):
        job, reads = CountingJobAtSites(flink, case), Reads(flink)
        here = places(COUNTS)
        job.change(here, case.checkpoint_ms)
        network.set_links(links(case.mbit_per_s))
        moved = {**here, **{f"{t} (3/{COUNTS})": "pi-nice" for t in ("count", "sink")}}
        changes = [("1 of 8 moved", moved)]
        if local_recovery:
            changes.append((f"{COUNTS} to {FEWER} subtasks", places(FEWER)))
        for what, planned in changes:
            time.sleep(REST_SECONDS)
            state = job.state_bytes()
            reads.more()
            carried = carried_to_sites(network)
            taken_s, paused_s = job.change(planned, case.checkpoint_ms)
            carried = carried_to_sites(network) - carried
            wanted = state[2] if local_recovery and planned is moved else sum(state)
            yield (
                f"| {name} | {what} | {said} | {wanted / 1e6:.3f} | {reads.more() / 1e6:.3f} | "
                f"{carried / 1e6:.3f} | {taken_s:.1f} | {paused_s:.1f} |"
            )


def main() -> None:
    """Measure each case, and print the table."""
    release = sys.argv[1] if len(sys.argv) > 1 else "2.3.0"
    print(
        "| state | change | local recovery | state, MB | read back, MB "
        "| to the sites, MB | taken, s | pause, s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, case in CASES.items():
        for local_recovery in (True, False):
            for row in measure(release, name, case, local_recovery):
                print(row, flush=True)


if __name__ == "__main__":
    main()
