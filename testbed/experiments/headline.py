"""The headline experiment: the benefit of placement, and the accuracy of its prediction.

For each workload, stock Flink places the job, and a first placement measures its costs. Then, for
each WAN, every policy's placement is applied to the running job and measured, first at a rate that
all placements sustain, then at full speed. edgeplace's own commands measure everything that it
uses.
"""

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from edgeplace import Cluster, JobGraph, Plan
from edgeplace.model import ClassCost, StreamCost, write
from edgeplace.spark_stats.streams import ONE_END_IS_OLDER
from testbed.core_speed import CoreSpeed, clocked_cores
from testbed.errors import TestbedError
from testbed.experiments.at_rates import at_all_rates
from testbed.experiments.headline_report import (
    CELLS,
    CLUSTER,
    ENVIRONMENT,
    job_file,
    report,
)
from testbed.experiments.loop import FoundCase, Loop
from testbed.experiments.observe import windows
from testbed.experiments.placement_measurement import (
    DELAY_MS,
    TRIALS,
    TRICKLE,
    WIDE,
    HeadlineRun,
    Schedule,
    say,
    watched,
)
from testbed.experiments.policies import (
    at_the_edge,
    between_data_and_use,
    born_at_sites,
    choices,
    half_and_half,
    over,
    sustained_per_subtask,
    without_background,
    without_state,
)
from testbed.experiments.workloads import HEADLINE, WORKLOADS, Workload, compile_workloads
from testbed.flink.home import FLINK_VERSION, flink_home
from testbed.world import World

WAN_MBIT_PER_S = (50.0, 4.0, 0.5)
_WATCHED_SHARE = 0.6
"""The common rate, as a share of the rate that the slowest policy should sustain."""
BY_LOG = "costs_by_log.jsonl"
_MAX = "max"
_START_S = 90.0


class Results:
    """The measurements so far, in a folder. A run that was interrupted continues from there."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._file = folder / CELLS

    def missing(self, workload: Workload, mbit_per_s: Sequence[float]) -> list[float]:
        """Return the WANs over which a workload has not been measured."""
        lines = self._file.read_text().splitlines() if self._file.is_file() else []
        cells = [json.loads(line) for line in lines]
        done = {c["mbit_per_s"] for c in cells if c["workload"] == workload.name}
        return [mbit for mbit in mbit_per_s if mbit not in done]

    def add_alone(self, costs: Iterable[Mapping[str, Any]]) -> None:
        """Store processor costs by single logs."""
        lines = "".join(json.dumps(cost) + "\n" for cost in costs)
        with (self.folder / BY_LOG).open("a") as file:
            file.write(lines)

    def add(self, cluster: Cluster, job: JobGraph, cells: Sequence[Mapping[str, Any]]) -> None:
        """Store all measurements of a workload over a WAN, and its costs."""
        write(cluster, self.folder / CLUSTER)
        write(job, self.folder / job_file(cells[0]["workload"], cells[0]["mbit_per_s"]))
        lines = "".join(json.dumps(cell) + "\n" for cell in cells)
        with self._file.open("a") as file:
            file.write(lines)


def headline(
    folder: Path,
    names: Sequence[str],
    mbit_per_s: Sequence[float],
    schedule: Schedule | None = None,
) -> None:
    """Run the missing parts of the experiment.

    Parameters
    ----------
    folder
        Folder of the results; created if needed.
    names
        Some of `WORKLOADS`, empty for those of `HEADLINE`.
    mbit_per_s
        The WANs, from wide to thin.
    schedule
        Durations of the parts; None: the default ones.

    Raises
    ------
    TestbedError
        If something does not come up, or this machine is busy with other things.
    """
    unknown = set(names) - {w.name for w in WORKLOADS}
    if unknown:
        raise TestbedError(
            f"no workload {sorted(unknown)}; there are {[w.name for w in WORKLOADS]}"
        )
    schedule = schedule or Schedule()
    results = Results(folder)
    wanted = [w for w in WORKLOADS if w.name in names] or HEADLINE
    missing = [(w, left) for w in wanted if (left := results.missing(w, mbit_per_s))]
    if not missing:
        print(report(folder))
        return
    home = flink_home()
    with World(home, WIDE) as world, clocked_cores(world.cluster.scratch) as core_speed:
        say(f"Flink {FLINK_VERSION} is up, {world.cluster.rest.url}")
        jar = world.cluster.rest.upload(compile_workloads(home, world.cluster.scratch))
        (folder / ENVIRONMENT).write_text(
            json.dumps(_environment(world, schedule.idle_s), indent=1) + "\n"
        )
        for workload, left in missing:
            with running(world, jar, workload, schedule, core_speed) as run:
                _experiment(run, left, results)
    print(report(folder))


@contextmanager
def running(
    world: World, jar: str, workload: Workload, schedule: Schedule, core_speed: CoreSpeed
) -> Iterator[HeadlineRun]:
    """Submit a workload, wait until stock Flink runs it, and cancel it at the end."""
    out = world.cluster.scratch / workload.name
    out.mkdir()
    (out / "rate").write_text(TRICKLE)
    arguments = {**workload.arguments, "out": str(out), "rate-file": str(out / "rate")}
    job_id = world.cluster.rest.run(
        jar, [f"{k}={v}" for k, v in arguments.items()], main_class=workload.main_class
    )

    def runs() -> bool:
        subtasks = world.cluster.rest.subtasks(job_id)
        return bool(subtasks) and all(each.state == "RUNNING" for each in subtasks)

    def ended() -> bool:
        return world.cluster.rest.state(job_id) == "CANCELED"

    world.cluster.wait_until(runs, f"start of {workload.name}", _START_S)
    try:
        yield HeadlineRun(world, workload, job_id, out, Loop(world, out), schedule, core_speed)
    except TestbedError as error:
        raise TestbedError(f"{error}\n{_last_restart(world, job_id)}") from error
    finally:
        world.set_wan(WIDE)
        world.cluster.rest.cancel(job_id)
        world.cluster.wait_until(ended, f"end of {workload.name}", _START_S)


def _last_restart(world: World, job_id: str) -> str:
    """Return why a job has restarted last, for people; moves are such restarts, too."""
    last = world.cluster.rest.last_failure(job_id)
    if last is None:
        return "The job has not restarted."
    at = time.strftime("%H:%M:%S", time.localtime(last[0]))
    return f"The job has restarted at {at}: {last[1]}"


def _experiment(run: HeadlineRun, mbit_per_s: Sequence[float], results: Results) -> None:
    """Measure the costs of a job, and then its placements over each WAN."""
    stock = run.loop.discover()
    seen: dict[str, list[str]] = {}
    for subtask in run.world.cluster.rest.subtasks(run.job_id):
        seen.setdefault(subtask.vertex_id, []).append(subtask.task_manager)
    flink = between_data_and_use(stock.job, seen)
    logs = _busy_logs(run, stock)
    busy, fast, background = _measured_busy(run, stock, logs)
    results.add_alone(_each_alone(run, stock, logs, busy.job))
    bare = without_background(busy.cluster, background)
    core_speed = _core_speed(logs)
    for mbit in mbit_per_s:
        cluster = over(bare, mbit)
        # The size of the state at that rate is not known yet, and at full speed the state is far
        # larger.
        rate = _bearable(_planned(without_state(busy.job), cluster, flink))
        slow = _measured_at(run, busy, rate)
        job = at_all_rates(slow, [slow, fast])
        cells = []
        for each in _planned(job, cluster, flink):
            cells.append(
                {
                    "workload": run.workload.name,
                    "mbit_per_s": mbit,
                    "policies": each.policies,
                    "placement": each.plan.of(job.name),
                    "per_subtask": rate,
                    "background_cores": background,
                    "core_speed_of_costs": core_speed,
                    **watched(run, cluster, mbit, each.plan, rate, max(each.sustained, rate)),
                }
            )
            say(_line(cells[-1], each))
        results.add(busy.cluster, job, cells)


@dataclass(frozen=True)
class _Recorded:
    """A metric log.

    Attributes
    ----------
    share
        Its rate, as a share of full speed.
    core_speed
        Speed of this machine's cores meanwhile.
    """

    log: Path
    share: float
    core_speed: float


_BusyLogs = Sequence[Sequence[_Recorded]]
"""For each of two placements, a log at full speed and one at each share of it."""


def _core_speed(logs: _BusyLogs) -> float:
    """Return the speed of the cores at which costs were measured: more work tells more of them."""
    each = [recorded for of_placement in logs for recorded in of_placement]
    return fmean([r.core_speed for r in each], weights=[r.share for r in each])


def _busy_logs(run: HeadlineRun, stock: FoundCase) -> _BusyLogs:
    """Return the logs that tell processor costs.

    In the first placement few bytes leave the sites, so the Pis are fully busy at full speed. In
    the second one half of the job is in the cloud, so both classes of machine are measured, but the
    Pis wait for the WAN.
    """
    logs = []
    for placement in (at_the_edge, half_and_half):
        run.rate(TRICKLE)
        run.loop.apply(placement(stock.job), stock.cluster)
        logs.append(_at_several_rates(run, stock, placement.__name__))
    return logs


def _measured_busy(
    run: HeadlineRun, stock: FoundCase, logs: _BusyLogs
) -> tuple[FoundCase, JobGraph, dict[str, float]]:
    """Return the job with processor costs, the same job at full speed with everything at the edge,
    for the streams, and the background cores of a TaskManager of each node class, where they are
    known apart.

    All logs together tell by a regression what a record costs beside the background. (What is used
    at a trickle of records is much less: threads wake up more often for more records.) On a node
    class whose background cannot be told, CPU time is divided by busy time. The share of the
    background is least at full speed; the second placement counts only for costs that the first one
    does not show.
    """
    whole = run.loop.measured([r.log for own in logs for r in own], stock)
    fast, apart = (run.loop.measured([own[0].log], stock) for own in logs)
    background = {each.node_class: each.cores for each in whole.background}
    seen: dict[tuple[str, str], ClassCost] = {}
    for costs, kept in (
        (whole, lambda c: c.origin == "measured" and c.node_class in background),
        (fast, lambda c: c.origin == "measured"),
        (apart, lambda c: c.origin == "measured"),
        (whole, lambda c: c.origin == "estimated"),
    ):
        for op in costs.operators:
            for cost in filter(kept, op.classes):
                seen.setdefault((op.operator, cost.node_class), cost)
    classes: dict[str, tuple[ClassCost, ...]] = {}
    for (operator, _), cost in seen.items():
        classes[operator] = (*classes.get(operator, ()), cost)
    job = born_at_sites(_with_classes(stock.job.with_costs(whole), classes))
    return FoundCase(job, stock.cluster), stock.job.with_costs(fast), background


def _at_several_rates(run: HeadlineRun, stock: FoundCase, name: str) -> list[_Recorded]:
    """Return a log at full speed, and one at each of some shares of it."""

    def recorded(share: float, rate: str, settle_s: float) -> _Recorded:
        log = _recorded(run, f"{name}-{100 * share:.0f}", rate, settle_s, run.schedule.rate_s)
        end_s = time.time()
        speed = run.core_speed.between(end_s - run.schedule.rate_s, end_s)
        return _Recorded(log, share, speed)

    logs = [recorded(1.0, _MAX, run.schedule.warm_up_s)]
    sources = run.loop.costs([logs[0].log], stock).sources()
    demands = [source.cost.demand for source in sources if source.cost and source.cost.demand]
    slowest = min(rate for demand in demands for rate in demand.rates_per_s)
    for share in run.schedule.shares:
        logs.append(recorded(share, f"{share * slowest:.4f}", run.schedule.settle_s))
    return logs


def _each_alone(
    run: HeadlineRun, stock: FoundCase, logs: _BusyLogs, job: JobGraph
) -> Iterator[dict[str, Any]]:
    """Yield the CPU time of a record by each log alone, and as it is kept."""
    kept = {
        (op.id, cost.node_class): cost
        for op in job.operators
        for cost in (op.cost.classes if op.cost else ())
    }
    for recorded in (recorded for of_placement in logs for recorded in of_placement):
        for op in run.loop.measured([recorded.log], stock).operators:
            for cost in op.classes:
                by_all = kept.get((op.operator, cost.node_class))
                known = by_all and by_all.cpu_ms_per_record and cost.cpu_ms_per_record
                if by_all and known and cost.origin == "measured":
                    yield {
                        "workload": run.workload.name,
                        "log": recorded.log.name.split(".")[0],
                        "core_speed": recorded.core_speed,
                        "operator": op.name,
                        "node_class": cost.node_class,
                        "cpu_ms_per_record": cost.cpu_ms_per_record,
                        "busy_share": cost.busy_share,
                        "weak": cost.weak,
                        "kept_ms_per_record": by_all.cpu_ms_per_record,
                        "kept_by": by_all.cpu_by,
                        "kept_core_speed": _core_speed(logs),
                    }


def _with_classes(job: JobGraph, costs: Mapping[str, tuple[ClassCost, ...]]) -> JobGraph:
    """Return the job with other costs of records on the classes of machines."""
    operators = tuple(
        op.model_copy(update={"cost": op.cost.model_copy(update={"classes": costs.get(op.id, ())})})
        if op.cost
        else op
        for op in job.operators
    )
    return job.revised(operators=operators, notes=job.notes)


def _measured_at(run: HeadlineRun, busy: FoundCase, rate: float) -> JobGraph:
    """Return the job with the selectivities and sizes of a rate.

    The output of combiners and windows is not proportional to their input, so it is measured at
    the rate to be predicted. Processor costs are not: at a low rate there is too little work to
    measure, so they do not change.
    """
    run.rate(TRICKLE)
    run.world.set_wan(WIDE)
    run.loop.apply(half_and_half(busy.job), busy.cluster)
    for trial in range(1, TRIALS + 1):
        # What one end's metrics are too old by weighs less in a longer log.
        seconds = run.schedule.measure_s * trial
        log = _recorded(run, "at-rate", f"{rate:.4f}", run.schedule.state_s, seconds)
        job = run.loop.costs([log], busy)
        # The JobManager may have fetched the metrics of recently moved tasks too rarely.
        if all(s.cost and _is_told(s.cost) for s in job.streams):
            break
        say("measured again, and longer: the log tells too little")
    return _with_classes(job, {op.id: op.cost.classes for op in busy.job.operators if op.cost})


def _is_told(cost: StreamCost) -> bool:
    return cost.bytes_per_record is not None and not any(ONE_END_IS_OLDER in n for n in cost.notes)


def _recorded(run: HeadlineRun, name: str, rate: str, settle_s: float, seconds: int) -> Path:
    """Return a log of some seconds at a rate of each source subtask."""
    run.rate(rate)
    time.sleep(settle_s)
    return run.loop.record(name, seconds)


@dataclass(frozen=True)
class _Planned:
    policies: tuple[str, ...]
    plan: Plan
    sustained: float
    """Predicted rate of a source subtask."""
    binding: str


def _planned(job: JobGraph, cluster: Cluster, flink: Plan) -> list[_Planned]:
    """Return every placement over one WAN, with the rate that it should sustain."""
    found = []
    for choice in choices(job, cluster, flink):
        rate, verdict = sustained_per_subtask(job, cluster, choice.plan)
        limit = verdict.binding
        name = f"{limit.kind} {limit.where}" if limit else "nothing"
        found.append(_Planned(choice.policies, choice.plan, rate, name))
    return found


def _bearable(planned: Sequence[_Planned]) -> float:
    """Return a rate of each source subtask that all placements should sustain."""
    return _WATCHED_SHARE * min(p.sustained for p in planned)


def _line(found: Mapping[str, Any], planned: _Planned) -> str:
    steady, full = found["steady"], found["full"]
    return (
        f"{found['workload']} {found['mbit_per_s']:g} Mbit/s {', '.join(found['policies'])}: WAN "
        f"{steady['wan_bytes_per_s']:,.0f} B/s, sustained {full['per_subtask']:,.1f}/s (predicted "
        f"{planned.sustained:,.1f}, {planned.binding}), latency "
        f"{steady['latency'] and round(steady['latency']['p95_ms'])} ms, busy "
        f"{steady['machine_busy']:.0%} and {full['machine_busy']:.0%}"
    )


def _environment(world: World, idle_s: float) -> dict[str, Any]:
    """Return a description of this machine, and the traffic of an idle Flink."""
    idle = windows(world, 1, idle_s)[0]
    return {
        "flink": FLINK_VERSION,
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "delay_ms": DELAY_MS,
        "congestion_control": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip(),
        "idle_link_bytes_per_s": {
            f"{a} -> {b}": rate for (a, b), rate in idle.link_bytes_per_s.items()
        },
    }
