"""Four queries on the same sensors on a real Flink: planned at once, and as one job.

    sudo python benchmarks/four_queries_live.py        (Linux, cgroup v1, JDK 17; 10 min)

The queries are the testbed's `riot-etl`, `riot-stats`, `riot-predict` and `riot-train`, on Flink
2.3: two sites of one Pi (a CPU quota of 0.3 core), a server, and an emulated WAN of 4 Mbit/s. Each
site has 20 stations, whose messages have 380 bytes.

1. The four jobs run at once. `edgeplace flink collect` and `costs` measure each of them.
2. `solve` places all four with one bound, the sinks in the cloud. `edgeplace flink apply` moves
   them. What the WAN carries is measured beside what is predicted from the costs; before, the same
   with everything but the sources in the cloud. Beside it is predicted what the plans send that
   `solve` makes for each job alone, and whether the machines bear them together.
3. The same with one job of all four, `riot-all`, whose parsed messages cross the WAN once, to a
   relay.

Predictions contain the state and the messages of checkpoints. What is left of Flink's own messages
(heartbeats, metrics) is measured at each placement, while the jobs run almost without records, and
added: what the WAN carries then, without what is predicted for then.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from edgeplace import Cluster, JobGraph, Plan, Rules, evaluate, solve  # noqa: E402
from edgeplace.model import Pin  # noqa: E402
from testbed.experiments.loop import FoundCase, Loop  # noqa: E402
from testbed.experiments.observe import middle, source_rates, windows  # noqa: E402
from testbed.experiments.policies import (  # noqa: E402
    born_at_sites,
    half_and_half,
    over,
    sinks,
    with_rate,
)
from testbed.experiments.workloads import RIOT, WORKLOADS, Workload, compile_workloads  # noqa: E402
from testbed.flink.home import FLINK_VERSION, flink_home  # noqa: E402
from testbed.world import CLOUD, CORES, PIS, SERVER, Wan, World  # noqa: E402

ALL_IN_ONE = next(w for w in WORKLOADS if w.name == "riot-all")
MBIT_PER_S = 4.0
RATE = 40.0
"""Messages/s of each site: two of each station, so that each tells its averages every 5 s."""
BATCH = "10"
"""Messages of a station for one regression, for the same reason."""
TRICKLE = 0.04
MEASURE_S = 20
WINDOWS = 6
START_S = 300.0


class RunningQueries:
    """Jobs that run at the same time, and their files."""

    def __init__(self, world: World, jar: str, workloads: Sequence[Workload]) -> None:
        self.world = world
        self.ids: dict[str, str] = {}
        self.outs = {w.name: world.cluster.scratch / w.name for w in workloads}
        for out in self.outs.values():
            out.mkdir()
        self.rate(RATE)
        for w in workloads:
            out = self.outs[w.name]
            trains = {"train-of": BATCH} if w.name in ("riot-train", "riot-all") else {}
            own = {**w.arguments, **trains, "name": w.name, "out": out, "rate-file": out / "rate"}
            self.ids[w.name] = world.cluster.rest.run(
                jar, [f"{key}={value}" for key, value in own.items()], main_class=w.main_class
            )
        for name, job_id in self.ids.items():
            world.cluster.wait_until(partial(self._runs, job_id), f"start of {name}", START_S)
        self.loops = {n: Loop(world, out, job=self.ids[n]) for n, out in self.outs.items()}
        self.found = {name: loop.discover() for name, loop in self.loops.items()}

    def _runs(self, job_id: str) -> bool:
        subtasks = self.world.cluster.rest.subtasks(job_id)
        return bool(subtasks) and all(each.state == "RUNNING" for each in subtasks)

    def rate(self, per_s: float) -> None:
        """Set the messages per second of each source subtask."""
        for out in self.outs.values():
            (out / "rate.draft").write_text(f"{per_s}")
            (out / "rate.draft").rename(out / "rate")

    @property
    def cluster(self) -> Cluster:
        """The machines, the same for all jobs."""
        first: FoundCase = next(iter(self.found.values()))
        return first.cluster

    def apply(self, plan: Plan) -> None:
        """Move all jobs of a plan."""
        began = time.monotonic()
        folder = self.world.cluster.scratch / f"plan-{time.time_ns()}"
        folder.mkdir()
        Loop(self.world, folder).apply(plan, self.cluster)
        say(f"applied in {time.monotonic() - began:.0f} s")

    def measured(self) -> list[JobGraph]:
        """Return the jobs with the costs of a log of each."""
        self.apply(Plan(jobs=merged([half_and_half(f.job) for f in self.found.values()])))
        time.sleep(10)
        jobs = []
        for name, loop in self.loops.items():
            log = loop.record("log", MEASURE_S)
            job = loop.costs([log], self.found[name])
            for op in job.operators:
                costs = op.cost.classes if op.cost else ()
                rates = ", ".join(f"{c.node_class} {c.true_rate_per_s:,.0f}/s" for c in costs)
                say(f"  {name} {op.name}: {rates}")
            jobs.append(with_rate(born_at_sites(job), RATE))
        return jobs

    def watched(self, title: str, jobs: Sequence[JobGraph], plan: Plan) -> float:
        """Apply a plan; say what the WAN should carry, and return what it does, in bytes/s."""
        self.apply(plan)
        self.rate(TRICKLE)
        time.sleep(10)
        idle = middle([w.wan_bytes_per_s for w in windows(self.world, WINDOWS, 5.0)])
        own = idle - self._predicted([with_rate(job, TRICKLE) for job in jobs], plan)
        self.rate(RATE)
        time.sleep(10)
        seen = windows(self.world, WINDOWS, 5.0)
        whole = replace(seen[-1], begin_s=seen[0].begin_s)
        rates = {n: float(source_rates(o, [whole])[:, 0].mean()) for n, o in self.outs.items()}
        carried = middle([w.wan_bytes_per_s for w in seen])
        # A busy machine may hold a source up; what it did emit is what has to be carried.
        jobs_send = self._predicted([with_rate(job, rates[job.name]) for job in jobs], plan)
        cores = {name: middle([w.cores[name] for w in seen]) for name in CORES}
        used = ", ".join(f"{name} {c:.2f} of {CORES[name]}" for name, c in cores.items())
        say(
            f"{title}: WAN {carried:,.0f} B/s; predicted {jobs_send + own:,.0f} "
            f"({(jobs_send + own) / carried - 1:+.1%}) = jobs {jobs_send:,.0f} + heartbeats and "
            f"metrics {own:,.0f} (of {idle:,.0f} without records); "
            f"sources {[round(r, 1) for r in rates.values()]}/s; cores {used}"
        )
        return carried

    def _predicted(self, jobs: Sequence[JobGraph], plan: Plan) -> float:
        return evaluate(jobs, self.cluster, plan).wan_bytes_per_s


def merged(plans: Sequence[Plan]) -> dict[str, dict[str, tuple[str, ...]]]:
    return {name: dict(places) for plan in plans for name, places in plan.jobs.items()}


def in_the_cloud(jobs: Sequence[JobGraph]) -> Plan:
    """Return the plan with everything but the sources on the server."""
    pis = tuple(PIS.values())
    return Plan(
        jobs={
            job.name: {
                op.id: pis if op in job.sources() else (SERVER,) * op.parallelism
                for op in job.operators
            }
            for job in jobs
        }
    )


def results_in_the_cloud(jobs: Sequence[JobGraph]) -> Rules:
    return Rules(
        rules=tuple(
            Pin(job=job.name, operators=tuple(op.id for op in sinks(job)), to=CLOUD) for job in jobs
        )
    )


@contextmanager
def running(world: World, jar: str, workloads: Sequence[Workload]) -> Iterator[RunningQueries]:
    jobs = RunningQueries(world, jar, workloads)
    yield jobs
    for job_id in jobs.ids.values():
        world.cluster.rest.cancel(job_id)

    def ended() -> bool:
        return all(world.cluster.rest.state(i) == "CANCELED" for i in jobs.ids.values())

    world.cluster.wait_until(ended, "end of the jobs", START_S)


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def placed(jobs: RunningQueries, title: str, also_in_the_cloud: bool) -> float:
    """Measure jobs, place them, and return what the WAN carries then, in bytes/s."""
    graphs = jobs.measured()
    cluster = over(jobs.cluster, MBIT_PER_S)
    found = solve(graphs, cluster, results_in_the_cloud(graphs), ("wan",))
    if found.plan is None or found.evaluation is None:
        raise SystemExit(f"{title}: {found.status.value}: {found.conflict}")
    say(
        f"{title}: {found.status.value}, {found.evaluation.wan_bytes_per_s:,.0f} B/s with "
        f"checkpoints, bound {found.bound:,.0f}"
    )
    for job in graphs:
        for op in job.operators:
            say(f"  {job.name} {op.name}: {', '.join(found.plan.of(job.name)[op.id])}")
    if also_in_the_cloud:
        jobs.watched("all in the cloud", graphs, in_the_cloud(graphs))
        each_alone(graphs, cluster)
    return jobs.watched(title, graphs, found.plan)


def each_alone(graphs: Sequence[JobGraph], cluster: Cluster) -> None:
    """Say what plans send that know nothing of one another."""
    plans = []
    for job in graphs:
        found = solve([job], cluster, results_in_the_cloud([job]), ("wan",))
        if found.plan is None:
            raise SystemExit(f"{job.name} alone: {found.status.value}: {found.conflict}")
        plans.append(found.plan)
    together = evaluate(graphs, cluster, Plan(jobs=merged(plans)))
    broken = "; ".join(
        f"exceeded: {v.kind.value} of {v.where}, {v.used:.3g} of {v.capacity:.3g} {v.unit}"
        for v in together.violations
    )
    say(
        f"each job planned alone: {together.wan_bytes_per_s:,.0f} B/s with checkpoints; "
        f"{broken or 'all limits hold'}"
    )


def main() -> None:
    if os.geteuid() != 0:
        raise SystemExit("root is needed, for network namespaces and CPU quotas")
    home = flink_home()
    with World(home, Wan(MBIT_PER_S)) as world:
        say(f"Flink {FLINK_VERSION} is up, {world.url}")
        jar = world.cluster.rest.upload(compile_workloads(home, world.cluster.scratch))
        with running(world, jar, RIOT) as jobs:
            four = placed(jobs, "four jobs at once", also_in_the_cloud=True)
        with running(world, jar, [ALL_IN_ONE]) as jobs:
            one = placed(jobs, "one job", also_in_the_cloud=False)
        say(f"one job sends {1 - one / four:.1%} less than four")


if __name__ == "__main__":
    main()
