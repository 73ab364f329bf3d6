"""Files of the agent in the JobManager: its own status, and the status of each job's plan."""

import os
import stat
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from edgeplace.model import InvalidInputError

_DEAD_AFTER_S = 30.0
_LARGEST_BYTES = 64 * 2**20


class Written(BaseModel):
    """Fields that a later agent adds are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class AgentTaskManager(Written):
    """A TaskManager as the agent sees it."""

    id: str
    host: str
    slots: int


class AgentCordon(Written):
    """A cordon that the agent has seen."""

    file: str
    until_s: int | None = None
    """Unix time; None: until it is lifted."""
    problem: str | None = None
    """Why the file is of no use; the former of its name stays in force."""


class RefusedTaskManager(Written):
    """A TaskManager that may not register: one at another host has its resource id."""

    id: str
    host: str
    registered_host: str


class AgentInfo(Written):
    """`agent.json`"""

    edgeplace_agent: Literal[1]
    version: str
    flink: str
    pid: int
    lost: Literal["strict", "fallback"]
    fallback_after_s: int
    plans: str
    started_ms: int
    now_ms: int
    resource_manager: bool
    """Without an active ResourceManager in this JVM nothing can be placed."""
    no_rescaling_because: str | None = None
    """None: it changes the parallelism of running jobs."""
    task_managers: tuple[AgentTaskManager, ...] = ()
    cordons: tuple[AgentCordon, ...] = ()
    refused: tuple[RefusedTaskManager, ...] = ()
    """In the last two minutes."""
    settings: tuple[str, ...] = ()
    """Names of the settings of plans that it knows: it refuses a plan with others."""

    def alive(self, now_s: float) -> bool:
        """Tell whether the agent wrote this less than 30 s before a Unix time.

        What was written later than now, by a clock that is ahead, would seem to live on for ever.
        """
        return abs(now_s - self.now_ms / 1000) <= _DEAD_AFTER_S

    def silent_for(self, now_s: float) -> str:
        """Return since when the agent has not written, in words."""
        ago_s = now_s - self.now_ms / 1000
        if ago_s < 0:
            return f"last wrote {-ago_s:,.0f} s ahead of this machine's clock"
        return f"has not written for {ago_s:,.0f} s"


class Away(Written):
    """A subtask that runs elsewhere because its TaskManager is lost."""

    task: str
    planned: str
    runs_at: str


class JobStatus(Written):
    """`JOBID.status.json`"""

    edgeplace_status: Literal[1]
    job_id: str
    job_name: str
    state: Literal["unplanned", "rejected", "pending", "moving", "waiting", "placed", "away"]
    plan_file: str | None = None
    plan_sha256: str | None = None
    """Of the plan file as last judged."""
    applied_sha256: str | None = None
    """Of the plan the job has."""
    reasons: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    away: tuple[Away, ...] = ()
    subtasks: int = 0
    exact: int = 0
    moves: int = 0
    updated_ms: int = 0


def read_agent_info(path: Path) -> AgentInfo | None:
    """Return what the agent says of itself; None: there is no such file.

    Raises
    ------
    InvalidInputError
        If the file is not what an agent of this version writes.
    """
    return read_written(path, AgentInfo, "edgeplace_agent")


def read_job_status(path: Path) -> JobStatus | None:
    """Return what the agent says of a job; None: there is no such file.

    Raises
    ------
    InvalidInputError
        If the file is not what an agent of this version writes.
    """
    return read_written(path, JobStatus, "edgeplace_status")


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Return the bytes of a file of the folder of plans, which others may write to.

    Links are not followed, as the agent follows none, and nothing is waited for.

    Raises
    ------
    OSError
        If it cannot be read.
    InvalidInputError
        If it is no regular file, or larger than anything that belongs there.
    """
    if path.is_symlink():
        raise _out_of_place(path, "a symbolic link, which is not followed")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_socket():
            raise _out_of_place(path, "a socket") from None
        raise
    with os.fdopen(handle, "rb") as f:
        if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
            raise _out_of_place(path, "a FIFO or a device")
        raw = f.read(most_bytes + 1)
    if len(raw) > most_bytes:
        raise InvalidInputError(f"{path}: larger than {most_bytes:,} bytes", "remove it")
    return raw


def _out_of_place(path: Path, what: str) -> InvalidInputError:
    return InvalidInputError(f"{path}: it is {what}", "remove it, or put a regular file there")


_File = TypeVar("_File", bound=Written)


def read_written(path: Path, kind: type[_File], version_field: str) -> _File | None:
    """Return what a file of the agent, or of a split aggregate, says; None: it is not there.

    Raises
    ------
    InvalidInputError
        If it is not of the kind.
    """
    cure = "use the agent of this release: `edgeplace flink install`, then restart the JobManager"
    try:
        return kind.model_validate_json(read_regular(path, _LARGEST_BYTES))
    except FileNotFoundError:
        return None
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {e.strerror}", "check its permissions"
        ) from e
    except ValidationError as e:
        problems = e.errors()
        for problem in problems:
            if problem["loc"] == (version_field,) and problem["type"] == "literal_error":
                raise InvalidInputError(
                    f"{path}: the agent writes version {problem['input']!r:.20}, this release "
                    "reads version 1",
                    cure,
                ) from e
        where = ".".join(map(str, problems[0]["loc"]))
        said = f"{where}: {problems[0]['msg']}" if where else problems[0]["msg"]
        raise InvalidInputError(f"{path}: not written by the agent: {said}", cure) from e
