"""What was seen in a rehearsal: how far the sources lag behind what is offered, bytes on links."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgeplace.spark_stats.arrays import Floats
from testbed.rehearsal.offered import OfferedLog

LATE_S = 2.0
"""A source that lags further behind is late."""
_GAP_S = 2.5
"""Sources write a line a second: without one for so long, the job stood still."""


@dataclass(frozen=True)
class Lag:
    """The lag of the source that is furthest behind, in s, at each second."""

    at_s: Floats
    lag_s: Floats
    gaps: tuple[tuple[float, float], ...]
    """From when to when some source told nothing."""

    def late_s(self, from_s: float, to_s: float) -> float:
        """Return the seconds in which a source was late."""
        return float((self._within(from_s, to_s) > LATE_S).sum())

    def most_s(self, from_s: float, to_s: float) -> float:
        """Return the largest lag."""
        return float(self._within(from_s, to_s).max(initial=0.0))

    def in_rate_s(self, from_s: float, to_s: float) -> float | None:
        """Return after how long the lag grew no more; None: nothing was late."""
        lags = self._within(from_s, to_s)
        return float(lags.argmax()) if self.late_s(from_s, to_s) else None

    def made_up_s(self, from_s: float, to_s: float, late_s: float = LATE_S) -> float | None:
        """Return after how long nothing was late any more; None: not until the end."""
        late = np.flatnonzero(self._within(from_s, to_s) > late_s)
        if not len(late):
            return 0.0
        last = int(late[-1])
        return float(last + 1) if last + 2 < to_s - from_s else None

    def stood_s(self, from_s: float, to_s: float) -> tuple[float, float] | None:
        """Return from when to when the job stood still longest; None: it never did."""
        inside = [(a, b) for a, b in self.gaps if a >= from_s - 2 and b <= to_s]
        return max(inside, key=lambda gap: gap[1] - gap[0], default=None)

    def _within(self, from_s: float, to_s: float) -> Floats:
        return self.lag_s[(self.at_s >= from_s) & (self.at_s < to_s)]


def lag(out: Path, offered: OfferedLog, from_s: float, to_s: float) -> Lag:
    """Return the lag between two Unix times, by what the sources have written."""
    at_s = np.arange(from_s, to_s)
    worst, gaps = np.zeros(len(at_s)), []
    for times, records in _told(out):
        gaps += [(a, b) for a, b in itertools.pairwise(times) if b - a > _GAP_S]
        # What was emitted last, while it stands still; a job that restarts goes back.
        last = np.searchsorted(times, at_s, side="right") - 1
        emitted = np.where(last >= 0, records[np.maximum(last, 0)], 0.0)
        lines_s = times[np.maximum(last, 0)]
        behind = np.array([offered.until(t) for t in lines_s]) - emitted
        rates = np.array([max(offered.rate(t), 1e-9) for t in lines_s])
        still_s = np.where(at_s - lines_s > _GAP_S, at_s - lines_s, 0.0)
        worst = np.maximum(worst, behind / rates + still_s)
    return Lag(at_s, worst, tuple(gaps))


def emitted(out: Path, at_s: Floats) -> Floats:
    """Return the records that all sources have emitted until some Unix times.

    Parameters
    ----------
    at_s
        Shape (times,), ascending.

    Returns
    -------
    Shape (times,); 0 before a source has told anything.
    """
    total = np.zeros(len(at_s))
    for times, records in _told(out):
        total += np.interp(at_s, times, records, left=0.0)
    return total


def waiting(out: Path, offered: OfferedLog) -> float:
    """Return the records that were offered and not emitted when each source told it last."""
    behind = (offered.until(float(at_s[-1])) - float(told[-1]) for at_s, told in _told(out))
    return sum(max(0.0, records) for records in behind)


def _told(out: Path) -> Iterator[tuple[Floats, Floats]]:
    """Yield Unix times and emitted records until then, of each source that has told something."""
    for file in sorted(out.glob("source-*.jsonl")):
        lines = [json.loads(x) for x in file.read_text().splitlines() if x.endswith("}")]
        if lines:
            yield (
                np.array([e["ts_ms"] / 1000 for e in lines]),
                np.array([e["records"] for e in lines], dtype=float),
            )


@dataclass(frozen=True)
class Carried:
    """What all links have carried until some moments."""

    at_s: Sequence[float]
    total: Sequence[int]

    def bytes_per_s(self, from_s: float, to_s: float) -> float:
        """Return the mean between two Unix times."""
        ends = np.interp([from_s, to_s], self.at_s, self.total)
        return float((ends[1] - ends[0]) / (to_s - from_s))


@dataclass(frozen=True)
class SeenChange:
    """A change that the loop made."""

    id: str
    kind: str
    begun_s: float
    ended_s: float
    end: str
    places: Mapping[str, tuple[str, ...]]
    saw_s: float | None = None
    """When the loop saw that a site was lost, if that was why."""


def changes(journal: Path) -> list[SeenChange]:
    """Return the changes of a journal; one that has not ended is left out."""
    found, begun, saw_s = [], {}, None
    for text in journal.read_text().splitlines():
        line = json.loads(text)
        event = line["event"]
        if " is lost" in line["says"] and event.get("registered"):
            saw_s = event["at_s"]
        for effect in line["effects"]:
            if effect["kind"] == "apply":
                begun[effect["id"]] = event["at_s"], effect
        if event["kind"] == "ended" and event["id"] in begun:
            begun_s, effect = begun.pop(event["id"])
            kind = "lost" if effect.get("at_once") else "must or worth it"
            found.append(
                SeenChange(
                    event["id"],
                    kind,
                    begun_s,
                    event["at_s"],
                    event["end"],
                    {op: tuple(row) for op, row in effect["places"].items()},
                    saw_s if kind == "lost" else None,
                )
            )
    return found
