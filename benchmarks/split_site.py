"""A site of four Pis of unlike speed behind a thin link: an aggregate raw, and split at the site.

    sudo python benchmarks/split_site.py        (Linux, cgroup v1, JDK 17; 15 min)

The job is `SplitReadings` on the testbed: Flink 2.3, a network namespace and a CPU quota for each
Pi, and an emulated WAN. Each Pi has a source of readings of 380 bytes of 3,000 sensors, with Zipf
1.0.

1. The job runs spread with even weights, at three rates. `edgeplace flink collect` and `costs`
   measure it.
2. From these costs alone, edgeplace says which weights sustain the most, and how much that is.
   They are written for the running job, and what all sources emit together is measured when more
   is offered than predicted.
3. With even weights the slowest Pi held the others back, which spend more on a record when few
   come at once. So the costs are measured once more, with the weights in force. edgeplace says
   again which weights sustain the most, how much, and how many bytes then cross the WAN at another
   rate; both are measured. The control loop goes the same way.
4. The same rate raw, `keyBy` in the cloud, and combined in each source's task (`edge`). Then both
   under overload, raw over a link of 4 Mbit/s.

Flink's own messages (heartbeats, metrics, checkpoints) are what the WAN carries while the job runs
almost without records. They are measured for the first form and the last but one, and added to
predictions of what the records add.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from edgeplace import JobGraph, Plan, evaluate  # noqa: E402
from edgeplace.adapters.flink.plans import PlansFolder  # noqa: E402
from edgeplace.adapters.flink.split import Shares, TaskShares, weigh  # noqa: E402
from edgeplace.model import PartialAggregate, ShipStrategy, write  # noqa: E402
from edgeplace.model.laws.flush import FlushLaw  # noqa: E402
from edgeplace.solver import combining  # noqa: E402
from edgeplace.solver.splitting import split  # noqa: E402
from testbed.experiments.at_rates import GATHERS, at_all_rates  # noqa: E402
from testbed.experiments.loop import Loop  # noqa: E402
from testbed.experiments.observe import middle, source_rates, windows  # noqa: E402
from testbed.experiments.policies import over, sustained_per_subtask, with_rate  # noqa: E402
from testbed.flink.home import FLINK_VERSION, flink_home  # noqa: E402
from testbed.flink.job_jar import compile_own_job  # noqa: E402
from testbed.flink.local_cluster import JOB_MANAGER  # noqa: E402
from testbed.flink.split_jar import JAR as SPLIT  # noqa: E402
from testbed.world import CLOUD, SERVER, QuotaMachine, TestbedLayout, Wan, World  # noqa: E402

SITE = "plant"
PIS = {"pi-1": 0.1, "pi-2": 0.1, "pi-3": 0.2, "pi-4": 0.3}
CORES = {**PIS, SERVER: 0.4}
LAYOUT = TestbedLayout(
    (
        *(QuotaMachine(pi, SITE, "pi", 4, "640m", cores) for pi, cores in PIS.items()),
        QuotaMachine(SERVER, CLOUD, "server", 8, "980m", CORES[SERVER]),
    ),
    ((SITE, CLOUD),),
)
WIDE, THIN = Wan(50.0), Wan(4.0)
STEADY = 8000.0
"""Records/s of all sources, to compare bytes."""
MEASURED = (1e6, 5000.0, 2000.0)
"""Records/s offered while costs are measured: the first is more than can be borne."""
OVERLOAD = 2.0
TRICKLE = 0.04
JOB = ("keys=3000", "zipf=1.0", "record-bytes=380", "work=3000", "parallelism=1")


@dataclass(frozen=True)
class MeasuredWindows:
    """A measurement of some windows."""

    records_per_s: float
    wan_bytes_per_s: float
    cores: dict[str, float]
    busy: float


class PlacedForm:
    """One of the three forms of the job, placed."""

    def __init__(self, world: World, jar: str, mode: str) -> None:
        self.world = world
        self.mode = mode
        self.folder = world.cluster.scratch / mode
        self.folder.mkdir()
        self.rate(1)
        self.id = world.cluster.rest.run(
            jar,
            [
                f"mode={mode}",
                f"sources={len(PIS)}",
                f"workers={len(PIS)}",
                f"out={self.folder}",
                f"rate-file={self.folder / 'rate'}",
                *JOB,
            ],
        )
        world.cluster.wait_until(self._runs, f"start of {mode}", 180)
        self._loop = Loop(world, self.folder, CORES)
        self.found = self._loop.discover()
        job = self.found.job
        places = {
            op.id: tuple(PIS) if op.parallelism == len(PIS) else (SERVER,) * op.parallelism
            for op in job.operators
        }
        self.plan = Plan(jobs={job.name: places})
        self._loop.apply(self.plan, self.found.cluster)

    def _runs(self) -> bool:
        subtasks = self.world.cluster.rest.subtasks(self.id)
        return bool(subtasks) and all(each.state == "RUNNING" for each in subtasks)

    def rate(self, records_per_s: float) -> None:
        """Offer so many records/s of all sources."""
        draft = self.folder / "rate.draft"
        draft.write_text(f"{records_per_s / len(PIS):.3f}")
        draft.rename(self.folder / "rate")

    def watch(self, offered: float, count: int = 5, settle_s: float = 10) -> MeasuredWindows:
        """Measure windows of 5 s, each with a checkpoint."""
        self.rate(offered)
        time.sleep(settle_s)
        seen = windows(self.world, count, 5.0)
        rates = source_rates(self.folder, [replace(seen[-1], begin_s=seen[0].begin_s)])[:, 0]
        found = MeasuredWindows(
            float(rates.sum()),
            middle([w.wan_bytes_per_s for w in seen]),
            {name: middle([w.cores[name] for w in seen]) for name in CORES},
            max(w.machine_busy for w in seen),
        )
        used = ", ".join(f"{name} {c:.3f} of {CORES[name]}" for name, c in found.cores.items())
        say(
            f"{self.mode}, offered {offered:,.0f}/s: {found.records_per_s:,.0f}/s, WAN "
            f"{found.wan_bytes_per_s:,.0f} B/s; sources {rates.round().tolist()}; cores {used}; "
            f"machine {found.busy:.0%}"
        )
        return found

    def recorded(self, offered: float, seconds: int = 40) -> Path:
        """Return a metric log at a rate."""
        self.rate(offered)
        time.sleep(10)
        return self._loop.record(f"{offered:.0f}", seconds)

    def costs(self, logs: Sequence[Path]) -> JobGraph:
        """Return the job with the costs of logs, which are in `costs.json` of its folder, too."""
        return self._loop.costs(logs, self.found)

    def end(self) -> None:
        """Cancel it."""
        rest = self.world.cluster.rest
        rest.cancel(self.id)
        self.world.cluster.wait_until(lambda: rest.state(self.id) == "CANCELED", "end", 90)


def lacks() -> str | None:
    """Return what this machine lacks for this, or None."""
    if os.geteuid() != 0:
        return "root is needed, for network namespaces and CPU quotas"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun, for the links of the WAN"
    return None


def main() -> None:
    missing = lacks()
    if missing:
        raise SystemExit(missing)
    home = flink_home()
    with World(home, WIDE, LAYOUT) as world:
        say(f"Flink {FLINK_VERSION}, load {os.getloadavg()[0]:.1f}")
        jar = world.cluster.rest.upload(
            compile_own_job("SplitReadings", home, world.cluster.scratch, [SPLIT])
        )
        spread = PlacedForm(world, jar, "spread")
        even = spread.watch(MEASURED[0], settle_s=90)
        logs = [spread.costs([spread.recorded(offered)]) for offered in MEASURED]
        own = spread.watch(TRICKLE, 3).wan_bytes_per_s
        _, first_most, weighted = predictions(spread, logs)
        used = weigh_all(spread, weighted)
        say(f"weights in force after {used:.1f} s")
        first_full = spread.watch(MEASURED[0], settle_s=20)
        logs[0] = spread.costs([spread.recorded(MEASURED[0])])
        predicted, most, weighted = predictions(spread, logs)
        weigh_all(spread, weighted)
        steady = spread.watch(STEADY)
        full = spread.watch(OVERLOAD * most)
        spread.end()
        edge = PlacedForm(world, jar, "edge")
        own_edge = edge.watch(TRICKLE, 3, settle_s=20).wan_bytes_per_s
        at_edge, edge_full = edge.watch(STEADY), edge.watch(OVERLOAD * most)
        edge.end()
        raw = PlacedForm(world, jar, "raw")
        plain = raw.watch(STEADY, settle_s=20)
        advised = advice(raw, logs[0])
        world.set_wan(THIN)
        raw_full = raw.watch(OVERLOAD * most, settle_s=20)
        raw.end()
    print(f"\nload {os.getloadavg()[0]:.1f} at the end\n")
    print("| form | WAN at 8,000/s | of raw | sustained |\n|---|---|---|---|")
    for name, wan, sustained in (
        ("raw", plain, raw_full),
        ("combined in each source's task", at_edge, edge_full),
        ("spread, even", None, even),
        ("spread, weights by costs with even ones", None, first_full),
        ("spread, weights by costs with these", steady, full),
    ):
        bytes_ = f"{wan.wan_bytes_per_s / 1000:,.1f} kB/s" if wan else ""
        times = f"1/{plain.wan_bytes_per_s / wan.wan_bytes_per_s:.1f}" if wan else ""
        print(f"| {name} | {bytes_} | {times} | {sustained.records_per_s:,.0f}/s |")
    predicted, advised = predicted + own, advised + own_edge
    print(
        f"\nin each source's task: {advised / 1000:,.1f} kB/s predicted "
        f"({advised / at_edge.wan_bytes_per_s - 1:+.1%})\n"
        f"with weights: {predicted / 1000:,.1f} kB/s predicted "
        f"({predicted / steady.wan_bytes_per_s - 1:+.1%}); {own / 1000:.1f} and "
        f"{own_edge / 1000:.1f} kB/s are Flink's own\nsustained: {most:,.0f}/s predicted "
        f"({most / full.records_per_s - 1:+.1%}); by costs with even weights {first_most:,.0f}/s "
        f"({first_most / first_full.records_per_s - 1:+.1%})"
    )


def predictions(
    spread: PlacedForm, logs: Sequence[JobGraph]
) -> tuple[float, float, dict[str, tuple[float, ...]]]:
    """Return the WAN bytes/s that the steady rate adds to a trickle, the most records/s, and the
    weights for it.
    """
    full = logs[0]
    cluster = over(spread.found.cluster, WIDE.mbit_per_s)
    [combine] = [op for op in full.operators if op.name == "combine"]
    for number, job in enumerate(logs):
        keep(job, f"job-{number}")
    keep(spread.found.cluster, "cluster")
    keep(spread.plan, "plan")
    offered, _ = sustained_per_subtask(full, cluster, spread.plan)
    say(f"even weights should sustain {len(PIS) * offered:,.0f}/s")
    # More than can be borne: the weights are then those that sustain the most.
    found = split(with_rate(full, 4 * offered), cluster, spread.plan, [combine.id])
    [row] = found.plan.weights[full.name][combine.id].values()
    most, verdict = sustained_per_subtask(full, cluster, found.plan)
    job = at_all_rates(logs[1], logs)
    # Without records there are the messages of checkpoints, which are measured with the others.
    wan, idle = (
        evaluate(with_rate(job, rate / len(PIS)), cluster, found.plan).wan_bytes_per_s
        for rate in (STEADY, TRICKLE)
    )
    keep(job, "job")
    say(
        f"weights {[round(w, 3) for w in row]} should sustain {len(PIS) * most:,.0f}/s "
        f"({verdict.binding and verdict.binding.where}), and send {wan:,.0f} B/s at {STEADY:,.0f}/s"
    )
    return wan - idle, len(PIS) * most, {combine.name: tuple(row)}


def advice(raw: PlacedForm, spread: JobGraph) -> float:
    """Return the WAN bytes/s that `explain` says of a partial aggregate in each source's task.

    What a user states: how many sensors there are, their skew, and the size of an accumulator.
    """
    job = raw.costs([raw.recorded(STEADY)])
    law = FlushLaw(gathering=GATHERS["SplitReadings", "combine"], form="zipf", keys=3000, shape=1.0)
    [partial] = [s for s in spread.streams if s.ship_strategy is ShipStrategy.HASH]
    assert partial.cost and partial.cost.bytes_per_record
    stated = PartialAggregate(law=law, bytes_per_record=partial.cost.bytes_per_record)
    streams = tuple(
        s.model_copy(update={"cost": s.cost.model_copy(update={"partial": stated})})
        if s.cost and s.ship_strategy is ShipStrategy.HASH
        else s
        for s in job.streams
    )
    job = job.revised(streams=streams, notes=job.notes)
    keep(job, "raw")
    [said] = combining(job, over(raw.found.cluster, WIDE.mbit_per_s), raw.plan)
    say(f"advice: {said}")
    return said.partial_wan_bytes_per_s or 0.0


def weigh_all(spread: PlacedForm, weights: dict[str, tuple[float, ...]]) -> float:
    """Write the weights and return the seconds until all routers use them."""
    folder = PlansFolder(spread.world.cluster.conf_dir(JOB_MANAGER) / "edgeplace")
    begin = time.monotonic()
    shares = Shares({name: TaskShares(of_all=row) for name, row in weights.items()})
    done = weigh(folder, spread.id, spread.id, shares, 30)
    if not done.followed:
        raise SystemExit(f"the weights are not used: {done.reasons}")
    return time.monotonic() - begin


def keep(document: Any, name: str) -> None:
    """Write what a prediction is made of, if a folder is named on the command line."""
    if sys.argv[1:]:
        write(document, Path(sys.argv[1]) / f"{name}.yaml")


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    main()
