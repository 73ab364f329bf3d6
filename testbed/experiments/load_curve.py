"""Curves of load for the sources of the testbed's jobs: CSV with a time in seconds and a rate.

Between two points the rate is a straight line, and two points at one time are a jump; see
`testbed/jobs/Curve.java`.
"""

import csv
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from testbed.errors import TestbedError

HEADER = "seconds,rate"
Point = tuple[float, float]


def of_trace(trace: Path, seconds: float, peak: float, steps: bool) -> list[Point]:
    """Return a recorded load, squeezed into some seconds.

    Parameters
    ----------
    trace
        CSV with a header. The first column has times that grow, as numbers or in ISO 8601, the
        second one the load, in any unit.
    seconds
        Duration of the curve.
    peak
        Rate of a source subtask at the largest load, in records/s.
    steps
        Each load holds until the next one; else the rate goes there in a straight line.

    Raises
    ------
    TestbedError
        If the file is not such a trace.
    """
    with trace.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    times, loads = [], []
    for number, row in enumerate(rows, start=2):
        try:
            times.append(_time_s(row[0]))
            loads.append(float(row[1]))
        except (ValueError, IndexError):
            raise TestbedError(
                f"{trace}, line {number}: a time and a load are needed, not {','.join(row)!r}"
            ) from None
    if len(times) < 2 or any(b <= a for a, b in itertools.pairwise(times)):
        raise TestbedError(f"{trace}: at least two lines are needed, whose times grow")
    if min(loads) < 0 or max(loads) <= 0:
        raise TestbedError(f"{trace}: loads are 0 or more, and one of them more")
    scale = seconds / (times[-1] - times[0])
    points = [
        ((t - times[0]) * scale, load * peak / max(loads))
        for t, load in zip(times, loads, strict=True)
    ]
    return _held(points) if steps else points


@dataclass(frozen=True)
class Producer:
    """A producer that makes so many events in each step, and then pauses.

    Every `change_s` the events of a step grow by a share, until they are the most. Then they shrink
    by the same factor until they are the least, and so on.

    Parameters
    ----------
    start, most, least
        Events of a step.
    growth
        Share, e.g. 0.05.
    pause_s, change_s
        Length of a step, and of the time for which steps are alike.

    Raises
    ------
    TestbedError
        If the figures contradict each other.
    """

    start: float
    most: float
    least: float
    growth: float
    pause_s: float
    change_s: float

    def __post_init__(self) -> None:
        if not 0 < self.least <= self.start <= self.most:
            raise TestbedError(
                "low is above 0 and at most start, and start is at most max; not "
                f"low {self.least:g}, start {self.start:g}, max {self.most:g}"
            )
        if min(self.growth, self.pause_s, self.change_s) <= 0:
            raise TestbedError("growth, pause and change are above 0")

    def curve(self, seconds: float) -> list[Point]:
        """Return the load of some seconds."""
        events, factor = self.start, 1 + self.growth
        points = []
        for change in range(int(seconds // self.change_s) + 1):
            points.append((change * self.change_s, events / self.pause_s))
            if events >= self.most:
                factor = 1 / (1 + self.growth)
            elif events <= self.least:
                factor = 1 + self.growth
            events = min(self.most, max(self.least, events * factor))
        return _held(points)


def write_curve(points: Sequence[Point], file: Path) -> None:
    """Write a curve for the argument ``rate-file`` of a job."""
    lines = [f"{at_s:.6g},{rate:.6g}" for at_s, rate in points]
    file.write_text("\n".join([HEADER, *lines]) + "\n")


def _held(points: Sequence[Point]) -> list[Point]:
    """Return points between which each rate holds until the next."""
    held = [points[0]]
    for (_, before), (at_s, rate) in itertools.pairwise(points):
        held += [(at_s, before), (at_s, rate)]
    return held


def _time_s(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
