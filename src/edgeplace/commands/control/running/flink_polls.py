"""Flink's answers to a poll as the loop's event, and as lines of the metric log."""

import hashlib
import json
import math
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from edgeplace.adapters.flink.collect import LogFolder, Poller, polling_interval_s, wait_for_fetch
from edgeplace.adapters.flink.errors import FlinkNotFoundError, FlinkUnreachableError
from edgeplace.adapters.flink.rest import (
    FlinkClient,
    LiveFlink,
    choose,
    listed,
    names_of,
    need,
    placement,
    vertices_of,
)
from edgeplace.control.loop.events import Polled
from edgeplace.model import Cluster, InvalidInputError

_FETCH_WAIT_S = 1.0
_DECIMALS = 3
_AUTOSCALER = ("job.autoscaler.enabled", "kubernetes.operator.job.autoscaler.enabled")
"""The key of the operator since 1.7, and before."""
_COUNTED = ("accumulateBusyTimeMs", "accumulateIdleTimeMs", "accumulateBackPressuredTimeMs")
_LONGEST_PROBLEM = 300
"""Flink quotes whole stack traces; the journal has a line for each poll."""


class FlinkPolls:
    """Polls the job of a name, over restarts and resubmissions.

    Parameters
    ----------
    log
        Takes what Flink has answered, for `edgeplace costs`.
    """

    def __init__(
        self, client: FlinkClient, job: str, cluster: Cluster, log: LogFolder, pool: Executor
    ) -> None:
        self._client = client
        self._job = job
        self.cluster = cluster
        self._log = log
        self._pool = pool
        self._poller: Poller | None = None
        self._is_fresh = False
        self._told: dict[str, tuple[str | None, ...]] = {}
        self._registered: tuple[str, ...] = ()
        self._others: str | None = None
        """To be told with the next whole answer."""
        self.job_id = ""
        """Of the run that was polled last."""

    def tell_all(self) -> None:
        """Let the next poll tell places that it has told before."""
        self._told = {}
        self._registered = ()
        self._poller = None

    def others_registered(self) -> bool:
        """Return whether Flink knows other TaskManagers than at the last poll: a quick look."""
        try:
            return self._now_registered() != self._registered
        except (FlinkNotFoundError, FlinkUnreachableError, InvalidInputError):
            return False

    def _now_registered(self) -> tuple[str, ...]:
        return _registered(self._client.get("/taskmanagers"), self.cluster)

    def _tell_registered(self, now: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return them if they are others than told before."""
        told = now if now != self._registered else None
        self._registered = now
        return told

    def poll(self, at_s: float, wall_s: float) -> Polled:
        """Ask once; what goes wrong is in the answer."""
        try:
            return self._poll(at_s, wall_s)
        except FlinkNotFoundError as e:
            self._poller = None
            problem = e.what
        except (FlinkUnreachableError, InvalidInputError) as e:
            problem = e.what
        return Polled(at_s=at_s, wall_s=wall_s, problem=problem[:_LONGEST_PROBLEM])

    def _poll(self, at_s: float, wall_s: float) -> Polled:
        if self._poller is None:
            jobs = LiveFlink(self._client).jobs()
            job = choose(jobs, self._job)
            if job is None:
                raise InvalidInputError(
                    f"job {self._job!r} does not run; Flink runs {listed(jobs)}", "start it"
                )
            self.job_id = job.id
            self._poller = Poller(self._client, job.id, _FETCH_WAIT_S, self._pool)
            self._others = another_autoscaler(LiveFlink(self._client), job.id)
        if not self._is_fresh:
            # Else the first rates are those of all the time that nobody has asked Flink. One that
            # does not answer is cut off: the next polls show that.
            most_s = polling_interval_s(LiveFlink(self._client), 0.0)
            wait_for_fetch(self._client, most_s, self._pool)
            self._is_fresh = True
        poll = self._poller.poll(self._log.starts_file)
        if not poll.lines:
            registered = self._tell_registered(self._now_registered())
            return Polled(
                at_s=at_s,
                wall_s=wall_s,
                job=self._job,
                state=poll.state,
                registered=registered,
            )
        self._log.append(poll.lines)
        answers = [json.loads(line) for line in poll.lines.splitlines()]
        checkpoints = self._checkpoints()
        seen = polled(answers, checkpoints, self.cluster)
        places = seen.pop("places")
        registered = self._tell_registered(seen.pop("registered"))
        # A placement is long, and seldom another.
        told = places if places != self._told else None
        self._told = places
        others, self._others = self._others, None
        return Polled(
            at_s=at_s, wall_s=wall_s, places=told, registered=registered, others=others, **seen
        )

    def _checkpoints(self) -> Any:
        try:
            return self._client.get(f"/jobs/{self.job_id}/checkpoints")
        except FlinkNotFoundError:
            # Flink knows no such page where checkpointing is off.
            return {}


def another_autoscaler(live: LiveFlink, job_id: str) -> str:
    """Return what else changes the parallelism of a job, in words; empty: nothing that Flink tells.

    The scheduler is the cluster's or the job's; the autoscaler of the Kubernetes operator is told
    by the configuration that the operator gives the JobManager.
    """
    configuration = live.configuration()
    kinds = live.scheduler_kinds()
    if configuration.get("scheduler-mode", "").lower() == "reactive":
        return "scheduler-mode is reactive: Flink itself changes the parallelism"
    stated = configuration.get("jobmanager.scheduler", "")
    if "adaptive" in (stated.lower(), (kinds.get(job_id) or "").lower()):
        return "the adaptive scheduler runs the job: Flink itself changes its parallelism"
    for key in _AUTOSCALER:
        if configuration.get(key, "").lower() == "true":
            return f"{key} is true: the autoscaler of the Kubernetes operator is on"
    return ""


def polled(lines: list[dict[str, Any]], checkpoints: Any, cluster: Cluster) -> dict[str, Any]:
    """Return what the lines of one poll say, as fields of `Polled`.

    Raises
    ------
    InvalidInputError
        If an answer is incomplete.
    """
    answers = {line["path"]: line["answer"] for line in lines if "/metrics" not in line["path"]}
    job = next(a for p, a in answers.items() if p.startswith("/jobs/") and p.count("/") == 2)
    path = f"/jobs/{job['jid']}"
    vertices = vertices_of(job)
    found = {v: answers[f"{path}/vertices/{v}"] for v in vertices}
    names = names_of(answers["/taskmanagers"], cluster)
    places = {
        v: tuple(tm and names.get(tm, tm) for tm in row) for v, row in placement(found).items()
    }
    values: dict[str, dict[str, float]] = {v: {} for v in vertices}
    for line in lines:
        vertex = line["path"].removeprefix(f"{path}/vertices/").removesuffix("/metrics")
        if vertex in values and isinstance(line["answer"], list):
            values[vertex] |= {
                str(m["id"]): figure
                for m in line["answer"]
                if isinstance(m, Mapping) and (figure := _figure(m.get("value"))) is not None
            }
    plan = job.get("plan") or {}
    fed = {n["id"] for n in plan.get("nodes", ()) if n.get("inputs")}
    sources = [v for v in vertices if v not in fed]
    starts = [
        (v, s.get("subtask"), s.get("attempt"), s.get("start-time"))
        for v in vertices
        for s in found[v]["subtasks"]
    ]
    now_ms = need(job, "now", int, f"the answer to {path}")
    youngest_ms = max((t for *_, t in starts if isinstance(t, int)), default=now_ms)
    return {
        "job": str(job.get("name")),
        "job_id": str(job["jid"]),
        "state": str(job.get("state")),
        "run": hashlib.sha256(json.dumps([job["jid"], starts]).encode()).hexdigest()[:12],
        "up_s": max(0.0, (now_ms - youngest_ms) / 1000),
        "counters": {
            v: tuple(_emitted(values[v], i) for i in range(len(places[v]))) for v in sources
        },
        "counted_ms": _counted_ms(values, {v: len(places[v]) for v in sources}),
        "held": _held(values, {v: len(places[v]) for v in sources}),
        "places": places,
        "registered": tuple(sorted(names.values())),
        **_checkpoint(checkpoints, now_ms),
    }


def _registered(answer: Any, cluster: Cluster) -> tuple[str, ...]:
    return tuple(sorted(names_of(answer, cluster).values()))


def _figure(value: Any) -> float | None:
    try:
        figure = float(value)
    except (TypeError, ValueError):
        return None
    return figure if math.isfinite(figure) else None


def _emitted(values: Mapping[str, float], subtask: int) -> float | None:
    """Return the records that a source subtask has emitted; a chain with a sink counts inside."""
    out = values.get(f"{subtask}.numRecordsOut")
    inside = [
        figure
        for name, figure in values.items()
        if name.startswith(f"{subtask}.Source_") and name.endswith(".numRecordsOut")
    ]
    return out if out or not inside else inside[0]


def _counted_ms(
    values: Mapping[str, Mapping[str, float]], subtasks: Mapping[str, int]
) -> float | None:
    """Return the time that Flink has counted at all source subtasks, in whatever they did."""
    counted = [
        values[v].get(f"{i}.{name}")
        for v, count in subtasks.items()
        for i in range(count)
        for name in _COUNTED
    ]
    known = [ms for ms in counted if ms is not None]
    return sum(known) if known and len(known) == len(counted) else None


def _held(values: Mapping[str, Mapping[str, float]], subtasks: Mapping[str, int]) -> float | None:
    """Return the largest share of the time in which a source subtask was held back."""
    shares = [
        values[v].get(f"{i}.backPressuredTimeMsPerSecond")
        for v, count in subtasks.items()
        for i in range(count)
    ]
    known = [s for s in shares if s is not None]
    if not shares or len(known) < len(shares):
        return None
    return round(min(1.0, max(0.0, max(known) / 1000)), _DECIMALS)


def _checkpoint(checkpoints: Any, now_ms: int) -> dict[str, Any]:
    latest = checkpoints.get("latest") if isinstance(checkpoints, Mapping) else None
    latest = latest if isinstance(latest, Mapping) else {}
    done, failed = latest.get("completed"), latest.get("failed")
    began_ms = done.get("trigger_timestamp") if isinstance(done, Mapping) else None
    took_ms = done.get("end_to_end_duration") if isinstance(done, Mapping) else None
    failed_ms = failed.get("trigger_timestamp") if isinstance(failed, Mapping) else None
    return {
        "checkpoint_s": None
        if not isinstance(began_ms, int)
        else round(max(0.0, (now_ms - began_ms) / 1000), _DECIMALS),
        "checkpoint_took_s": took_ms / 1000 if isinstance(took_ms, int) and took_ms > 0 else None,
        "checkpoint_failed": isinstance(failed_ms, int)
        and (not isinstance(began_ms, int) or failed_ms > began_ms),
    }
