"""The plan of the user, a plan file or a schedulercfg, with the names of a running Flink."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from os.path import getsize, isfile
from pathlib import Path

from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.errors import FlinkNotFoundError
from edgeplace.adapters.flink.plans.operator_names import refuse_other_operators
from edgeplace.adapters.flink.plans.plan_size import LARGEST_PLAN_BYTES, check_plan_size, too_large
from edgeplace.adapters.flink.rest.live import LiveTaskManager, RunningJob, cluster_of
from edgeplace.adapters.flink.schedulercfg.names import INDEXED, TaskNames
from edgeplace.model import (
    Cluster,
    InvalidInputError,
    JobGraph,
    Node,
    Plan,
    TaskManager,
    read,
)
from edgeplace.model.parsing.content import bytes_of
from edgeplace.model.text import first_few

Places = dict[str, tuple[str, ...]]
"""Operator id -> place of each subtask."""
_SUFFIXES_OF_OURS = {".yaml", ".yml", ".json", ".gz"}


def is_schedulercfg(path: str | Path) -> bool:
    """Return whether `read_plan` takes a file of this name for a schedulercfg."""
    return not set(Path(path).suffixes) & _SUFFIXES_OF_OURS


@dataclass(frozen=True)
class Schedulercfg:
    """The text of a schedulercfg: it names tasks, and no job."""

    text: str


def read_plan(path: str | Path, largest_bytes: int | None = None) -> Plan | Schedulercfg:
    """Return a plan of ours, or a schedulercfg.

    Parameters
    ----------
    largest_bytes
        A file that is larger is refused before it is read; None: none is.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is too large, or is neither.
    """
    if largest_bytes is not None and isfile(path) and getsize(path) > largest_bytes:
        raise too_large(str(path))
    raw = bytes_of(path)
    # The name of a task may start with a brace.
    is_json = raw.lstrip().startswith(b"{") and b'"jobs"' in raw
    if is_json or not is_schedulercfg(path):
        return read(path, Plan)
    try:
        return Schedulercfg(raw.decode())
    except UnicodeDecodeError as e:
        line = e.object.count(b"\n", 0, e.start) + 1
        raise InvalidInputError(f"{path}:{line}: not UTF-8", "save the file as UTF-8") from e


def read_real_plan(path: str | Path) -> Plan | Schedulercfg:
    """Return a plan that a running Flink can obey.

    Raises
    ------
    InvalidInputError
        As for `read_plan`, and if it is too large for a plan, or one for what `solve --set`
        supposed.
    """
    plan = read_plan(path, LARGEST_PLAN_BYTES)
    if isinstance(plan, Plan):
        refuse_supposed(plan, path)
    return plan


def refuse_supposed(plan: Plan, path: str | Path) -> None:
    """Refuse a plan for a job or a task that does not exist.

    Raises
    ------
    InvalidInputError
        If it is one.
    """
    if plan.supposing:
        raise InvalidInputError(
            f"{path} is a plan for what is not there: solve --set {' '.join(plan.supposing)}",
            "solve again without --set, for the job and the cluster as they are",
        )


def plan_of_jobs(
    found: Plan | Schedulercfg, jobs: Sequence[JobGraph], cluster: Cluster, origin: str
) -> Plan:
    """Return what a file says of some jobs as a plan in the cluster's names.

    A schedulercfg is of one job: of several, of the one that has all its tasks.

    Raises
    ------
    InvalidInputError
        If a schedulercfg does not belong to the jobs and the cluster.
    """
    if isinstance(found, Plan):
        return found
    own = jobs[0] if len(jobs) == 1 else _owner(found, jobs, origin)
    return Plan(
        jobs={own.name: schedulercfg.parse(found.text, job=own, cluster=cluster, origin=origin)}
    )


def _owner(found: Schedulercfg, jobs: Sequence[JobGraph], origin: str) -> JobGraph:
    """Return the job that a schedulercfg is of."""
    named = frozenset(_tasks_of(found.text))
    fit = [job for job in jobs if _has_tasks(job, named, same_parallelism=True)]
    if len(fit) == 1:
        return fit[0]
    names = ", ".join(repr(job.name) for job in fit or jobs)
    raise InvalidInputError(
        f"{origin}: its tasks are those of {'each' if fit else 'none'} of the jobs {names}",
        "give a plan (JSON or YAML), which names its jobs",
    )


def planned_jobs(
    plan: Plan | Schedulercfg,
    jobs: tuple[RunningJob, ...],
    asked: str | None,
    origin: str,
    graph_of: Callable[[str], JobGraph],
) -> tuple[RunningJob, ...]:
    """Return the running jobs that a plan is for, in the order of the plan.

    A schedulercfg names no job: of several that run, it is for the one that has all its tasks, in
    the same parallelism if there is one.

    Parameters
    ----------
    asked
        Id or name of the job, if the user says it.
    graph_of
        Returns the graph of the job with an id; asked only where several jobs run.

    Raises
    ------
    InvalidInputError
        If it is for none of the jobs that run, or it is not clear for which.
    FlinkUnreachableError
        If Flink does not answer.
    """
    fit = list(jobs) if asked is None else _asked_for(asked, jobs)
    if isinstance(plan, Plan):
        fit = _named_by(plan, fit, jobs, origin)
        alike = _of_one_name(fit)
    else:
        if not fit:
            raise InvalidInputError("no job runs", "submit the job first")
        if len(fit) > 1:
            fit = _with_the_tasks(plan, fit, graph_of)
        if not fit:
            raise InvalidInputError(
                f"{origin} names tasks that no running job has",
                f"--job NAME says what does not fit a job; running: {_listed(jobs)}",
            )
        alike = fit
    if len(alike) > 1:
        raise InvalidInputError(
            f"{origin} can be for {len(alike)} running jobs: {_listed(alike)}",
            f"say which: --job {alike[0].id}"
            + ("" if _of_one_name(alike) else f" or --job {shlex.quote(alike[0].name)}"),
        )
    return tuple(fit)


def _asked_for(asked: str, jobs: Sequence[RunningJob]) -> list[RunningJob]:
    """Return the job with an id, or those with a name."""
    fit = [j for j in jobs if j.id == asked] or [j for j in jobs if j.name == asked]
    if not fit:
        raise InvalidInputError(f"no job {asked!r} runs", f"running: {_listed(jobs)}")
    return fit


def _named_by(
    plan: Plan, fit: Sequence[RunningJob], jobs: Sequence[RunningJob], origin: str
) -> list[RunningJob]:
    """Return the jobs that a plan names, in its order."""
    found = [j for name in plan.jobs for j in fit if j.name == name]
    if not found:
        planned = ", ".join(map(repr, plan.jobs)) or "no job"
        raise InvalidInputError(
            f"{origin} is a plan for {planned}, running: {_listed(jobs)}",
            "solve again for the job that runs"
            if jobs
            else "submit the job first; to place it from its start, let `solve --schedulercfg DIR` "
            "write into the folder of plans",
        )
    return found


def _listed(jobs: Sequence[RunningJob]) -> str:
    return ", ".join(f"{j.name!r} ({j.id})" for j in jobs) or "none"


def _with_the_tasks(
    plan: Schedulercfg, jobs: Sequence[RunningJob], graph_of: Callable[[str], JobGraph]
) -> list[RunningJob]:
    """Return the jobs with all tasks of a plan; with its parallelism if there are such."""
    named = frozenset(_tasks_of(plan.text))
    for same in (True, False):
        fit = [j for j in jobs if _runs_tasks(j, named, graph_of, same_parallelism=same)]
        if fit:
            return fit
    return []


def _of_one_name(jobs: Sequence[RunningJob]) -> list[RunningJob]:
    """Return the jobs that have the name of another one of them."""
    names = [j.name for j in jobs]
    return [j for j in jobs if names.count(j.name) > 1]


def planned_places(
    plan: Plan | Schedulercfg,
    job: JobGraph,
    task_managers: tuple[LiveTaskManager, ...],
    user: Cluster | None,
    origin: str,
) -> Places:
    """Return where a plan wants each subtask, by resource id.

    A TaskManager that is not registered keeps the name that the plan gives it.

    Parameters
    ----------
    job
        In the parallelism of the plan, see `rescaled`.
    user
        The cluster whose names the plan uses, if those are not Flink's own.

    Raises
    ------
    InvalidInputError
        If the plan does not fit the job, was made for other operators of the same ids, or names a
        place that means several TaskManagers.
    """
    if isinstance(plan, Plan):
        places = _fitting(plan.of(job.name), job, origin)
        refuse_other_operators(plan, job, origin)
    else:
        text = plan.text
        check_plan_size(text, job, origin)
        named = _with_unknown(text, cluster_of(task_managers))
        places = schedulercfg.parse(text, job=job, cluster=named, dialect="modern", origin=origin)
    found = _ResourceIds(task_managers, user, as_the_agent=isinstance(plan, Schedulercfg))
    return {op: tuple(map(found.of, names)) for op, names in places.items()}


def meant_by_host(
    names: Set[str], task_managers: tuple[LiveTaskManager, ...], user: Cluster | None = None
) -> frozenset[str]:
    """Return the resource ids of the TaskManagers that names mean by their hosts.

    A plan in the folder names these by their hosts too, so that a TaskManager that comes back
    there with another id has its predecessor's place.

    Parameters
    ----------
    names
        The places in a plan.
    user
        The cluster whose names the plan uses, if those are not Flink's own.

    Raises
    ------
    InvalidInputError
        If the cluster has several TaskManagers of one host.
    """
    return frozenset(
        tm.id
        for tm in task_managers
        if tm.id not in names
        and (
            tm.host in names
            or (
                user is not None
                and user.resolve_task_manager(tm.id) is None
                and user.resolve_task_manager(tm.host) is not None
            )
        )
    )


class _ResourceIds:
    """Finds the resource id that a name of a plan means.

    Parameters
    ----------
    as_the_agent
        A name means the TaskManager that has it as its id or host, as the agent takes it; else a
        port behind a host and special characters count for nothing, as in plans from metrics.
    """

    def __init__(
        self,
        task_managers: tuple[LiveTaskManager, ...],
        user: Cluster | None,
        as_the_agent: bool,
    ) -> None:
        self._live = cluster_of(task_managers)
        self._as_the_agent = as_the_agent
        self._user = user
        self._by_users_id: dict[str, list[str]] = {}
        self._known: dict[str, str] = {}
        for tm in task_managers if user else ():
            mine = user and (user.resolve_task_manager(tm.id) or user.resolve_task_manager(tm.host))
            if mine:
                self._by_users_id.setdefault(mine, []).append(tm.id)

    def of(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> str:
        mine = self._known_as(name, self._user) if self._user else None
        fit = self._by_users_id.get(mine, []) if mine else []
        if len(fit) > 1:
            raise InvalidInputError(
                f"{name!r} of the cluster file matches {len(fit)} registered TaskManagers: {fit}",
                "set taskmanager.resource-id on each and use it as the TaskManager's id",
            )
        return fit[0] if fit else self._known_as(name, self._live) or name

    def _known_as(self, name: str, cluster: Cluster) -> str | None:
        names = {n for tm in cluster.task_managers for n in (tm.id, tm.host)}
        if self._as_the_agent and name not in names:
            return None
        return cluster.resolve_task_manager(name)


def _fitting(places: Mapping[str, tuple[str, ...]], job: JobGraph, origin: str) -> Places:
    own = {op.id: op for op in job.operators}
    problems = [f"it has {o!r}, which the job has not" for o in places if o not in own]
    problems += [f"it lacks {op.name!r} ({op.id})" for op in job.operators if not places.get(op.id)]
    if problems:
        raise InvalidInputError(
            f"{origin} does not fit job {job.name!r} as it runs: "
            + first_few(problems, 6, "; ", before_rest="; and "),
            "solve again for the job as it runs",
        )
    return dict(places)


def _tasks_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield task and parallelism of each line; a line that is none is a task that no job has."""
    for line in schedulercfg.without_settings(text).rstrip("\n").split("\n"):
        hit = INDEXED.fullmatch(line.rpartition("; ")[0])
        yield (hit[1], int(hit[3])) if hit else (line, 0)


def _runs_tasks(
    job: RunningJob,
    named: frozenset[tuple[str, int]],
    graph_of: Callable[[str], JobGraph],
    same_parallelism: bool,
) -> bool:
    try:
        return _has_tasks(graph_of(job.id), named, same_parallelism)
    except (FlinkNotFoundError, InvalidInputError):
        return False  # It ended meanwhile, or it is a batch job.


def _has_tasks(graph: JobGraph, named: frozenset[tuple[str, int]], same_parallelism: bool) -> bool:
    tasks = TaskNames(graph)
    return all(
        any(n == (op.parallelism if same_parallelism else n) for op in tasks.meant_by(key))
        for key, n in named
    )


def locations(text: str) -> set[str]:
    """Return the locations that the lines of a schedulercfg name."""
    return set(_locations(text))


def _locations(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        _, found, location = line.rpartition("; ")
        if found and location.strip():
            yield location.strip()


def _with_unknown(text: str, live: Cluster) -> Cluster:
    """Add the locations that Flink does not know: what they mean is not a question of grammar."""
    known = {name for tm in live.task_managers for name in (tm.id, tm.host)}
    unknown = sorted(locations(text) - known)
    return Cluster(
        sites=live.sites,
        nodes=(*live.nodes, *(Node(id=s, site=live.sites[0].id, cores=1.0) for s in unknown)),
        task_managers=(
            *live.task_managers,
            *(TaskManager(id=s, node=s, slots=0) for s in unknown),
        ),
    )
