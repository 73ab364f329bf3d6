"""Which of several jobs run if not all of them fit: those of higher priority first."""

from collections.abc import Callable
from dataclasses import dataclass

from edgeplace.model import Case, Result, Status, StoppedBy


@dataclass(frozen=True)
class Waiting:
    """A job that does not fit beside those that come before it.

    Attributes
    ----------
    beside
        The jobs that come before it and run.
    result
        The answer for it together with them: why there is no plan.
    """

    job: str
    priority: int
    beside: tuple[str, ...]
    result: Result


@dataclass(frozen=True)
class Admission:
    """The jobs that run, their plan, and the jobs that wait.

    Attributes
    ----------
    case
        With the jobs that run only.
    """

    case: Case
    result: Result
    waiting: tuple[Waiting, ...] = ()


def by_priority(case: Case, solved: Callable[[Case], Result]) -> Admission:
    """Solve a case, and if it has no plan, with as many of its jobs as fit.

    Jobs are admitted one after the other, the highest priority first, and jobs of equal priority in
    their order: each runs if all that were admitted before it and it have a plan together. So a job
    never waits for one of lower priority. Their places are found together: a plan is the best one
    of all jobs that run. If the rules state no priorities, all jobs run or none does.

    Parameters
    ----------
    solved
        Answers a case.

    Returns
    -------
    Admission
        With the answer to the whole case if it has a plan, if it is not shown that it has none, or
        if none of its jobs has one.
    """
    result = solved(case)
    if result.status is not Status.INFEASIBLE or not case.ranked:
        return Admission(case, result)
    priority = case.priorities
    running: list[str] = []
    waiting: list[Waiting] = []
    best = None
    for name in sorted(priority, key=lambda name: -priority[name]):
        wanted = case.without_jobs(priority.keys() - {*running, name})
        # The last one makes the case whole, unless another waits: this was answered.
        found = result if len(wanted.jobs) == len(case.jobs) else solved(wanted)
        if found.plan:
            running.append(name)
            best = Admission(wanted, found)
        else:
            waiting.append(Waiting(name, priority[name], tuple(running), found))
        if found.stopped_by is StoppedBy.INTERRUPT:
            break
    return Admission(best.case, best.result, tuple(waiting)) if best else Admission(case, result)
