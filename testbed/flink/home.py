"""Assemble a Flink home from two packages on PyPI, and keep it in a cache.

The download mirrors of Flink hold only recent releases and are slow; PyPI has every release since
1.11, split in two: ``apache-flink-libraries`` holds the jars, ``apache-flink`` the scripts and the
configuration.
"""

import fcntl
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from testbed.errors import TestbedError
from testbed.pypi import download

FLINK_VERSION = "2.3.0"
_JARS = ("lib", "opt", "plugins", "bin")
_SCRIPTS = ("bin", "conf")
# The scripts are the same in every wheel: asking for one fixed Python and platform makes the
# download independent of the interpreter and the machine. Each release has one for Python 3.10.
_ANY_WHEEL = (
    "--only-binary=:all:",
    "--implementation=cp",
    "--python-version=3.10",
    "--platform=manylinux1_x86_64",
    "--platform=manylinux2014_x86_64",
)


def cache_dir() -> Path:
    """Return the folder of downloads and assembled homes, ``EDGEPLACE_CACHE`` or the default."""
    override = os.environ.get("EDGEPLACE_CACHE")
    return Path(override) if override else Path.home() / ".cache" / "edgeplace" / "flink"


def flink_home(version: str = FLINK_VERSION) -> Path:
    """Return the home of a Flink release, downloading and assembling it at first use.

    Parameters
    ----------
    version
        A release of Flink, 1.18 or later, e.g. ``2.3.0``.

    Raises
    ------
    TestbedError
        If pip cannot download the packages, or they are not as expected.
    """
    home = cache_dir() / f"flink-{version}"
    if home.is_dir():
        return home
    cache_dir().mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache_dir() / f"flink-{version}.lock"):
        # Another process may have assembled it meanwhile.
        if not home.is_dir():
            _assemble(version, home)
    return home


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Wait until no other process is here; the kernel lets the next one in if one is killed."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _assemble(version: str, home: Path) -> None:
    downloads = cache_dir() / "downloads"
    jars = download("apache-flink-libraries", version, downloads)
    scripts = download("apache-flink", version, downloads, _ANY_WHEEL)
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix="assembling-") as scratch:
        draft = Path(scratch) / "home"
        _extract(jars, _JARS, draft)
        _extract(scripts, _SCRIPTS, draft)
        for script in (draft / "bin").iterdir():
            script.chmod(0o755)
        # A rename, so that an interrupted run never leaves half a home behind.
        draft.rename(home)


def _extract(package: Path, folders: tuple[str, ...], home: Path) -> None:
    """Copy the given folders of a wheel's or source distribution's Flink into a home."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            for info in wheel.infolist():
                if target := _target(info.filename, "pyflink", folders):
                    _copy(wheel.open(info), home / target)
        return
    with tarfile.open(package) as source:
        for member in source:
            inside = member.name.partition("/")[2]
            # Regular files only: a link could lead out of the home.
            content = source.extractfile(member) if member.isreg() else None
            if content and (target := _target(inside, "deps", folders)):
                _copy(content, home / target)


def _target(member: str, root: str, folders: tuple[str, ...]) -> PurePosixPath | None:
    """Return the path of a package's file in a home, `None` if it is not needed."""
    path = PurePosixPath(member)
    if member.endswith("/") or len(path.parts) < 3 or path.parts[0] != root:
        return None
    if path.parts[1] not in folders:
        return None
    if ".." in path.parts:
        raise TestbedError(f"a file of the package leads out of the home: {member}")
    return path.relative_to(root)


def _copy(content: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, target.open("wb") as copy:
        shutil.copyfileobj(content, copy)
