"""Check whether the agent of a folder would follow a plan; each rule stands here once."""

from collections.abc import Iterator, Set
from pathlib import Path

from edgeplace.adapters.flink.checks.finding import Finding, Severity
from edgeplace.adapters.flink.plans.agent_files import AgentInfo
from edgeplace.model import InvalidInputError

INSTALL = "`edgeplace flink install FLINK_HOME`, then restart the JobManager"
_FOLDER = "give the folder of this JobManager: --plans DIR"


def check_loaded(loaded: bool | None) -> Iterator[Finding]:
    """Tell whether the JobManager was started with the agent.

    Parameters
    ----------
    loaded
        None where Flink does not tell the options of its JVM.
    """
    if loaded is False:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            "the JobManager runs without the agent: stock Flink places all jobs",
            f"{INSTALL} with the line that it prints",
        )


def check_alive(
    path: Path, agent: AgentInfo | InvalidInputError | None, now_s: float
) -> Iterator[Finding]:
    """Tell whether an agent writes to a folder of plans.

    Parameters
    ----------
    agent
        What `agent.json` says, or why it cannot be read; None: there is none.
    now_s
        Unix time.
    """
    if agent is None:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            f"no agent writes to {path}: there is no agent.json in it",
            "is this the folder of this JobManager (--plans DIR)? see its standard error for "
            "what the agent says at the start",
        )
    elif isinstance(agent, InvalidInputError):
        yield Finding(Severity.PROBLEM, "agent's files", agent.what, agent.cure)
    elif not agent.alive(now_s):
        yield Finding(
            Severity.PROBLEM,
            "agent",
            f"the agent (process {agent.pid}) of {path} {agent.silent_for(now_s)}, and should "
            "write every 5 s",
            "start the JobManager; if it runs: is this its folder (--plans DIR), is its disk full, "
            "do the clocks agree?",
        )


def check_in_charge(agent: AgentInfo, release: str, task_managers: Set[str]) -> Iterator[Finding]:
    """Tell whether a live agent is that of this Flink, and can place anything in it.

    Parameters
    ----------
    release, task_managers
        Flink's release, and the ids of its TaskManagers, as the REST API tells.
    """
    if agent.flink != release:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            f"the agent of this folder is in a Flink {agent.flink}, the REST API is that of "
            f"{release}",
            _FOLDER,
        )
    if not agent.resource_manager:
        yield Finding(
            Severity.PROBLEM,
            "ResourceManager",
            "the agent's JVM has no active ResourceManager: nothing can be placed",
            "run JobManager and ResourceManager in one process (standalone session or application "
            "mode); of several JobManagers, give the leader's folder",
        )
    elif task_managers and not task_managers & {tm.id for tm in agent.task_managers}:
        yield Finding(
            Severity.PROBLEM,
            "agent",
            "the agent and the REST API do not share one TaskManager: this folder is another "
            "cluster's",
            _FOLDER,
        )


def unknown_job(name: str, job_id: str) -> Finding:
    """Return what is wrong where a live agent has no status of a job."""
    return Finding(
        Severity.WARNING,
        "plans",
        f"the agent does not know job {name!r} ({job_id}): no plan of it is obeyed",
        "if it was submitted just now, wait a moment; else give the --plans folder of this "
        "JobManager, run the job as a streaming job under the default scheduler, and see what the "
        "JobManager's log says of it",
    )
