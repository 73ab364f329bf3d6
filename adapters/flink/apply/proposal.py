"""A change of where a running job is placed: shown first, then carried out."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from os.path import lexists
from pathlib import Path
from types import MappingProxyType

from edgeplace.adapters.flink import schedulercfg
from edgeplace.adapters.flink.apply.moves import (
    SubtaskMove,
    moves,
    rescaled_operators,
    slots_needed,
)
from edgeplace.adapters.flink.apply.preconditions import (
    Obstacle,
    agent_problems,
    checkpoint_problems,
    job_problems,
    rescaling_problems,
    slot_problems,
)
from edgeplace.adapters.flink.apply.price import MovePrice, price
from edgeplace.adapters.flink.checks.local_recovery import is_on
from edgeplace.adapters.flink.plans.cordons import cordoned, cordons, undo_command
from edgeplace.adapters.flink.plans.folder import PlansFolder, UntilPlan, clock, key, key_of
from edgeplace.adapters.flink.plans.parallelism import in_parallelism_of
from edgeplace.adapters.flink.plans.plan_file import (
    Places,
    Schedulercfg,
    locations,
    meant_by_host,
    planned_places,
)
from edgeplace.adapters.flink.rest.live import (
    LiveFlink,
    LiveTaskManager,
    RunningJob,
    cluster_of,
    job_names,
)
from edgeplace.adapters.flink.rest.task_managers import is_generated
from edgeplace.adapters.flink.schedulercfg.names import TaskNames
from edgeplace.adapters.flink.schedulercfg.settings import EPOCH
from edgeplace.adapters.flink.schedulercfg.settings import rendered as top
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator
from edgeplace.model.text import first_few

UNASSIGNED = "(unassigned)"
NO_SETTINGS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class JobNow:
    """A running job as it is placed now."""

    job: RunningJob
    graph: JobGraph
    places: Places
    """`UNASSIGNED` where a subtask runs nowhere."""
    problems: tuple[Obstacle, ...]
    """Why it cannot be moved from there."""
    plan_path: Path
    """The file of its plan, whether it is there or not."""
    until: UntilPlan | None
    """The plan until a time that it follows now."""
    waits: bool = False
    """By its plan it waits for TaskManagers: a new plan moves it without a checkpoint."""
    planned: bool = False
    """It follows a plan already: then subtasks that stay keep their slots."""


@dataclass(frozen=True)
class FileChange:
    """What becomes of one plan file, and what undoes that."""

    path: Path
    former: str | None
    """What it holds; None: it is not there."""
    text: str | None
    """What it is to hold; None: it is to be removed."""
    follows: str
    """The plan that the job follows then."""
    way_back: str | None
    """What it has to hold for the job to return to where it is now; None: be removed."""
    returns_to: str
    """The plan that the job follows then."""


@dataclass(frozen=True)
class Proposal:
    """What is to become of a job."""

    now: JobNow
    after: Places
    moves: tuple[SubtaskMove, ...]
    price: MovePrice
    change: FileChange
    problems: tuple[Obstacle, ...]
    warnings: tuple[str, ...]

    @property
    def nothing_to_do(self) -> bool:
        """The job runs there already, and its plan says so for its fail-overs."""
        return not self.moves and not self.now.problems and self.change.text == self.change.former


def job_now(
    live: LiveFlink,
    folder: PlansFolder,
    job: RunningJob,
    jobs: tuple[RunningJob, ...],
    now_s: float,
) -> JobNow:
    """Return how a job is placed now, and which plan files it goes by.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If the job cannot be placed: a batch job; or if its status file is not the agent's.
    """
    graph = live.job_graph(job.id)
    subtasks = live.subtasks(job.id)
    keys = (job.id, key(job.name))
    in_force = [u for u in folder.until_plans() if u.key in keys and u.expires_s > now_s]
    # A plan by id goes before one by name.
    in_force.sort(key=lambda u: keys.index(u.key))
    by_id = folder.plan_path(job.id)
    said = folder.status(job.id)
    waits = said is not None and bool(said.waiting_for)
    return JobNow(
        job,
        graph,
        {
            op.id: tuple(s.task_manager or UNASSIGNED for s in subtasks[op.id])
            for op in graph.operators
        },
        () if waits else tuple(job_problems(job, graph, subtasks)),
        # As the agent has it, whatever it is: a link that leads nowhere too.
        by_id if lexists(by_id) else folder.plan_path(key_of(job.id, job_names(jobs))),
        in_force[0] if in_force else None,
        waits,
        said is not None and said.applied_sha256 is not None,
    )


def propose(
    live: LiveFlink,
    folder: PlansFolder,
    now: JobNow,
    after: Places,
    change: FileChange,
    task_managers: tuple[LiveTaskManager, ...],
    now_s: float,
    cluster: Cluster | None = None,
) -> Proposal:
    """Compare where a job runs with where it is to run, and find what is in the way.

    Parameters
    ----------
    after
        Operator id -> resource id of each subtask, in another parallelism if that is wanted.
    cluster
        The user's cluster, for the time that links take; None: it is not forecast.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    moved = moves(now.graph, now.places, after)
    rescaled = rescaled_operators(now.places, after)
    checkpoints = live.checkpoints(now.job.id)
    problems = [*now.problems, *agent_problems(live, folder, now.job, task_managers, now_s)]
    problems += slot_problems(live, now.job, now.graph, after, task_managers)
    if rescaled:
        problems += rescaling_problems(folder)
    warnings = []
    if moved and not now.waits:
        problems += checkpoint_problems(now.job, checkpoints)
        if checkpoints.interval_ms is not None and not checkpoints.completed:
            warnings.append(f"no checkpoint of {now.job.name!r} has completed yet")
    cost = MovePrice(0, {}, 0.0, 0.0)
    if moved:
        cost = price(
            live,
            now.job.id,
            now.graph,
            now.places,
            after,
            moved,
            checkpoints.last,
            keeps_state=now.planned and is_on(live.configuration()),
            cluster=cluster,
        )
    return Proposal(now, after, moved, cost, change, tuple(problems), tuple(warnings))


def plan_change(
    folder: PlansFolder,
    now: JobNow,
    after: Places,
    task_managers: tuple[LiveTaskManager, ...],
    settings: Mapping[str, int] = NO_SETTINGS,
    by_host: Set[str] | None = None,
) -> FileChange:
    """Return the change of a job's plan file to another placement.

    The text stays as it is where the job runs as it says already.

    Parameters
    ----------
    settings
        Stand at the top of the plan. The way back has the same epoch: the agent refuses a lower.
    by_host
        Resource ids of the TaskManagers that go by their hosts; None: those that do so already.

    Raises
    ------
    InvalidInputError
        If the plan file that stands there cannot be read.
    """
    former = folder.read(now.plan_path)
    target = in_parallelism_of(after, now.graph)
    there = None if former is None else places_of(former, target, task_managers)
    by_host_now = meant_by_host(locations(former or ""), task_managers)
    by_host = by_host_now if by_host is None else by_host
    text = top(settings) + rendered(after, target, task_managers, by_host)
    named = {tm for places in after.values() for tm in places}
    if (
        former is not None
        and there == after
        and by_host & named == by_host_now & named
        and schedulercfg.settings_of(former) == settings
    ):
        text = former if there == now.places else once_more(former)
    epoch = {k: v for k, v in settings.items() if k == EPOCH}
    back: str | None = top(epoch) + rendered(now.places, now.graph, task_managers, by_host_now)
    was = None if former is None else places_of(former, now.graph, task_managers)
    if now.waits or (former is not None and was == now.places and not epoch):
        back = former
    return FileChange(now.plan_path, former, text, text, back, back or "")


def plan_of_now(
    graph: JobGraph,
    places: Mapping[str, Sequence[str | None]],
    task_managers: tuple[LiveTaskManager, ...],
) -> str:
    """Return where a job runs now as the text of a plan, which `apply` accepts and moves nothing.

    Parameters
    ----------
    places
        Operator id -> resource id of each subtask, None: nowhere.

    Raises
    ------
    InvalidInputError
        If a subtask is nowhere, or on a TaskManager that is not registered any more.
    """
    registered = {tm.id for tm in task_managers}
    lost = [
        f"{op.name} ({i}/{op.parallelism}) is {f'on {place}' if place else 'nowhere'}"
        for op in graph.operators
        for i, place in enumerate(places[op.id], 1)
        if place not in registered
    ]
    if lost:
        raise InvalidInputError(
            f"job {graph.name!r} has subtasks on no registered TaskManager: "
            + first_few(lost, 6, "; ", before_rest="; and "),
            "wait until all of them run, then ask again",
        )
    return rendered({o: tuple(map(str, row)) for o, row in places.items()}, graph, task_managers)


def tasks_by_id(graph: JobGraph) -> list[Operator]:
    """Return the operators that go by their JobVertexIDs in a plan."""
    tasks = TaskNames(graph)
    return [op for op in graph.operators if tasks.key_of(op) == op.id != op.name]


def until_problems(folder: PlansFolder, now: JobNow) -> list[Obstacle]:
    """Return whether a plan until a time would keep another plan of the job from being used.

    Raises
    ------
    InvalidInputError
        If a plan file cannot be read.
    """
    if now.until is None:
        return []
    # The cordon of the drain holds as long as its plan.
    undo = undo_command(left_by(folder, now.until), cordons(folder, now.until.expires_s - 1))
    return [
        Obstacle(
            f"job {now.job.name!r} is drained from a node until {clock(now.until.expires_s)} "
            f"({now.until.path.name}): another plan would not be used before",
            f"end it with `{undo}`" if undo else f"wait until then, or remove {now.until.path}",
        )
    ]


def left_by(folder: PlansFolder, until: UntilPlan) -> frozenset[str]:
    """Return the locations that a plan until a time keeps a job off.

    These are the locations that the job's own plan names, and it does not.

    Raises
    ------
    InvalidInputError
        If a plan file cannot be read.
    """
    own = locations(folder.read(folder.plan_path(until.key)) or "")
    return frozenset(own - locations(folder.read(until.path) or ""))


def cordon_problems(
    live: LiveFlink,
    folder: PlansFolder,
    proposal: Proposal,
    task_managers: tuple[LiveTaskManager, ...],
    now_s: float,
) -> list[Obstacle]:
    """Return which TaskManagers take nothing new, and would get another slot of the job.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    """
    closed = cordoned(task_managers, cordons(folder, now_s))
    needed = slots_needed(proposal.now.graph, proposal.after)
    return [
        Obstacle(
            f"{tm!r} takes nothing new until {closed[tm].end} ({closed[tm].path.name})",
            f"`edgeplace flink uncordon {tm}`, or place nothing more there",
        )
        for tm in sorted(needed.keys() & closed.keys())
        if needed[tm] > live.slots_held(tm)[proposal.now.job.id]
    ]


def once_more(text: str) -> str:
    """Return a plan that says the same, and is another file: the agent judges it anew."""
    return text.removesuffix("\n") if text.endswith("\n") else f"{text}\n"


def places_of(
    text: str, graph: JobGraph, task_managers: tuple[LiveTaskManager, ...]
) -> Places | None:
    """Return the placement in a plan file; None if it is of no use for the job."""
    try:
        return planned_places(Schedulercfg(text), graph, task_managers, None, "the plan file")
    except InvalidInputError:
        return None


def rendered(
    places: Mapping[str, tuple[str, ...]],
    graph: JobGraph,
    task_managers: tuple[LiveTaskManager, ...],
    by_host: Set[str] = frozenset(),
) -> str:
    """Return a placement as the text of a plan; empty if a TaskManager in it is not registered.

    TaskManagers go by their ids, which outlast a change of address, unless Flink makes those up.

    Parameters
    ----------
    by_host
        Resource ids of others that go by their hosts, where these have one TaskManager each.
    """
    registered = {tm.id for tm in task_managers}
    if not registered.issuperset(tm for names in places.values() for tm in names):
        return ""
    shared = Counter(tm.host for tm in task_managers)
    named = tuple(
        tm
        if shared[tm.host] == 1 and (tm.id in by_host or is_generated(tm.id))
        else replace(tm, host="")
        for tm in task_managers
    )
    return schedulercfg.render(places, graph, cluster_of(named))
