"""Download a package's file with pip, from the index that pip is configured to use."""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from testbed.errors import TestbedError

_DOWNLOAD_SECONDS = 900


def download(package: str, version: str, downloads: Path, options: Sequence[str] = ()) -> Path:
    """Return the file of a package's release; download it if the folder does not have it.

    Parameters
    ----------
    package
        Its name, e.g. ``apache-flink``.
    version
        The release.
    downloads
        Folder that keeps the files; made if it is not there.
    options
        More options of ``pip download``.

    Raises
    ------
    TestbedError
        If pip is missing or cannot download the file.
    """
    downloads.mkdir(parents=True, exist_ok=True)
    if kept := _find(downloads, package, version):
        return kept
    with tempfile.TemporaryDirectory(dir=downloads, prefix="pip-") as scratch:
        folder = Path(scratch)
        _pip_download(f"{package}=={version}", folder, options)
        fresh = _find(folder, package, version)
        if fresh is None:
            raise TestbedError(f"pip downloaded no file of {package} {version}")
        # A rename, so that an interrupted download is never taken for a whole one.
        return fresh.rename(downloads / fresh.name)


def _find(folder: Path, package: str, version: str) -> Path | None:
    """Return a package's wheel or source distribution, whichever way its name is written."""
    plain = package.replace("-", "_")
    names = (f"{plain}-{version}-*.whl", f"{plain}-{version}.tar.gz", f"{package}-{version}.tar.gz")
    return next((path for name in names for path in folder.glob(name)), None)


def _pip_download(requirement: str, into: Path, options: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [*_pip(Path(scratch)), "download", "--quiet", "--no-deps", *options]
        command += ["--dest", str(into), requirement]
        try:
            subprocess.run(
                command, check=True, timeout=_DOWNLOAD_SECONDS, capture_output=True, text=True
            )
        except subprocess.CalledProcessError as error:
            raise TestbedError(
                f"could not download {requirement} with pip:\n{_end(error.stderr)}"
            ) from error
        except subprocess.TimeoutExpired:
            raise TestbedError(
                f"could not download {requirement} with pip in {_DOWNLOAD_SECONDS} s"
            ) from None


def _pip(scratch: Path) -> list[str]:
    """Return the command of this interpreter's pip or, as uv's environments have none, of another.

    The last resort is an environment of its own in a scratch folder.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for name in ("pip", "pip3"):
        if path := shutil.which(name):
            return [path]
    try:
        subprocess.run(
            [sys.executable, "-m", "venv", str(scratch)],
            check=True,
            capture_output=True,
            timeout=_DOWNLOAD_SECONDS,
        )
    except subprocess.CalledProcessError:
        raise TestbedError("no pip found. Maybe: apt-get install python3-venv") from None
    return [str(scratch / "bin" / "python"), "-m", "pip"]


def _end(output: str) -> str:
    return "\n".join(output.splitlines()[-5:])
