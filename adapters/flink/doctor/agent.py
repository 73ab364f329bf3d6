"""Is the agent there, is it ours, and can it place anything in this JobManager?"""

from collections.abc import Iterator

from edgeplace.adapters.flink.doctor.finding import Finding, Severity
from edgeplace.adapters.flink.doctor.snapshot import Seen
from edgeplace.adapters.flink.install.configuration_line import KEY, shared_key
from edgeplace.adapters.flink.rest.release import TESTED, standing

_INSTALL = "`edgeplace flink install FLINK_HOME`, then restart the JobManager"


def check_release(seen: Seen) -> Iterator[Finding]:
    """Tell whether the agent was tested with this release of Flink."""
    if standing(seen.release) == "tested":
        yield Finding(Severity.OK, "release", f"Flink {seen.release} is tested with the agent")
        return
    yield Finding(
        Severity.PROBLEM if standing(seen.release) == "older" else Severity.WARNING,
        "release",
        f"Flink {seen.release} is not tested with the agent, {TESTED} are",
        "use one of these releases",
    )


def check_agent(seen: Seen, version: str) -> Iterator[Finding]:
    """Tell whether the agent is loaded and alive, and of this version of edgeplace."""
    if seen.lacks_agent:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            "the JobManager runs without the agent: stock Flink places all jobs",
            f"{_INSTALL} with the line that it prints",
        )
        return
    if not seen.has_environment:
        yield Finding(
            Severity.NOTE, "agent", "Flink does not tell its JVM's options: only the agent's files"
        )
    if seen.plans is None:
        reason = seen.no_plans
        yield Finding(
            Severity.WARNING if seen.agent_loaded else Severity.PROBLEM,
            "agent",
            "what the agent says of itself and of plans is not known here: "
            + (reason.what if reason else "no folder of plans"),
            reason.cure if reason else "give --plans DIR",
        )
        return
    yield from (
        Finding(Severity.PROBLEM, "agent's files", e.what, e.cure) for e in seen.plans.unreadable
    )
    agent = seen.plans.agent
    if agent is None:
        if not any("agent.json" in e.what for e in seen.plans.unreadable):
            yield Finding(
                Severity.PROBLEM,
                "agent",
                f"no agent writes to {seen.plans.path}: there is no agent.json in it",
                "is this the folder of this JobManager (--plans DIR)? see its standard error for "
                "what the agent says at the start",
            )
        return
    if not agent.alive(seen.now_s):
        yield Finding(
            Severity.PROBLEM,
            "agent",
            f"the agent (process {agent.pid}) of {seen.plans.path} "
            f"{agent.silent_for(seen.now_s)}, and should write every 5 s",
            "is this the folder of this JobManager, is its disk full, do the clocks agree?",
        )
        return
    yield Finding(
        Severity.OK,
        "agent",
        f"version {agent.version} is alive in process {agent.pid}, reads plans from "
        f"{agent.plans}, lost={agent.lost}",
    )
    yield from _consistent(seen, version)


def _consistent(seen: Seen, version: str) -> Iterator[Finding]:
    agent = seen.plans.agent if seen.plans else None
    if agent is None:
        return
    if agent.version != version:
        yield Finding(
            Severity.WARNING,
            "agent's version",
            f"the agent is version {agent.version}, this command is {version}",
            _INSTALL,
        )
    if agent.flink != seen.release:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            f"the agent of this folder is in a Flink {agent.flink}, the REST API is that of "
            f"{seen.release}",
            "give the folder of this JobManager: --plans DIR",
        )
    if not agent.resource_manager:
        yield Finding(
            Severity.PROBLEM,
            "ResourceManager",
            "the agent's JVM has no active ResourceManager: nothing can be placed",
            "run JobManager and ResourceManager in one process (standalone session or application "
            "mode); of several JobManagers, look at the leader's folder",
        )
    theirs, ours = {tm.id for tm in agent.task_managers}, {tm.id for tm in seen.task_managers}
    if agent.resource_manager and ours and not theirs & ours:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            "the agent and the REST API do not share one TaskManager: this folder is another "
            "cluster's",
            "give the folder of this JobManager: --plans DIR",
        )


def check_agent_line(seen: Seen) -> Iterator[Finding]:
    """Tell whether processes other than the JobManager load the agent too."""
    key = shared_key(seen.configuration)
    if key:
        yield Finding(
            Severity.WARNING,
            "agent's line",
            f"it is under {key}: TaskManagers and clients load the agent too",
            f"it belongs under {KEY}: move it there",
        )


def check_scheduler(seen: Seen) -> Iterator[Finding]:
    """Tell whether a scheduler runs that asks for slots without naming subtasks."""
    stated = seen.configuration.get("jobmanager.scheduler", "")
    mode = seen.configuration.get("scheduler-mode", "")
    adaptive = [job for job in seen.jobs if job.scheduler == "Adaptive"]
    cure = "leave `jobmanager.scheduler` and `scheduler-mode` out and restart the JobManager"
    if mode.lower() == "reactive":
        yield Finding(
            Severity.PROBLEM,
            "scheduler",
            "scheduler-mode is reactive: jobs take all slots, and no plan can be obeyed",
            cure,
        )
    elif stated.lower() == "adaptive":
        yield Finding(
            Severity.PROBLEM,
            "scheduler",
            "jobmanager.scheduler is adaptive: it asks for slots without saying for which "
            "subtask, and no plan can be obeyed",
            cure,
        )
    elif adaptive:
        yield Finding(
            Severity.PROBLEM,
            "scheduler",
            f"{', '.join(repr(j.name) for j in adaptive)} run under the adaptive scheduler: no "
            "plan can be obeyed",
            "submit them without jobmanager.scheduler=adaptive",
        )
    else:
        yield Finding(Severity.OK, "scheduler", "the default scheduler, which can be steered")


def check_high_availability(seen: Seen) -> Iterator[Finding]:
    """Say what several JobManagers need, where there may be some."""
    stated = (
        seen.configuration.get("high-availability.type")
        or seen.configuration.get("high-availability")
        or "NONE"
    )
    if stated.upper() != "NONE":
        yield Finding(
            Severity.NOTE,
            "high availability",
            f"high-availability is {stated}: how many JobManagers stand by cannot be seen",
            "give each the same jar, line and folder of plans (a shared one): the leader obeys "
            "what it finds in its own",
        )
