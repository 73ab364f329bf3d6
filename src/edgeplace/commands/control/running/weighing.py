"""Weights of the routers of the job that the loop watches: those in force, and writing others."""

import time

from edgeplace.adapters.flink.apply import ApplyEnd
from edgeplace.adapters.flink.errors import AgentMissingError, FlinkUnreachableError
from edgeplace.adapters.flink.plans import PlansFolder, find_plans_folder, key_of
from edgeplace.adapters.flink.rest import LiveFlink, choose, listed
from edgeplace.adapters.flink.split import (
    KeysReport,
    Shares,
    SplitReport,
    TaskShares,
    read_keys_report,
)
from edgeplace.adapters.flink.split import weigh as weigh_now
from edgeplace.commands.control.running.applying import NOT_WRITTEN
from edgeplace.control.loop.answering.alike import are_alike
from edgeplace.control.loop.events import Ended, Weigh, Weights
from edgeplace.model import InvalidInputError

_OLD_S = 10.0
"""Reports are written each second; an older one is of a job that does not run."""
_AGAIN_S = 60.0
"""Between looks for a folder of plans where there is none."""
_SMALLEST = 1e-9


class WeightsInForce:
    """Reads which weights the routers of a job follow, from its report in the folder of plans."""

    def __init__(self, live: LiveFlink, plans: str | None) -> None:
        self._live = live
        self._plans = plans
        self._folder: PlansFolder | None = None
        self._look_s = 0.0
        self._told: Weights | None = None

    def tell(self, job_id: str) -> Weights | None:
        """Return them if they are others than told before; None, too, where they are not known.

        Empty: a router does not follow them.
        """
        if self._folder is None and time.monotonic() < self._look_s:
            return None
        self._look_s = time.monotonic() + _AGAIN_S
        try:
            self._folder = self._folder or find_plans_folder(self._live, self._plans)
            report = read_keys_report(self._folder, job_id)
        except (AgentMissingError, FlinkUnreachableError, InvalidInputError):
            return None
        if report is None or time.time() - report.updated_ms / 1000 > _OLD_S:
            return None
        now = followed(report)
        if not report.splits or now == self._told:
            return None
        self._told = now
        return now

    def tell_all(self) -> None:
        """Let the next call tell what it has told before."""
        self._told = None


def followed(report: KeysReport) -> Weights:
    """Return the weights of each task; empty while a router does not follow them yet."""
    if any(each.routers_following < each.routers for each in report.splits):
        return {}
    return {each.combine: _rows(each) for each in report.splits}


def _rows(split: SplitReport) -> tuple[tuple[float, ...], ...]:
    weights = split.weights or {"*": (1.0,) * split.workers}
    rows = (weights.get(str(r + 1), weights.get("*", ())) for r in range(split.routers))
    shares = (tuple(w / sum(row) for w in row) for row in rows)
    # A file of weights has no smaller one, and the way back has to be one.
    return tuple(tuple(w if w >= _SMALLEST else 0.0 for w in row) for row in shares)


def weigh(effect: Weigh, live: LiveFlink, job_name: str, plans: str | None, epoch: int) -> Ended:
    """Write weights, wait until all routers follow, and return how that ended.

    Weights that a router does not follow in time are not verified: the report of a later poll says
    what is in force. The file has the leader's epoch: routers refuse those of leaders before it.
    """
    try:
        end, reasons = _weigh(effect, live, job_name, plans, epoch)
    except NOT_WRITTEN as e:
        end, reasons = ApplyEnd.REFUSED, (f"{e.what} ({e.cure})",)
    return Ended(at_s=0.0, id=effect.id, end=end.value, reasons=reasons)


def _weigh(
    effect: Weigh, live: LiveFlink, job_name: str, plans: str | None, epoch: int
) -> tuple[ApplyEnd, tuple[str, ...]]:
    folder = find_plans_folder(live, plans)
    with folder.locked():
        jobs = live.jobs()
        job = choose(jobs, job_name)
        if job is None:
            return ApplyEnd.REFUSED, (f"job {job_name!r} does not run; Flink runs {listed(jobs)}",)
        report = read_keys_report(folder, job.id)
        now = followed(report) if report else {}
        if are_alike(effect.weights, now):
            return ApplyEnd.UNCHANGED, ()
        if effect.former and not now:
            why = "not all routers follow their weights just now: no others were written"
            return ApplyEnd.INTERRUPTED, (why,)
        if effect.former and not are_alike(effect.former, now):
            return ApplyEnd.REFUSED, ("somebody has changed the weights meanwhile",)
        key = key_of(job.id, {each.id: each.name for each in jobs})
        done = weigh_now(folder, key, job.id, _shares(effect.weights, epoch), effect.limit_s)
    if done.followed:
        return ApplyEnd.APPLIED, ()
    refused = done.report is not None and bool(done.report.refused)
    return ApplyEnd.REFUSED if refused else ApplyEnd.UNVERIFIED, done.reasons


def _shares(weights: Weights, epoch: int) -> Shares:
    tasks = {
        name: TaskShares(of_all=rows[0])
        if len(set(rows)) == 1
        else TaskShares(of_router=dict(enumerate(rows)), routers=len(rows))
        for name, rows in weights.items()
    }
    return Shares(tasks, epoch)
