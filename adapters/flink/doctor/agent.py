"""Check the agent: it runs, it has our version, and it can place jobs in this JobManager."""

from collections.abc import Iterator

from edgeplace.adapters.flink.checks.agent_obeys import (
    INSTALL,
    check_alive,
    check_in_charge,
    check_loaded,
)
from edgeplace.adapters.flink.checks.finding import Finding, Severity
from edgeplace.adapters.flink.doctor.snapshot import Seen
from edgeplace.adapters.flink.install.configuration_line import KEY, shared_key
from edgeplace.adapters.flink.plans.agent_files import AgentInfo
from edgeplace.adapters.flink.rest.release import TESTED, standing


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
    loaded = seen.agent_loaded if seen.has_environment else None
    yield from check_loaded(loaded)
    if loaded is False:
        return
    if loaded is None:
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
    silent = list(check_alive(seen.plans.path, agent, seen.now_s))
    yield from silent
    if silent or not isinstance(agent, AgentInfo):
        return
    yield Finding(
        Severity.OK,
        "agent",
        f"version {agent.version} is alive in process {agent.pid}, reads plans from "
        f"{agent.plans}, lost={agent.lost}",
    )
    if agent.version != version:
        yield Finding(
            Severity.WARNING,
            "agent's version",
            f"the agent is version {agent.version}, this command is {version}",
            INSTALL,
        )
    for twin in agent.refused:
        yield Finding(
            Severity.PROBLEM,
            "TaskManagers",
            f"the TaskManager {twin.id!r} at {twin.host} is refused: one at {twin.registered_host} "
            "has the same resource id",
            "give each its own taskmanager.resource-id, or end one of the two",
        )
    yield from check_in_charge(agent, seen.release, {tm.id for tm in seen.task_managers})


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
    """Return the requirements of several JobManagers, if there may be several."""
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
