"""Cordons: files of the folder of plans that keep everything new off a TaskManager.

Each line of a file is a resource id or a host. The first line may be `# until: SECONDS`, a Unix
time. docs/flink-agent.md has the rules.
"""

import re
import shlex
import time
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from edgeplace.adapters.flink.errors import PlanNotWrittenError
from edgeplace.adapters.flink.plans.agent_files import read_regular
from edgeplace.adapters.flink.plans.folder import PlansFolder, clock, key
from edgeplace.adapters.flink.rest.live import LiveTaskManager
from edgeplace.model import InvalidInputError

_SUFFIX = ".cordon"
_UNTIL = re.compile(r"# until: ([0-9]{1,12})")
_LARGEST_BYTES = 64 * 2**10
_LOOK_S = 0.05


@dataclass(frozen=True)
class Cordon:
    """A cordon that is in force."""

    path: Path
    names: frozenset[str]
    """Resource ids and hosts."""
    expires_s: int | None
    """Unix time; None: it holds until it is lifted."""

    @property
    def end(self) -> str:
        """The end of the cordon, in words."""
        return "it is lifted" if self.expires_s is None else clock(self.expires_s)

    def outlasts(self, expires_s: int) -> bool:
        """Tell whether it holds at least until a Unix time."""
        return self.expires_s is None or self.expires_s >= expires_s


def cordons(folder: PlansFolder, now_s: float) -> tuple[Cordon, ...]:
    """Return the cordons in force; files that are none are left out, the agent names them.

    Raises
    ------
    InvalidInputError
        If a file cannot be read.
    """
    found = (_cordon(path) for path in sorted(folder.path.glob(f"[!.]*{_SUFFIX}")))
    return tuple(c for c in found if c and (c.expires_s is None or c.expires_s > int(now_s)))


def cordons_of(names: Set[str], found: Iterable[Cordon]) -> tuple[Cordon, ...]:
    """Return the cordons that close one of some resource ids and hosts."""
    return tuple(cordon for cordon in found if cordon.names & names)


def cordoned(
    task_managers: Iterable[LiveTaskManager], found: Iterable[Cordon]
) -> dict[str, Cordon]:
    """Return resource id -> a cordon that closes the TaskManager."""
    return {
        tm.id: cordon for cordon in found for tm in task_managers if cordon.names & {tm.id, tm.host}
    }


def undo_command(left: Set[str], found: Iterable[Cordon]) -> str | None:
    """Return the command that ends a drain; None if no name of the node is known.

    Parameters
    ----------
    left
        Names of the TaskManagers that a plan until a time leaves. The solver may have emptied
        others too: the drained one has a cordon, which the command lifts.
    """
    closed = left & frozenset().union(*(cordon.names for cordon in found))
    node = min(closed or left, default=None)
    return None if node is None else f"edgeplace flink drain {shlex.quote(node)} --undo"


class CordonChange:
    """Cordons that one command puts up or lifts: seen by the agent, or as they were before.

    Parameters
    ----------
    timeout_s
        Time for the agent to see a change.
    """

    def __init__(self, folder: PlansFolder, timeout_s: float) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._former: dict[Path, str | None] = {}

    def put_up(self, cordons: Mapping[str, Set[str]], expires_s: int) -> None:
        """Close TaskManagers until a time; a cordon that holds for longer stays as it is.

        Parameters
        ----------
        cordons
            The name of each TaskManager -> all its names.

        Raises
        ------
        PlanNotWrittenError
            If that cannot be written, or the agent does not see it: then nothing has changed.
        """
        found = {}
        for name, names in cordons.items():
            path = self._folder.path / f"{key(name)}{_SUFFIX}"
            there = _cordon(path)
            if there and there.names >= names and there.outlasts(expires_s):
                continue
            names = names | there.names if there else names
            found[path] = "".join(f"{line}\n" for line in (f"# until: {expires_s}", *sorted(names)))
        self._change(found)

    def lift(self, cordons: Iterable[Cordon]) -> None:
        """Open TaskManagers again.

        Raises
        ------
        PlanNotWrittenError
            If that cannot be written, or the agent does not see it: then nothing has changed.
        """
        self._change(dict.fromkeys(cordon.path for cordon in cordons))

    def take_back(self) -> None:
        """Put back the cordons that were there before.

        Raises
        ------
        PlanNotWrittenError
            If that cannot be written.
        """
        for path, text in self._former.items():
            self._write(path, text)

    def _change(self, texts: Mapping[Path, str | None]) -> None:
        try:
            for path, text in texts.items():
                self._former[path] = self._folder.read(path)
                self._write(path, text)
            self._await(texts)
        except BaseException:
            self.take_back()
            raise

    def _write(self, path: Path, text: str | None) -> None:
        if text is None:
            self._folder.remove(path)
        else:
            self._folder.put(self._folder.stage(text), path)

    def _await(self, texts: Mapping[Path, str | None]) -> None:
        """Wait until the agent says that it has the files as they are."""
        wanted = {path.name: _until_s(text) for path, text in texts.items() if text is not None}
        unwanted = {path.name for path, text in texts.items() if text is None}
        deadline = time.monotonic() + self._timeout_s
        while True:
            agent = self._folder.agent()
            if agent is not None and agent.alive(time.time()):
                kept = {c.file: c.until_s for c in agent.cordons if c.problem is None}
                if wanted.items() <= kept.items() and not unwanted & kept.keys():
                    return
            if time.monotonic() >= deadline:
                raise PlanNotWrittenError(
                    f"the agent of {self._folder.path} has not seen the change of "
                    f"{', '.join(sorted(wanted.keys() | unwanted))} within {self._timeout_s:g} s",
                    "see `edgeplace flink doctor`; the agent has to be of this release",
                )
            time.sleep(_LOOK_S)


def _cordon(path: Path) -> Cordon | None:
    """Return what a file closes; None: nothing, for it is no cordon, or is not there."""
    try:
        text = read_regular(path, _LARGEST_BYTES).decode()
    except (FileNotFoundError, InvalidInputError, UnicodeDecodeError):
        return None
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {e.strerror}", "check its permissions"
        ) from e
    until_s = _until_s(text)
    lines = text.rstrip("\n").split("\n")[until_s is not None :]
    if any(not line or line != line.strip() or line.startswith("#") for line in lines):
        return None
    return Cordon(path, frozenset(lines), until_s)


def _until_s(text: str) -> int | None:
    hit = _UNTIL.fullmatch(text.partition("\n")[0])
    return int(hit[1]) if hit else None
