"""Carrying out what the loop wants as `edgeplace flink apply` does: verified, or undone."""

import time
from collections.abc import Callable

from edgeplace.adapters.flink.apply import (
    ApplyEnd,
    carry_out,
    cordon_problems,
    job_now,
    plan_change,
    propose,
    until_problems,
)
from edgeplace.adapters.flink.errors import (
    AgentMissingError,
    FlinkNotFoundError,
    FlinkUnreachableError,
    PlanNotWrittenError,
)
from edgeplace.adapters.flink.plans import find_plans_folder, planned_places, rescaled
from edgeplace.adapters.flink.rest import LiveFlink, choose, listed
from edgeplace.adapters.flink.schedulercfg import CHECKPOINT_INTERVAL_MS, EPOCH, promised
from edgeplace.control.loop.events import Apply, Ended, Places
from edgeplace.model import Cluster, InvalidInputError, Plan

_ORIGIN = "the loop's plan"
_RESTARTS_S = 30.0
NOT_WRITTEN = (
    AgentMissingError,
    FlinkNotFoundError,
    FlinkUnreachableError,
    InvalidInputError,
    PlanNotWrittenError,
)
"""After these the job runs as before."""
_AGAIN_S = 0.5


def apply(
    effect: Apply,
    live: LiveFlink,
    job_name: str,
    cluster: Cluster,
    plans: str | None,
    epoch: int,
    tell: Callable[[str], None],
) -> Ended:
    """Move a job, and return how that ended; the caller puts the time in.

    The plan has the leader's epoch: the agent refuses those of leaders before it.

    A job that has lost a site restarts before it waits for it; only then it can be moved.
    """
    deadline_s = time.monotonic() + min(effect.limit_s, _RESTARTS_S)
    while True:
        try:
            end, reasons = _apply(effect, live, job_name, cluster, plans, epoch, tell)
        except NOT_WRITTEN as e:
            end, reasons = ApplyEnd.REFUSED, (f"{e.what} ({e.cure})",)
        final = end is not ApplyEnd.REFUSED or not effect.at_once
        if final or time.monotonic() >= deadline_s:
            return Ended(at_s=0.0, id=effect.id, end=end.value, reasons=reasons)
        time.sleep(_AGAIN_S)


def _apply(
    effect: Apply,
    live: LiveFlink,
    job_name: str,
    cluster: Cluster,
    plans: str | None,
    epoch: int,
    tell: Callable[[str], None],
) -> tuple[ApplyEnd, tuple[str, ...]]:
    folder = find_plans_folder(live, plans)
    with folder.locked():
        jobs, task_managers, now_s = live.jobs(), live.task_managers(), time.time()
        job = choose(jobs, job_name)
        if job is None:
            return ApplyEnd.REFUSED, (f"job {job_name!r} does not run; Flink runs {listed(jobs)}",)
        now = job_now(live, folder, job, jobs, now_s)

        def resource_ids(wanted: Places) -> Places:
            """Return a placement, in its own parallelism, as Flink calls TaskManagers."""
            plan = Plan(jobs={now.graph.name: wanted})
            graph = rescaled(plan, now.graph, _ORIGIN)
            return planned_places(plan, graph, task_managers, cluster, _ORIGIN)

        after = resource_ids(effect.places)
        if effect.former:
            former = resource_ids(effect.former)
            if now.places not in (former, after):
                return ApplyEnd.REFUSED, ("somebody has moved the job meanwhile",)
        settings = {EPOCH: epoch}
        if effect.interval_s is not None:
            settings[CHECKPOINT_INTERVAL_MS] = round(1000 * effect.interval_s)
        if effect.promises is not None:
            says = effect.promises
            settings |= folder.shown(promised(says.wan_bytes_per_s, says.headroom))
        change = plan_change(folder, now, after, task_managers, settings)
        proposal = propose(live, folder, now, after, change, task_managers, now_s)
        problems = [*proposal.problems, *until_problems(folder, now)]
        problems += cordon_problems(live, folder, proposal, task_managers, now_s)
        if problems and not proposal.nothing_to_do:
            return ApplyEnd.REFUSED, tuple(map(str, problems))
        outcome = carry_out(live, folder, proposal, timeout_s=effect.limit_s, tell=tell)
    return outcome.end, outcome.reasons
