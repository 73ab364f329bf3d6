"""The input of all checks: Flink's answers and the files of the folder of plans, read once."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgeplace.adapters.flink.apply.proposal import places_of
from edgeplace.adapters.flink.errors import AgentMissingError, FlinkNotFoundError
from edgeplace.adapters.flink.plans.agent_files import AgentInfo, JobStatus
from edgeplace.adapters.flink.plans.cordons import Cordon, cordons
from edgeplace.adapters.flink.plans.folder import PlansFolder, UntilPlan, sha256
from edgeplace.adapters.flink.plans.location import agent_option, find_plans_folder
from edgeplace.adapters.flink.plans.plan_file import Places, locations
from edgeplace.adapters.flink.rest.answer import RestAnswer, need
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import Checkpoints, LiveFlink, LiveTaskManager, RunningJob
from edgeplace.model import EdgeplaceError, InvalidInputError, JobGraph


@dataclass(frozen=True)
class SeenTaskManager:
    """A registered TaskManager.

    Attributes
    ----------
    cores
        Processors that its JVM sees, None where Flink does not tell.
    segment_bytes
        Size of its network buffers, None where Flink does not tell.
    held
        Job id -> slots that the job holds.
    off_heap_bytes
        Direct memory beside network buffers, None where Flink does not tell.
    """

    id: str
    host: str
    slots: int
    cores: int | None = None
    segment_bytes: int | None = None
    held: Mapping[str, int] = field(default_factory=dict)
    off_heap_bytes: int | None = None


@dataclass(frozen=True)
class SeenJob:
    """A job that has not ended.

    Attributes
    ----------
    scheduler
        `Default`, `Adaptive`, ...; None in releases that do not tell.
    graph
        None where it could not be read, for the reason in `unread`.
    places
        Operator id -> TaskManager of each subtask, None: nowhere.
    not_running
        Subtasks that neither run nor have finished.
    status
        What the agent says of its plan.
    planned
        Operator id -> TaskManager of each subtask, by the plan file that the agent judged last;
        None where there is none, or it is of no use.
    hosts
        TaskManager -> what the JobManager calls its host, an address if it knows no name.
    """

    id: str
    name: str
    state: str = "RUNNING"
    scheduler: str | None = None
    graph: JobGraph | None = None
    unread: str = ""
    places: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    not_running: int = 0
    checkpoints: Checkpoints | None = None
    status: JobStatus | None = None
    planned: Places | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SeenPlans:
    """The folder of plans.

    Attributes
    ----------
    locations
        Name of a plan file -> the locations it names. Plans that have expired are left out.
    until
        Plans that hold until a time which is to come.
    agent
        What `agent.json` says, or why it cannot be read; None: there is none.
    unreadable
        What is wrong with other files in it.
    cordons
        Those in force.
    """

    path: Path
    agent: AgentInfo | InvalidInputError | None = None
    locations: Mapping[str, frozenset[str]] = field(default_factory=dict)
    until: tuple[UntilPlan, ...] = ()
    unreadable: tuple[InvalidInputError, ...] = ()
    cordons: tuple[Cordon, ...] = ()


@dataclass(frozen=True)
class Seen:
    """A Flink cluster at one moment.

    Attributes
    ----------
    has_environment
        Whether Flink tells the options of its JVM.
    agent_loaded
        Whether they name the agent.
    plans
        None where the folder cannot be read, for the reason in `no_plans`.
    registered
        Answer to `/taskmanagers`.
    """

    release: str
    now_s: float
    configuration: Mapping[str, str] = field(default_factory=dict)
    has_environment: bool = True
    agent_loaded: bool = True
    plans: SeenPlans | None = None
    no_plans: EdgeplaceError | None = None
    registered: RestAnswer = field(default_factory=dict)
    task_managers: tuple[SeenTaskManager, ...] = ()
    jobs: tuple[SeenJob, ...] = ()

    @property
    def lacks_agent(self) -> bool:
        """Whether Flink tells that its JVM was started without the agent."""
        return self.has_environment and not self.agent_loaded


def look(client: FlinkClient, now_s: float, plans: str | Path | None = None) -> Seen:
    """Ask Flink, and read the folder of plans where it can be found.

    Parameters
    ----------
    now_s
        Unix time, by which agents are alive and plans expire.
    plans
        The folder of plans; None: as the JobManager's options tell.

    Raises
    ------
    FlinkUnreachableError
        If Flink does not answer.
    InvalidInputError
        If the folder given is not there, or an answer is incomplete.
    """
    live = LiveFlink(client)
    environment = live.environment()
    folder, no_plans = _folder(live, plans)
    registered = client.get("/taskmanagers")
    task_managers = live.task_managers()
    schedulers = live.scheduler_kinds()
    unreadable: list[InvalidInputError] = []
    jobs = []
    for job in live.jobs():
        status = None
        if folder is not None:
            try:
                status = folder.status(job.id)
            except InvalidInputError as e:
                unreadable.append(e)
        try:
            found = _job(live, job, schedulers.get(job.id), status)
        except FlinkNotFoundError:
            # It has ended meanwhile.
            continue
        if folder is not None:
            found = replace(found, planned=_planned(folder, found, task_managers))
        jobs.append(found)
    return Seen(
        release=live.version(),
        now_s=now_s,
        configuration=live.configuration(),
        has_environment=bool(environment),
        agent_loaded=agent_option(environment) is not None,
        plans=None if folder is None else _plans(folder, unreadable, now_s),
        no_plans=no_plans,
        registered=registered,
        task_managers=tuple(_task_manager(client, tm) for tm in task_managers),
        jobs=tuple(jobs),
    )


def _folder(
    live: LiveFlink, given: str | Path | None
) -> tuple[PlansFolder | None, EdgeplaceError | None]:
    if given is not None:
        return PlansFolder(given), None
    try:
        return find_plans_folder(live), None
    except (AgentMissingError, InvalidInputError) as e:
        return None, e


def _job(
    live: LiveFlink, job: RunningJob, scheduler: str | None, status: JobStatus | None
) -> SeenJob:
    try:
        graph = live.job_graph(job.id)
        subtasks = live.subtasks(job.id)
        checkpoints = live.checkpoints(job.id)
    except InvalidInputError as e:
        return SeenJob(job.id, job.name, job.state, scheduler, unread=e.what, status=status)
    return SeenJob(
        id=job.id,
        name=job.name,
        state=job.state,
        scheduler=scheduler,
        graph=graph,
        places={v: tuple(s.task_manager for s in row) for v, row in subtasks.items()},
        not_running=sum(not s.is_up for row in subtasks.values() for s in row),
        checkpoints=checkpoints,
        status=status,
        hosts={
            s.task_manager: s.host
            for row in subtasks.values()
            for s in row
            if s.task_manager and s.host
        },
    )


def _planned(
    folder: PlansFolder, job: SeenJob, task_managers: tuple[LiveTaskManager, ...]
) -> Places | None:
    if job.graph is None or job.status is None or job.status.plan_file is None:
        return None
    try:
        # The agent may know the folder by another path.
        text = folder.read(folder.path / Path(job.status.plan_file).name)
    except InvalidInputError:
        return None
    if text is None or sha256(text) != job.status.plan_sha256:
        return None
    return places_of(text, job.graph, task_managers)


def _task_manager(client: FlinkClient, tm: LiveTaskManager) -> SeenTaskManager:
    try:
        detail = client.get(f"/taskmanagers/{tm.id}")
        need(detail, "id", str, f"the answer to /taskmanagers/{tm.id}")
    except FlinkNotFoundError:
        # It went meanwhile.
        return SeenTaskManager(tm.id, tm.host, tm.slots)
    cores = detail.get("hardware", {}).get("cpuCores")
    return SeenTaskManager(
        id=tm.id,
        host=tm.host,
        slots=tm.slots,
        cores=cores if isinstance(cores, int) else None,
        segment_bytes=_segment_bytes(detail.get("metrics", {})),
        held=Counter(str(slot.get("jobId")) for slot in detail.get("allocatedSlots", ())),
        off_heap_bytes=_off_heap_bytes(detail.get("memoryConfiguration", {})),
    )


def _off_heap_bytes(memory: Mapping[str, Any]) -> int | None:
    framework, task = memory.get("frameworkOffHeap"), memory.get("taskOffHeap")
    return framework + task if isinstance(framework, int) and isinstance(task, int) else None


def _segment_bytes(metrics: Mapping[str, Any]) -> int | None:
    total, segments = (
        metrics.get(f"nettyShuffleMemory{name}") for name in ("Total", "SegmentsTotal")
    )
    # Flink fetches metrics when asked, and tells 0 until it has them.
    if not isinstance(total, int) or not isinstance(segments, int) or total * segments <= 0:
        return None
    return total // segments


def _plans(folder: PlansFolder, unreadable: list[InvalidInputError], now_s: float) -> SeenPlans:
    try:
        agent: AgentInfo | InvalidInputError | None = folder.agent()
    except InvalidInputError as e:
        agent = e
    until = folder.until_plans()
    expired = {u.path for u in until if u.expires_s <= now_s}
    named = {}
    for path in folder.plan_files():
        if path in expired:
            continue
        try:
            text = folder.read(path) or ""
        except InvalidInputError as e:
            unreadable.append(e)
            continue
        named[path.name] = frozenset(locations(text))
    to_come = tuple(u for u in until if u.path not in expired)
    closed: tuple[Cordon, ...] = ()
    try:
        closed = cordons(folder, now_s)
    except InvalidInputError as e:
        unreadable.append(e)
    return SeenPlans(folder.path, agent, named, to_come, tuple(unreadable), closed)
