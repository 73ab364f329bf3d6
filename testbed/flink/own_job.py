"""A user's own job on the WAN: its placement by each policy, and the traffic of each placement.

The job runs at its own rate, which only its owner can change, so the largest sustained rate is not
measured. The job graph gives its sources and sinks, REST its rates.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import requests

from edgeplace import Cluster, JobGraph, Plan, evaluate
from edgeplace.adapters.flink.rest.job_states import GLOBALLY_TERMINAL
from edgeplace.model import Operator
from testbed.errors import TestbedError
from testbed.experiments.loop import FoundCase, Loop
from testbed.experiments.policies import (
    at_the_edge,
    between_data_and_use,
    born_at_sites,
    choices,
    half_and_half,
    over,
    sinks,
)
from testbed.flink.rest import FlinkRest
from testbed.network.cpu_quota import machine_busy_s
from testbed.network.namespaces import link_counts
from testbed.network.wan import WanSpec

BUSY_LIMIT = 0.85
"""Share of this machine's processors above which a measurement does not count."""
_CHECKPOINTS = {"execution.checkpointing.interval": "5 s"}
_POLL_S = 0.5
_EMITTED = re.compile(r"(\d+)\.(Source__.*\.)?numRecordsOut")


@dataclass(frozen=True)
class Attached:
    """A testbed that another process runs."""

    url: str
    """Address of Flink's REST API."""
    sites: Path
    """File with the result of `World.sites_file`."""
    wan: Path
    """Specification of the WAN."""

    def sites_file(self) -> str:
        """Return the content of a user's file for ``edgeplace flink discover --sites``."""
        return self.sites.read_text()

    def wan_bytes(self) -> int:
        """Return the IP bytes that all links have carried so far."""
        return sum(c.carried_bytes for c in link_counts(WanSpec.read(self.wan)).values())

    def mbit_per_s(self) -> float:
        """Return the rate of the links, 0: no limit."""
        return WanSpec.read(self.wan).links[0].bytes_per_s * 8 / 1e6


@dataclass(frozen=True)
class Durations:
    """Durations in seconds."""

    start_s: float = 90.0
    settle_s: float = 20.0
    """Pause after a change of the placement, for compilers, buffers, and a checkpoint."""
    measure_s: int = 30
    watch_s: float = 30.0


@dataclass(frozen=True)
class Observed:
    """The measurement of a placement."""

    wan_bytes_per_s: float
    per_source: Mapping[str, Sequence[float]]
    """Source id -> records/s of each subtask."""
    machine_busy: float
    """Mean busy share of this machine's processors, with any work."""


def run_own(
    world: Attached,
    jar: Path,
    main_class: str | None,
    arguments: Sequence[str],
    folder: Path,
    schedule: Durations = Durations(),
) -> None:
    """Start a user's job, measure it, place it by each policy, and print the traffic of each
    placement. At the end the job is cancelled.

    Parameters
    ----------
    jar
        The jar, with everything that Flink's own ``lib`` does not have.
    main_class
        With the main method; None: as the jar's manifest says.
    folder
        Existing, for what the commands write.

    Raises
    ------
    TestbedError
        If the jar is refused, the job does not run, or a step of the loop fails.
    """
    rest = FlinkRest(world.url)
    others = [
        j["name"] for j in rest.get("/jobs/overview")["jobs"] if j["state"] not in GLOBALLY_TERMINAL
    ]
    if others:
        raise TestbedError(f"{', '.join(others)} runs there already: cancel it at {world.url}")
    job_id = _started(rest, jar, main_class, arguments, schedule.start_s)
    try:
        _compared(world, rest, job_id, folder, schedule)
    finally:
        rest.cancel(job_id)


def _compared(
    world: Attached, rest: FlinkRest, job_id: str, folder: Path, schedule: Durations
) -> None:
    loop = Loop(world, folder)
    stock = loop.discover()
    if not stock.job.sources():
        raise TestbedError(f"job {stock.job.name!r} has no source")
    _say(f"job {job_id} ({stock.job.name}) runs")
    _say(f"sources, at the sites:  {_names(stock.job.sources())}")
    _say(f"sinks, in the cloud:    {_names(sinks(stock.job))}")
    where: dict[str, list[str]] = {}
    for subtask in rest.subtasks(job_id):
        where.setdefault(subtask.vertex_id, []).append(subtask.task_manager)
    flink = between_data_and_use(stock.job, where)
    job = born_at_sites(_measured(loop, stock, schedule))
    for op in job.operators:
        for cost in op.cost.classes if op.cost else ():
            if cost.weak:
                _say(f"weak: {op.name} on {cost.node_class}: {cost.weak}")
    cluster = stock.cluster
    if world.mbit_per_s():
        cluster = over(cluster, world.mbit_per_s())
    for choice in choices(job, cluster, flink):
        loop.apply(choice.plan, stock.cluster)
        time.sleep(schedule.settle_s)
        seen = watch(world, rest, job_id, job, schedule.watch_s)
        _say(f"{', '.join(choice.policies)}: {line(job, cluster, choice.plan, seen)}")


def watch(world: Attached, rest: FlinkRest, job_id: str, job: JobGraph, seconds: float) -> Observed:
    """Return the measurement of a job for some seconds.

    The counters of sources come from Flink's REST API, which fetches them every few seconds. The
    rate is the slope of all values.
    """
    began_s, began_bytes, began_busy = time.monotonic(), world.wan_bytes(), machine_busy_s()
    counts: dict[str, list[tuple[float, list[float]]]] = {op.id: [] for op in job.sources()}
    while time.monotonic() < began_s + seconds:
        for op in job.sources():
            emitted = _emitted(rest, job_id, op.id, op.parallelism)
            if emitted:
                counts[op.id].append((time.monotonic(), emitted))
        time.sleep(_POLL_S)
    took_s = time.monotonic() - began_s
    return Observed(
        (world.wan_bytes() - began_bytes) / took_s,
        {source: slopes(own) for source, own in counts.items()},
        (machine_busy_s() - began_busy) / took_s,
    )


def slopes(counted: Sequence[tuple[float, Sequence[float]]]) -> list[float]:
    """Return the slope of counters, by least squares.

    Parameters
    ----------
    counted
        Time in s, and the counters then.

    Raises
    ------
    TestbedError
        If there are fewer than two times.
    """
    if len(counted) < 2:
        raise TestbedError("Flink does not tell how many records the sources emit")
    at_s = np.array([t for t, _ in counted])
    values = np.array([own for _, own in counted])
    found: list[float] = np.polyfit(at_s - at_s[0], values, 1)[0].tolist()
    return found


def emitted_metrics(names: Sequence[str], parallelism: int) -> list[str]:
    """Return the counters of emitted records of each subtask of a source; empty if they are not
    all known. If a source is chained to other operators, this is the source's own counter, not the
    chain's.
    """
    hits = [(hit, name) for name in names if (hit := _EMITTED.fullmatch(name))]
    own = [(int(hit[1]), name) for hit, name in hits if hit[2]]
    found = own or [(int(hit[1]), name) for hit, name in hits]
    by_subtask = dict(found)
    if by_subtask.keys() != set(range(parallelism)):
        return []
    return [by_subtask[i] for i in range(parallelism)]


def _emitted(rest: FlinkRest, job_id: str, vertex: str, parallelism: int) -> list[float]:
    page = f"/jobs/{job_id}/vertices/{vertex}/metrics"
    names = emitted_metrics([m["id"] for m in rest.get(page)], parallelism)
    if not names:
        return []
    values = {m["id"]: float(m["value"]) for m in rest.get(page, names)}
    return [values[name] for name in names] if values.keys() == set(names) else []


def _started(
    rest: FlinkRest, jar: Path, main_class: str | None, arguments: Sequence[str], wait_s: float
) -> str:
    """Wait until all subtasks of a jar's job run, and return the job's id."""
    try:
        # A job without checkpoints is not moved while it runs. The job's own setting takes
        # precedence.
        job_id = rest.run(rest.upload(jar), arguments, options=_CHECKPOINTS, main_class=main_class)
    except FileNotFoundError:
        raise TestbedError(f"{jar}: no such file") from None
    except requests.HTTPError as e:
        raise TestbedError(f"Flink does not start {jar}: {e}") from e
    deadline = time.monotonic() + wait_s
    while True:
        states = [s.state for s in rest.subtasks(job_id)]
        if states and all(state == "RUNNING" for state in states):
            return job_id
        if rest.state(job_id) in GLOBALLY_TERMINAL:
            raise TestbedError(f"job {job_id} is {rest.state(job_id)}: see {rest.url}")
        if time.monotonic() > deadline:
            rest.cancel(job_id)
            raise TestbedError(
                f"job {job_id} does not run after {wait_s:.0f} s: its subtasks are "
                f"{', '.join(sorted(set(states)))}; the Pis have 6 slots each, the server 14"
            )
        time.sleep(_POLL_S)


def _measured(loop: Loop, stock: FoundCase, schedule: Durations) -> JobGraph:
    """Return the job with costs from a log that shows operators on both classes of machine."""
    logs = []
    for placement in (at_the_edge, half_and_half):
        loop.apply(placement(stock.job), stock.cluster)
        time.sleep(schedule.settle_s)
        logs.append(loop.record(placement.__name__, schedule.measure_s))
    return loop.costs(logs, stock)


def line(job: JobGraph, cluster: Cluster, plan: Plan, seen: Observed) -> str:
    """Return the measurement of a placement beside the prediction for the measured rates."""
    for source, rates in seen.per_source.items():
        job = job.with_source_rate(source, sum(rates))
    predicted = evaluate(job, cluster, plan)
    per_source = "; ".join(
        f"{job.operator(source).name} {', '.join(f'{r:,.1f}' for r in rates)}/s"
        for source, rates in seen.per_source.items()
    )
    busy = seen.machine_busy / (os.cpu_count() or 1)
    return (
        f"WAN {seen.wan_bytes_per_s:,.0f} B/s, predicted {predicted.wan_bytes_per_s:,.0f} (Flink's "
        f"own messages not counted); {per_source}; this machine was busy {busy:.0%}"
        + (" - too much for these figures to count" if busy > BUSY_LIMIT else "")
    )


def _names(operators: Sequence[Operator]) -> str:
    return ", ".join(f"{op.name} ({op.parallelism})" for op in operators)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
