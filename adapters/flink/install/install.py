"""Put the agent's jar into a Flink home, and return the configuration line that starts it.

The configuration is never edited: it belongs to the user, and a wrong line prevents the JobManager
from starting.
"""

import errno
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from edgeplace.adapters.flink.install.configuration_line import (
    JAR_NAME,
    ConfigurationLine,
    configuration_line,
)
from edgeplace.adapters.flink.rest.release import TESTED, standing
from edgeplace.model import InvalidInputError, MissingExtraError
from edgeplace.model.output import put, stage

_DIST = re.compile(r"flink-dist(?:_[0-9.]+)?-([0-9].*)\.jar")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+@%:~-]+")
"""Characters that Flink's scripts, which split and evaluate JVM options, and the agent do not
change.
"""


@dataclass(frozen=True)
class Installation:
    """The changes of a Flink home, and the remaining steps.

    Attributes
    ----------
    home
        The Flink home.
    flink
        Its release.
    jar
        The agent's jar in it.
    action
        The change of the jar.
    line
        The configuration line that starts the agent.
    warnings
        Possible problems.
    """

    home: Path
    flink: str
    jar: Path
    action: Literal["copied", "replaced", "unchanged", "removed", "absent"]
    line: ConfigurationLine
    warnings: tuple[str, ...]


def install(
    home: str | Path,
    *,
    plans: str | Path | None = None,
    lost: Literal["strict", "fallback"] | None = None,
    jar: Path | None = None,
) -> Installation:
    """Copy the agent's jar to `opt/` of a Flink home, unless it is there already.

    Parameters
    ----------
    plans
        The folder of plans; None: the agent's default, `edgeplace` beside the configuration.
    lost
        The treatment of subtasks whose TaskManager is gone; None: the agent's default.
    jar
        The jar to copy; None: the one of this package.

    Raises
    ------
    InvalidInputError
        If this is not a Flink home of a release that the agent knows, if a path cannot be used in
        Flink's configuration, or if the jar cannot be written. In the last case the old jar stays.
    MissingExtraError
        If this package holds no jar.
    """
    home, release = _flink_home(home)
    target = home / "opt" / JAR_NAME
    options = []
    if plans is not None:
        folder = Path(os.path.abspath(plans))
        _check_plain(folder, "the folder of plans")
        options.append(f"plans={folder}")
    if lost is not None:
        options.append(f"lost={lost}")
    option = f"-javaagent:{target}" + (f"={','.join(options)}" if options else "")
    line = configuration_line(home, release, option)
    content = _read(jar) if jar else _packaged_jar()
    action: Literal["copied", "replaced", "unchanged"] = "copied"
    if target.exists():
        action = "unchanged" if _read(target) == content else "replaced"
    if action != "unchanged":
        _write(content, target)
    return Installation(home, release, target, action, line, tuple(_warnings(release, line)))


def uninstall(home: str | Path) -> Installation:
    """Remove the agent's jar from a Flink home.

    Raises
    ------
    InvalidInputError
        If this is not a Flink home, if the jar cannot be removed, or if the configuration names
        the agent, because a JobManager whose configuration names a missing jar does not start.
    """
    home, release = _flink_home(home)
    target = home / "opt" / JAR_NAME
    line = configuration_line(home, release, f"-javaagent:{target}")
    if line.agent_is_named:
        raise InvalidInputError(
            f"{line.file} still names the agent, and a JobManager whose configuration names a "
            "missing jar does not start: nothing was removed",
            f"take `-javaagent:...{JAR_NAME}...` out of that file, restart the JobManager, then "
            "run this again",
        )
    if not target.exists():
        return Installation(home, release, target, "absent", line, ())
    try:
        target.unlink()
    except OSError as e:
        raise InvalidInputError(
            f"{target}: cannot be removed: {e.strerror}", f"run as the owner of {target.parent}"
        ) from e
    return Installation(home, release, target, "removed", line, ())


def _flink_home(path: str | Path) -> tuple[Path, str]:
    # Links are not resolved, so that the configuration names /opt/flink instead of the release
    # that it points to.
    home = Path(os.path.abspath(path))
    if not home.is_dir():
        raise InvalidInputError(f"{home}: no such folder", "give the folder Flink was unpacked to")
    missing = [f"{name}/" for name in ("bin", "conf", "lib") if not (home / name).is_dir()]
    jars = sorted(p.name for p in (home / "lib").glob("flink-dist*.jar"))
    if missing or not jars:
        lacks = ", ".join(missing) or "lib/flink-dist*.jar"
        raise InvalidInputError(
            f"{home} is not a Flink home: it has no {lacks}",
            "give the folder that holds Flink's bin/, conf/ and lib/",
        )
    if len(jars) > 1:
        raise InvalidInputError(
            f"{home}/lib has {len(jars)} Flinks: {', '.join(jars)}", "leave the one that is used"
        )
    _check_plain(home, "the Flink home")
    hit = _DIST.fullmatch(jars[0])
    release = hit[1] if hit else "unknown"
    if standing(release) == "older":
        raise InvalidInputError(
            f"{home} is Flink {release}: the agent knows {TESTED}", "use one of these releases"
        )
    return home, release


def _check_plain(path: Path, what: str) -> None:
    if not _PLAIN_PATH.fullmatch(str(path)):
        odd = sorted({c for c in str(path) if not _PLAIN_PATH.fullmatch(c)})
        raise InvalidInputError(
            f"{what}, {str(path)!r}, has {', '.join(map(repr, odd))} in its path: Flink splits "
            "JVM options at blanks and evaluates them, and the agent splits its own at commas",
            "use a path of letters, digits and / . _ - (a link will do)",
        )


def _packaged_jar() -> bytes:
    packaged = resources.files("edgeplace.adapters.flink") / "agent" / JAR_NAME
    try:
        return packaged.read_bytes()
    except OSError as e:
        raise MissingExtraError(
            f"this edgeplace holds no {JAR_NAME}",
            "in a checkout, build it first (`make help` says how); a released wheel has it",
        ) from e


def _read(jar: Path) -> bytes:
    try:
        return jar.read_bytes()
    except OSError as e:
        raise InvalidInputError(f"{jar}: cannot be read: {e.strerror}", "check the path") from e


def _write(content: bytes, target: Path) -> None:
    """Write a jar so that a JobManager that starts meanwhile sees the old or the new one."""
    try:
        target.parent.mkdir(exist_ok=True)
        # Flink may run as another user.
        put(stage([content], target.parent, f".{target.name}.", mode=0o644), target)
    except OSError as e:
        former = "; the former jar is untouched" if target.exists() else ""
        cure = f"run as owner of {target.parent}"
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            cure = f"free {len(content):,} bytes there"
        elif e.errno == errno.EROFS:
            cure = "mount it for writing"
        raise InvalidInputError(f"{target}: cannot be written: {e.strerror}{former}", cure) from e


def _warnings(release: str, line: ConfigurationLine) -> list[str]:
    found = []
    if standing(release) != "tested":
        found.append(
            f"Flink {release} is not among the releases the agent was tested with ({TESTED}). "
            "If it lacks a member the agent needs, the JobManager ends at once with exit code 78 "
            "and names it"
        )
    if line.everywhere:
        found.append(
            f"{line.file} has the agent in {line.everywhere}: TaskManagers and clients load it "
            "too. Take it out there"
        )
    if not line.file.exists():
        found.append(f"{line.file} is not there: Flink {release} reads its configuration from it")
    return found
