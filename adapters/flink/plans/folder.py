"""The folder of plans that the agent in the JobManager watches; docs/flink-agent.md has its rules.

Plans are written whole or not at all.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from edgeplace.adapters.flink.errors import PlanNotWrittenError
from edgeplace.adapters.flink.plans.agent_files import (
    AgentInfo,
    JobStatus,
    read_agent_info,
    read_job_status,
    read_regular,
)
from edgeplace.adapters.flink.plans.plan_size import LARGEST_PLAN_BYTES
from edgeplace.adapters.flink.rest.job_choice import is_job_id
from edgeplace.model import InvalidInputError, lock
from edgeplace.model.output import put, stage

SUFFIX = ".schedulercfg"
_UNTIL = re.compile(r"(?P<key>.+)\.until-(?P<expires_s>[0-9]{1,12})")
_PLAIN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_STAGED = ".plan-"
_LONGEST_KEY_BYTES = 150
_KEPT_OF_LONG_KEY_BYTES = 100
_CURES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EACCES: "run this as the user who owns the folder",
    errno.EPERM: "run this as the user who owns the folder",
    errno.EROFS: "mount it for writing",
}


def key(name: str) -> str:
    """Return what a job's name is called in the names of files."""
    encoded = "".join(chr(b) if b in _PLAIN_BYTES else f"%{b:02X}" for b in name.encode())
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    if len(encoded) > _LONGEST_KEY_BYTES:
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        return f"{encoded[:_KEPT_OF_LONG_KEY_BYTES]}~{digest}"
    return encoded


def key_of(job_id: str, names: Mapping[str, str]) -> str:
    """Return the key under which the plan of a job is best written.

    That of its name, so that the plan holds when the job is submitted again; its id where the
    name would mean another job too.

    Parameters
    ----------
    names
        Id -> name of every running job.
    """
    name = names[job_id]
    shared = sum(other == name for other in names.values()) > 1
    mistakable = is_job_id(name) or _UNTIL.fullmatch(key(name))
    return job_id if shared or mistakable else key(name)


def clock(time_s: float) -> str:
    """Return a Unix time as people write it, in the zone of this machine."""
    return datetime.fromtimestamp(time_s).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def sha256(text: str) -> str:
    """Return the digest of a plan's text as status files give it."""
    return hashlib.sha256(_bytes(text)).hexdigest()


@dataclass(frozen=True)
class UntilPlan:
    """A plan file that holds until a time."""

    key: str
    expires_s: int
    """Unix time."""
    path: Path


class PlansFolder:
    """A folder of plans on this machine.

    Raises
    ------
    InvalidInputError
        If it is not there.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise InvalidInputError(
                f"{self.path}: there is no such folder of plans on this machine",
                "run this on the JobManager's machine, or mount the folder and give --plans DIR",
            )

    def plan_path(self, key: str, expires_s: int | None = None) -> Path:
        """Return the path of a plan, whether it is there or not."""
        until = "" if expires_s is None else f".until-{expires_s}"
        return self.path / f"{key}{until}{SUFFIX}"

    def read(self, path: Path) -> str | None:
        """Return the text of a plan, None if there is no such file.

        What is not UTF-8 in it is kept as surrogates, so that it can be written back as it was.

        Raises
        ------
        InvalidInputError
            If it cannot be read, is no regular file, or is too large for a plan.
        """
        try:
            return read_regular(path, LARGEST_PLAN_BYTES).decode(errors="surrogateescape")
        except FileNotFoundError:
            return None
        except OSError as e:
            raise InvalidInputError(
                f"{path}: cannot be read: {e.strerror}", "check its permissions"
            ) from e

    def write(self, key: str, text: str, expires_s: int | None = None) -> Path:
        """Write a plan, whole or not at all, and return its path.

        Raises
        ------
        PlanNotWrittenError
            If it cannot be written: what stood there stands there still.
        """
        path = self.plan_path(key, expires_s)
        self.put(self.stage(text), path)
        return path

    def stage(self, text: str) -> Path:
        """Write a text to a file that the agent does not look at, for `put` to use later.

        Raises
        ------
        PlanNotWrittenError
            If it cannot be written.
        """
        try:
            # The JobManager may run as another user.
            return stage([_bytes(text)], self.path, _STAGED, mode=0o644)
        except OSError as e:
            raise self._not_written(e) from e

    def put(self, staged: Path, path: Path) -> None:
        """Give a staged plan its name: from now on the agent sees it.

        Raises
        ------
        PlanNotWrittenError
            If it cannot be renamed.
        """
        try:
            put(staged, path)
            self._sync()
        except OSError as e:
            raise self._not_written(e) from e

    def remove(self, path: Path) -> None:
        """Remove a plan if it is there.

        Raises
        ------
        PlanNotWrittenError
            If it cannot be removed.
        """
        try:
            path.unlink(missing_ok=True)
            self._sync()
        except OSError as e:
            raise self._not_written(e) from e

    def plan_files(self) -> list[Path]:
        """Return the plans, also expired ones."""
        return sorted(self.path.glob(f"[!.]*{SUFFIX}"))

    def until_plans(self) -> tuple[UntilPlan, ...]:
        """Return the plans that hold until a time, also expired ones; last to expire first."""
        found = []
        for path in self.path.glob(f"*.until-*{SUFFIX}"):
            hit = _UNTIL.fullmatch(path.name.removesuffix(SUFFIX))
            if hit:
                found.append(UntilPlan(hit["key"], int(hit["expires_s"]), path))
        return tuple(sorted(found, key=lambda u: (-u.expires_s, u.path.name)))

    def status(self, job_id: str) -> JobStatus | None:
        """Return what the agent says became of the plan of a job; None: it says nothing.

        Raises
        ------
        InvalidInputError
            If the file is not what an agent of this version writes.
        """
        return read_job_status(self.path / f"{job_id}.status.json")

    def agent(self) -> AgentInfo | None:
        """Return what the agent says of itself; None: there is none.

        Raises
        ------
        InvalidInputError
            If the file is not what an agent of this version writes.
        """
        return read_agent_info(self.path / "agent.json")

    def shown(self, promised: Mapping[str, int]) -> dict[str, int]:
        """Return those settings that say what a plan promises, and that the agent has metrics for.

        Raises
        ------
        InvalidInputError
            As `agent`.
        """
        agent = self.agent()
        known = agent.settings if agent else ()
        return {name: n for name, n in promised.items() if name in known}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands of edgeplace from writing plans while the block runs.

        Raises
        ------
        PlanNotWrittenError
            If another command holds the lock, or the folder may not be written to.
        """
        try:
            handle = self._lock()
        except BlockingIOError:
            raise PlanNotWrittenError(
                f"{self.path}: another edgeplace command is at work there",
                "wait until it has ended",
            ) from None
        except OSError as e:
            raise self._not_written(e) from e
        try:
            for left in self.path.glob(f"{_STAGED}*"):
                # Whoever staged it was killed: the lock is ours.
                left.unlink(missing_ok=True)
            yield
        finally:
            os.close(handle)

    def _lock(self) -> int:
        path = self.path / ".lock"
        try:
            # Network file systems lock only what is open for writing.
            return lock(path, os.O_CREAT | os.O_RDWR)
        except PermissionError:
            # Another user, such as root, was here first.
            return lock(path, os.O_CREAT | os.O_RDONLY)

    def _sync(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _not_written(self, error: OSError) -> PlanNotWrittenError:
        return PlanNotWrittenError(
            f"{self.path}: a plan cannot be written: {error.strerror}",
            _CURES.get(error.errno or 0, "check the folder"),
        )


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
