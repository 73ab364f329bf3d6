"""Measurement of one placement of a running job: at a rate that it sustains, then overloaded."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from edgeplace import Cluster, Plan
from testbed.core_speed import CoreSpeed
from testbed.errors import TestbedError
from testbed.experiments.headline_report import AS_OFFERED
from testbed.experiments.loop import Loop
from testbed.experiments.observe import Window, latency, middle, source_rates, windows
from testbed.experiments.workloads import Workload
from testbed.world import Wan, World

DELAY_MS = 25.0
WIDE = Wan(50.0, DELAY_MS)
TRIALS = 3
TRICKLE = "1"
_OVERLOAD = 2.0
"""The overload, as a multiple of the rate that a placement should sustain. Without a limit, a
source that crosses no link would take the processors from all others.
"""
_MOST_OFFERED = 16.0
"""Largest overload."""
_FILLING = 2.0
"""Multiple of an offer that fills the buffers before a link. Empty buffers would accept the records
that do not fit the link.
"""
_RESTART_S = 300.0
"""Time for which a restart may last."""
RESTARTED = "restarted"
"""Key of a summary: whether the job restarted meanwhile. On a full link, a checkpoint may keep the
heartbeat of a TaskManager waiting.
"""
_UNFAIR = 1.1
"""Ratio of the fastest to the slowest source, above which they may disturb each other."""


_Measured = Callable[[float], dict[str, Any]]
"""Offers records to each source subtask, in records/s, and returns the summary."""


@dataclass(frozen=True)
class Schedule:
    """Durations in seconds."""

    windows: int = 5
    window_s: float = 5.0
    """Length of a window; each contains a checkpoint, which is taken every 5 s."""
    records_a_window: float = 10.0
    """Least records of a source subtask in a window. Windows are longer if records are few."""
    most_windows: int = 20
    rate_error: float = 0.04
    """Standard error of the mean rate under overload, as a share of it, above which further windows
    follow, up to `most_windows`. On thin links, rates of windows differ by a factor of two.
    """
    idle_s: float = 30.0
    """Measurement of Flink without jobs."""
    measure_s: int = 20
    """Duration of `edgeplace flink collect` for streams and state."""
    rate_s: int = 105
    """Duration of `collect` at each rate for the costs of processors. The three logs of a placement
    are in six minutes of the clock at least, and a regression needs ten of two placements, without
    the minute of the move.
    """
    shares: tuple[float, ...] = (2 / 3, 1 / 3)
    """Rates beside full speed for these logs, as shares of it."""
    warm_up_s: float = 30.0
    """Warm-up at full speed before costs are measured, because the JVM compiles frequent code."""
    settle_s: float = 3.0
    """Pause after a change of the placement or the rate."""
    state_s: float = 30.0
    """Time until a state has the size of a new rate, before costs or a placement are measured at
    it. Q3's state covers 20 s.
    """
    fill_s: float = 6.0
    """Time until the buffers before a thin link are full."""
    busy_limit: float = 0.85
    """Share of this machine's processors above which a measurement is rejected."""


@dataclass(frozen=True)
class HeadlineRun:
    """A workload that runs."""

    world: World
    workload: Workload
    job_id: str
    out: Path
    loop: Loop
    schedule: Schedule
    core_speed: CoreSpeed

    def rate(self, text: str) -> None:
        """Set the records per second of each source subtask."""
        draft = self.out / "rate.draft"
        draft.write_text(text)
        draft.rename(self.out / "rate")


def watched(
    run: HeadlineRun, cluster: Cluster, mbit: float, plan: Plan, rate: float, sustained: float
) -> dict[str, Any]:
    """Apply a placement and measure it, first at a rate that it should sustain, then overloaded.

    Raises
    ------
    TestbedError
        If the job cannot be moved, if this machine is busy with other work, or if the job restarts
        at the first rate, also at a third try.
    """
    run.rate(TRICKLE)
    run.world.set_wan(WIDE)
    _move(run, plan, cluster)
    run.world.set_wan(Wan(mbit, DELAY_MS))
    rejected = 0
    while True:
        seen, disturbed = _once(run, mbit, rate, sustained)
        if not disturbed:
            return {"rejected": rejected, **seen}
        rejected += 1
        say(f"rejected: {disturbed}")
        if rejected == TRIALS:
            raise TestbedError(f"measured {TRIALS} times, and each time {disturbed}")
        time.sleep(run.schedule.settle_s)


def _once(
    run: HeadlineRun, mbit: float, rate: float, sustained: float
) -> tuple[dict[str, Any], str]:
    """Return what was measured, and what disturbed it; empty: nothing did."""
    schedule = run.schedule
    _wait_until_it_runs(run, mbit)
    since_s = time.time()
    run.rate(f"{rate:.4f}")
    time.sleep(schedule.state_s)
    length_s = max(schedule.window_s, schedule.records_a_window / rate)
    steady = windows(run.world, schedule.windows, length_s)
    at_rate, latencies = _summary(run, steady, since_s), latency(run.out, steady)
    if at_rate[RESTARTED]:
        return {}, f"the job restarted at {rate:.4g} records/s of each source"
    full = []

    def measured(offer: float) -> dict[str, Any]:
        for _ in range(2):
            # A restart may be due to what an offer before has left.
            full.append(_at_offer(run, mbit, sustained, offer))
            if not full[-1][RESTARTED]:
                break
        return full[-1]

    best, offered = _overloaded(measured, sustained)
    if best[RESTARTED] or _is_unfair(best):
        best, offered = largest_offer(measured, at_rate, best, offered)
    run.rate(TRICKLE)
    busy = max(each["machine_busy"] for each in [at_rate, *full])
    found = {
        "steady": {**at_rate, "latency": asdict(latencies) if latencies else None},
        "full": {**best, "offered_per_subtask": offered},
    }
    return found, f"{busy:.0%} of this machine was busy" if busy > schedule.busy_limit else ""


def _move(run: HeadlineRun, plan: Plan, cluster: Cluster) -> None:
    """Apply a placement. What an overload has left may restart the job, which is then refused."""
    for trial in range(1, TRIALS + 1):
        try:
            run.loop.apply(plan, cluster)
        except TestbedError as error:
            if trial == TRIALS:
                raise
            say(f"applied again: {error}")
            time.sleep(run.schedule.state_s)
        else:
            return


def _overloaded(measured: _Measured, sustained: float) -> tuple[dict[str, Any], float]:
    """Return the summary of an overload, and its offer to each source.

    While all of it is sustained, the offer is doubled.
    """
    offered = _OVERLOAD * sustained
    while True:
        seen = measured(offered)
        if seen["per_subtask"] < AS_OFFERED * offered or offered >= _MOST_OFFERED * sustained:
            return seen, offered
        offered *= 2


def largest_offer(
    measured: _Measured, at_rate: dict[str, Any], overloaded: dict[str, Any], offered: float
) -> tuple[dict[str, Any], float]:
    """Find what each source can be offered at most, after an overload that they shared badly, where
    one may have taken what the other needs, or in which the job restarted.

    First each gets the mean of what all had, and after a restart something between the rate that
    was sustained and the overload; then more while all of it is sustained, and less while the job
    restarts.

    Parameters
    ----------
    measured
        Measures an offer to each source.
    at_rate
        The summary of a rate that was sustained.
    overloaded, offered
        The summary of the overload, and its offer.

    Returns
    -------
    tuple
        The best summary, and the least offer that was not sustained: it is at most a tenth above
        the best summary's rate, if all that was offered then was sustained.
    """
    best, seen = at_rate, overloaded
    while True:
        if not seen[RESTARTED]:
            best = max(best, seen, key=lambda each: float(each["per_subtask"]))
        # A job that stands still sustains nothing.
        if offered <= _UNFAIR * best["per_subtask"] or best["per_subtask"] <= 0:
            return best, offered
        share = math.sqrt(best["per_subtask"] * offered)
        if seen is overloaded and not seen[RESTARTED]:
            share = max(share, fmean(seen["per_source"]))
        seen = measured(share)
        if seen[RESTARTED] or seen["per_subtask"] < AS_OFFERED * share:
            offered = share
            if not (seen[RESTARTED] or _is_unfair(seen)):
                return max(best, seen, key=lambda each: float(each["per_subtask"])), offered


def _is_unfair(seen: Mapping[str, Any]) -> bool:
    """Return whether some source had far more than another."""
    rates: list[float] = seen["per_source"]
    return max(rates) > _UNFAIR * min(rates)


def _at_offer(run: HeadlineRun, mbit: float, sustained: float, offered: float) -> dict[str, Any]:
    """Offer records to each source; return the summary of so many windows that the mean of their
    rates is known, or of those in which the job restarted.
    """
    schedule = run.schedule
    _wait_until_it_runs(run, mbit)
    since_s = time.time()
    run.rate(f"{_FILLING * offered:.4f}")
    time.sleep(schedule.settle_s if mbit >= WIDE.mbit_per_s else schedule.fill_s)
    run.rate(f"{offered:.4f}")
    time.sleep(schedule.settle_s)
    length_s = max(schedule.window_s, schedule.records_a_window / sustained)
    seen = windows(run.world, schedule.windows, length_s)
    while True:
        summary = _summary(run, seen, since_s)
        each = np.array(summary["per_subtask_each"])
        error = each.std(ddof=1) / math.sqrt(len(each))
        known = error <= schedule.rate_error * each.mean()
        if known or summary[RESTARTED] or len(seen) >= schedule.most_windows:
            return summary
        seen += windows(run.world, schedule.windows, length_s)


def _wait_until_it_runs(run: HeadlineRun, mbit: float) -> None:
    """Wait for a job that an overload has restarted, and until it has done what waited for it.

    Over a thin link it would never run again: its state goes with the message that deploys it,
    which Flink waits for no longer than 10 s.
    """
    rest = run.world.cluster.rest

    def runs() -> bool:
        return all(each.state == "RUNNING" for each in rest.subtasks(run.job_id))

    run.rate(TRICKLE)
    try:
        run.world.cluster.wait_until(runs, "a job that runs", run.schedule.settle_s)
    except TestbedError:
        run.world.set_wan(WIDE)
        run.world.cluster.wait_until(runs, "restart after an overload", _RESTART_S)
        time.sleep(run.schedule.state_s)
        run.world.set_wan(Wan(mbit, DELAY_MS))


def _summary(run: HeadlineRun, watched: Sequence[Window], since_s: float) -> dict[str, Any]:
    """Return the medians, every window of the figures that count, and whether the job has restarted
    since a time.

    Rate and bytes are those of all windows together: the content of the buffers between a source
    and a full link varies by the records of a second, and a window may have the bytes of two
    checkpoints or of none.
    """
    whole = replace(watched[-1], begin_s=watched[0].begin_s)
    rates = source_rates(run.out, [*watched, whole])
    failure = run.world.cluster.rest.last_failure(run.job_id)
    slowest = rates.min(axis=0).tolist()
    wan = [w.wan_bytes_per_s for w in watched]
    links = watched[0].link_bytes_per_s
    return {
        "wan_bytes_per_s": fmean(wan),
        "wan_bytes_per_s_each": wan,
        "per_subtask": slowest[-1],
        "per_subtask_each": slowest[:-1],
        "per_source": rates[:, -1].tolist(),
        "link_bytes_per_s": {
            f"{a} -> {b}": middle([w.link_bytes_per_s[a, b] for w in watched]) for a, b in links
        },
        "cores": {n: middle([w.cores[n] for w in watched]) for n in watched[0].cores},
        "machine_busy": max(w.machine_busy for w in watched),
        RESTARTED: failure is not None and failure[0] > since_s,
        "core_speed": run.core_speed.between(whole.begin_s, whole.end_s),
        "dropped_packets": sum(w.dropped for w in watched),
        "seconds": whole.end_s - whole.begin_s,
    }


def say(text: str) -> None:
    """Print a line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
