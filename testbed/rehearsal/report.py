"""Predicted against seen: each event of a rehearsal, and the bytes on the WAN between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from edgeplace import Cluster, JobGraph, Plan, Rules, evaluate
from edgeplace.control.loop.recovery import made_up_s
from edgeplace.control.rehearsal import AnyInjected, KilledNode, LostSite
from edgeplace.model import Evaluation
from testbed.rehearsal.offered import OfferedLog
from testbed.rehearsal.place import HEARTBEAT_S
from testbed.rehearsal.seen import Carried, Lag, SeenChange

_SETTLE_S = 12.0
_SHORTEST_S = 15.0
_NOTHING_S = 0.5
_GUARD_S = 30.0
_LOOK_S = 1.0
_KILL_NOTICED_S = 2.0
"""Until Flink finds the ports of a killed TaskManager closed."""
_PAUSE_S = 2.0
_CHECKPOINT_S = 5.0


@dataclass(frozen=True)
class Span:
    """A time in which one thing holds: links, places, machines."""

    from_s: float
    to_s: float
    cluster: Cluster
    places: Mapping[str, tuple[str, ...]]
    stands: bool = False
    """A place is cut off or killed."""


@dataclass(frozen=True)
class Happened:
    """An event, in Unix time."""

    event: AnyInjected
    at_s: float
    to_s: float
    """Until the next event begins, or the end."""
    before: Span
    """What holds at once."""
    after: Span
    """What holds after the loop's answer, if there is one."""
    change: SeenChange | None


@dataclass(frozen=True)
class Compared:
    """An event: what was to be expected, and what was seen. Times are since it began, in s."""

    event: str
    change: str
    begun_predicted_s: float | None
    begun_s: float | None
    runs_predicted_s: float
    runs_s: float
    made_up_predicted_s: float
    made_up_s: float | None
    late_s: float
    noticed_s: float | None = None
    elsewhere_s: float | None = None
    """After it was noticed."""


@dataclass(frozen=True)
class Bytes:
    """The WAN in a span that was steady."""

    from_s: float
    to_s: float
    predicted: float
    seen: float

    @property
    def error(self) -> float:
        """(predicted - seen) / seen."""
        return self.predicted / self.seen - 1


class Judge:
    """The evaluator, on the job of a rehearsal.

    Parameters
    ----------
    idle_bytes_per_s
        That Flink sends over all links without a job.
    """

    def __init__(self, job: JobGraph, rules: Rules, offered: OfferedLog, idle: float) -> None:
        self._job = job
        self._rules = rules
        self._offered = offered
        self._idle = idle

    def rate(self, at_s: float) -> float:
        """Return the records per second of all sources."""
        return self._offered.rate(at_s) * sum(op.parallelism for op in self._job.sources())

    def sustained(self, span: Span, at_s: float) -> float:
        """Return the records per second that a span sustains."""
        if span.stands:
            return 0.0
        return min(self._judged(span, at_s).headroom, 1e6) * self.rate(at_s)

    def wan(self, span: Span) -> float:
        """Return the bytes per second on all links in a span."""
        return self._judged(span, span.from_s).wan_bytes_per_s + self._idle

    def _judged(self, span: Span, at_s: float) -> Evaluation:
        job = self._job
        for source in job.sources():
            job = job.with_source_rate(source.id, self._offered.rate(at_s) * source.parallelism)
        # What it bears, without a reserve.
        cluster = span.cluster.model_copy(update={"cpu_target": 1.0, "link_target": 1.0})
        return evaluate(job, cluster, Plan(jobs={job.name: dict(span.places)}), self._rules)


def compared(what: Happened, judge: Judge, lag: Lag, poll_s: float) -> Compared:
    """Compare one event with what the model says of it."""
    event, change, at_s = what.event, what.change, what.at_s
    fails = isinstance(event, (KilledNode, LostSite)) and what.before.stands
    rate = judge.rate(at_s)
    before = judge.sustained(what.before, at_s)
    short = before < rate
    noticed_s = HEARTBEAT_S if isinstance(event, LostSite) else _KILL_NOTICED_S
    begins_s = noticed_s + _LOOK_S if fails else poll_s + _GUARD_S
    if fails and change is None and event.for_s is not None:
        # It waits for its place.
        begins_s = event.for_s
    runs_s = begins_s + _PAUSE_S if fails or short else 0.0
    after = judge.sustained(what.after, at_s)
    again = rate * _CHECKPOINT_S / 2 if fails else 0.0
    stood = lag.stood_s(at_s, what.to_s) if fails else None
    seen_runs = change.ended_s - at_s if change else 0.0
    if stood:
        seen_runs = stood[1] - at_s
    return Compared(
        event=event.said,
        change=change.id if change else "",
        begun_predicted_s=begins_s if change else None,
        begun_s=change.begun_s - at_s if change else None,
        runs_predicted_s=runs_s,
        runs_s=seen_runs,
        made_up_predicted_s=made_up_s(runs_s, rate, before, after, again),
        made_up_s=lag.made_up_s(at_s, what.to_s),
        late_s=lag.late_s(at_s, what.to_s),
        noticed_s=change.saw_s - at_s if change and change.saw_s else None,
        elsewhere_s=change.ended_s - change.saw_s if change and change.saw_s else None,
    )


def steady(spans: Sequence[Span], judge: Judge, lag: Lag, carried: Carried) -> Iterator[Bytes]:
    """Yield predicted and seen bytes of each span in which nothing was late."""
    for span in spans:
        a, b = span.from_s + _SETTLE_S, span.to_s
        # What little still waits would be sent beside what comes.
        made_up = lag.made_up_s(a, b, _NOTHING_S)
        a += made_up or 0.0
        if span.stands or made_up is None or b - a < _SHORTEST_S:
            continue
        yield Bytes(a, b, judge.wan(replace(span, from_s=a)), carried.bytes_per_s(a, b))


def table(events: Sequence[Compared], spans: Sequence[Bytes], began_s: float) -> str:
    """Return all as text."""
    head = ("event", "change", "begun after", "runs after", "made up after", "late")
    rows = [head]
    for e in events:
        rows.append(
            (
                e.event,
                e.change or "none",
                _pair(e.begun_predicted_s, e.begun_s) if e.change else "-",
                _pair(e.runs_predicted_s, e.runs_s) if e.runs_predicted_s or e.runs_s else "-",
                _pair(e.made_up_predicted_s, e.made_up_s),
                f"{e.late_s:.0f} s",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines += [
        f"{e.event}: Flink noticed it after {e.noticed_s:.1f} s, the job ran elsewhere "
        f"{e.elsewhere_s:.1f} s later"
        for e in events
        if e.noticed_s is not None and e.elsewhere_s is not None
    ]
    lines += [
        f"WAN from {s.from_s - began_s:.0f} to {s.to_s - began_s:.0f} s: predicted "
        f"{s.predicted:,.0f} B/s, seen {s.seen:,.0f} ({s.error:+.1%})"
        for s in spans
    ]
    return "\n".join(["predicted / seen", *lines])


def document(events: Sequence[Compared], spans: Sequence[Bytes], **more: Any) -> dict[str, Any]:
    """Return all as plain data."""
    return {"events": [asdict(e) for e in events], "wan": [asdict(s) for s in spans], **more}


def _pair(predicted: float | None, seen: float | None) -> str:
    return f"{_seconds(predicted)} / {_seconds(seen)}"


def _seconds(value: float | None) -> str:
    if value is None or value == float("inf"):
        return "never"
    return f"{value:.1f} s"
