"""Poll a job into the metric log, also after restarts of the JobManager and of the job."""

import time
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from edgeplace.adapters.flink.collect.fetched import wait_for_fetch
from edgeplace.adapters.flink.collect.log_file import MetricLog
from edgeplace.adapters.flink.collect.poll import Poll, Poller, now_ms
from edgeplace.adapters.flink.errors import FlinkNotFoundError, FlinkUnreachableError
from edgeplace.adapters.flink.plans.folder import clock
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.job_choice import choose, is_job_id, listed
from edgeplace.adapters.flink.rest.job_states import GLOBALLY_TERMINAL
from edgeplace.adapters.flink.rest.live import LiveFlink, RunningJob
from edgeplace.adapters.flink.rest.metric_age import fetch_interval_s
from edgeplace.model import InvalidInputError, some

_AT_ONCE = 4
_FETCH_WAIT_S = 1.0
_FETCH_MARGIN_S = 0.5
"""Margin: Flink renews metrics only if a request comes *later* than its interval after the last
fetch.
"""
_BREATH = 1.25
"""If a poll takes longer than the interval, the next one starts after this multiple of its
duration.
"""
_LONGEST_WAIT_S = 60.0
_GONE_AFTER_S = 300.0
"""Time for which a restarted JobManager may not know its jobs."""


class CollectEnd(StrEnum):
    """The reason why collecting ended."""

    DURATION = "duration"
    INTERRUPT = "interrupt"
    JOB_ENDED = "job ended"
    JOB_GONE = "job gone"
    FULL = "full"


@dataclass
class Gap:
    """A period without data in the log."""

    from_ms: int
    reason: str
    to_ms: int | None = None
    """None: it has not ended."""


@dataclass
class Collected:
    """The state of collecting."""

    interval_s: float
    job: RunningJob | None = None
    """Id of the current run of the job."""
    jobs: dict[str, str] = field(default_factory=dict)
    """Id -> name of every run of the job that is in the log."""
    polls: int = 0
    values: int = 0
    last: Poll | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    gaps: list[Gap] = field(default_factory=list)
    end: CollectEnd = CollectEnd.INTERRUPT
    end_reason: str = ""


class Watcher(Protocol):
    """Receives the progress of collecting."""

    def say(self, text: str) -> None:
        """Report an event to the user."""

    def polled(self, so_far: Collected) -> None:
        """Report that a poll is in the log."""


def polling_interval_s(live: LiveFlink, wanted_s: float) -> float:
    """Return the least interval for Flink; with a shorter one, polls would get the same metrics
    twice.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If it gives no metrics.
    """
    try:
        configuration = live.configuration()
    except FlinkNotFoundError:
        # A gateway may hide the configuration.
        configuration = {}
    fetch_s = fetch_interval_s(configuration)
    return max(wanted_s, fetch_s + _FETCH_MARGIN_S)


def followed_job(live: LiveFlink, ref: str | None) -> RunningJob | None:
    """Return the job to collect: of this id or name, or the only one; None: wait for the name.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If there is no job of this id, no job at all, or if several jobs match.
    """
    jobs = live.jobs()
    job = choose(jobs, ref)
    if job is None and ref is None:
        raise InvalidInputError(
            f"{live.url}: Flink runs no job", "start the job, or give its name to wait: --job NAME"
        )
    if job is None and ref is not None and is_job_id(ref):
        raise InvalidInputError(
            f"{live.url}: there is no running job {ref}", f"Flink runs {listed(jobs)}"
        )
    return job


def collect(
    client: FlinkClient,
    log: MetricLog,
    watcher: Watcher,
    *,
    job: RunningJob | None,
    name: str | None,
    interval_s: float,
    duration_s: float | None = None,
) -> Collected:
    """Poll until the time is over, the job has ended, the log is full, or Ctrl-C.

    While Flink does not answer or the job does not run, the log has a gap. Then collecting
    continues.

    Parameters
    ----------
    job
        The job; None: the next job of this name.
    name
        Follow the job of this name over resubmissions, which have other ids; None: only this run.
    interval_s
        From the start of a poll to the start of the next, see `polling_interval_s`. Longer polls
        increase it.
    duration_s
        None: no end.

    Raises
    ------
    InvalidInputError
        If the log cannot be written.
    """
    done = Collected(interval_s, job)
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            _Collector(client, log, watcher, pool, name, done).run(duration_s)
    except KeyboardInterrupt:
        done.end = CollectEnd.INTERRUPT
    if done.gaps and done.gaps[-1].to_ms is None:
        done.gaps[-1].to_ms = now_ms()
    return done


class _Collector:
    def __init__(
        self,
        client: FlinkClient,
        log: MetricLog,
        watcher: Watcher,
        pool: Executor,
        name: str | None,
        done: Collected,
    ) -> None:
        self._client = client
        self._log = log
        self._watcher = watcher
        self._pool = pool
        self._name = name
        self._done = done
        self._poller: Poller | None = None
        self._is_fresh = False
        self._failures = 0
        self._missing_since_s: float | None = None
        self._said_slow = False
        if done.job:
            self._follow(done.job)

    def run(self, duration_s: float | None) -> None:
        deadline_s = None if duration_s is None else time.monotonic() + duration_s
        while True:
            began_s = time.monotonic()
            end = self._turn()
            if end is not None:
                self._done.end = end
                return
            next_s = began_s + self._pause_s(time.monotonic() - began_s)
            if deadline_s is not None and next_s > deadline_s:
                self._done.end = CollectEnd.DURATION
                return
            time.sleep(max(0.0, next_s - time.monotonic()))

    def _pause_s(self, took_s: float) -> float:
        """Return the time between the starts of this poll and of the next one, for a duration of
        this poll.
        """
        interval_s = self._done.interval_s
        if self._failures:
            return max(interval_s, took_s, min(self._failures, _LONGEST_WAIT_S))
        if took_s <= interval_s:
            return interval_s
        if not self._said_slow:
            self._said_slow = True
            self._watcher.say(
                f"a poll took {took_s:.1f} s, longer than the interval of {interval_s:g} s: polls "
                "are as far apart as they take"
            )
        return _BREATH * took_s

    def _turn(self) -> CollectEnd | None:
        try:
            if self._poller is None:
                jobs = LiveFlink(self._client).jobs()
                job = choose(jobs, self._name)
                if job is None:
                    return self._gap(
                        f"waiting for a job called {self._name!r}; Flink runs {listed(jobs)}"
                    )
                self._follow(job)
                self._watcher.say(f"following job {job.name!r} ({job.id})")
            assert self._poller is not None  # noqa: S101 - _follow has set it
            if not self._is_fresh:
                self._refresh()
            poll = self._poller.poll(self._log.starts_file)
        except FlinkNotFoundError as e:
            return self._missing(e.what)
        except (FlinkUnreachableError, InvalidInputError) as e:
            return self._gap(e.what)
        self._missing_since_s = None
        if poll.state in GLOBALLY_TERMINAL:
            return self._ended(poll.state)
        if not poll.lines:
            return self._gap(f"the job is {poll.state}")
        if not self._log.append(poll.lines):
            self._done.end_reason = f"{self._log.where} has reached --max-bytes"
            return CollectEnd.FULL
        self._record(poll)
        return None

    def _follow(self, job: RunningJob) -> None:
        wait_s = min(_FETCH_WAIT_S, self._done.interval_s / 2)
        self._done.job = job
        self._poller = Poller(self._client, job.id, wait_s, self._pool)
        self._is_fresh = False

    def _refresh(self) -> None:
        """Let no metrics into the log that are older than it."""
        late = wait_for_fetch(self._client, self._done.interval_s, self._pool)
        self._is_fresh = True
        if late:
            self._watcher.say(
                f"Flink has no new metrics of {some(late)} after {self._done.interval_s:g} s: the "
                "first may be older than the log, and rates of a short log too high"
            )

    def _missing(self, what: str) -> CollectEnd | None:
        if self._name is not None:
            self._poller = None
            return self._gap(what)
        now_s = time.monotonic()
        if self._missing_since_s is None:
            self._missing_since_s = now_s
        if now_s - self._missing_since_s < _GONE_AFTER_S:
            return self._gap(what)
        self._done.end_reason = f"Flink has not known the job for {_GONE_AFTER_S:.0f} s"
        return CollectEnd.JOB_GONE

    def _ended(self, state: str) -> CollectEnd | None:
        if self._name is None:
            self._done.end_reason = f"the job is {state}"
            return CollectEnd.JOB_ENDED
        self._poller = None
        return self._gap(f"the job is {state}; waiting for one called {self._name!r}")

    def _gap(self, reason: str) -> CollectEnd | None:
        """Record that this poll is missing in the log."""
        self._failures += 1
        gaps, at_ms = self._done.gaps, now_ms()
        if not gaps or gaps[-1].to_ms is not None:
            gaps.append(Gap(self._done.to_ms or at_ms, reason))
            self._watcher.say(f"{clock(at_ms / 1000)}: a gap in the log: {reason}")
        return None

    def _record(self, poll: Poll) -> None:
        done, at_ms = self._done, now_ms()
        self._failures = 0
        if done.gaps and done.gaps[-1].to_ms is None:
            gap = done.gaps[-1]
            gap.to_ms = at_ms
            self._watcher.say(
                f"{clock(at_ms / 1000)}: collecting continues after "
                f"{(at_ms - gap.from_ms) / 1000:.0f} s"
            )
        if done.job:
            done.jobs[done.job.id] = done.job.name
        done.polls += 1
        done.values += poll.values
        done.last = poll
        done.from_ms = done.from_ms or at_ms
        done.to_ms = at_ms
        self._watcher.polled(done)
