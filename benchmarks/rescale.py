"""How long a change of parallelism takes: by a plan, and by what stock Flink offers.

    python benchmarks/rescale.py [FLINK_RELEASE [ROUNDS]]
    python benchmarks/rescale.py FLINK_RELEASE large

A job of 12 subtasks has its counting operators changed from 3 to 6 subtasks and back, with small
state and checkpoints every second: by a plan file (the agent), by the adaptive scheduler's REST API
with its default waits and with none, and by a stop with a savepoint and a new submission. One run,
one machine, one cluster after the other. Needs a JDK 17.

Taken is the time from the request (the plan is written, the PUT is sent, the stop is asked for)
until REST shows every subtask up in the new parallelism, at its planned place where there is a
plan. REST's answers are 0.2 s old at most. The gap is the longest time between two commits of the
job's sink from just before the request on: it is Flink's own exactly-once file sink, whose files
get their final names when a checkpoint is complete. Moved are subtasks that were there before and
run on another TaskManager after. On a machine that works for others too, only the ratios count.

`large` is a job of 200 subtasks on 20 TaskManagers: plans end 10 of them and begin them again, and
it is started with the agent and without.
"""

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import requests

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from testbed.flink.agent_cluster import AgentCluster  # noqa: E402
from testbed.flink.config import QUICK  # noqa: E402 - the testbed is beside this folder
from testbed.flink.home import flink_home  # noqa: E402
from testbed.flink.local_cluster import TaskManagerSpec  # noqa: E402

AGENT = ROOT / "adapters" / "flink" / "agent" / "edgeplace-flink-agent.jar"
ROUNDS = 6
FEW, MANY = 3, 6
SINK = "sink: Writer -> sink: Committer"
CHANGED = ("count", SINK)
REST_SECONDS = 6.0
"""Between two changes; the agent takes one every 5 s."""
LONGEST_SECONDS = 300.0
TASK_MANAGERS = tuple(
    TaskManagerSpec(f"pi-{i}", f"127.0.0.{31 + i}", slots=2, process_memory="680m")
    for i in range(6)
)
"""Small ones, so that a job has more than one way to spread over them."""
ADAPTIVE = {"jobmanager.scheduler": "adaptive"}
NO_WAITS = {
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0s",
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "0s",
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout": "0s",
    "jobmanager.adaptive-scheduler.resource-stabilization-timeout": "0s",
    "jobmanager.adaptive-scheduler.min-parallelism-increase": "1",
}
Places = dict[str, str]


@dataclass
class Changes:
    """What the changes of one way took."""

    way: str
    seconds: list[float] = field(default_factory=list)
    gaps_s: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)

    def row(self, yardstick_s: float) -> str:
        """Return a row of the table; the first change warms the JVM up, and is shown apart."""
        first, *others = self.seconds
        p50 = statistics.median(others)
        return (
            f"| {self.way} | {first:.1f} | {p50:.2f} | {max(others):.2f} | "
            f"{p50 / yardstick_s:.1f} | {statistics.median(self.gaps_s[1:]):.2f} | "
            f"{statistics.mean(self.moved):.1f} |"
        )


class CountingJobOnCluster:
    """The counting job on a cluster."""

    def __init__(self, flink: AgentCluster) -> None:
        self.flink = flink
        self.committed = flink.cluster.scratch / f"committed-{time.time_ns()}"
        self.id = self.submit(FEW)
        flink.wait_for_running(self.id)
        flink.wait_for_checkpoint(self.id)

    def submit(self, n: int, savepoint: str | None = None) -> str:
        """Start the job, and return its id."""
        out = self.flink.cluster.scratch / "out"
        out.mkdir(exist_ok=True)
        return self.flink.submit(
            "CountingJob",
            f"records={144 * 50_000}",
            f"finish={out}/never",
            f"out={out}",
            f"committed={self.committed}",
            "chaining=false",
            f"count-parallelism={n}",
            savepoint=savepoint,
        )

    def places(self) -> Places:
        """Return where each subtask runs, empty if one does not or the parallelism changes."""
        subtasks = self.flink.rest.subtasks(self.id)
        if any(s.state not in ("RUNNING", "FINISHED") for s in subtasks):
            return {}
        return {s.task: s.task_manager for s in subtasks}

    def wait_for(self, n: int, planned: Places | None) -> Places:
        """Wait until the counting operators have n subtasks, and return where all run."""
        deadline = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < deadline:
            try:
                now = self.places()
            except (requests.RequestException, KeyError):
                now = {}
            if f"{SINK} ({n}/{n})" in now and (planned is None or now == planned):
                return now
            time.sleep(0.05)
        raise SystemExit(f"parallelism {n} was not reached in {LONGEST_SECONDS:.0f} s")


def by_plan(job: CountingJobOnCluster, n: int, before: Places) -> Places | None:
    """Write a plan that leaves all subtasks where they are, and adds or ends some."""
    room = {tm.name: tm.slots for tm in TASK_MANAGERS}
    planned: Places = {}
    for name in ("Source: numbers", "filter", *CHANGED):
        k = n if name in CHANGED else FEW
        former = [p for task, p in before.items() if task.startswith(f"{name} (")]
        here: Counter[str] = Counter(former[:k])
        for i in range(k):
            place = former[i] if i < len(former) else max(room, key=lambda t: room[t] - here[t])
            if i >= len(former):
                here[place] += 1
            planned[f"{name} ({i + 1}/{k})"] = place
    job.flink.write_plan(job.id, planned)
    return planned


def by_requirements(job: CountingJobOnCluster, n: int, before: Places) -> Places | None:
    """Ask the adaptive scheduler."""
    wanted = {}
    for vertex in job.flink.rest.get(f"/jobs/{job.id}")["vertices"]:
        k = n if vertex["name"] in CHANGED else FEW
        wanted[vertex["id"]] = {"parallelism": {"lowerBound": k, "upperBound": k}}
    url = f"{job.flink.rest.url}/jobs/{job.id}/resource-requirements"
    requests.put(url, json=wanted, timeout=20).raise_for_status()
    return None


def by_savepoint(job: CountingJobOnCluster, n: int, before: Places) -> Places | None:
    """Stop the job with a savepoint, and start it from there."""
    savepoint = job.flink.rest.stop_with_savepoint(job.id, job.flink.cluster.scratch / "savepoints")
    job.id = job.submit(n, savepoint)
    return None


def commits_s(folder: Path) -> list[float]:
    """Return when a sink's files got their final names, Unix time."""
    files = [f for f in folder.iterdir() if not f.name.startswith(".")]
    return sorted(f.stat().st_ctime for f in files)


def longest_gap_s(times_s: list[float], since_s: float) -> float:
    """Return the longest time between two of these, from the last one before a time on."""
    first = max((t for t in times_s if t <= since_s), default=since_s)
    later = [first, *(t for t in times_s if t > since_s)]
    return max(b - a for a, b in pairwise(later))


@contextmanager
def cluster(release: str, agent: Path | None, more: dict[str, str]) -> Iterator[AgentCluster]:
    """Start a cluster."""
    with AgentCluster(
        flink_home(release), agent, task_managers=TASK_MANAGERS, settings={**QUICK, **more}
    ) as flink:
        yield flink


def measure(
    flink: AgentCluster,
    way: str,
    change: Callable[[CountingJobOnCluster, int, Places], Places | None],
    rounds: int,
) -> Changes:
    """Change a job to and fro."""
    job, changes = CountingJobOnCluster(flink), Changes(way)
    places = job.places()
    for i in range(rounds):
        time.sleep(REST_SECONDS)
        n = FEW if i % 2 else MANY
        since_s, began = time.time(), time.monotonic()
        after = job.wait_for(n, change(job, n, places))
        changes.seconds.append(time.monotonic() - began)
        k = {task.partition("/")[0]: place for task, place in places.items()}
        now = {task.partition("/")[0]: place for task, place in after.items()}
        changes.moved.append(sum(now[task] != k[task] for task in now.keys() & k.keys()))
        places = after
        print(f"{way}: {n} in {changes.seconds[-1]:.2f} s", flush=True)
        flink.wait_for_checkpoint(job.id)
        changes.gaps_s.append(longest_gap_s(commits_s(job.committed), since_s))
    return changes


def large(release: str) -> None:
    """Rescale 10 of 200 subtasks, and start the job with the agent and without."""
    machines = tuple(
        TaskManagerSpec(f"tm-{i:02}", f"127.0.0.{40 + i}", slots=4, process_memory="680m")
        for i in range(20)
    )
    with AgentCluster(flink_home(release), AGENT, task_managers=machines) as flink:
        config = next(flink.cluster.conf_dir("jobmanager").glob("*.yaml"))
        with_agent = config.read_text()
        without = "".join(x for x in with_agent.splitlines(True) if "-javaagent" not in x)
        starts: dict[str, list[float]] = {"with": [], "without": []}
        job = ""
        for name, text in (("without", without), ("with", with_agent)) * 2:
            if job:
                flink.reset()
            flink.cluster.kill("jobmanager")
            config.write_text(text)
            flink.cluster.start_missing()
            for i in range(4):
                flink.reset()
                began = time.monotonic()
                job = submit_large(flink)
                flink.wait_for_running(job, LONGEST_SECONDS)
                taken_s = time.monotonic() - began
                print(f"start {name} agent: {taken_s:.2f} s", flush=True)
                if i > 0:  # The first loads classes.
                    starts[name].append(taken_s)
        ratio = statistics.median(starts["with"]) / statistics.median(starts["without"])
        print(f"start with the agent: {ratio:.2f} times that without", flush=True)
        flink.wait_for_checkpoint(job, LONGEST_SECONDS)
        here = flink.placement(job)
        for n in (45, 50) * 3:
            planned = {
                f"{name} ({i + 1}/{k})": here[f"{name} ({i + 1}/50)"]
                for name, k in (("Source: numbers", 50), ("filter", 50), ("count", n), ("sink", n))
                for i in range(k)
            }
            time.sleep(REST_SECONDS)
            began = time.monotonic()
            flink.write_plan(job, planned)
            flink.wait_for_placement(job, planned, LONGEST_SECONDS)
            print(f"200 subtasks, counts {n}: {time.monotonic() - began:.2f} s", flush=True)
            flink.wait_for_checkpoint(job, LONGEST_SECONDS)


def submit_large(flink: AgentCluster) -> str:
    """Start the job of 200 subtasks."""
    out = flink.cluster.scratch / "out"
    out.mkdir(exist_ok=True)
    records = f"records={2 * 24 * 50 * 50_000}"
    paths = (f"finish={out}/never", f"out={out}")
    return flink.submit("CountingJob", records, *paths, "chaining=false", "parallelism=50")


def main() -> None:
    """Measure all four ways and print the table."""
    release = sys.argv[1] if len(sys.argv) > 1 else "2.3.0"
    if sys.argv[2:] == ["large"]:
        large(release)
        return
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    all_changes = []
    with cluster(release, AGENT, {}) as flink:
        all_changes.append(measure(flink, "a plan, by the agent", by_plan, rounds))
        flink.reset()
        all_changes.append(measure(flink, "savepoint and resubmission", by_savepoint, rounds))
    for way, more in (("adaptive scheduler, defaults", {}), ("the same without waits", NO_WAITS)):
        with cluster(release, None, {**ADAPTIVE, **more}) as flink:
            all_changes.append(measure(flink, way, by_requirements, rounds))
    print("| way | first, s | p50, s | max, s | p50 to a plan's | gap p50, s | subtasks moved |")
    print("|---|---|---|---|---|---|---|")
    yardstick_s = statistics.median(all_changes[0].seconds[1:])
    for changes in all_changes:
        print(changes.row(yardstick_s))


if __name__ == "__main__":
    main()
