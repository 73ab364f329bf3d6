"""Run a schedule on the testbed under the loop or another policy, beside what the model says."""

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from edgeplace import Cluster, JobGraph, Plan, Rules, solve
from edgeplace.control.load import DAY_S
from edgeplace.control.policies import POLICIES
from edgeplace.control.rehearsal import AnyInjected, KilledNode, LostSite, RateStep, Rehearsal
from edgeplace.model import Link, Pin, write
from testbed.errors import TestbedError
from testbed.experiments.loop import FoundCase, Loop
from testbed.experiments.policies import sinks, with_rate
from testbed.experiments.workloads import WORKLOADS, compile_workloads
from testbed.flink.home import flink_home
from testbed.network.wan_link import LinkSpec
from testbed.rehearsal.injection import Injector, check
from testbed.rehearsal.offered import OfferedLog
from testbed.rehearsal.place import (
    FIELD,
    HALL,
    LAYOUT,
    NEAR_PRICE,
    PI,
    SETTINGS,
    WORKLOAD,
)
from testbed.rehearsal.report import Happened, Judge, Span, compared, document, steady, table
from testbed.rehearsal.scaling import Scaling, plans_by_rate
from testbed.rehearsal.seen import Carried, SeenChange, changes, lag
from testbed.world import CLOUD, SERVER, Wan, World

Happenings = list[tuple[AnyInjected, float]]
"""Events with their Unix times."""
_Made = Callable[[], list[SeenChange]]
"""What was changed, once all is over."""
_START_S = 120.0
_WARM_S = 20.0
_RECORD_S = 30
_IDLE_S = 15.0
_SOLVE_S = 30.0
_QUIET_S = 20.0
"""Before the schedule begins."""
_TICK_S = 0.1
_PAUSE_S = 2.0
"""Of a change, as far as a rule wants to know."""
_DEFAULTS: Mapping[str, Any] = {"mode": "apply", "poll_s": 10, "settle_s": 15, "survive": [HALL]}


@dataclass
class _Stage:
    """A job that runs on the testbed, with all that a loop needs."""

    world: World
    folder: Path
    job: JobGraph
    cluster: Cluster
    rules: Rules
    offered: OfferedLog
    idle_bytes_per_s: float
    places: Mapping[str, tuple[str, ...]]
    """At first."""
    loop: Loop
    counted: list[tuple[float, int]] = field(default_factory=list)

    def tell_links(self, links: list[LinkSpec]) -> None:
        """Write the cluster file anew, as whoever monitors the links would."""
        write(_over(self.cluster, links), self.folder / "cluster.json")


def rehearse(schedule: Rehearsal, folder: Path) -> None:
    """Run a schedule, and print predicted against seen.

    Parameters
    ----------
    folder
        Gets costs, cluster, the loop's journal and `rehearsal.json`.

    Raises
    ------
    TestbedError
        If the testbed does not come up, or the schedule names what it does not have.
    """
    check(schedule, LAYOUT)
    folder.mkdir(parents=True, exist_ok=True)
    home = flink_home()
    wan = Wan(schedule.link_bytes_per_s * 8 / 1e6)
    _say("starts Flink on three machines")
    # Without a loop, a job whose machine is lost runs elsewhere, as on a stock Flink.
    agent = "" if schedule.policy == "edgeplace" else "lost=fallback,fallback-after-s=0"
    with World(home, wan, LAYOUT, SETTINGS, agent) as world:
        stage = _set_up(world, schedule, home, folder)
        with _counting(stage), _LEADERS.get(schedule.policy, _scaled)(schedule, stage) as made:
            happened, began_s, ended_s = _run(schedule, stage)
        _report(schedule, stage, happened, began_s, ended_s, made())


def _set_up(world: World, schedule: Rehearsal, home: Path, folder: Path) -> _Stage:
    """Start the job, measure it, and place it best."""
    idle = _carried(world)
    time.sleep(_IDLE_S)
    idle_bytes_per_s = (_carried(world) - idle) / _IDLE_S
    out = world.cluster.scratch / "job"
    out.mkdir()
    offered = OfferedLog(out / "offered")
    offered.set(schedule.rate_per_s)
    workload = next(w for w in WORKLOADS if w.name == "selective-filter")
    rest = world.cluster.rest
    arguments = {**WORKLOAD, "out": str(out), "offered": str(out / "offered")}
    jar = rest.upload(compile_workloads(home, world.cluster.scratch))
    job_id = rest.run(
        jar, [f"{k}={v}" for k, v in arguments.items()], main_class=workload.main_class
    )

    def runs() -> bool:
        subtasks = rest.subtasks(job_id)
        return bool(subtasks) and all(each.state == "RUNNING" for each in subtasks)

    world.cluster.wait_until(runs, "start of the job", _START_S)
    _say("measures the job")
    cores = {m.name: m.cores for m in LAYOUT.machines}
    loop = Loop(world, folder, cores)
    found = loop.discover()
    cluster = _over(found.cluster, world.links)
    loop.apply(_measured_places(found), found.cluster)
    logs = []
    for rate_per_s in _rates(schedule):
        offered.set(rate_per_s)
        time.sleep(_WARM_S)
        logs.append(loop.record(f"measured-{rate_per_s:g}", _RECORD_S))
    offered.set(schedule.rate_per_s)
    job = _born_in_the_field(loop.costs(logs, FoundCase(found.job, cluster)))
    rules = Rules(rules=(Pin(operators=tuple(op.id for op in sinks(job)), to=CLOUD),))
    best = solve(with_rate(job, schedule.rate_per_s), cluster, rules, time_limit_s=_SOLVE_S).plan
    if best is None:
        raise TestbedError("no plan bears the rate at first: take a lower `rate_per_s`")
    loop.apply(best, cluster)
    write(cluster, folder / "cluster.json")
    write(rules, folder / "rules.json")
    places = best.of(job.name)
    return _Stage(world, folder, job, cluster, rules, offered, idle_bytes_per_s, places, loop)


def _rates(schedule: Rehearsal) -> list[float]:
    """Return the rates to measure the job at, ascending: a thread that wakes up for one record
    spends more on it than one that wakes up for several, so one low rate overstates the costs.
    """
    factors = {e.factor for e in schedule.events if isinstance(e, RateStep)}
    return [schedule.rate_per_s * factor for factor in sorted({1.0, *factors})]


def _measured_places(found: FoundCase) -> Plan:
    """Return a placement that shows the filter on both classes of machine."""
    places = {}
    for op in found.job.operators:
        if op in found.job.sources():
            places[op.id] = (PI,) * op.parallelism
        elif op in sinks(found.job):
            places[op.id] = (SERVER,) * op.parallelism
        else:
            places[op.id] = (PI, *(SERVER,) * (op.parallelism - 1))
    return Plan(jobs={found.job.name: places})


def _born_in_the_field(job: JobGraph) -> JobGraph:
    sources = job.sources()
    operators = tuple(
        op.model_copy(update={"born_at": (FIELD,) * op.parallelism}) if op in sources else op
        for op in job.operators
    )
    return job.revised(operators=operators, notes=job.notes)


def _over(cluster: Cluster, links: list[LinkSpec]) -> Cluster:
    """Return the cluster with the links as they are, and the price of the near one."""
    bytes_per_s = {(a.source, a.target): a.bytes_per_s for a in links}

    def as_it_is(link: Link) -> Link:
        ends = link.source, link.target
        price = 1.0 if CLOUD in ends else NEAR_PRICE
        return link.model_copy(
            update={"bandwidth_bytes_per_s": bytes_per_s[ends], "price_per_byte": price}
        )

    return cluster.model_copy(update={"links": tuple(map(as_it_is, cluster.links))})


@contextmanager
def _left_alone(schedule: Rehearsal, stage: _Stage) -> Iterator[_Made]:
    yield list


@contextmanager
def _scaled(schedule: Rehearsal, stage: _Stage) -> Iterator[_Made]:
    """Let a policy's rule choose among proved plans while the block runs."""
    job = with_rate(stage.job, schedule.rate_per_s)
    scaling = Scaling(
        POLICIES[schedule.policy](DAY_S, _PAUSE_S),
        plans_by_rate(job, stage.cluster, stage.rules),
        stage.offered,
        stage.world.cluster.scratch / "job",
        lambda plan: stage.loop.apply(plan, stage.cluster),
    )
    stage.places = scaling.begin(sum(schedule.rate_per_s * s.parallelism for s in job.sources()))
    stop = threading.Event()
    with ThreadPoolExecutor(1, schedule.policy) as pool:
        watched = pool.submit(scaling.watch, stop)
        try:
            yield lambda: scaling.made
        finally:
            stop.set()
    # A rule that has failed has watched over nothing.
    watched.result()


@contextmanager
def _led(schedule: Rehearsal, stage: _Stage) -> Iterator[_Made]:
    """Run the loop while the block runs."""
    settings = {
        "jobmanager": stage.world.url,
        "job": stage.job.name,
        "cluster": "cluster.json",
        "costs": "costs.json",
        "rules": "rules.json",
        **_DEFAULTS,
        **schedule.control,
    }
    (stage.folder / "control.yaml").write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "edgeplace", "control", "run"]
    command += [str(stage.folder / "control.yaml"), "--i-know"]
    with (
        (stage.folder / "control.log").open("w") as told,
        subprocess.Popen(command, stdout=told, stderr=subprocess.STDOUT) as loop,
    ):
        try:
            _wait_for(stage, settings, loop)
            yield lambda: changes(stage.folder / "control" / "journal.jsonl")
        finally:
            loop.send_signal(signal.SIGTERM)
            try:
                loop.wait(_START_S)
            except subprocess.TimeoutExpired:
                loop.kill()


_LEADERS: Mapping[str, Callable[[Rehearsal, _Stage], AbstractContextManager[_Made]]] = {
    "edgeplace": _led,
    "static": _left_alone,
}
"""Who watches the job; the other policies have one for all."""


def _wait_for(stage: _Stage, settings: Mapping[str, Any], loop: "subprocess.Popen[bytes]") -> None:
    """Wait until the loop has decided once, and has a plan for the loss of each site."""
    deadline = time.monotonic() + _START_S
    journal = stage.folder / "control" / "journal.jsonl"
    settled = "if site " if settings["survive"] else '"kind":"solved"'
    while not (journal.exists() and settled in journal.read_text()):
        if loop.poll() is not None or time.monotonic() > deadline:
            told = (stage.folder / "control.log").read_text()[-2000:]
            raise TestbedError(f"the loop does not watch the job:\n{told}")
        time.sleep(_TICK_S)


def _run(
    schedule: Rehearsal, stage: _Stage
) -> tuple[list[tuple[AnyInjected, float]], float, float]:
    """Let all happen; return each event with its time, the begin and the end."""
    injector = Injector(stage.world, stage.offered, schedule.rate_per_s, stage.tell_links)
    begins = [(e.at_s, True, e) for e in schedule.events]
    ends = [(e.at_s + e.for_s, False, e) for e in schedule.events if e.for_s is not None]
    due = sorted((x for x in (*begins, *ends)), key=lambda x: x[0])
    time.sleep(_QUIET_S)
    happened: Happenings = []
    began_s = time.time()
    _say(f"the schedule begins: {schedule.duration_s:.0f} s")
    for at_s, begins_now, event in due:
        if at_s >= schedule.duration_s:
            break
        time.sleep(max(0.0, began_s + at_s - time.time()))
        if begins_now:
            injector.begin(event)
            # After it: what holds from then on is another rate, another link.
            happened.append((event, time.time()))
        else:
            injector.end(event)
        _say(f"{at_s:5.0f} s  {event.said}{'' if begins_now else ': over'}")
    time.sleep(max(0.0, began_s + schedule.duration_s - time.time()))
    return happened, began_s, time.time()


@contextmanager
def _counting(stage: _Stage) -> Iterator[None]:
    """Note each second what the links have carried."""
    stop = threading.Event()

    def count() -> None:
        while not stop.wait(1.0):
            stage.counted.append((time.time(), _carried(stage.world)))

    thread = threading.Thread(target=count, name="counts")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _report(
    schedule: Rehearsal,
    stage: _Stage,
    happened: Happenings,
    began_s: float,
    ended_s: float,
    all_made: list[SeenChange],
) -> None:
    made = [c for c in all_made if c.begun_s > began_s]
    carried = Carried(*zip(*stage.counted, strict=True))
    seen = lag(stage.world.cluster.scratch / "job", stage.offered, began_s, ended_s)
    judge = Judge(stage.job, stage.rules, stage.offered, stage.idle_bytes_per_s)
    spans = list(_spans(schedule, stage, happened, all_made, began_s, ended_s))
    events = []
    times = [at_s for _, at_s in happened]
    for i, (event, at_s) in enumerate(happened):
        to_s = times[i + 1] if i + 1 < len(times) else ended_s
        mine = next((c for c in made if at_s <= c.begun_s < to_s), None)
        before = next(s for s in spans if s.from_s >= at_s)
        after = next((s for s in spans if mine and s.from_s >= mine.ended_s), before)
        if mine is None and event.for_s is not None:
            after = next((s for s in spans if s.from_s >= at_s + event.for_s - 1), before)
        what = Happened(event, at_s, to_s, before, after, mine)
        events.append(compared(what, judge, seen, float(schedule.control.get("poll_s", 10))))
    on_wan = list(steady(spans, judge, seen, carried))
    total = carried.bytes_per_s(began_s, ended_s) * (ended_s - began_s)
    late_s = seen.late_s(began_s, ended_s)
    found = document(
        events,
        on_wan,
        policy=schedule.policy,
        seconds=ended_s - began_s,
        late_s=late_s,
        most_lag_s=seen.most_s(began_s, ended_s),
        wan_bytes=total,
        changes=len(made),
    )
    (stage.folder / "rehearsal.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(events, on_wan, began_s))
    print(
        f"{schedule.policy}: late {late_s:.0f} of {ended_s - began_s:.0f} s, "
        f"{total / 1e6:,.1f} MB over the WAN, {len(made)} changes",
        flush=True,
    )


def _spans(
    schedule: Rehearsal,
    stage: _Stage,
    happened: Happenings,
    made: list[SeenChange],
    began_s: float,
    ended_s: float,
) -> Iterator[Span]:
    """Yield the times between events, their ends, and changes, with what holds in each."""
    ends = [(e, t + e.for_s) for e, t in happened if e.for_s is not None]
    edges = {began_s, ended_s, *(t for _, t in happened), *(t for _, t in ends)}
    edges |= {c.ended_s for c in made}
    inside = sorted(t for t in edges if began_s <= t <= ended_s)
    for a, b in itertools.pairwise(inside):
        active = [e for e, t in happened if t <= a and (e.for_s is None or a < t + e.for_s)]
        places = next((c.places for c in reversed(made) if c.ended_s <= a), stage.places)
        used = {tm for row in places.values() for tm in row}
        gone = {
            m.name
            for m in LAYOUT.machines
            for e in active
            if (isinstance(e, LostSite) and e.site == m.site)
            or (isinstance(e, KilledNode) and e.node == m.name)
        }
        yield Span(a, b, _with(stage.cluster, active), places, bool(used & gone))


def _with(cluster: Cluster, active: list[AnyInjected]) -> Cluster:
    """Return the cluster as it is while some events last."""
    for e in active:
        if e.do == "link":
            links = tuple(
                link.model_copy(update={"bandwidth_bytes_per_s": e.bandwidth_bytes_per_s})
                if {link.source, link.target} == {e.site, e.other}
                else link
                for link in cluster.links
            )
            cluster = cluster.model_copy(update={"links": links})
        elif e.do == "slow":
            nodes = tuple(
                n.model_copy(update={"cores": e.cores}) if n.id == e.node else n
                for n in cluster.nodes
            )
            cluster = cluster.model_copy(update={"nodes": nodes})
    return cluster


def _carried(world: World) -> int:
    return sum(count.carried_bytes for count in world.wan_counts().values())


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
