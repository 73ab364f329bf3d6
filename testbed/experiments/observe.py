"""Measurements of a running job: bytes on the WAN, records, latency, processors."""

import itertools
import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from edgeplace.spark_stats.arrays import Floats
from testbed.errors import TestbedError
from testbed.flink.local_cluster import JOB_MANAGER
from testbed.network.cpu_quota import machine_busy_s
from testbed.world import World

_STALL_S = 120.0
"""Time for which full buffers before a thin link may block a source, so that it writes nothing. A
mini-batch of SQL in the source's chain puts out 600 kB at once, which take 10 s at 0.5 Mbit/s, and
several may wait for one link. The windows of a measurement are shorter together.
"""
_SLACK_S = 1.2
"""Time until the last line of a window is written."""


@dataclass(frozen=True)
class Moment:
    """Counters at one moment."""

    at_s: float
    link_bytes: Mapping[tuple[str, str], int]
    dropped: int
    cpu_s: Mapping[str, float]
    machine_s: float


@dataclass(frozen=True)
class Window:
    """Rates between two moments.

    Parameters
    ----------
    link_bytes_per_s
        IP bytes on each directed link, by source and target.
    cores
        Used cores of each Flink process.
    machine_busy
        Busy share of all processors of this machine, with any work.
    """

    begin_s: float
    end_s: float
    link_bytes_per_s: Mapping[tuple[str, str], float]
    dropped: int
    cores: Mapping[str, float]
    machine_busy: float

    @property
    def wan_bytes_per_s(self) -> float:
        """Sum over all links, both directions."""
        return sum(self.link_bytes_per_s.values())


def look(world: World) -> Moment:
    """Return the current counters."""
    counts = world.wan_counts()
    return Moment(
        at_s=time.time(),
        link_bytes={ends: count.carried_bytes for ends, count in counts.items()},
        dropped=sum(count.dropped_packets for count in counts.values()),
        cpu_s={
            name: world.cluster.cpu_use(name).cpu_s
            for name in (JOB_MANAGER, *(machine.name for machine in world.layout.machines))
        },
        machine_s=machine_busy_s(),
    )


def windows(world: World, count: int, seconds: float) -> list[Window]:
    """Measure some windows of equal length, one after the other."""
    moments = [look(world)]
    for _ in range(count):
        due_s = moments[-1].at_s + seconds
        time.sleep(max(0.0, due_s - time.time()))
        world.cluster.check_alive()
        moments.append(look(world))
    return [_between(a, b) for a, b in itertools.pairwise(moments)]


def source_rates(out: Path, watched: Sequence[Window]) -> Floats:
    """Return records per second of each source subtask in each window, shape (sources, windows).

    The rates must not change until this returns, because sources write only once a second.

    Raises
    ------
    TestbedError
        If a source has written nothing around the windows.
    """
    time.sleep(_SLACK_S)
    files = sorted(out.glob("source-*.jsonl"))
    if not files:
        raise TestbedError(f"{out}: no source has written how many records it has emitted")
    rates = []
    edges = np.array([(w.begin_s, w.end_s) for w in watched])
    for file in files:
        lines = [(e["ts_ms"] / 1000, e["records"]) for e in _lines(file)]
        at_s, records = np.array(lines, dtype=float).reshape(-1, 2).T
        if not len(at_s) or at_s[-1] < edges[-1, 1] - _STALL_S:
            raise TestbedError(f"{file}: the source has stopped writing")
        counted = np.interp(edges, at_s, records)
        rates.append(np.diff(counted)[:, 0] / np.diff(edges)[:, 0])
    return np.array(rates)


@dataclass(frozen=True)
class Latency:
    """Latency of the results in some windows, in ms, from geometric buckets of 5 %."""

    results: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


def latency(out: Path, watched: Sequence[Window]) -> Latency | None:
    """Return the latency of the results that came in the windows, ``None`` if none came."""
    time.sleep(_SLACK_S)
    buckets: Counter[float] = Counter()
    sum_ms = 0.0
    for file in sorted(out.glob("latency-*.jsonl")):
        for entry in _lines(file):
            if any(w.begin_s < entry["ts_ms"] / 1000 <= w.end_s for w in watched):
                buckets.update({float(k): n for k, n in entry["buckets"].items()})
                sum_ms += entry["sum_ms"]
    count = sum(buckets.values())
    if not count:
        return None
    return Latency(
        count,
        sum_ms / count,
        *(_percentile(buckets, count, share) for share in (0.50, 0.95, 0.99)),
    )


def middle(values: Sequence[float]) -> float:
    """Return the median; it is the only average used, as one window may be disturbed."""
    return median(values)


def _between(a: Moment, b: Moment) -> Window:
    took_s = b.at_s - a.at_s
    return Window(
        begin_s=a.at_s,
        end_s=b.at_s,
        link_bytes_per_s={
            ends: (b.link_bytes[ends] - before) / took_s for ends, before in a.link_bytes.items()
        },
        dropped=b.dropped - a.dropped,
        cores={name: (b.cpu_s[name] - before) / took_s for name, before in a.cpu_s.items()},
        machine_busy=(b.machine_s - a.machine_s) / took_s / (os.cpu_count() or 1),
    )


def _percentile(buckets: Mapping[float, int], count: int, share: float) -> float:
    left = share * count
    for bound, n in sorted(buckets.items()):
        left -= n
        if left <= 0:
            return bound
    return math.inf


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return  # The last line may be incomplete.
